#!/bin/sh
# Creates media's bucket and user with MinIO's client: /policy.json (deploy/storage) allows only this bucket's objects. Waits
# for a server that is starting. Can be run again.
set -eu
export MC_CONFIG_DIR=/tmp/mc
# Not a name that a user or bucket may have: below it is looked for in what is said of the user.
policy=only-media-objects
mc --quiet alias set storage "$S3_URL" "$MINIO_ROOT_USER" "$MINIO_ROOT_PASSWORD"
mc --quiet mb --ignore-existing "storage/$S3_BUCKET"
# The image has no sed, so the shell inserts the bucket's name.
eval "cat <<END
$(cat /policy.json)
END" >/tmp/policy.json
mc --quiet admin policy create storage "$policy" /tmp/policy.json
mc --quiet admin user add storage "$S3_ACCESS_KEY" "$S3_SECRET_KEY"
case $(mc admin user info storage "$S3_ACCESS_KEY") in
*"$policy"*) ;; # to attach it twice is an error
*) mc --quiet admin policy attach storage "$policy" --user "$S3_ACCESS_KEY" ;;
esac
