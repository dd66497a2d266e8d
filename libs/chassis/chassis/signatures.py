"""Signatures of calls, replies and events. They prove who sent a message and for which receiver, and that nobody
changed it.

Each pair of sender and receiver has a key for HMAC-SHA256. A service has a secret, from which it derives the key of
each of its senders. A sender has only its own key for each receiver. So an attacker in one process can sign only in
its name, and can forge other senders' messages only to itself. (Ed25519 would need fewer keys, but takes 50 µs to sign
and 150 to 300 to verify a frame; HMAC takes 3 to 7.)

A call is valid until CLOCK_SECONDS after its deadline. An event may wait for days; its receiver's inbox detects a
repetition. No I/O.
"""

import hmac
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from contracts.services import NAMES, receivers_of

#: How far the clocks of two machines may differ: each may be wrong by five minutes (docs/faults.md), and half as much
#: again. Beyond it, messages of the machine whose clock is behind are refused.
CLOCK_SECONDS = 900.0
#: Header of an event, followed by a receiver's name: an exchange may route one message to several receivers.
EVENT_HEADER = "signature-"
_KEY_BYTES = 32
#: How many senders' keys are cached. There are eight senders; forged names must not fill the memory.
_MOST_SENDERS = 64


class KeysMalformed(ValueError):
    """Raised when MESSAGE_KEYS is malformed or lacks a key. `chassis.message_keys` creates its value."""


class Refused(Exception):
    """Raised when a message has no valid signature. `reason` goes to the log and the metric."""

    def __init__(self, reason: str, sender: str = "") -> None:
        super().__init__(f"the signature is refused: {reason}{f' ({sender})' if sender else ''}")
        self.reason = reason
        #: The unverified name in the message, if it is one of ours.
        self.sender = sender if sender in NAMES else "unknown"


class Peer(NamedTuple):
    """The sender of a frame of calls: the queue for replies to it (`reply_to`), its name, and the HMAC key that signs
    these replies. Name and key are empty for a refused frame, whose sender is not known.
    """

    reply_to: str
    name: str = ""
    key: bytes = b""


def key_of(secret: bytes, sender: str) -> bytes:
    """Derives the key that `sender` uses for messages to the service with this secret."""
    return hmac.digest(secret, f"posthaste message key\n{sender}".encode(), "sha256")


class Signatures:
    """The keys with which one process signs and verifies messages."""

    def __init__(
        self, name: str, secrets: Sequence[bytes] = (), keys: Mapping[str, bytes] | None = None
    ) -> None:
        """Holds the keys of the process `name`.

        `secrets`: the process's own; a signature made with any of them is accepted. `keys`: receiver → the key to sign
        with.
        """
        self.name = name
        self._secrets = tuple(secrets)
        self._keys = dict(keys or {})
        self._keys_of: dict[str, tuple[bytes, ...]] = {}

    @classmethod
    def read(cls, name: str, text: str) -> "Signatures":
        """Parses MESSAGE_KEYS: `service=secret` and `sender:receiver=key`, comma-separated, in hexadecimal.

        If several services share the process, MESSAGE_KEYS has the secrets of all of them. The key for messages to
        another service is then derived from that service's secret. Keys of other senders are ignored. If a service has
        two secrets, the first signs, and both verify. Raises KeysMalformed for an entry in another form, and if the key
        for a receiver is missing.
        """
        secrets: list[bytes] = []
        keys: dict[str, bytes] = {}
        for entry in filter(None, (part.strip() for part in text.split(","))):
            of, _, digits = entry.partition("=")
            sender, colon, receiver = of.strip().partition(":")
            value = _bytes_of(of.strip(), digits.strip())
            if not colon:
                keys.setdefault(sender, key_of(value, name))
                secrets += [value] if sender == name else []
            elif sender == name:
                keys.setdefault(receiver, value)
        if missing := sorted(receivers_of(name) - keys.keys()):
            raise KeysMalformed(f"there is no key {', '.join(f'{name}:{receiver}' for receiver in missing)}")
        return cls(name, secrets, keys)

    @property
    def can_verify(self) -> bool:
        return bool(self._secrets)

    def can_send(self, receiver: str) -> bool:
        return receiver in self._keys

    def call(self, receiver: str, body: bytes, until: float) -> str:
        """Returns the signature of a frame of calls. There must be a key for the receiver (`can_send`).

        The receiver accepts it until CLOCK_SECONDS after `until` (Unix time), the last deadline of the calls.
        """
        return _signed("call", self.name, receiver, str(math.ceil(until)), body, self._keys[receiver])

    def sender_of_call(self, reply_to: str, signature: str | None, body: bytes, now: float) -> Peer:
        """Verifies a frame of calls, and returns its sender. `now`: Unix time. Raises Refused if the signature is not
        valid.
        """
        if not signature:
            raise Refused("unsigned")
        sender, until, mac = _parts_of(signature)
        for key in self._keys_from(sender):
            if hmac.compare_digest(mac, _mac("call", sender, self.name, until, body, key)):
                if float(until) + CLOCK_SECONDS < now:
                    raise Refused("expired", sender)
                return Peer(reply_to, sender, key)
        raise Refused("wrong signature", sender)

    def reply(self, peer: Peer, body: bytes) -> str:
        """Returns the signature of a frame of replies to `peer`; "" if the peer has no key."""
        return _signed("reply", self.name, peer.name, "0", body, peer.key) if peer.key else ""

    def sender_of_reply(self, signature: str | None, body: bytes) -> str:
        """Verifies a frame of replies, and returns the name of the service that sent it. Raises Refused if the
        signature is not valid.
        """
        if not signature:
            raise Refused("unsigned")
        sender, until, mac = _parts_of(signature)
        key = self._keys.get(sender)
        if key is None or not hmac.compare_digest(mac, _mac("reply", sender, self.name, until, body, key)):
            raise Refused("wrong signature", sender)
        return sender

    def event_headers(self, receivers: Iterable[str], body: bytes) -> dict[str, str]:
        """Returns headers that sign an event for its receivers. Raises KeysMalformed when a key is missing."""
        headers = {}
        for receiver in receivers:
            if not self.can_send(receiver):
                raise KeysMalformed(f"there is no key of {self.name} for {receiver}")
            headers[EVENT_HEADER + receiver] = _signed(
                "event", self.name, receiver, "0", body, self._keys[receiver]
            )
        return headers

    def check_event(self, headers: Mapping[str, object], sender: str, body: bytes) -> None:
        """Verifies that `sender` signed the event for this receiver. Raises Refused if it did not."""
        signature = headers.get(EVENT_HEADER + self.name)
        if not signature:
            raise Refused("unsigned")
        named, until, mac = _parts_of(str(signature))
        if named != sender:
            raise Refused("not its sender", named)
        if not any(
            hmac.compare_digest(mac, _mac("event", sender, self.name, until, body, key))
            for key in self._keys_from(sender)
        ):
            raise Refused("wrong signature", sender)

    def _keys_from(self, sender: str) -> tuple[bytes, ...]:
        """Returns the keys with which `sender` may sign messages to this process."""
        keys = self._keys_of.get(sender)
        if keys is None:
            keys = tuple(key_of(secret, sender) for secret in self._secrets)
            if len(self._keys_of) < _MOST_SENDERS:
                self._keys_of[sender] = keys
        return keys


def _signed(kind: str, sender: str, receiver: str, until: str, body: bytes, key: bytes) -> str:
    return f"{sender} {until} {_mac(kind, sender, receiver, until, body, key)}"


def _mac(kind: str, sender: str, receiver: str, until: str, body: bytes, key: bytes) -> str:
    return hmac.digest(key, f"{kind} {sender} {receiver} {until}\n".encode() + body, "sha256").hex()


def _parts_of(signature: str) -> tuple[str, str, str]:
    """Splits a signature into sender, time and MAC. Raises Refused if it has another form."""
    parts = signature.split(" ")
    if len(parts) != 3 or not (parts[1].isascii() and parts[1].isdigit() and parts[2].isascii()):
        raise Refused("malformed")
    return parts[0], parts[1], parts[2]


def _bytes_of(name: str, digits: str) -> bytes:
    try:
        key = bytes.fromhex(digits)
    except ValueError:
        key = b""
    if not name or len(key) != _KEY_BYTES:
        raise KeysMalformed(f"{name or '?'} must be 64 hexadecimal digits")
    return key
