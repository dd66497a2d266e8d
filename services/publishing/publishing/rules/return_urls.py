"""The addresses to which a person may be sent back after linking: the operator lists them for each account. Pure.

An address is compared as text, up to its query. It is not parsed, because two parsers may read one address differently.
"""

import re
from collections.abc import Collection
from urllib.parse import urlencode

from chassis.config import ConfigError
from contracts.errors import invalid

#: `account=address`, or `*=address` for every account. Plain http is allowed for localhost only.
_ENTRY = re.compile(
    r"(\*|[A-Za-z0-9_]{1,64})=(https://[a-z0-9.\-]+(?::[0-9]{1,5})?/[!-~]*|"
    r"http://(?:localhost|127\.0\.0\.1)(?::[0-9]{1,5})?/[!-~]*)",
    re.ASCII,
)
#: Printable ASCII, without fragments and characters that browsers interpret differently.
_URL = re.compile(r"[!-~]{1,2000}", re.ASCII)
_REFUSED = frozenset("#\\<>\"'`{}|^")

#: Account, or *, and an address without a query.
ReturnUrls = Collection[tuple[str, str]]


def parse(entries: Collection[str]) -> frozenset[tuple[str, str]]:
    """Parses the entries of CONNECT_RETURN_URLS (`ACCOUNT=URL`) into pairs of account id, or `*`, and URL. Raises
    ConfigError for a malformed entry.
    """
    found = [_ENTRY.fullmatch(entry) for entry in entries]
    for entry, match in zip(entries, found, strict=True):
        if match is None or "?" in match[2] or _REFUSED & {*match[2]}:
            raise ConfigError(
                f"CONNECT_RETURN_URLS: {entry!r} is not ACCOUNT=https://HOST/PATH (or *=…) without query and fragment"
            )
    return frozenset((match[1], match[2]) for match in found if match)


def check(listed: ReturnUrls, account_id: str, url: str) -> None:
    """Raises VALIDATION_ERROR unless the address, without its query, is listed for the account."""
    base = url.partition("?")[0]
    is_listed = (account_id, base) in listed or ("*", base) in listed
    if not is_listed or not _URL.fullmatch(url) or _REFUSED & {*url}:
        raise invalid(
            "return_url",
            "must be one of the addresses that the operator of this server lists for the account",
        )


def with_outcome(url: str, session_id: str, status: str) -> str:
    """Appends `session_id` and `status` to the query of the address."""
    return f"{url}{'&' if '?' in url else '?'}{urlencode({'session_id': session_id, 'status': status})}"
