"""Publishes on LinkedIn. The time of the call that makes the post is stored before the call is sent: a checkpoint
without the time proves that nothing was sent.
"""

import time
from datetime import UTC, datetime

from contracts.post_settings import LinkedInPostSettings
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
    Refusal,
    StillUnknown,
    guessed,
)
from publishing.platforms.http_client import Answer, epoch_time, poll
from publishing.platforms.linkedin.errors import DUPLICATE, WAITING_UPLOAD, duplicate_of
from publishing.platforms.linkedin.media import Uploads
from publishing.platforms.linkedin.reading import ORGANIZATION, LinkedInReading
from publishing.platforms.linkedin.settings import LinkedInSettings
from publishing.platforms.linkedin.text import little_text, shown_text
from publishing.platforms.plugin import parse as parse_settings
from publishing.platforms.post_matching import content_hash, same_text, window_start
from publishing.platforms.uploads.staged_files import uploads_in


class LinkedInConnector(LinkedInReading):
    """Publishes on LinkedIn.

    Checkpoint values: `content` (hash of the content), `media` (the uploads so far, see `Uploads`), `sent_at` (when the
    post was first sent, seconds since 1970) and `duplicate_of` (the id of the post that LinkedIn named when it refused
    a later call as a duplicate).
    """

    def __init__(self, settings: LinkedInSettings) -> None:
        super().__init__(settings)
        self._uploads = Uploads(self._calls, settings)

    def publish(self, account: Account, content: Content, checkpoint: Checkpoint) -> Published:
        mark = content_hash(content)
        if checkpoint.get("content") != mark:
            checkpoint.save(content=mark, media=None, sent_at=None, duplicate_of=None)
        urns = [str(upload["urn"]) for upload in self._uploads.stage(account, content, checkpoint)]
        post = _post(account, content, urns, parse_settings(LinkedInPostSettings, content.settings))
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

    def look_up(self, attempt: OpenAttempt) -> Outcome:
        checkpoint = attempt.checkpoint
        sent_at, original = checkpoint.get("sent_at"), checkpoint.get("duplicate_of")
        if not sent_at:
            return NotPublished(settled=True)
        if original and original not in attempt.known_remote_ids:
            return guessed([Published(original, _permalink(original))])
        since = min(attempt.began_at, datetime.fromtimestamp(sent_at, UTC))
        return self._find(attempt, since, {str(upload["urn"]) for upload in uploads_in(checkpoint)})

    def search(self, attempt: OpenAttempt) -> Outcome:
        return self._find(attempt, attempt.began_at, None)

    def _find(self, attempt: OpenAttempt, since: datetime, urns: set[str] | None) -> Outcome:
        """Finds the attempt's post among those that the account made since `since`.

        A post with media is found by the ids of its images or its video (`urns`). If these are not known (None), or the
        post has no media, finds the oldest post with the same text and number of media. Returns StillUnknown if
        LinkedIn does not let us read the account's posts, which it never does for members.
        """
        content = attempt.content
        try:
            ours = [
                post
                for post in self._own_posts(attempt.account, window_start(since))
                if post.get("id") not in attempt.known_remote_ids and _is_like(post, content, urns)
            ]
        except PlatformRefusal as refusal:
            is_member = not attempt.account.remote_account_id.startswith(ORGANIZATION)
            if refusal.kind is Refusal.PERMISSION or (is_member and refusal.kind is Refusal.REJECTED):
                # A member's posts cannot be read (platforms.md 4), so the post is never sent again.
                return StillUnknown()
            raise
        if not ours:
            return NotPublished(settled=False)
        found = [_published(post) for post in reversed(ours)]
        return found[0] if content.media and urns is not None else guessed(found)

    def _create(self, account: Account, post: Answer) -> str:
        """Creates the post and returns its id. Repeats the call while LinkedIn is still processing the file.

        Raises PlatformRefusal if LinkedIn refuses the post, and OutcomeUnknown if no usable answer comes.
        """
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
        fields = {"source": article.source, "title": article.title, "description": article.description}
        post["content"] = {"article": {name: text for name, text in fields.items() if text}}
    return post


def _published(post: Answer) -> Published:
    remote_id = str(post["id"])
    published_at = epoch_time(post.get("publishedAt"), per_second=1000)
    return Published(remote_id, _permalink(remote_id), published_at)


def _permalink(remote_id: str) -> str:
    return f"https://www.linkedin.com/feed/update/{remote_id}/"


def _is_like(post: Answer, content: Content, urns: set[str] | None) -> bool:
    """Whether a post on LinkedIn can have this content.

    Compares the media with the ids in `urns`. If `urns` is None (not known), or the content has no media, compares text
    and number of media.
    """
    shown = post.get("content") or {}
    images = (shown.get("multiImage") or {}).get("images") or [shown.get("media") or {}]
    found = {str(image["id"]) for image in images if image.get("id")}
    if content.media and urns is not None:
        return found == urns
    text = shown_text(str(post.get("commentary") or ""))
    return len(found) == len(content.media) and same_text(content.message, text)
