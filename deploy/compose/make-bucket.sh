#!/bin/sh
# The bucket of media, unless it is there. For MinIO's own client; it may wait for a server that is about to be ready.
set -eu
export MC_CONFIG_DIR=/tmp/mc
mc --quiet alias set storage "$S3_URL" "$S3_ACCESS_KEY" "$S3_SECRET_KEY"
mc --quiet mb --ignore-existing "storage/$S3_BUCKET"
