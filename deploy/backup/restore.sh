#!/bin/sh
# Restores the dumps of dump.sh into existing databases, and replaces their contents: restore.sh FOLDER
# Stop all processes of Posthaste first. Reads all dumps completely, then restores each database in one transaction,
# which succeeds or leaves the database unchanged. Can be repeated. Needs DATABASE_URL_<SERVICE>, pg_restore and psql.
set -eu
from=$1
here=$(dirname "$0")
services="ACCOUNTS PUBLISHING AI QUOTA MEDIA WEBHOOKS GATEWAY"
url() { eval "printf %s \"\$DATABASE_URL_$1\"" | sed 's/^postgresql+psycopg2:/postgresql:/'; }
query() { psql --no-psqlrc --quiet --tuples-only --no-align --set=ON_ERROR_STOP=1 --dbname="$(url "$1")"; }
end() {
  echo "restore.sh: $1" >&2
  exit 1
}

for service in $services; do
  eval ": \"\${DATABASE_URL_$service:?}\""
  pg_restore --file=/dev/null "$from/$service.dump" || end "$from/$service.dump is not whole. No database was touched."
done
test -s "$from/began_at" || end "$from/began_at is missing: the backup did not end. No database was touched."
for service in $services; do
  others=$(query "$service" <<SQL
SELECT count(*) FROM pg_stat_activity
WHERE datname = current_database() AND usename = current_user AND pid <> pg_backend_pid()
  AND application_name <> 'pg_isready'
SQL
  ) || end "$service: its database does not answer. No database was touched."
  test "$others" = 0 || end "$service: its database is in use. Stop all of ours first. No database was touched."
done

# If anything fails before the COMMIT in the last line, all of it is rolled back.
script() {
  echo "BEGIN; SET client_min_messages = warning; DROP SCHEMA IF EXISTS public CASCADE; CREATE SCHEMA public;"
  pg_restore --no-owner --file=- "$from/$1.dump" || return
  if [ "$1" = PUBLISHING ]; then # otherwise posts sent since the backup would be sent again
    printf "RESET ALL;\n\\\\set began_at '%s'\n" "$(cat "$from/began_at")"
    cat "$here/after-restore.sql"
  fi
  echo "COMMIT; SELECT 'restored';"
}
for service in $services; do
  test "$(script "$service" | query "$service" | tail -n 1)" = restored ||
    end "$service was not restored and holds what it held. Mend what is said above, and run this again."
done
