"""Publishing on X. The time of the call is stored before it: without one nothing was ever sent."""

import time
from collections.abc import Collection
from datetime import UTC, datetime

from publishing.platforms import typed
from publishing.platforms.base import (
    Account,
    Checkpoint,
    Content,
    NotPublished,
    Outcome,
    OutcomeUnknown,
    PlatformRefusal,
    Published,
    guessed,
)
from publishing.platforms.likeness import fingerprint, window_start
from publishing.platforms.x.calls import Answer, post_time
from publishing.platforms.x.errors import DUPLICATE
from publishing.platforms.x.media import Uploads
from publishing.platforms.x.reading import POST_FIELDS, XReading
from publishing.platforms.x.settings import XPostSettings, XSettings
from publishing.platforms.x.text import is_same


class XConnector(XReading):
    """Checkpoint values: `content`, `media` (see `Uploads`) and `sent_at`, seconds since 1970 of the first call."""

    def __init__(self, settings: XSettings) -> None:
        super().__init__(settings)
        self._uploads = Uploads(self._calls, settings)

    def publish(self, account: Account, content: Content, checkpoint: Checkpoint) -> Published:
        mark = fingerprint(content)
        if checkpoint.get("content") != mark:
            checkpoint.save(content=mark, media=None, sent_at=None)
        settings = typed.read(XPostSettings, content.settings)
        media_ids = self._uploads.ready_ids(account, content, checkpoint)
        self._describe(account, media_ids, settings)
        sent_at = checkpoint.get("sent_at")
        checkpoint.save(sent_at=sent_at or time.time())
        try:
            remote_id = self._calls.create(account, _post(content, media_ids, settings))
        except PlatformRefusal as refusal:
            if sent_at and refusal.code == DUPLICATE:
                raise OutcomeUnknown("an earlier call has published it") from refusal
            checkpoint.save(sent_at=sent_at, media=checkpoint.get("media") if refusal.retryable else None)
            raise
        # Its time would cost another call, which X charges for.
        return Published(remote_id, _permalink(account, remote_id))

    def look_up(
        self,
        account: Account,
        content: Content,
        checkpoint: Checkpoint,
        *,
        began_at: datetime,
        known_remote_ids: Collection[str] = (),
    ) -> Outcome:
        sent_at = checkpoint.get("sent_at")
        if not sent_at:
            return NotPublished(settled=True)
        since = min(began_at, datetime.fromtimestamp(sent_at, UTC))
        media_ids = {str(upload["id"]) for upload in checkpoint.get("media") or ()}
        return self._find(account, content, media_ids, since, known_remote_ids)

    def search(
        self,
        account: Account,
        content: Content,
        *,
        began_at: datetime,
        ended_at: datetime,
        known_remote_ids: Collection[str] = (),
    ) -> Outcome:
        return self._find(account, content, None, began_at, known_remote_ids)

    def _find(
        self,
        account: Account,
        content: Content,
        media_ids: set[str] | None,
        since: datetime,
        known: Collection[str],
    ) -> Outcome:
        """The post with these media; where their ids are not known, the oldest that looks like it."""
        ours = [
            post
            for post in self._calls.own_posts(account, window_start(since), POST_FIELDS)
            if post.get("id") not in known and _is_like(post, content, media_ids)
        ]
        if not ours:
            return NotPublished(settled=False)
        found = [_published(account, post) for post in reversed(ours)]
        return found[0] if content.media and media_ids is not None else guessed(found)

    def _describe(self, account: Account, media_ids: list[str], settings: XPostSettings) -> None:
        """Alternative texts, before anybody sees what they describe."""
        for media_id, text in zip(media_ids, settings.alt_texts, strict=False):
            if text:
                data = {"id": media_id, "metadata": {"alt_text": {"text": text}}}
                self._calls.stage(account, "media/metadata", data)


def _post(content: Content, media_ids: list[str], settings: XPostSettings) -> Answer:
    post: Answer = {}
    if content.message:
        post["text"] = content.message
    if media_ids:
        post["media"] = {"media_ids": media_ids}
    if settings.reply_settings:
        post["reply_settings"] = settings.reply_settings
    return post


def _published(account: Account, post: Answer) -> Published:
    remote_id = str(post["id"])
    return Published(remote_id, _permalink(account, remote_id), post_time(post.get("created_at")))


def _permalink(account: Account, remote_id: str) -> str:
    # X finds a post by its id, whatever name stands before it.
    return f"https://x.com/{account.username or 'i'}/status/{remote_id}"


def _is_like(post: Answer, content: Content, media_ids: set[str] | None) -> bool:
    """Whether a post can be this content's: media prove it where their ids are known; else text and number agree."""
    if post.get("referenced_tweets"):
        return False
    keys = (post.get("attachments") or {}).get("media_keys") or ()
    # `3_1460323737035677698`: kind and id.
    shown = {str(key).rpartition("_")[2] for key in keys}
    if content.media and media_ids is not None:
        return shown == media_ids
    return len(shown) == len(content.media) and is_same(content.message, post)
