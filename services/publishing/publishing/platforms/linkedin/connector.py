"""Publishing on LinkedIn. The time of the call is stored before it: without one nothing was ever sent."""

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
    Refusal,
    StillUnknown,
    guessed,
)
from publishing.platforms.likeness import fingerprint, same_text, window_start
from publishing.platforms.linkedin.calls import Answer, from_milliseconds
from publishing.platforms.linkedin.errors import DUPLICATE, WAITING_UPLOAD, duplicate_of
from publishing.platforms.linkedin.media import Uploads, uploads_of
from publishing.platforms.linkedin.reading import LinkedInReading
from publishing.platforms.linkedin.settings import LinkedInPostSettings, LinkedInSettings
from publishing.platforms.linkedin.text import little_text, shown_text
from publishing.platforms.wire import poll


class LinkedInConnector(LinkedInReading):
    """Checkpoint values: `content`, `media` (see `Uploads`), `sent_at` (seconds since 1970 of the first call) and
    `duplicate_of` (the post that LinkedIn took a later call's for)."""

    def __init__(self, settings: LinkedInSettings) -> None:
        super().__init__(settings)
        self._uploads = Uploads(self._calls, settings)

    def publish(self, account: Account, content: Content, checkpoint: Checkpoint) -> Published:
        mark = fingerprint(content)
        if checkpoint.get("content") != mark:
            checkpoint.save(content=mark, media=None, sent_at=None, duplicate_of=None)
        urns = self._uploads.ready_urns(account, content, checkpoint)
        post = _post(account, content, urns, typed.read(LinkedInPostSettings, content.settings))
        sent_at = checkpoint.get("sent_at")
        checkpoint.save(sent_at=sent_at or time.time())
        try:
            remote_id = self._create(account, post)
        except PlatformRefusal as refusal:
            if sent_at and refusal.code == DUPLICATE:
                checkpoint.save(duplicate_of=duplicate_of(refusal))
                raise OutcomeUnknown("an earlier call has published it") from refusal
            checkpoint.save(sent_at=sent_at, media=checkpoint.get("media") if refusal.retryable else None)
            raise
        return Published(remote_id, _permalink(remote_id))

    def look_up(
        self,
        account: Account,
        content: Content,
        checkpoint: Checkpoint,
        *,
        began_at: datetime,
        known_remote_ids: Collection[str] = (),
    ) -> Outcome:
        sent_at, named = checkpoint.get("sent_at"), checkpoint.get("duplicate_of")
        if not sent_at:
            return NotPublished(settled=True)
        if named and named not in known_remote_ids:
            return guessed([Published(named, _permalink(named))])
        since = min(began_at, datetime.fromtimestamp(sent_at, UTC))
        urns = {str(upload["urn"]) for upload in uploads_of(checkpoint)}
        return self._find(account, content, urns, since, known_remote_ids)

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
        urns: set[str] | None,
        since: datetime,
        known: Collection[str],
    ) -> Outcome:
        """The post with these images or this film; where their urns are not known, the oldest that looks like it."""
        try:
            ours = [
                post
                for post in self._own_posts(account, window_start(since))
                if post.get("id") not in known and _is_like(post, content, urns)
            ]
        except PlatformRefusal as refusal:
            if refusal.kind is Refusal.PERMISSION:
                # A member's posts cannot be read (platforms.md 4), and what cannot be read is never sent again.
                return StillUnknown()
            raise
        if not ours:
            return NotPublished(settled=False)
        found = [_published(post) for post in reversed(ours)]
        return found[0] if content.media and urns is not None else guessed(found)

    def _create(self, account: Account, post: Answer) -> str:
        """The call; again after a while if all that LinkedIn lacks is the file. Raises OutcomeUnknown."""
        waiting: list[PlatformRefusal] = []

        def call() -> str | None:
            try:
                return self._calls.create(account, "posts", post)[0]
            except PlatformRefusal as refusal:
                if refusal.code != WAITING_UPLOAD:
                    raise
                waiting.append(refusal)
                return None

        remote_id = poll(self._settings, call)
        if remote_id is None:
            raise waiting[-1]
        return remote_id


def _post(account: Account, content: Content, urns: list[str], settings: LinkedInPostSettings) -> Answer:
    post: Answer = {
        "author": account.remote_account_id,
        "commentary": little_text(content.message),
        "visibility": settings.visibility,
        "distribution": {
            "feedDistribution": "MAIN_FEED",
            "targetEntities": [],
            "thirdPartyDistributionChannels": [],
        },
        "lifecycleState": "PUBLISHED",
        "isReshareDisabledByAuthor": settings.is_reshare_disabled,
    }
    alt_texts = [*settings.alt_texts, *[""] * len(urns)]
    images = [
        {"id": urn, **({"altText": text} if text else {})} for urn, text in zip(urns, alt_texts, strict=False)
    ]
    if content.media and content.media[0].type == "video":
        post["content"] = {"media": {"id": urns[0], **({"title": settings.title} if settings.title else {})}}
    elif len(images) == 1:
        post["content"] = {"media": images[0]}
    elif images:
        post["content"] = {"multiImage": {"images": images}}
    elif settings.article:
        article = settings.article
        told = {"source": article.source, "title": article.title, "description": article.description}
        post["content"] = {"article": {name: text for name, text in told.items() if text}}
    return post


def _published(post: Answer) -> Published:
    remote_id = str(post["id"])
    return Published(remote_id, _permalink(remote_id), from_milliseconds(post.get("publishedAt")))


def _permalink(remote_id: str) -> str:
    return f"https://www.linkedin.com/feed/update/{remote_id}/"


def _is_like(post: Answer, content: Content, urns: set[str] | None) -> bool:
    """Whether a post can be this content's: media prove it where their urns are known; else text and number agree."""
    shown = post.get("content") or {}
    images = (shown.get("multiImage") or {}).get("images") or [shown.get("media") or {}]
    found = {str(image["id"]) for image in images if image.get("id")}
    if content.media and urns is not None:
        return found == urns
    said = shown_text(str(post.get("commentary") or ""))
    return len(found) == len(content.media) and same_text(content.message, said)
