#!/bin/sh
# For servers whose images drop root before they start: with-certificate.sh USER -- COMMAND…
# Copies the server's certificate and key, which TLS_CERTIFICATE_FILE and TLS_KEY_FILE name, to /run/tls (TLS_FOLDER), where
# only USER may read the key. Empty files: the server has no TLS.
set -eu
user=$1 folder=${TLS_FOLDER:-/run/tls}
shift 2
if [ -s "$TLS_KEY_FILE" ]; then
  if [ ! -s "$TLS_CERTIFICATE_FILE" ]; then
    echo "TLS_KEY_FILE has a key, but there is no certificate in $TLS_CERTIFICATE_FILE: set both or neither" >&2
    exit 1
  fi
  umask 077
  cp "$TLS_CERTIFICATE_FILE" "$folder/server.crt"
  cp "$TLS_KEY_FILE" "$folder/server.key"
  chown "$user" "$folder" "$folder/server.crt" "$folder/server.key"
fi
unset TLS_CERTIFICATE_FILE TLS_KEY_FILE
exec "$@"
