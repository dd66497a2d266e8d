"""RabbitMQ's users and their permissions to declare, write and read, derived from the contracts.

`python -m chassis.broker_access [FILE]` writes the broker's definitions: exchanges, queues, and users. A process gets a
user if the variable AMQP_PASSWORD_<PROCESS> holds its password, or if AMQP_PASSWORD_<PROCESS>_FILE names a file with
the password. <PROCESS> is a service, GATEWAY, CTL, or SERVICES for the one process in which all services run. RabbitMQ
loads the file at each start if the setting `load_definitions` names the file; `rabbitmqctl import_definitions` loads it
at any time. Loading changes existing objects and deletes nothing.

Only the gateway may declare queues, and only those for broadcasts, whose names the broker chooses (amq.gen-…). So an
attacker in one process can neither delete another process's queue nor read it. Every process may write to the default
exchange, which carries calls and replies. RabbitMQ has no permissions per queue there, so receivers verify the sender's
signature.
"""

import base64
import hashlib
import json
import re
import secrets
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from chassis import config
from chassis.bus import topology
from chassis.message_keys import SHARED
from contracts.events import EVENTS
from contracts.record import Record
from contracts.senders import CTL, GATEWAY
from contracts.services import NAMES, SERVICES

PROCESSES = (*NAMES, SHARED)
NOTHING = "^$"
_DEFAULT_EXCHANGE = "amq.default"
#: Names that the broker chooses, for the gateway's queues of broadcasts.
_OWN_QUEUES = r"amq\.gen-.*"


class Access(Record):
    """The permissions of one RabbitMQ user: regular expressions for the exchanges and queues that it may use."""

    configure: str
    write: str
    read: str
    #: Routing keys that the user may publish to the exchange of events.
    events: str


def access_of(process: str) -> Access:
    """Returns the RabbitMQ permissions of a process: a service, gateway, ctl, or SERVICES (all services in one)."""
    services = tuple(SERVICES) if process == SHARED else (process,)
    sent = [name for name, route in EVENTS.items() if route.sender in services and route.receivers]
    write, read = [re.escape(_DEFAULT_EXCHANGE)], []
    if sent:
        write.append(topology.EVENT_EXCHANGE)
    if any(route.broadcast for route in EVENTS.values() if route.sender in services):
        write.append(topology.BROADCAST_EXCHANGE)
    if process == GATEWAY:
        write.append(_OWN_QUEUES)
        read += [topology.BROADCAST_EXCHANGE, _OWN_QUEUES]
    elif process == CTL:
        read.append(topology.QUARANTINE_QUEUE)
    else:
        read += [
            re.escape(queue(name))
            for name in services
            for queue in (topology.rpc_queue, topology.event_queue)
        ]
    return Access(
        configure=_one_of([_OWN_QUEUES] if process == GATEWAY else []),
        write=_one_of(write),
        read=_one_of(read),
        events=_one_of(map(re.escape, sent)),
    )


def _one_of(patterns: Iterable[str]) -> str:
    patterns = tuple(patterns)
    return f"^({'|'.join(patterns)})$" if patterns else NOTHING


def definitions(
    passwords: Mapping[str, str], *, virtual_host: str = "/", queue_type: str | None = None
) -> dict[str, Any]:
    """Builds RabbitMQ's definitions. `passwords`: process → password. `queue_type`: classic or quorum; None for
    RabbitMQ's default.
    """
    declared: Any = _Declared(virtual_host, queue_type)  # replaces a channel
    topology.declare(declared, lambda: None)
    for service in SERVICES:
        topology.declare_service(declared, service)
    granted = {process: access_of(process) for process in passwords}
    return {
        "vhosts": [{"name": virtual_host}],
        "users": [
            {
                "name": process,
                "password_hash": _hashed(password),
                "hashing_algorithm": "rabbit_password_hashing_sha256",
                "tags": "",
            }
            for process, password in passwords.items()
        ],
        "permissions": [
            {
                "user": process,
                "vhost": virtual_host,
                "configure": it.configure,
                "write": it.write,
                "read": it.read,
            }
            for process, it in granted.items()
        ],
        "topic_permissions": [
            {
                "user": process,
                "vhost": virtual_host,
                "exchange": topology.EVENT_EXCHANGE,
                "write": it.events,
                "read": NOTHING,
            }
            for process, it in granted.items()
        ],
        "exchanges": declared.exchanges,
        "queues": list(declared.queues.values()),
        "bindings": declared.bindings,
    }


class _Declared:
    """A replacement for a channel, on which `topology` declares exchanges and queues. It collects them for RabbitMQ's
    definitions.
    """

    def __init__(self, virtual_host: str, queue_type: str | None) -> None:
        self._virtual_host = virtual_host
        self._arguments = {"x-queue-type": queue_type} if queue_type else {}
        self.exchanges: list[dict[str, Any]] = []
        self.queues: dict[str, dict[str, Any]] = {}
        self.bindings: list[dict[str, Any]] = []

    def exchange_declare(self, name: str, kind: str, durable: bool) -> None:
        self.exchanges.append(
            {
                "name": name,
                "vhost": self._virtual_host,
                "type": kind,
                "durable": durable,
                "auto_delete": False,
                "internal": False,
                "arguments": {},
            }
        )

    def queue_declare(
        self, name: str, *, durable: bool, arguments: Mapping[str, Any] | None = None, callback: Any = None
    ) -> None:
        self.queues[name] = {
            "name": name,
            "vhost": self._virtual_host,
            "durable": durable,
            "auto_delete": False,
            "arguments": self._arguments | dict(arguments or {}),
        }

    def queue_bind(self, queue: str, exchange: str, routing_key: str) -> None:
        self.bindings.append(
            {
                "source": exchange,
                "vhost": self._virtual_host,
                "destination": queue,
                "destination_type": "queue",
                "routing_key": routing_key,
                "arguments": {},
            }
        )


def _hashed(password: str) -> str:
    salt = secrets.token_bytes(4)
    return base64.b64encode(salt + hashlib.sha256(salt + password.encode()).digest()).decode()


def main() -> None:
    passwords = {process: config.text(f"AMQP_PASSWORD_{process.upper()}", "") for process in PROCESSES}
    queue_type = config.text("QUEUE_TYPE", "") or None
    given = {process: password for process, password in passwords.items() if password}
    text = json.dumps(definitions(given, queue_type=queue_type), indent=1)
    if len(sys.argv) > 1:
        Path(sys.argv[1]).write_text(text)
    else:
        print(text)


if __name__ == "__main__":
    main()
