#!/bin/sh
# As the official image's: the server as `rabbitmq`.
set -eu
if [ "$(id -u)" = 0 ]; then
  chown -R rabbitmq: /var/lib/rabbitmq
  exec gosu rabbitmq "$0" "$@"
fi
exec "$@"
