"""The rule for tokens that create or change tokens: nobody gives a token more rights than they have. Pure."""

from collections.abc import Mapping
from datetime import datetime
from ipaddress import IPv4Network, IPv6Network, ip_network
from typing import Any

from contracts.accounts import Token
from contracts.caller import Caller
from contracts.errors import MISSING_SCOPE, ApiError, invalid


def defaults(own: Token) -> dict[str, Any]:
    """Returns the IP allowlist and the expiry that a new token gets if the request names none. They are those of `own`,
    the token with which the request was sent. If `own` is a session, returns an empty dict.
    """
    return {} if own.session else {"ip_allowlist": own.ip_allowlist, "expires_at": own.expires_at}


def check_within(caller: Caller, own: Token, given: Mapping[str, Any]) -> None:
    """Checks that a token gets no more rights than the caller's own token `own` has. Raises MISSING_SCOPE with the
    first scope that the caller lacks, and VALIDATION_ERROR if the IP allowlist or the expiry goes beyond that of `own`.

    `given`: the new token's scopes, IP allowlist and expiry. Brands need no comparison: a token that may manage tokens
    has no brand limits. If `own` is a session, only scopes are compared, because a session stands for the person.
    """
    for scope in given["scopes"]:
        if not caller.has_scope(scope):
            raise ApiError(MISSING_SCOPE, required_scope=scope, your_scopes=list(caller.scopes))
    if own.session:
        return
    if own.ip_allowlist and not _are_within(given["ip_allowlist"], own.ip_allowlist):
        raise invalid("ip_allowlist", "must stay within the addresses of the token that sends this request")
    if own.expires_at is not None and not _is_by(given["expires_at"], own.expires_at):
        raise invalid("expires_at", "must not be later than that of the token that sends this request")


def _is_by(moment: datetime | None, latest: datetime) -> bool:
    return moment is not None and moment <= latest


def _are_within(entries: tuple[str, ...], allowed: tuple[str, ...]) -> bool:
    """Whether each entry of an IP allowlist lies within an entry of `allowed`. False if `entries` is empty, because an
    empty allowlist permits every address.
    """
    blocks = [ip_network(entry, strict=False) for entry in allowed]
    return bool(entries) and all(
        any(_is_part(ip_network(entry, strict=False), block) for block in blocks) for entry in entries
    )


def _is_part(entry: IPv4Network | IPv6Network, block: IPv4Network | IPv6Network) -> bool:
    if isinstance(entry, IPv4Network):
        return isinstance(block, IPv4Network) and entry.subnet_of(block)
    return isinstance(block, IPv6Network) and entry.subnet_of(block)
