"""Instagram professional accounts over the Graph API: publishing and look-ups (docs/platforms.md, section 3).

Every post is first staged in a container, which Instagram publishes at most once. The container's id is stored before
the call that publishes it, and a later attempt uses the same container.
"""

import re
from collections.abc import Collection

from publishing.platforms.base import (
    Account,
    Checkpoint,
    Content,
    MediaSource,
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
from publishing.platforms.http_client import Answer, iso_time, poll, transient
from publishing.platforms.instagram.reading import InstagramReading
from publishing.platforms.meta.errors import MISSING, kind_of
from publishing.platforms.meta.graph import is_within
from publishing.platforms.post_matching import content_hash, same_text, window_start

_POST_FIELDS = "id,permalink,timestamp"
#: Subcode in a failed container's status text: "Error: Media upload has failed with error code 2207085".
_SUBCODE = re.compile(r"\b(22\d{5})\b")
#: Codes of a container that Instagram does not know, or no longer.
_UNKNOWN_CONTAINER = (MISSING, "24/2207008")
#: Settings of a Reel that are passed on unchanged.
_REEL_SETTINGS = ("cover_url", "thumb_offset", "share_to_feed")


class InstagramConnector(InstagramReading):
    """Publishes on Instagram.

    Checkpoint values: `content` (hash of the content) and one of these two:
    - `children`: the ids of a carousel's files. There is no container for the carousel yet, so it is certainly not
      published.
    - `container_id`: the id of the post's container. The post may be published.
    """

    def publish(self, account: Account, content: Content, checkpoint: Checkpoint) -> Published:
        if not content.media:
            raise PlatformRefusal(
                Refusal.REJECTED, "NO_MEDIA", "Instagram takes no posts without a photo or video."
            )
        container_id = self._container(account, content, checkpoint)
        status, text = self._processed(account, container_id)
        if status == "PUBLISHED":
            raise OutcomeUnknown("an earlier call has published the container")
        if status != "FINISHED":
            if status:
                checkpoint.save(container_id=None)
            raise _unfinished(status, text)
        return self._publish_container(account, container_id)

    def look_up(self, attempt: OpenAttempt) -> Outcome:
        container_id = attempt.checkpoint.get("container_id")
        if not container_id:
            # The id is stored before the container is published: without an id, nothing was published.
            return NotPublished(settled=True)
        status, _ = self._status(attempt.account, container_id)
        if status == "MISSING":
            # Instagram no longer tells the container's outcome: all that is left is to look for its post.
            return self.search(attempt)
        if status != "PUBLISHED":
            return NotPublished(settled=status in ("ERROR", "EXPIRED"))
        candidates, same = self._candidates(attempt, (_media_type(attempt.content),))
        if same:
            return _guessed(same)
        # The container is certainly published. If there is one new post of its kind, that is it, even with another
        # caption.
        return _guessed(candidates, by_text=False) if len(candidates) == 1 else StillUnknown()

    def search(self, attempt: OpenAttempt) -> Outcome:
        kinds = ("CAROUSEL_ALBUM",) if len(attempt.content.media) > 1 else ("IMAGE", "VIDEO")
        _, same = self._candidates(attempt, kinds)
        return _guessed(same) if same else NotPublished(settled=False)

    def _publish_container(self, account: Account, container_id: str) -> Published:
        data = {"creation_id": container_id}
        try:
            answer = self._graph.create(account, account.remote_account_id, "media_publish", data)
        except PlatformRefusal as refusal:
            if self._has_been_published(account, container_id):
                raise OutcomeUnknown("an earlier call has published the container") from refusal
            raise
        return self._described(account, str(answer["id"]))

    def _container(self, account: Account, content: Content, checkpoint: Checkpoint) -> str:
        """Returns the id of the container to publish: that of an earlier attempt with equal content, or of a new one.

        The id is stored in the checkpoint.
        """
        mark = content_hash(content)
        container_id: str | None = checkpoint.get("container_id")
        if container_id and checkpoint.get("content") == mark:
            status, _ = self._status(account, container_id)
            if status in ("FINISHED", "IN_PROGRESS", "PUBLISHED"):
                return container_id
        container_id = self._staged(account, content, checkpoint)
        checkpoint.save(content=mark, container_id=container_id, children=None)
        return container_id

    def _staged(self, account: Account, content: Content, checkpoint: Checkpoint) -> str:
        if len(content.media) == 1:
            data = {"caption": content.message, **_single(content.media[0], content), **_ai_label(content)}
            return self._stage(account, data)
        children = self._children(account, content, checkpoint)
        for child_id in children:
            status, text = self._processed(account, child_id)
            if status != "FINISHED":
                raise _unfinished(status, text)
        data = {"media_type": "CAROUSEL", "children": ",".join(children), "caption": content.message}
        return self._stage(account, data | _ai_label(content))

    def _children(self, account: Account, content: Content, checkpoint: Checkpoint) -> list[str]:
        """Returns the ids of a carousel's files on Instagram, and stores them in the checkpoint before they are
        processed.

        Files that an earlier attempt staged for the same content are used if Instagram still has them. The ids are
        stored so early because processing may take longer than an attempt.
        """
        mark = content_hash(content)
        earlier = checkpoint.get("children") if checkpoint.get("content") == mark else None
        children = [
            child_id
            if child_id and self._status(account, child_id)[0] in ("FINISHED", "IN_PROGRESS")
            else self._stage(account, _child(source))
            for source, child_id in zip(content.media, earlier or [None] * len(content.media), strict=True)
        ]
        checkpoint.save(content=mark, children=children, container_id=None)
        return children

    def _stage(self, account: Account, data: Answer) -> str:
        return self._graph.stage(account, account.remote_account_id, "media", data)

    def _processed(self, account: Account, container_id: str) -> tuple[str, str]:
        """Waits until Instagram has processed a container. Returns the container's status code and status text; both
        are empty if the time runs out."""
        return poll(self._settings, lambda: self._end_of_processing(account, container_id)) or ("", "")

    def _end_of_processing(self, account: Account, container_id: str) -> tuple[str, str] | None:
        """Returns the final status of a container (Instagram's prepared post) and Instagram's explanation of that
        status; None while Instagram is processing the container or has a temporary failure. Raises PlatformRefusal for
        any other refusal.
        """
        try:
            status, text = self._status(account, container_id)
        except PlatformRefusal as refusal:
            if refusal.kind is Refusal.TRANSIENT:
                return None
            raise
        return None if status == "IN_PROGRESS" else (status, text)

    def _status(self, account: Account, container_id: str) -> tuple[str, str]:
        try:
            container = self._graph.read(account, container_id, fields="status_code,status")
        except PlatformRefusal as refusal:
            if refusal.code in _UNKNOWN_CONTAINER:
                return "MISSING", refusal.message
            raise
        return str(container.get("status_code") or ""), str(container.get("status") or "")

    def _has_been_published(self, account: Account, container_id: str) -> bool:
        try:
            return self._status(account, container_id)[0] == "PUBLISHED"
        except PlatformRefusal:
            return False

    def _candidates(self, attempt: OpenAttempt, kinds: Collection[str]) -> tuple[list[Answer], list[Answer]]:
        """Returns two lists of posts of the account, newest first.

        The first list has the posts of these kinds that were made since the attempt began and belong to no other
        attempt. The second list has those of them with the attempt's caption.
        """
        start = window_start(attempt.began_at)
        found = []
        account, fields = attempt.account, f"{_POST_FIELDS},caption,media_type"
        for row in self._graph.rows(account, account.remote_account_id, "media", fields=fields):
            if not is_within(row, "timestamp", start):
                break
            if row.get("id") not in attempt.known_remote_ids and row.get("media_type") in kinds:
                found.append(row)
        return found, [row for row in found if same_text(attempt.content.message, row.get("caption"))]

    def _described(self, account: Account, remote_id: str) -> Published:
        """Reads the details of a published post.

        If reading fails, returns the post with its id alone, because it is certainly published.
        """
        try:
            return _published({**self._graph.read(account, remote_id, fields=_POST_FIELDS), "id": remote_id})
        except PlatformRefusal:
            return Published(remote_id)


def _published(media: Answer) -> Published:
    return Published(str(media["id"]), media.get("permalink"), iso_time(media.get("timestamp")))


def _guessed(alike: list[Answer], by_text: bool = True) -> Published:
    """Returns the oldest of these posts as a guess, because Instagram does not tell which container made a post.

    `by_text`: whether their captions equal the attempt's.
    """
    return guessed(map(_published, reversed(alike)), by_text=by_text)


def _unfinished(status: str, text: str) -> PlatformRefusal:
    """Returns the refusal for a container that failed, has expired, is lost or is still being processed."""
    if status == "ERROR":
        found = _SUBCODE.search(text)
        code = found.group() if found else "CONTAINER_ERROR"
        kind = kind_of(-1, int(code)) if found else Refusal.REJECTED
        return PlatformRefusal(kind, code, text or "Instagram could not process the media.")
    if status in ("EXPIRED", "MISSING"):
        return transient(f"CONTAINER_{status}", "The prepared post has expired at Instagram.")
    return transient("NOT_READY", "Instagram is still processing the media.")


def _media_type(content: Content) -> str:
    if len(content.media) > 1:
        return "CAROUSEL_ALBUM"
    return "VIDEO" if content.media[0].type == "video" else "IMAGE"


def _single(source: MediaSource, content: Content) -> Answer:
    settings = content.settings
    if source.type == "photo":
        alt_text = {"alt_text": settings["alt_text"]} if settings.get("alt_text") else {}
        return {"image_url": source.url, **alt_text}
    asked = {name: settings[name] for name in _REEL_SETTINGS if settings.get(name) is not None}
    if "share_to_feed" in asked:
        asked["share_to_feed"] = "true" if asked["share_to_feed"] else "false"
    return {"media_type": "REELS", "video_url": source.url, **asked}


def _ai_label(content: Content) -> Answer:
    """Returns the parameter that marks a post as made by AI, if it is. A carousel has one label for all its files."""
    is_ai_made = content.is_ai_made or content.settings.get("is_ai_generated")
    return {"is_ai_generated": "true"} if is_ai_made else {}


def _child(source: MediaSource) -> Answer:
    if source.type == "photo":
        return {"image_url": source.url, "is_carousel_item": "true"}
    return {"media_type": "VIDEO", "video_url": source.url, "is_carousel_item": "true"}
