#!/bin/sh
# What dump.sh wrote, into databases that are there and may hold anything: restore.sh FROM
# Nothing of ours may run meanwhile. Each database becomes what it was, or stays what it is.
set -eu
from=$1
here=$(dirname "$0")
url() { eval "printf %s \"\$DATABASE_URL_$1\"" | sed 's/^postgresql+psycopg2:/postgresql:/'; }

for service in ACCOUNTS PUBLISHING AI QUOTA MEDIA WEBHOOKS GATEWAY; do
  test -s "$from/$service.dump"
done
for service in ACCOUNTS PUBLISHING AI QUOTA MEDIA WEBHOOKS GATEWAY; do
  psql --no-psqlrc --quiet --set=ON_ERROR_STOP=1 --dbname="$(url "$service")" \
    --command="DROP SCHEMA IF EXISTS public CASCADE; CREATE SCHEMA public" 2>/dev/null
  pg_restore --single-transaction --exit-on-error --no-owner --dbname="$(url "$service")" "$from/$service.dump"
done
psql --no-psqlrc --quiet --set=ON_ERROR_STOP=1 --set=began_at="$(cat "$from/began_at")" \
  --dbname="$(url PUBLISHING)" --file="$here/after-restore.sql"
