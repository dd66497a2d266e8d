"""A client's IP address, and whether a token's allowlist contains it (docs/decisions.md, "IP allowlist"). Pure."""

from collections.abc import Hashable
from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network

Address = IPv4Address | IPv6Address


def client_address(remote: str, forwarded_for: str, trusted_hops: int) -> Address | None:
    """Returns the client's IP address; None if it is not a valid address.

    `remote` is the address at the other end of the connection. It is the client's if we have no proxies, or if the
    header X-Forwarded-For is missing.

    Otherwise each of our `trusted_hops` proxies has added an entry at the header's right end. So the client's address
    is the entry that many places from the right, or the leftmost one if there are fewer. Entries to its left are
    ignored, because the client may have invented them.
    """
    entries = [entry.strip() for entry in forwarded_for.split(",") if entry.strip()]
    if trusted_hops <= 0 or not entries:
        return parse_address(remote)
    return parse_address(entries[-min(trusted_hops, len(entries))])


#: IPv4-mapped addresses are ::ffff:0:0/96.
_MAPPED_PREFIX = 96


@lru_cache(maxsize=4096)
def parse_address(text: str) -> Address | None:
    """Parses an IP address, also with a port, brackets or a zone. Returns None if it is invalid.

    An IPv6 address that stands for an IPv4 address (`::ffff:10.0.0.1`) becomes that IPv4 address.
    """
    if text.startswith("["):
        text = text[1:].partition("]")[0]
    elif text.count(":") == 1:
        text = text.partition(":")[0]
    try:
        address = ip_address(text.partition("%")[0])
    except ValueError:
        return None
    return _as_ipv4(address)


def customer_of(address: Address | None) -> Hashable:
    """Returns the same value for all addresses that a provider gives to one customer: an IPv4 address, or an IPv6 /64.

    All clients without an address count as one customer.
    """
    return int(address) >> 64 if isinstance(address, IPv6Address) else address


def is_allowed(address: Address | None, allowlist: tuple[str, ...]) -> bool:
    """Whether an address or CIDR block in the allowlist contains the address. An empty allowlist allows all."""
    if not allowlist:
        return True
    return address is not None and any(_holds(block, address) for block in allowlist)


@lru_cache(maxsize=4096)
def _holds(block: str, address: Address) -> bool:
    try:
        network = ip_network(block, strict=False)
    except ValueError:
        return False  # the service `accounts` checks the blocks when a token is created
    if address in network:
        return True
    if network.version == 6 and address.version == 4 and network.prefixlen >= _MAPPED_PREFIX:
        # The block is in the mapped form, such as ::ffff:10.0.0.0/104; a wider one, such as ::/0, does not cover IPv4.
        return IPv6Address(f"::ffff:{address}") in network
    return False


def _as_ipv4(address: Address) -> Address:
    if isinstance(address, IPv6Address) and address.ipv4_mapped is not None:
        return address.ipv4_mapped
    return address
