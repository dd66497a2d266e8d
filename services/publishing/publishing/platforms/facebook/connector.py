"""Facebook Pages over the Graph API (platforms.md 2). Comments and counts are in `reading`."""

import json
import re
from collections.abc import Collection
from datetime import UTC, datetime, timedelta

from publishing.platforms.base import (
    Account,
    Checkpoint,
    Content,
    MediaSource,
    NotPublished,
    Outcome,
    OutcomeUnknown,
    PlatformRefusal,
    Published,
    Refusal,
    StillUnknown,
    guessed,
)
from publishing.platforms.facebook.reading import FacebookReading
from publishing.platforms.facebook.upload import Upload
from publishing.platforms.likeness import fingerprint, same_text, window_start
from publishing.platforms.meta.errors import MISSING, PHOTOS_ALREADY_POSTED
from publishing.platforms.meta.graph import Answer, graph_time, is_within, rows_of
from publishing.platforms.wire import poll

_URL = re.compile(r"https?://[^\s<>\"]+")
_TOLD_OF_A_POST = "id,permalink_url,created_time"
#: Attachment types of shared links, whatever picture or film they show: such a post has no media of its own.
_SHARED_TYPES = ("share", "video_share", "video_share_youtube", "video_share_highlighted")
#: Longest that a video may be in processing, when no list of Facebook's shows it. Our choice.
_PROCESSING = timedelta(hours=1)


class FacebookConnector(FacebookReading):
    """Publishing. Checkpoint values: `content` and `photo_ids` (staged photos), `is_handed_over` (a video's address
    was, and it has no id yet), `video_id` (accepted video), and those of `upload`."""

    def publish(self, account: Account, content: Content, checkpoint: Checkpoint) -> Published:
        if any(source.type == "video" for source in content.media):
            return self._publish_video(account, content, checkpoint)
        if content.media:
            return self._publish_photos(account, content, checkpoint)
        data = {"message": content.message, "link": _link(content)}
        return self._publish_feed(account, {name: value for name, value in data.items() if value})

    def look_up(
        self,
        account: Account,
        content: Content,
        checkpoint: Checkpoint,
        *,
        began_at: datetime,
        known_remote_ids: Collection[str] = (),
    ) -> Outcome:
        photo_ids = set(checkpoint.get("photo_ids") or ())
        if checkpoint.get("video_id"):
            return self._video_outcome(
                account, checkpoint.get("video_id"), content, began_at, known_remote_ids
            )
        if checkpoint.get("session") and not checkpoint.get("is_handed_over"):
            return self._upload_outcome(account, content, checkpoint, began_at, known_remote_ids)
        if len(content.media) > 1 and not photo_ids:
            # The ids are stored before the post is sent: it never was. (The release before this one sent a single
            # photo without staging it: that one is looked for.)
            return NotPublished(settled=True)
        outcome = self._find(account, content, photo_ids, began_at, known_remote_ids)
        may_be_in_processing = checkpoint.get("is_handed_over") and datetime.now(UTC) - began_at < _PROCESSING
        return StillUnknown() if isinstance(outcome, NotPublished) and may_be_in_processing else outcome

    def search(
        self,
        account: Account,
        content: Content,
        *,
        began_at: datetime,
        ended_at: datetime,
        known_remote_ids: Collection[str] = (),
    ) -> Outcome:
        outcome = self._find(account, content, None, began_at, known_remote_ids)
        is_video = any(source.type == "video" for source in content.media)
        may_be_in_processing = is_video and datetime.now(UTC) - ended_at < _PROCESSING
        return StillUnknown() if isinstance(outcome, NotPublished) and may_be_in_processing else outcome

    def _publish_feed(self, account: Account, data: Answer) -> Published:
        return _published(
            self._graph.create(account, account.remote_account_id, "feed", data, fields=_TOLD_OF_A_POST)
        )

    def _publish_photos(self, account: Account, content: Content, checkpoint: Checkpoint) -> Published:
        """One photo is sent like several: its staged id, stored before the post is made, tells the post from every
        other one with the same text."""
        mark = fingerprint(content)
        is_resumed = checkpoint.get("content") == mark and bool(checkpoint.get("photo_ids"))
        if not is_resumed:
            checkpoint.save(content=mark, photo_ids=self._staged_photos(account, content))
        photo_ids: list[str] = checkpoint.get("photo_ids")
        attached = json.dumps([{"media_fbid": photo_id} for photo_id in photo_ids])
        try:
            return self._publish_feed(account, {"message": content.message, "attached_media": attached})
        except PlatformRefusal as refusal:
            if refusal.code == PHOTOS_ALREADY_POSTED:
                raise OutcomeUnknown("an earlier call has posted the photos") from refusal
            if not refusal.retryable:
                checkpoint.save(photo_ids=None)
                if not is_resumed:  # an earlier call with these photos may have come through after all
                    self._remove(account, photo_ids)
            raise

    def _staged_photos(self, account: Account, content: Content) -> list[str]:
        """One after the other: the order of the calls is the order in the post."""
        photo_ids: list[str] = []
        try:
            for medium in content.media:
                source, file = _handed(medium, "url")
                data = {"published": "false", **source}
                photo_ids.append(self._graph.stage(account, account.remote_account_id, "photos", data, file))
        except PlatformRefusal:
            self._remove(account, photo_ids)
            raise
        return photo_ids

    def _remove(self, account: Account, photo_ids: list[str]) -> None:
        for photo_id in photo_ids:
            self._graph.delete(account, photo_id)

    def _publish_video(self, account: Account, content: Content, checkpoint: Checkpoint) -> Published:
        if checkpoint.get("video_id") or checkpoint.get("is_handed_over"):
            # Of an attempt that came to nothing: a look-up must not take it for this one's.
            checkpoint.save(video_id=None, is_handed_over=None)
        film = content.media[0]
        if film.has_bytes:
            upload = Upload(self._graph, account, film, checkpoint, pause_seconds=self._settings.poll_seconds)
            video_id = upload.run(content)
        else:
            checkpoint.save(is_handed_over=True)
            data = {"description": content.message, "file_url": film.url}
            video_id = str(self._graph.create(account, account.remote_account_id, "videos", data)["id"])
            checkpoint.save(video_id=video_id, is_handed_over=None)
        outcome = poll(self._settings, lambda: self._video_now(account, video_id))
        if isinstance(outcome, Published):
            return outcome
        if isinstance(outcome, NotPublished) and outcome.refusal is not None:
            raise outcome.refusal
        raise OutcomeUnknown("the video is still being processed")

    def _video_now(self, account: Account, video_id: str) -> Outcome | None:
        """A publish's look at its video: None while there is nothing to tell, errors of looking included."""
        try:
            return self._video_state(account, video_id)
        except PlatformRefusal as refusal:
            if refusal.retryable:
                return None
            # The video was accepted: that it cannot be looked at does not mean that it is not there.
            raise OutcomeUnknown(f"the video cannot be looked at: {refusal.code}") from refusal

    def _video_state(self, account: Account, video_id: str) -> Outcome | None:
        video = self._graph.read(account, video_id, fields="status,post_id,permalink_url,created_time")
        status = video.get("status") or {}
        if status.get("video_status") == "error":
            refusal = PlatformRefusal(Refusal.REJECTED, *_video_problem(status))
            return NotPublished(settled=True, refusal=refusal)
        # The post's id may come later than the video is ready.
        if status.get("video_status") != "ready" or not video.get("post_id"):
            return None
        post_id = str(video["post_id"])
        return self._described(
            account, post_id if "_" in post_id else f"{account.remote_account_id}_{post_id}"
        )

    def _video_outcome(
        self, account: Account, video_id: str, content: Content, began_at: datetime, known: Collection[str]
    ) -> Outcome:
        try:
            return self._video_state(account, video_id) or StillUnknown()
        except PlatformRefusal as refusal:
            if refusal.code != MISSING:
                raise
        return self._find(account, content, set(), began_at, known)

    def _upload_outcome(
        self,
        account: Account,
        content: Content,
        checkpoint: Checkpoint,
        began_at: datetime,
        known: Collection[str],
    ) -> Outcome:
        """Of a film in pieces: before the last call nothing is out, and another attempt can only end the same one."""
        if not checkpoint.get("is_ending"):
            return NotPublished(settled=True)
        video_id = checkpoint.get("session")["video_id"]
        outcome = self._video_outcome(account, video_id, content, began_at, known)
        if isinstance(outcome, StillUnknown):
            status = self._graph.read(account, video_id, fields="status").get("status") or {}
            phases = [
                (status.get(name) or {}).get("status") for name in ("processing_phase", "publishing_phase")
            ]
            if phases == ["not_started"] * 2:
                return NotPublished(settled=False)
        return outcome

    def _find(
        self,
        account: Account,
        content: Content,
        photo_ids: set[str] | None,
        began_at: datetime,
        known: Collection[str],
    ) -> Outcome:
        """The post that shows a staged photo; of posts whose photos have no ids, the oldest that looks like this one.

        `photo_ids` None: nothing is known of what was handed over, types included."""
        start = window_start(began_at)
        rows = self._graph.rows(
            account,
            account.remote_account_id,
            "published_posts",
            since=int(start.timestamp()),
            fields=f"{_TOLD_OF_A_POST},message,attachments{{type,media_type,target,subattachments}}",
        )
        alike = []
        for row in rows:
            if not is_within(row, "created_time", start):
                continue
            targets = [shown.get("target") or {} for shown in _attachments(row)]
            shown_ids = {str(target["id"]) for target in targets if target.get("id")}
            if photo_ids and photo_ids & shown_ids:
                return _published(row)
            is_another = bool(photo_ids and shown_ids)
            if row.get("id") not in known and not is_another and _is_like(row, content, photo_ids is None):
                alike.append(row)
        return guessed(map(_published, reversed(alike))) if alike else NotPublished(settled=False)

    def _described(self, account: Account, remote_id: str) -> Published:
        """What can be told of a post; that it is out is certain already, so that nothing here may fail."""
        try:
            return _published(
                {**self._graph.read(account, remote_id, fields=_TOLD_OF_A_POST), "id": remote_id}
            )
        except PlatformRefusal:
            return Published(remote_id)


def _published(post: Answer) -> Published:
    remote_id = str(post["id"])
    permalink = post.get("permalink_url") or f"https://www.facebook.com/{remote_id}"
    return Published(remote_id, str(permalink), graph_time(post.get("created_time")))


def _link(content: Content) -> str | None:
    """The link to show: the one asked for, else the first in the text."""
    asked = content.settings.get("link")
    if asked:
        return str(asked)
    found = _URL.search(content.message)
    return found.group().rstrip(".,;:!?)'") if found else None


def _handed(source: MediaSource, url_name: str) -> tuple[Answer, MediaSource | None]:
    """One photo or video as form fields, or as the file itself where we have its bytes."""
    return ({}, source) if source.has_bytes else ({url_name: source.url}, None)


def _video_problem(status: Answer) -> tuple[str, str]:
    """Code and message of a video that failed, from whichever phase it failed in."""
    for phase in status.values():
        errors = phase.get("errors") if isinstance(phase, dict) else None
        if errors:
            return str(errors[0].get("code", "VIDEO_ERROR")), str(errors[0].get("message", ""))
    return "VIDEO_ERROR", "Facebook could not process the video."


def _is_like(post: Answer, content: Content, by_number: bool) -> bool:
    """Whether text and media agree; `by_number`: the types of the media are not known, only their number."""
    if not same_text(content.message, post.get("message")):
        return False
    # What a link shows is Facebook's affair: it may even be a photo of Facebook's own.
    if not content.media and _link(content):
        return True
    own = [row for row in _attachments(post) if row.get("type") not in _SHARED_TYPES]
    kinds = sorted(row["media_type"] for row in own if row.get("media_type") in ("photo", "video"))
    if by_number:
        return len(kinds) == len(content.media)
    return kinds == sorted(source.type for source in content.media)


def _attachments(post: Answer) -> list[Answer]:
    """A post's attachments, an album's photos in its place."""
    rows = rows_of(post.get("attachments") or {})
    return [inner for row in rows for inner in (rows_of(row.get("subattachments") or {}) or [row])]
