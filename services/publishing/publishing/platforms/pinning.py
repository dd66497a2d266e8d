"""Whether an absolute address in a platform's answer leads to the platform: tokens and files go nowhere else. Pure."""

from collections.abc import Collection
from urllib.parse import urlsplit


def is_pinned(url: str, base_url: str, hosts: Collection[str] = ()) -> bool:
    """Whether `url` lies where `base_url` lies, or under HTTPS on one of these hosts (`.example.com`: any below it)."""
    try:
        asked, base = urlsplit(url), urlsplit(base_url)
        port, name = asked.port, asked.hostname or ""
    except ValueError:
        return False
    if "@" in asked.netloc or not name:
        return False
    if (asked.scheme, asked.netloc.lower()) == (base.scheme, base.netloc.lower()):
        return True
    named = any(name == host or (host.startswith(".") and name.endswith(host)) for host in hosts)
    return asked.scheme == "https" and port in (None, 443) and named
