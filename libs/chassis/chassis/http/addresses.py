"""Decides whether we may connect to a URL or IP address that a stranger has given. Only its text is examined.

Nothing is resolved or connected here (`guarded_client` does that). A host is accepted only as a DNS name or as an IP
address in canonical form. Every other spelling is refused, so no list of unusual spellings is needed.
"""

import re
import unicodedata
from collections.abc import Collection
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from urllib.parse import quote, urlsplit

import idna

#: Our choice: what browsers and platforms handle without trouble.
MAX_URL_LENGTH = 2_048
DEFAULT_PORTS = {"http": 80, "https": 443}

#: All of the IANA IPv4 Special-Purpose Address Registry, including its reachable blocks, and multicast.
_SPECIAL_V4 = [
    ip_network(block)
    for block in (
        "0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12",
        "192.0.0.0/24", "192.0.2.0/24", "192.31.196.0/24", "192.52.193.0/24", "192.88.99.0/24",
        "192.168.0.0/16", "192.175.48.0/24", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24",
        "240.0.0.0/4", "224.0.0.0/4",
    )
]  # fmt: skip

#: All allocated global unicast addresses. Outside are loopback, mapped (::ffff:0:0/96), discard, NAT64 (64:ff9b::/96,
#: 64:ff9b:1::/48), unique local, link-local, site-local, multicast and unassigned addresses.
_GLOBAL_V6 = ip_network("2000::/3")
#: Blocks of the IANA IPv6 Special-Purpose Address Registry inside it: 2001::/23 (Teredo, ORCHID), 2002::/16 (6to4),
#: documentation and AS112.
_SPECIAL_V6 = [
    ip_network(block)
    for block in ("2001::/23", "2001:db8::/32", "2002::/16", "2620:4f:8000::/48", "3fff::/20")
]


#: Names of the machine or its network (RFC 6761, 6762, 8375, 9476; ICANN's .internal; defaults of routers).
_PRIVATE_SUFFIXES = (
    "localhost", "local", "localdomain", "internal", "home.arpa", "alt", "lan", "intranet", "corp", "home",
    "private",
)  # fmt: skip

#: Unicode categories: control characters, lone surrogates, spaces and line separators.
_NEVER_IN_A_URL = ("Cc", "Cs", "Zs", "Zl", "Zp")
_PLAIN_IN_A_TARGET = "/%:@!$&'()*+,;=~?[]"
_LABEL = re.compile(r"(?!-)[a-z0-9_-]{1,63}(?<!-)")
#: A last label like this makes WHATWG URL parsers and inet_aton read the host as a number.
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*")
_ALLOWED_NETWORK = re.compile(
    r"(?P<network>[0-9a-fA-F.:]+/[0-9]{1,3}):(?P<first>[0-9]{1,5})(-(?P<last>[0-9]{1,5}))?"
)
_HIGHEST_PORT = 65_535


class UnsafeAddress(Exception):
    """Raised for a URL or address that is not on the public internet, is malformed, or is written in an unusual way,
    such as an IP address in octal. `reason` may be shown to clients.
    """

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


@dataclass(frozen=True, slots=True)
class AllowedNetwork:
    """A private network of the deployment, with a range of ports, to which URLs given by strangers may lead."""

    network: IPv4Network | IPv6Network
    first_port: int
    last_port: int

    def has_port(self, port: int) -> bool:
        return self.first_port <= port <= self.last_port

    def holds(self, ip: IPv4Address | IPv6Address, port: int) -> bool:
        return ip in self.network and self.has_port(port)


#: The deployment's networks that strangers' URLs may lead to.
AllowedNetworks = Collection[AllowedNetwork]


@dataclass(frozen=True, slots=True)
class ParsedTarget:
    """The parts of an accepted URL."""

    #: http or https
    scheme: str
    #: ASCII, lower case, without brackets or a trailing dot.
    host: str
    port: int
    #: Path and query, percent-encoded.
    target: str

    @property
    def authority(self) -> str:
        """The value of the Host header: the host, and the port unless it is the scheme's default."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == DEFAULT_PORTS[self.scheme] else f"{host}:{self.port}"

    @property
    def url(self) -> str:
        return f"{self.scheme}://{self.authority}{self.target}"


def is_address(text: str) -> bool:
    try:
        ip_address(text)
    except ValueError:
        return False
    return True


def is_public(address: str | IPv4Address | IPv6Address) -> bool:
    """Whether an address is on the public internet. False for text that is not an address."""
    try:
        ip = ip_address(address)
    except ValueError:
        return False
    if isinstance(ip, IPv4Address):
        return not any(ip in block for block in _SPECIAL_V4)
    return ip in _GLOBAL_V6 and not any(ip in block for block in _SPECIAL_V6)


def parse_allowed_network(text: str) -> AllowedNetwork:
    """Parses `10.0.0.0/8:8080`, `10.0.0.7/32:8000-8099` or `fd00::/8:443`. Raises ValueError for any other form.

    The prefix length and the port are required, because the end of an IPv6 address looks like a port.
    """
    parts = _ALLOWED_NETWORK.fullmatch(text)
    if parts is None:
        raise ValueError(
            f"{text!r} is not a network with a port, such as 10.0.0.0/8:8080 or fd00::/8:8000-8099"
        )
    first_port, last_port = int(parts["first"]), int(parts["last"] or parts["first"])
    if not 1 <= first_port <= last_port <= _HIGHEST_PORT:
        raise ValueError(f"{text!r}: ports must be from 1 to {_HIGHEST_PORT}, the lower one first")
    return AllowedNetwork(ip_network(parts["network"]), first_port, last_port)


def is_allowed(address: str | IPv4Address | IPv6Address, port: int, allowed: AllowedNetworks) -> bool:
    """Whether the deployment's `allowed` networks include this port of this address.

    False for text that is not an address.
    """
    try:
        ip = ip_address(address)
    except ValueError:
        return False
    return any(network.holds(ip, port) for network in allowed)


def check_url(url: str, routed_hosts: Collection[str] = (), allowed: AllowedNetworks = ()) -> ParsedTarget:
    """Checks and parses an http(s) URL of a public host. The host's addresses are checked later, when connecting.

    Three kinds of private hosts are accepted too:

    - names in `routed_hosts`, which are the names in OUTBOUND_HOST_MAP in lower case;
    - IP addresses in an `allowed` network whose ports include the URL's port;
    - any well-formed name, if the ports of some `allowed` network include the URL's port, because the name may have an
      address in that network.

    Raises UnsafeAddress for any other URL.
    """
    if len(url) > MAX_URL_LENGTH:
        raise UnsafeAddress(f"The URL is longer than {MAX_URL_LENGTH} characters.")
    if any(c == "\\" or unicodedata.category(c) in _NEVER_IN_A_URL for c in url):
        raise UnsafeAddress("The URL contains spaces, control characters or backslashes.")
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise UnsafeAddress("The URL is malformed.") from None
    if parts.scheme not in DEFAULT_PORTS:
        raise UnsafeAddress("Only http and https URLs are accepted.")
    if "@" in parts.netloc:
        raise UnsafeAddress("User names and passwords in URLs are not accepted.")
    if port == 0 or parts.netloc.endswith(":"):
        raise UnsafeAddress("The port is malformed.")
    text = parts.netloc if port is None else parts.netloc[: parts.netloc.rindex(":")]
    port = port or DEFAULT_PORTS[parts.scheme]
    return ParsedTarget(
        scheme=parts.scheme,
        host=_checked_host(text, port, routed_hosts, allowed),
        port=port,
        target=_on_the_wire(parts.path, parts.query),
    )


def _checked_host(text: str, port: int, routed_hosts: Collection[str], allowed: AllowedNetworks) -> str:
    if text.startswith("[") and text.endswith("]"):
        return _checked_address(text[1:-1], port, allowed)
    host = _plain_name(text)
    if host in routed_hosts:
        return host
    labels = host.split(".")
    if _NUMBER.fullmatch(labels[-1]):
        return _checked_address(host, port, allowed)
    is_private = len(labels) < 2 or any(
        host == name or host.endswith("." + name) for name in _PRIVATE_SUFFIXES
    )
    if is_private and not any(network.has_port(port) for network in allowed):
        raise UnsafeAddress("The host is not a public name.")
    return host


def _plain_name(text: str) -> str:
    """Returns the host name in lower-case ASCII for DNS, with full-width digits and ideographic dots normalized. Raises
    UnsafeAddress if it is malformed: labels may have only letters, digits, hyphens and underscores.
    """
    name = text.lower()
    if not name.isascii():
        try:
            name = idna.encode(name, uts46=True).decode("ascii")
        except (idna.IDNAError, UnicodeError):
            raise UnsafeAddress("The host is malformed.") from None
    name = name.removesuffix(".")
    if len(name) > 253 or not all(_LABEL.fullmatch(label) for label in name.split(".")):
        raise UnsafeAddress("The host is malformed.")
    return name


def _checked_address(text: str, port: int, allowed: AllowedNetworks) -> str:
    """Parses an IP address to which a connection is permitted. Raises UnsafeAddress unless the address is public or in
    an `allowed` network.

    The text must be in canonical form: short, octal, hexadecimal and decimal forms and zone ids are refused.
    """
    try:
        ip = ip_address(text)
    except ValueError:
        raise UnsafeAddress("The host is not an IP address in canonical form.") from None
    if "%" in text or not (is_public(ip) or is_allowed(ip, port, allowed)):
        raise UnsafeAddress("The address is not public.")
    return str(ip)


def _on_the_wire(path: str, query: str) -> str:
    target = quote(path or "/", safe=_PLAIN_IN_A_TARGET)
    return f"{target}?{quote(query, safe=_PLAIN_IN_A_TARGET)}" if query else target
