#!/bin/sh
# Starts SeaweedFS as an S3 server with one bucket and one user, media's, who may do what /policy.json (deploy/storage) allows.
# There is no administrator. Its parts trust everybody who reaches them, so all but S3 listen on the container's loopback. S3's
# second port, for its parts, cannot: it asks for a certificate of an authority whose key was deleted when /grpc was made, so
# that nobody has one (the key there is the server's, and opens nothing).
set -eu
umask 077
quoted() { sed 's/\\/\\\\/g; s/"/\\"/g' | tr '\n' ' '; }
cat >/run/storage/s3.json <<END
{"identities": [{"name": "media", "actions": [], "policyNames": ["media"], "credentials": [{
    "accessKey": "$(printf %s "$S3_ACCESS_KEY" | quoted)", "secretKey": "$(printf %s "$S3_SECRET_KEY" | quoted)"}]}],
 "policies": [{"name": "media", "content": "$(sed "s|\${S3_BUCKET}|$S3_BUCKET|g" /policy.json | quoted)"}]}
END
# The bucket, once the parts have found each other; healthy from then on. Files are on the disk before an upload is answered.
(
  until printf '%s\n' "s3.bucket.create -name=$S3_BUCKET" "fs.configure -locationPrefix=/buckets/ -fsync -apply" |
    weed shell -master=127.0.0.1:9333 -filer=127.0.0.1:8888 2>&1 | grep -q '"fsync":  *true'; do sleep 1; done
  : >/run/storage/ready
) &
rm -f /run/storage/ready
export WEED_GRPC_CA=/grpc/ca.crt WEED_GRPC_S3_CERT=/grpc/server.crt WEED_GRPC_S3_KEY=/grpc/server.key
# A master that restarts waits once or twice this timeout before it elects itself: with the default of 10 s, up to 20 s without S3.
exec weed server -dir=/data -ip=127.0.0.1 -ip.bind=127.0.0.1 -master.telemetry=false -master.volumeSizeLimitMB=1024 \
  -master.electionTimeout=1s -volume.max=0 -filer -s3 -s3.ip.bind=0.0.0.0 -s3.port=9000 -s3.config=/run/storage/s3.json \
  -s3.iam=false -s3.port.iceberg=0 -s3.port.lance=0
