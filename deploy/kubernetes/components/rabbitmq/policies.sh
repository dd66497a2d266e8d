#!/bin/sh
# What holds for quorum queues beyond their declarations, which are the same for classic ones:
#   policies.sh [VIRTUAL HOST [DEFINITIONS]]
# Each node runs it after its start, beside the broker, until it has been done; the second time changes nothing. As a file
# of definitions they would take the operator's own user away (a broker with definitions makes no default user), as a
# Policy object they would need one more operator.
set -eu
host=${1:-/}
definitions=${2:-/etc/posthaste-definitions/definitions.json}

policies() {
  # RabbitMQ 4 drops a message that came back 20 times: of a service that dies again and again, or of a quarantine that is
  # looked at 20 times. How often an event is tried, we count ourselves, and what is given up is set aside, not dropped.
  rabbitmqctl -q set_policy -p "$host" --apply-to queues posthaste '^(rpc\.|events\.|quarantine$)' \
    '{"delivery-limit": -1}' &&
  # Events that wait for their next attempt go back when it is their time: by a publisher without confirms, unless this is
  # said, and then what the receiver's queue does not take at that moment is lost. (The broker asks for the overflow.)
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
