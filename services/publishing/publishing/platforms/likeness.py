"""Whether something on a platform can be what an attempt of ours made. Pure; used by all connectors."""

import hashlib
import json
import re
import unicodedata
from datetime import UTC, datetime, timedelta
from typing import Any

from publishing.platforms.base import Content

#: How far a platform's clock and ours may differ when posts of an attempt are looked for. Our choice: generous, since
#: the text must be the same as well and posts that are known are left out.
_CLOCK_TOLERANCE = timedelta(minutes=10)

#: What X puts before a reply by itself.
_MENTIONS = re.compile(r"\A(?:@\w+\s+)+")
#: How a URL is written differs: `example.com` comes back as `http://example.com`.
_LINK_PARTS = re.compile(r"https?://|/(?=\s|\Z)", re.IGNORECASE)


def window_start(began_at: datetime) -> datetime:
    """The earliest time at which an attempt's post may stand on the platform."""
    return min(began_at, datetime.now(UTC)) - _CLOCK_TOLERANCE


def same_text(ours: str, theirs: Any) -> bool:
    """Whether two texts are one, whatever the platform did to its blanks and accents."""
    return _plain(ours) == _plain(theirs if isinstance(theirs, str) else "")


def similar_text(ours: str, theirs: str) -> bool:
    """Whether two texts are one but for what some platform does to texts: X writes links in its own way, and puts
    mentions before a reply."""
    return same_text(_bare(ours), _bare(theirs))


def _bare(text: str) -> str:
    return _LINK_PARTS.sub("", _MENTIONS.sub("", text.strip()))


def _plain(text: str) -> str:
    return " ".join(unicodedata.normalize("NFC", text).split())


def fingerprint(content: Content) -> str:
    """Says whether staged objects belong to this content."""
    media = [
        (source.type, source.url or hashlib.sha256(source.body or b"").hexdigest())
        for source in content.media
    ]
    text = json.dumps([content.message, media, dict(content.settings)], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()
