"""Checks that an address in a platform's answer leads to the platform, before a token or file is sent there. Pure."""

from collections.abc import Collection
from urllib.parse import urlsplit


def is_pinned(url: str, base_url: str, hosts: Collection[str] = ()) -> bool:
    """Whether `url` may get tokens and files: it has the scheme and host of `base_url`, or is HTTPS on one of `hosts`
    (`.example.com` allows every host below it)."""
    try:
        asked, base = urlsplit(url), urlsplit(base_url)
        port, name = asked.port, asked.hostname or ""
    except ValueError:
        return False
    if "@" in asked.netloc or not name:
        return False
    if (asked.scheme, asked.netloc.lower()) == (base.scheme, base.netloc.lower()):
        return True
    is_listed = any(name == host or (host.startswith(".") and name.endswith(host)) for host in hosts)
    return asked.scheme == "https" and port in (None, 443) and is_listed
