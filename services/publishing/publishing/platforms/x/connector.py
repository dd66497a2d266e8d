"""Publishes on X. The time of the call that makes the post is stored before the call is sent: a checkpoint without
the time proves that nothing was sent.
"""

import time
from datetime import UTC, datetime

from contracts.post_settings import XPostSettings
from publishing.platforms.base import (
    Account,
    Checkpoint,
    Content,
    NotPublished,
    OpenAttempt,
    Outcome,
    OutcomeUnknown,
    PlatformRefusal,
    Published,
    guessed,
)
from publishing.platforms.http_client import Answer, iso_time
from publishing.platforms.plugin import parse as parse_settings
from publishing.platforms.post_matching import content_hash, window_start
from publishing.platforms.uploads.staged_files import uploads_in
from publishing.platforms.x.errors import DUPLICATE
from publishing.platforms.x.media import Uploads
from publishing.platforms.x.reading import POST_FIELDS, XReading, references
from publishing.platforms.x.settings import XSettings
from publishing.platforms.x.text import is_same


class XConnector(XReading):
    """Publishes on X.

    Checkpoint values: `content` (hash of the content), `media` (see `Uploads`) and `sent_at` (when the post was first
    sent, seconds since 1970).
    """

    def __init__(self, settings: XSettings) -> None:
        super().__init__(settings)
        self._uploads = Uploads(self._calls, settings)

    def publish(self, account: Account, content: Content, checkpoint: Checkpoint) -> Published:
        mark = content_hash(content)
        if checkpoint.get("content") != mark:
            checkpoint.save(content=mark, media=None, sent_at=None)
        settings = parse_settings(XPostSettings, content.settings)
        media_ids = [str(upload["id"]) for upload in self._uploads.stage(account, content, checkpoint)]
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
        # Reading its time would be another call, for which X charges.
        return Published(remote_id, _permalink(account, remote_id))

    def look_up(self, attempt: OpenAttempt) -> Outcome:
        sent_at = attempt.checkpoint.get("sent_at")
        if not sent_at:
            return NotPublished(settled=True)
        since = min(attempt.began_at, datetime.fromtimestamp(sent_at, UTC))
        return self._find(attempt, since, {str(upload["id"]) for upload in uploads_in(attempt.checkpoint)})

    def search(self, attempt: OpenAttempt) -> Outcome:
        return self._find(attempt, attempt.began_at, None)

    def _find(self, attempt: OpenAttempt, since: datetime, media_ids: set[str] | None) -> Outcome:
        """Finds the attempt's post among those that the account made since `since`.

        A post with media is found by the ids of its files (`media_ids`). If these are not known (None), or the post has
        no media, finds the oldest post with the same text and number of media.
        """
        account, content = attempt.account, attempt.content
        ours = [
            post
            for post in self._calls.own_posts(account, window_start(since), POST_FIELDS)
            if post.get("id") not in attempt.known_remote_ids and _is_like(post, content, media_ids)
        ]
        if not ours:
            return NotPublished(settled=False)
        found = [_published(account, post) for post in reversed(ours)]
        return found[0] if content.media and media_ids is not None else guessed(found)

    def _describe(self, account: Account, media_ids: list[str], settings: XPostSettings) -> None:
        """Sets the alternative texts of the files, before the files become visible in the post."""
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
    made_with_ai = True if content.is_ai_made else settings.made_with_ai
    labels = {"made_with_ai": made_with_ai, "paid_partnership": settings.paid_partnership}
    post |= {name: value for name, value in labels.items() if value is not None}
    return post


def _published(account: Account, post: Answer) -> Published:
    remote_id = str(post["id"])
    return Published(remote_id, _permalink(account, remote_id), iso_time(post.get("created_at")))


def _permalink(account: Account, remote_id: str) -> str:
    # X finds a post by its id alone: the user name in the address may be any.
    return f"https://x.com/{account.username or 'i'}/status/{remote_id}"


def _is_like(post: Answer, content: Content, media_ids: set[str] | None) -> bool:
    """Whether a post on X can have this content.

    Compares the media with `media_ids`. If that is None (not known), or the content has no media, compares text and
    number of media. A reply or quote never fits.
    """
    if references(post):
        return False
    keys = (post.get("attachments") or {}).get("media_keys") or ()
    # `3_1460323737035677698`: kind and id.
    shown = {str(key).rpartition("_")[2] for key in keys}
    if content.media and media_ids is not None:
        return shown == media_ids
    return len(shown) == len(content.media) and is_same(content.message, post)
