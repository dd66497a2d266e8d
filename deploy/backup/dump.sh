#!/bin/sh
# Dumps every service's database into a file, while everything runs: dump.sh FOLDER
# Needs DATABASE_URL_<SERVICE>, and pg_dump and psql of the server's version or newer. Copy the bucket separately:
# docs/operations.md, "Backup and restore".
set -eu
into=$1
# Senders of events are dumped before their receivers. So no event is lost; one that is in both dumps takes effect once.
services="ACCOUNTS PUBLISHING AI QUOTA MEDIA WEBHOOKS GATEWAY"
url() { eval "printf %s \"\$DATABASE_URL_$1\"" | sed 's/^postgresql+psycopg2:/postgresql:/'; }

for service in $services; do eval ": \"\${DATABASE_URL_$service:?}\""; done
mkdir -p "$into"
psql --no-psqlrc --tuples-only --no-align --dbname="$(url PUBLISHING)" \
  --command="SELECT clock_timestamp()" >"$into/began_at.part"
rm -f "$into/began_at"
for service in $services; do
  pg_dump --format=custom --no-owner --file="$into/$service.part" --dbname="$(url "$service")"
  mv "$into/$service.part" "$into/$service.dump"
done
mv "$into/began_at.part" "$into/began_at" # last: it marks a complete backup
