#!/bin/sh
# The bucket of media, and the user that media signs in as: /policy.json (deploy/storage) lets it use this bucket's objects
# and nothing else. For MinIO's own client; it may wait for a server that is about to be ready, and may run again.
set -eu
export MC_CONFIG_DIR=/tmp/mc
policy=posthaste-media
mc --quiet alias set storage "$S3_URL" "$MINIO_ROOT_USER" "$MINIO_ROOT_PASSWORD"
mc --quiet mb --ignore-existing "storage/$S3_BUCKET"
# The image has no sed: the shell puts the bucket's name in.
eval "cat <<END
$(cat /policy.json)
END" >/tmp/policy.json
mc --quiet admin policy create storage "$policy" /tmp/policy.json
mc --quiet admin user add storage "$S3_ACCESS_KEY" "$S3_SECRET_KEY"
case $(mc admin user info storage "$S3_ACCESS_KEY") in
*"$policy"*) ;; # to attach it twice is an error
*) mc --quiet admin policy attach storage "$policy" --user "$S3_ACCESS_KEY" ;;
esac
