#!/bin/sh
# Every service's database as a file, while everything runs: dump.sh INTO
# Told DATABASE_URL_<SERVICE>; needs pg_dump and psql of the server's version or newer. The bucket is copied apart:
# docs/operations.md, "Backup and restore".
set -eu
into=$1
mkdir -p "$into"
url() { eval "printf %s \"\$DATABASE_URL_$1\"" | sed 's/^postgresql+psycopg2:/postgresql:/'; }

psql --no-psqlrc --tuples-only --no-align --dbname="$(url PUBLISHING)" \
  --command="SELECT clock_timestamp()" >"$into/began_at"
# Who tells of an event before who hears of it: what is on its way meanwhile is sent again, and taken once. Never lost.
for service in ACCOUNTS PUBLISHING AI QUOTA MEDIA WEBHOOKS GATEWAY; do
  pg_dump --format=custom --no-owner --file="$into/$service.part" --dbname="$(url "$service")"
  mv "$into/$service.part" "$into/$service.dump"
done
