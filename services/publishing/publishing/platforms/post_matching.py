"""Decides whether a post or comment on a platform can come from an attempt of ours. Pure. All connectors use it."""

import hashlib
import json
import re
import unicodedata
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Any

from publishing.platforms.base import Content, OpenComment, RemoteComment

#: How far a platform's clock may differ from ours. Our choice: generous, because the text must agree as well and posts
#: of other attempts are excluded.
_CLOCK_TOLERANCE = timedelta(minutes=10)

#: What X puts before a reply by itself.
_MENTIONS = re.compile(r"\A(?:@\w+\s+)+")
#: The parts of a URL that platforms change: `example.com` comes back as `http://example.com`.
_LINK_PARTS = re.compile(r"https?://|/(?=\s|\Z)", re.IGNORECASE)


def window_start(began_at: datetime) -> datetime:
    """Returns the earliest time that the platform can show for a post of an attempt that began at `began_at`."""
    return min(began_at, datetime.now(UTC)) - _CLOCK_TOLERANCE


def same_text(ours: str, theirs: Any) -> bool:
    """Whether two texts are equal except for white space and the encoding of accents."""
    return _plain(ours) == _plain(theirs if isinstance(theirs, str) else "")


def similar_text(ours: str, theirs: str) -> bool:
    """Whether two texts are equal except for white space, accents' encoding, the form of links, and mentions that X
    puts before a reply."""
    return same_text(_bare(ours), _bare(theirs))


def own_comment(sent: OpenComment, comments: Iterable[RemoteComment]) -> str | None:
    """Returns the id of the first comment that can be the one we sent; None if there is none.

    Such a comment has our account as its author and the same text. It is not older than our call, and its id is not
    among the `known_ids`.
    """
    start = window_start(sent.began_at)
    for one in comments:
        is_ours = one.author_id == sent.account.remote_account_id and one.id not in sent.known_ids
        if is_ours and one.created_at >= start and same_text(sent.text, one.text):
            return one.id
    return None


def _bare(text: str) -> str:
    return _LINK_PARTS.sub("", _MENTIONS.sub("", text.strip()))


def _plain(text: str) -> str:
    return " ".join(unicodedata.normalize("NFC", text).split())


def content_hash(content: Content) -> str:
    """Returns a hash of the content. It tells whether objects staged earlier belong to the same content."""
    media = [
        (source.type, source.url or hashlib.sha256(source.body or b"").hexdigest())
        for source in content.media
    ]
    text = json.dumps([content.message, media, dict(content.settings)], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()
