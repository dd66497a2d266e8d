#!/bin/sh
# The service `backup` of docker-compose.yml. Once a day, from BACKUP_HOUR (UTC) on, it dumps every database, encrypts
# the dumps and stores them in BACKUP_S3_BUCKET or, without one, in the folder /backup/encrypted. It copies media's
# files there too. It keeps 7 daily, 4 weekly and 6 monthly dumps (expired.awk), and a deleted file as long as a dump
# may refer to it.
#   backup.sh                  runs for ever, and makes a backup every day
#   backup.sh now              makes a backup at once
#   backup.sh list             prints the dates of complete backups, the oldest first
#   backup.sh rehearse [DATE]  restores the dumps (default: the newest) into a scratch server, and compares counts of rows
#   backup.sh fetch DATE       writes the decrypted dumps to /backup/DATE, for restore.sh
#   backup.sh restore-files    copies the files back into the storage
set -eu
umask 077
here=$(dirname "$0")
work=${WORK:-/work}
user=${SERVER_USER:-postgres}
services="ACCOUNTS PUBLISHING AI QUOTA MEDIA WEBHOOKS GATEWAY"
end() {
  echo "backup.sh: $1" >&2
  exit 1
}
secret() { # NAME: prints its value, or the contents of the file that NAME_FILE names
  eval "value=\${$1:-} file=\${$1_FILE:-}"
  if [ -z "$value" ] && [ -s "$file" ]; then value=$(cat "$file"); fi
  printf %s "$value"
}

# The remotes of rclone: `files` is media's bucket, `kept` stores the backups encrypted, but with readable names.
key=$(secret BACKUP_KEY)
[ -n "$key" ] || end "BACKUP_KEY is not set: without it nothing can be encrypted"
export RCLONE_CONFIG='' RCLONE_S3_NO_CHECK_BUCKET=true RCLONE_CONFIG_FILES_TYPE=s3 RCLONE_CONFIG_FILES_PROVIDER=Other \
  RCLONE_CONFIG_FILES_ENDPOINT="$S3_URL" RCLONE_CONFIG_FILES_REGION="${S3_REGION:-us-east-1}" \
  RCLONE_CONFIG_FILES_ACCESS_KEY_ID="$S3_ACCESS_KEY" RCLONE_CONFIG_KEPT_TYPE=crypt \
  RCLONE_CONFIG_KEPT_FILENAME_ENCRYPTION=off RCLONE_CONFIG_KEPT_DIRECTORY_NAME_ENCRYPTION=false
RCLONE_CONFIG_FILES_SECRET_ACCESS_KEY=$(secret S3_SECRET_KEY)
RCLONE_CONFIG_KEPT_PASSWORD=$(printf '%s\n' "$key" | rclone obscure -)
export RCLONE_CONFIG_FILES_SECRET_ACCESS_KEY RCLONE_CONFIG_KEPT_PASSWORD
if [ -n "${BACKUP_S3_BUCKET:-}" ]; then
  RCLONE_CONFIG_AWAY_SECRET_ACCESS_KEY=$(secret BACKUP_S3_SECRET_KEY)
  export RCLONE_CONFIG_AWAY_SECRET_ACCESS_KEY RCLONE_CONFIG_AWAY_TYPE=s3 RCLONE_CONFIG_AWAY_PROVIDER=Other \
    RCLONE_CONFIG_AWAY_ENDPOINT="$BACKUP_S3_URL" RCLONE_CONFIG_AWAY_REGION="${BACKUP_S3_REGION:-us-east-1}" \
    RCLONE_CONFIG_AWAY_ACCESS_KEY_ID="$BACKUP_S3_ACCESS_KEY" RCLONE_CONFIG_KEPT_REMOTE="away:$BACKUP_S3_BUCKET"
else
  export RCLONE_CONFIG_KEPT_REMOTE="${FOLDER:-/backup}/encrypted"
fi

names() { rclone lsf --dirs-only "kept:$1" 2>/dev/null | tr -d / || true; }
# Fails with rclone's error if it is refused, so that a wrong key does not look as if there were no backup. Not `kept:dumps`:
# rclone takes it for a file if S3 refuses to answer.
whole() {
  found=$(rclone lsf -R --files-only --include '/dumps/*/began_at' kept: 2>"$work/error") || [ $? = 3 ] || { # 3: no folder yet
    cat "$work/error" >&2
    return 1
  }
  [ -z "$found" ] || printf '%s\n' "$found" | sed 's|^dumps/||; s|/.*||' | sort
}

back_up() {
  name=$(date -u +%F)
  exec 9>"$work/lock"
  flock 9
  rm -rf "$work/dump"
  "$here/dump.sh" "$work/dump"
  rclone copy --exclude began_at "$work/dump" "kept:dumps/$name"
  rclone copyto "$work/dump/began_at" "kept:dumps/$name/began_at" # last: it marks a complete backup
  rm -rf "$work/dump"
  # Files never change, so comparing sizes suffices. rclone moves the copies of deleted files to removed/.
  rclone sync --size-only --backup-dir "kept:removed/$name" "files:$S3_BUCKET" kept:files
  for expired in $(whole | awk -f "$here/expired.awk"); do
    rclone purge "kept:dumps/$expired"
  done
  oldest=$(whole | head -n 1)
  for removed in $(names removed); do
    if [ "$removed" != "$oldest" ] && [ "$(printf '%s\n' "$removed" "$oldest" | sort | head -n 1)" = "$removed" ]; then
      rclone purge "kept:removed/$removed"
    fi
  done
  echo "backed up: $name"
}

# Both print "SERVICE table rows" for each table: of a dump, and of a database.
rows_in_dump() {
  pg_restore --data-only --file=- "$work/rehearsal/dump/$1.dump" | awk -v service="$1" '
    !table && /^COPY / { table = $2; rows = 0; next }
    table && $0 == "\\." { print service, table, rows; table = ""; next }
    table { rows++ }'
}
rows_in_database() {
  psql --no-psqlrc --quiet --tuples-only --no-align --field-separator=' ' \
    --dbname="$(eval "printf %s \"\$DATABASE_URL_$1\"")" <<SQL
SELECT format('SELECT %L, count(*) FROM %I.%I', format('$1 %I.%I', schemaname, tablename), schemaname, tablename)
FROM pg_tables WHERE schemaname NOT IN ('pg_catalog', 'information_schema') \gexec
SQL
}
as_postgres() { # COMMAND: PostgreSQL's server refuses to run as root
  if [ "$(id -u)" != 0 ]; then sh -c "$1"; elif command -v gosu >/dev/null; then gosu "$user" sh -c "$1"; else su "$user" -s /bin/sh -c "$1"; fi
}

rehearse() {
  name=${1:-}
  if [ -z "$name" ]; then
    dates=$(whole)
    name=$(printf %s "$dates" | tail -n 1)
  fi
  [ -n "$name" ] || end "there is no backup yet"
  place=$work/rehearsal
  rm -rf "$place"
  mkdir -p "$place/dump" "$place/server"
  chmod 711 "$work" "$place"
  [ "$(id -u)" != 0 ] || chown "$user" "$place/server"
  rclone copy "kept:dumps/$name" "$place/dump"
  as_postgres "$(command -v initdb) -D $place/server/data -U posthaste -A trust >/dev/null &&
    $(command -v pg_ctl) -s -w -D $place/server/data -l $place/server/log start \
      -o \"-c listen_addresses= -c unix_socket_directories=$place/server -c fsync=off\"" </dev/null
  trap 'as_postgres "$(command -v pg_ctl) -s -m immediate -D $place/server/data stop"; rm -rf "$place"' EXIT
  for service in $services; do
    createdb --host="$place/server" --username=posthaste "$service"
    export "DATABASE_URL_$service=postgresql://posthaste@/$service?host=$place/server"
  done
  "$here/restore.sh" "$place/dump"
  for service in $services; do rows_in_dump "$service"; done >"$place/dumped"
  for service in $services; do rows_in_database "$service"; done >"$place/restored"
  # after-restore.sql adds attempts of posts that were being sent, so more rows than in the dump are right.
  awk 'NR == FNR { there[$1 " " $2] = $3; next }
    { tables++; rows += $3; if (there[$1 " " $2] + 0 < $3) { print "missing: " $0 ", restored " there[$1 " " $2] + 0; lost = 1 } }
    END { print tables " tables, " rows " rows" (lost ? "" : ": all restored"); exit lost || !tables }' \
    "$place/restored" "$place/dumped" || end "the backup of $name cannot be restored completely"
  echo "rehearsed: $name"
}

# Alertmanager mails it. The alert ends if it is not raised again after the next try.
alert() {
  url=${ALERTMANAGER_URL:-http://alertmanager:9093}
  ends=$(date -u -d "@$(($(date +%s) + 1500))" +%FT%TZ)
  wget -q -T 10 -O /dev/null --header 'Content-Type: application/json' --post-data "[{
    \"labels\": {\"alertname\": \"BackupFails\", \"severity\": \"ticket\"},
    \"annotations\": {
      \"summary\": \"The daily backup failed. It is tried again every ten minutes\",
      \"runbook_url\": \"docs/observability.md#backupfails\"
    },
    \"endsAt\": \"$ends\"
  }]" "$url/api/v2/alerts" || echo "nobody is told: no Alertmanager at $url" >&2
}

case ${1:-} in
now) back_up ;;
list) whole ;;
rehearse) rehearse "${2:-}" ;;
fetch) rclone copy "kept:dumps/${2:?which date?}" "${FOLDER:-/backup}/$2" && echo "now: /scripts/restore.sh /backup/$2" ;;
restore-files) rclone copy --size-only kept:files "files:$S3_BUCKET" ;;
'')
  # The file `last` holds the day of the newest backup. The health check fails if it was not written for 26 hours.
  [ -e "$work/last" ] || : >"$work/last"
  trap '[ -z "${sleeping:-}" ] || kill "$sleeping"; exit 0' TERM INT
  while :; do
    today=$(date -u +%F)
    if [ "$(cat "$work/last")" != "$today" ] && [ "$(date -u +%H)" -ge "${BACKUP_HOUR:-2}" ]; then
      # An existing backup of today is not replaced: a new machine may be about to be restored from it.
      if dates=$(whole) && { printf '%s\n' "$dates" | grep -qx "$today" || "$0" now; }; then
        echo "$today" >"$work/last"
      else
        echo "the backup failed: next try in ten minutes" >&2
        alert
      fi
    fi
    sleep 600 &
    sleeping=$!
    wait "$sleeping"
  done
  ;;
*) end "unknown command: $1" ;;
esac
