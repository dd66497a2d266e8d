#!/bin/sh
# Sets the policies of quorum queues, whose declarations are the same as for classic queues:
#   policies.sh [VIRTUAL HOST [DEFINITIONS]]
# Each node runs it after its start until it succeeds; repeating it changes nothing. A definitions file would remove the
# operator's own user (a broker with definitions creates no default user); a Policy object would need another operator.
set -eu
host=${1:-/}
definitions=${2:-/etc/posthaste-definitions/definitions.json}

policies() {
  # RabbitMQ 4 drops a message after 20 redeliveries: if a service crashes repeatedly, or somebody reads the quarantine 20
  # times. We count the attempts of events ourselves and move them to quarantine instead of dropping them.
  rabbitmqctl -q set_policy -p "$host" --apply-to queues posthaste '^(rpc\.|events\.|quarantine$)' \
    '{"delivery-limit": -1}' &&
  # Events that wait for their next attempt return to their queue by dead-lettering. Without this setting it has no
  # confirms, and an event that the queue cannot accept at that moment is lost. (The broker requires the overflow setting.)
  rabbitmqctl -q set_policy -p "$host" --apply-to queues --priority 1 posthaste-retry '^events\..+\.retry\.' \
    '{"delivery-limit": -1, "dead-letter-strategy": "at-least-once", "overflow": "reject-publish"}'
}

# Our units' users, their queues and the exchanges: libs/chassis/chassis/broker_access.py.
users() {
  [ ! -s "$definitions" ] || rabbitmqctl -q import_definitions "$definitions"
}

until rabbitmqctl -q await_startup --timeout 60 && policies && users; do
  sleep 5
done
