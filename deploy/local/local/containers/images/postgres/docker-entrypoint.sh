#!/bin/sh
# As the official image's: a superuser with a password at the first start, then the server as `postgres`.
set -eu
if [ "$(id -u)" = 0 ]; then
  mkdir -p "$PGDATA" /run/postgresql
  chown -R postgres: /var/lib/postgresql /run/postgresql
  exec gosu postgres "$0" "$@"
fi
if [ ! -s "$PGDATA/PG_VERSION" ]; then
  chmod 700 "$PGDATA"
  printf %s "$POSTGRES_PASSWORD" >/tmp/password
  initdb --username="$POSTGRES_USER" --pwfile=/tmp/password --auth-local=trust --auth-host=scram-sha-256 >/dev/null
  rm /tmp/password
  echo "listen_addresses = '*'" >>"$PGDATA/postgresql.conf"
  pg_ctl -w start -o "-c listen_addresses=''" >/dev/null
  createdb -U "$POSTGRES_USER" "$POSTGRES_USER"
  pg_ctl -w stop >/dev/null
fi
exec "$@"
