"""Signing secrets and signatures of webhooks (docs/decisions.md, "Webhook signatures"), and the private networks that
each account's webhook URLs may lead to (WEBHOOK_ALLOWED_CIDRS). No I/O.
"""

import hashlib
import hmac
import re
import secrets as randomness
from base64 import b64decode, b64encode
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from ipaddress import ip_network

from chassis.http.addresses import AllowedNetwork, parse_allowed_network

_BASE62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_PREFIX = "whsec_"
#: 44 characters of base62 are also valid base64 of 33 bytes without padding, which every library of Standard Webhooks
#: reads: 262 random bits in letters and digits that need no quoting in a shell or a settings file.
_LENGTH = 44
#: In place of an account's id.
EVERY_ACCOUNT = "*"

_ACCOUNT = re.compile(r"usr_[0-9A-Za-z]{1,64}|\*")


def new_secret() -> str:
    """Returns a new signing secret: `whsec_` and 44 random characters of base62."""
    return _PREFIX + "".join(randomness.choice(_BASE62) for _ in range(_LENGTH))


def signature(secrets: Iterable[str], body: bytes) -> str:
    """Returns the value of the header X-Svc-Signature: one `sha256=<hex>` per valid secret, in their order."""
    return ",".join(
        f"sha256={hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()}" for secret in secrets
    )


def standard_headers(
    secrets: Iterable[str], message_id: str, unix_seconds: int, body: bytes
) -> dict[str, str]:
    """Returns the headers of Standard Webhooks 1.0.0. The signature has one `v1,<base64>` per valid secret, in their
    order.

    `message_id` is the same at every attempt. `unix_seconds` is the time of this attempt. Source:
    github.com/standard-webhooks/standard-webhooks, spec/standard-webhooks.md, "Signature scheme".
    """
    signed = b".".join((message_id.encode(), str(unix_seconds).encode(), body))
    digests = (hmac.digest(_key(secret), signed, hashlib.sha256) for secret in secrets)
    return {
        "webhook-id": message_id,
        "webhook-timestamp": str(unix_seconds),
        "webhook-signature": " ".join(f"v1,{b64encode(digest).decode()}" for digest in digests),
    }


def _key(secret: str) -> bytes:
    """Decodes a secret to the bytes with which it signs. Older secrets have 43 characters, without base64's padding."""
    text = secret.removeprefix(_PREFIX)
    return b64decode(text + "=" * (-len(text) % 4))


@dataclass(frozen=True, slots=True)
class PrivateReceivers:
    """The networks outside the public internet to which each account's webhooks may be sent."""

    networks: Mapping[str, tuple[AllowedNetwork, ...]] = field(default_factory=dict)

    def of(self, account_id: str) -> tuple[AllowedNetwork, ...]:
        """Returns the networks allowed to this account in addition to the public internet."""
        return self.networks.get(account_id, ()) + self.networks.get(EVERY_ACCOUNT, ())


def parse_private_receivers(entries: Iterable[str]) -> PrivateReceivers:
    """Parses entries such as `usr_…=10.0.0.7/32:8080`: this account's webhooks may be sent to this network and port.
    `*=…` is for every account.

    Raises ValueError for a malformed entry; its text says what to write instead.
    """
    entries = tuple(entries)
    if any("=" not in entry for entry in entries):
        raise ValueError(_correction_of_bare_networks([entry for entry in entries if "=" not in entry]))
    networks: dict[str, tuple[AllowedNetwork, ...]] = {}
    for entry in entries:
        account, _, network = (part.strip() for part in entry.partition("="))
        if not _ACCOUNT.fullmatch(account):
            raise ValueError(f"{entry}: {account!r} is neither an account id (usr_…) nor * for every account")
        networks[account] = (*networks.get(account, ()), parse_allowed_network(network))
    return PrivateReceivers(networks)


def _correction_of_bare_networks(entries: Sequence[str]) -> str:
    """Returns the text that tells how to correct entries in the earlier form, such as `10.0.0.0/8`, which allowed every
    port to every account.
    """
    blocks = [_block(entry) for entry in entries]
    named = ",".join(f"usr_…={block}:8080" for block in blocks)
    as_before = ",".join(f"*={block}:1-65535" for block in blocks)
    return (
        f"{', '.join(entries)}: an entry must name an account and a port as well. Write the account id and its "
        f"receiver's port: WEBHOOK_ALLOWED_CIDRS={named}. Only if every account may POST to every port there, "
        f"as this entry allowed before: WEBHOOK_ALLOWED_CIDRS={as_before}"
    )


def _block(entry: str) -> str:
    """Returns the network of an entry that names no account, with its prefix length: `10.0.0.7/32` for `10.0.0.7`."""
    address, slash, rest = entry.partition("/")
    block = address + slash + rest.partition(":")[0]
    try:
        return str(ip_network(block))
    except ValueError:
        return block
