"""Validates single fields (pure): each function returns the value to store or raises VALIDATION_ERROR."""

import re
import unicodedata
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from functools import cache
from ipaddress import IPv4Network, IPv6Network, ip_network
from urllib.parse import urlsplit
from zoneinfo import available_timezones

from chassis.ids import is_id
from contracts.errors import INVALID_DATE, NOT_FOUND, ApiError, invalid
from contracts.plans import MAX_TOKEN_LIFETIME_DAYS, TIERS

# The lengths of an e-mail address are RFC 5321's; the others fit real names and addresses many times.
MAX_EMAIL_LENGTH = 254
MAX_LOCAL_PART_LENGTH = 64
MIN_PASSWORD_LENGTH = 8
MAX_PASSWORD_LENGTH = 256
MAX_NAME_LENGTH = 100
MAX_DESCRIPTION_LENGTH = 2_000
MAX_GUIDELINES_LENGTH = 5_000
MAX_URL_LENGTH = 2_048
MAX_TOKEN_BRANDS = 100
MAX_LIMIT = 100  # spec "Request field limits"
#: decisions "IP allowlist".
MAX_ALLOWLIST_ENTRIES = 50

_EMAIL = re.compile(r"[^\s@<>()\[\],;:\\\"]+@[^\s@<>()\[\],;:\\\".]+(\.[^\s@<>()\[\],;:\\\".]+)+")
#: RFC 5646: language, script, region. Variants and extensions change no date.
_LANGUAGE = re.compile(r"[A-Za-z]{2,3}(-[A-Za-z]{4})?(-([A-Za-z]{2}|[0-9]{3}))?")
_SHA256 = re.compile(r"[0-9a-f]{64}")
#: Entries of the zone database that are not time zones.
_NOT_ZONES = frozenset({"Factory", "localtime", "posixrules"})
_MAPPED_IPV4 = IPv6Network("::ffff:0:0/96")


def text(field: str, value: str, *, max_length: int, min_length: int = 0) -> str:
    """Checks a text and returns it. Raises VALIDATION_ERROR if its length in characters is not allowed, or if
    PostgreSQL cannot store it: it contains NUL or a lone surrogate.
    """
    if "\0" in value:
        raise invalid(field, "must not contain NUL characters")
    if any("\ud800" <= character <= "\udfff" for character in value):
        raise invalid(field, "must be valid Unicode")
    if not min_length <= len(value) <= max_length:
        raise invalid(field, f"must have {min_length} to {max_length} characters")
    return value


def optional_text(field: str, value: str | None, *, max_length: int) -> str | None:
    return None if value is None else text(field, value, max_length=max_length)


def limit(value: int) -> int:
    """Checks how many entries a list request asks for, and returns that number (docs/spec.md, "Limits").

    Raises VALIDATION_ERROR unless it is 1 to MAX_LIMIT.
    """
    if not 1 <= value <= MAX_LIMIT:
        raise invalid("limit", f"must be between 1 and {MAX_LIMIT}")
    return value


def name(field: str, value: str) -> str:
    """Returns a name without the spaces at its beginning and end. Raises VALIDATION_ERROR if nothing remains, or if the
    name is too long or cannot be stored.
    """
    return text(field, value.strip(), min_length=1, max_length=MAX_NAME_LENGTH)


def email(value: str) -> str:
    """Returns an e-mail address in lower case, so that `Ann@Example.com` and `ann@example.com` are one account. Raises
    VALIDATION_ERROR for anything that is not an e-mail address.

    An address with an encoded word (RFC 2047, `=?utf-8?q?…?=`) is refused too. It would be decoded in the header of a
    mail, so the mail would go to another mailbox than the address names.
    """
    address = unicodedata.normalize("NFC", text("email", value.strip(), max_length=MAX_EMAIL_LENGTH)).lower()
    local_part = address.partition("@")[0]
    is_plain = address.isprintable() and "=?" not in address
    if not _EMAIL.fullmatch(address) or not is_plain or len(local_part) > MAX_LOCAL_PART_LENGTH:
        raise invalid("email", "is not an e-mail address")
    return address


def password(value: str) -> str:
    return text("password", value, min_length=MIN_PASSWORD_LENGTH, max_length=MAX_PASSWORD_LENGTH)


def tier(value: str) -> str:
    if value not in TIERS:
        raise invalid("tier", f"must be one of {', '.join(TIERS)}")
    return value


def known_id(value: str, *, field: str | None = None) -> str:
    """Returns the id if it has the format of our ids. Otherwise raises NOT_FOUND, naming `field` if given."""
    if not is_id(value):
        raise not_found(field)
    return value


def not_found(field: str | None = None) -> ApiError:
    return ApiError(NOT_FOUND, **({"field": field} if field else {}))


def is_sha256(value: str) -> bool:
    return _SHA256.fullmatch(value) is not None


def brand_ids(ids: Sequence[str]) -> tuple[str, ...]:
    """Returns brand ids without repetitions. Raises NOT_FOUND for a malformed id, and VALIDATION_ERROR for too many
    ids.
    """
    distinct = tuple(dict.fromkeys(known_id(brand_id, field="brand_ids") for brand_id in ids))
    if len(distinct) > MAX_TOKEN_BRANDS:
        raise invalid("brand_ids", f"must name at most {MAX_TOKEN_BRANDS} brands")
    return distinct


def timezone(value: str) -> str:
    """Returns the name of a time zone. Raises VALIDATION_ERROR unless it is an IANA name in its exact spelling."""
    if value not in _zones():
        raise invalid("timezone", "is not an IANA time zone name such as Europe/Berlin")
    return value


def language(value: str) -> str:
    """Returns a BCP 47 language tag in its usual spelling: `pt-BR` for `PT-br`. Script and region may be left out.

    Raises VALIDATION_ERROR for anything else.
    """
    if not _LANGUAGE.fullmatch(value):
        raise invalid("language", "is not a BCP 47 language tag such as de or pt-BR")
    primary, *rest = value.split("-")
    return "-".join([primary.lower(), *(it.title() if len(it) == 4 else it.upper() for it in rest)])


@cache
def _zones() -> frozenset[str]:
    return frozenset(available_timezones()) - _NOT_ZONES


def url(field: str, value: str | None) -> str | None:
    """Returns the URL, or None for None. Raises VALIDATION_ERROR unless it is an http or https URL. Browsers open it;
    the service itself never does.
    """
    if value is None:
        return None
    text(field, value, max_length=MAX_URL_LENGTH)
    try:
        parts = urlsplit(value)
        well_formed = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:
        well_formed = False
    if not well_formed or not value.isprintable() or " " in value:
        raise invalid(field, "must be an http or https URL")
    return value


def ip_allowlist(entries: Sequence[str]) -> tuple[str, ...]:
    """Returns IP addresses and CIDR blocks in canonical form, without repetitions. Raises VALIDATION_ERROR for a
    malformed entry.

    An IPv4 address that is written as an IPv6 address becomes an IPv4 address.
    """
    if len(entries) > MAX_ALLOWLIST_ENTRIES:
        raise invalid("ip_allowlist", f"must have at most {MAX_ALLOWLIST_ENTRIES} entries")
    return tuple(dict.fromkeys(_network(entry) for entry in entries))


def _network(entry: str) -> str:
    try:
        network: IPv4Network | IPv6Network = ip_network(entry.strip(), strict=False)
        if "%" in entry:
            raise ValueError("a zone index is valid on one machine only")
    except ValueError:
        raise invalid("ip_allowlist", f"{entry[:60]!r} is not an IP address or CIDR block") from None
    if isinstance(network, IPv6Network) and network.subnet_of(_MAPPED_IPV4):
        address = int(network.network_address) & 0xFFFF_FFFF
        network = IPv4Network((address, network.prefixlen - 96))
    single = network.prefixlen == network.max_prefixlen
    return str(network.network_address) if single else str(network)


def expires_at(value: datetime | None, now: datetime) -> datetime | None:
    """Checks a token's time of expiry and returns it in UTC, cut to whole milliseconds. None means that the token never
    expires.

    Raises INVALID_DATE for a time without a zone, and VALIDATION_ERROR for a time that is not in the future or is more
    than 2 years away (docs/spec.md, "Limits").
    """
    if value is None:
        return None
    if value.tzinfo is None:
        raise ApiError(INVALID_DATE, field="expires_at")
    try:
        moment = value.astimezone(UTC)
    except OverflowError:
        raise ApiError(INVALID_DATE, field="expires_at") from None
    if not now < moment <= now + timedelta(days=MAX_TOKEN_LIFETIME_DAYS):
        raise invalid("expires_at", "must be in the future and at most 2 years away")
    return moment.replace(microsecond=moment.microsecond // 1000 * 1000)
