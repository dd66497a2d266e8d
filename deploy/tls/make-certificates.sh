#!/bin/sh
# Creates server certificates and the authority that signs them: make-certificates.sh FOLDER NAME[,ADDRESS…]…
# Each NAME gets FOLDER/NAME.crt and FOLDER/NAME.key, valid for the host NAME and the listed host names or IP addresses.
# Clients trust FOLDER/ca.crt. FOLDER/ca.key is needed only to sign new certificates: keep it elsewhere. Run again, it
# keeps the authority and creates new certificates. Needs OpenSSL 3.
set -eu
# Validity in days. Server certificate: more than a year, so that a yearly renewal is early enough. Authority: ten years.
days=397 authority_days=3650
usage="usage: make-certificates.sh FOLDER NAME[,ADDRESS...]..."
folder=${1:?$usage}
shift
: "${1:?$usage}"
umask 077
mkdir -p "$folder"
new_key() { openssl genpkey -quiet -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out "$1"; }

if [ ! -s "$folder/ca.key" ]; then
  new_key "$folder/ca.key"
  openssl req -x509 -new -key "$folder/ca.key" -subj /CN=Posthaste -days "$authority_days" -out "$folder/ca.crt" \
    -addext keyUsage=critical,keyCertSign,cRLSign
fi

for argument; do
  name=${argument%%,*}
  addresses=
  for address in $(echo "$argument" | tr , ' '); do
    case $address in
      *[!0-9.]*) addresses="$addresses,DNS:$address" ;;
      *) addresses="$addresses,IP:$address" ;;
    esac
  done
  new_key "$folder/$name.key"
  cat >"$folder/extensions" <<END
subjectAltName=${addresses#,}
basicConstraints=critical,CA:FALSE
keyUsage=critical,digitalSignature
extendedKeyUsage=serverAuth
END
  openssl req -new -key "$folder/$name.key" -subj "/CN=$name" -out "$folder/request"
  openssl x509 -req -in "$folder/request" -CA "$folder/ca.crt" -CAkey "$folder/ca.key" -days "$days" \
    -extfile "$folder/extensions" -out "$folder/$name.crt" 2>/dev/null
  rm "$folder/request" "$folder/extensions"
  chmod 644 "$folder/$name.crt" # a certificate is no secret, its key is
done
chmod 644 "$folder/ca.crt"
chmod 755 "$folder"
