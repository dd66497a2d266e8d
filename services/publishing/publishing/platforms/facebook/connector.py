"""Facebook Pages over the Graph API: publishing and look-ups (docs/platforms.md, section 2)."""

import json
import re
from datetime import UTC, datetime, timedelta

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
from publishing.platforms.facebook.reading import FacebookReading
from publishing.platforms.facebook.upload import NotServed, Upload, described
from publishing.platforms.http_client import Answer, iso_time, poll
from publishing.platforms.meta.errors import MISSING, PHOTOS_ALREADY_POSTED
from publishing.platforms.meta.graph import is_within, rows_of
from publishing.platforms.post_matching import content_hash, same_text, window_start

_URL = re.compile(r"https?://[^\s<>\"]+")
_POST_FIELDS = "id,permalink_url,created_time"
#: Attachment types of shared links, whatever picture or video they show: such a post has no media of its own.
_SHARED_TYPES = ("share", "video_share", "video_share_youtube", "video_share_highlighted")
#: How long a video counts as possibly in processing while no list of Facebook's shows it. Our choice: the day after
#: which an unknown outcome is given up, so that it is never sent twice.
_PROCESSING = timedelta(days=1)


class FacebookConnector(FacebookReading):
    """Publishes on Facebook.

    Checkpoint values: `content` (hash of the content), `photo_ids` (staged photos), `is_handed_over` (a video's address
    was sent to Facebook, and no id has come back), `video_id` (accepted video), and those of `upload.Upload`.
    """

    def publish(self, account: Account, content: Content, checkpoint: Checkpoint) -> Published:
        if any(source.type == "video" for source in content.media):
            return self._publish_video(account, content, checkpoint)
        if content.media:
            return self._publish_photos(account, content, checkpoint)
        data = {"message": content.message, "link": _link(content)}
        return self._publish_feed(account, {name: value for name, value in data.items() if value})

    def look_up(self, attempt: OpenAttempt) -> Outcome:
        checkpoint = attempt.checkpoint
        photo_ids = set(checkpoint.get("photo_ids") or ())
        if checkpoint.get("video_id"):
            return self._video_outcome(attempt, checkpoint.get("video_id"))
        if checkpoint.get("session") and not checkpoint.get("is_handed_over"):
            return self._upload_outcome(attempt)
        if len(attempt.content.media) > 1 and not photo_ids:
            # The ids are stored before the post is sent; without ids, nothing was sent. (Releases before 1.4.0 sent a
            # single photo without staging it: such a post is searched for.)
            return NotPublished(settled=True)
        outcome = self._find(attempt, photo_ids)
        return _unless_in_processing(outcome, bool(checkpoint.get("is_handed_over")), attempt.began_at)

    def search(self, attempt: OpenAttempt) -> Outcome:
        is_video = any(source.type == "video" for source in attempt.content.media)
        sent_by = attempt.checkpoint.restored_at or attempt.began_at
        return _unless_in_processing(self._find(attempt, None), is_video, sent_by)

    def _publish_feed(self, account: Account, data: Answer) -> Published:
        return _published(
            self._graph.create(account, account.remote_account_id, "feed", data, fields=_POST_FIELDS)
        )

    def _publish_photos(self, account: Account, content: Content, checkpoint: Checkpoint) -> Published:
        """Publishes one or more photos. Even a single photo is staged first: its id, stored before the post is made,
        distinguishes the post from others with the same text."""
        mark = content_hash(content)
        is_resumed = checkpoint.get("content") == mark and bool(checkpoint.get("photo_ids"))
        if not is_resumed:
            checkpoint.save(content=mark, photo_ids=self._stage_photos(account, content))
        photo_ids: list[str] = checkpoint.get("photo_ids")
        attached = json.dumps([{"media_fbid": photo_id} for photo_id in photo_ids])
        try:
            return self._publish_feed(account, {"message": content.message, "attached_media": attached})
        except PlatformRefusal as refusal:
            if refusal.code == PHOTOS_ALREADY_POSTED:
                raise OutcomeUnknown("an earlier call has posted the photos") from refusal
            if not refusal.retryable:
                checkpoint.save(photo_ids=None)
                if not is_resumed:  # an earlier call with these photos may have worked after all
                    self._delete(account, photo_ids)
            raise

    def _stage_photos(self, account: Account, content: Content) -> list[str]:
        """Uploads the photos unpublished, one after the other because a post shows them in this order. Returns their
        ids."""
        photo_ids: list[str] = []
        try:
            for source in content.media:
                file = source if source.has_bytes else None
                data = {"published": "false"} | ({} if file else {"url": source.url})
                photo_ids.append(self._graph.stage(account, account.remote_account_id, "photos", data, file))
        except PlatformRefusal:
            self._delete(account, photo_ids)
            raise
        return photo_ids

    def _delete(self, account: Account, photo_ids: list[str]) -> None:
        for photo_id in photo_ids:
            self._graph.delete(account, photo_id)

    def _publish_video(self, account: Account, content: Content, checkpoint: Checkpoint) -> Published:
        if checkpoint.get("video_id") or checkpoint.get("is_handed_over"):
            # They belong to a failed attempt: a look-up must not take them for this one's.
            checkpoint.save(video_id=None, is_handed_over=None)
        video_id = self._uploaded(account, content, checkpoint)
        outcome = poll(self._settings, lambda: self._poll_video(account, video_id))
        if isinstance(outcome, Published):
            return outcome
        if isinstance(outcome, NotPublished) and outcome.refusal is not None:
            raise outcome.refusal
        raise OutcomeUnknown("the video is still being processed")

    def _uploaded(self, account: Account, content: Content, checkpoint: Checkpoint) -> str:
        """Uploads a video to Facebook and returns the video's id, which is stored in the checkpoint too.

        If we have the file's bytes, sends them in pieces. The upload session then shows what happened if an answer is
        lost. If we have no bytes, or Facebook does not accept pieces, sends the video's public address.

        Raises OutcomeUnknown if the call that publishes the video got no usable answer.
        """
        video = content.media[0]
        if video.has_bytes:
            pause_seconds = self._settings.poll_seconds
            upload = Upload(self._uploads, account, video, checkpoint, pause_seconds=pause_seconds)
            try:
                return upload.run(content)
            except NotServed:
                if not video.url:
                    raise
        checkpoint.save(is_handed_over=True, session=None, next=None, is_ending=None)
        data = {**described(content), "file_url": video.url}
        video_id = str(self._graph.create(account, account.remote_account_id, "videos", data)["id"])
        checkpoint.save(video_id=video_id, is_handed_over=None)
        return video_id

    def _poll_video(self, account: Account, video_id: str) -> Outcome | None:
        """Returns the outcome of a video; None while Facebook processes the video or has a temporary failure. Raises
        OutcomeUnknown if Facebook refuses to show it."""
        try:
            return self._video_state(account, video_id)
        except PlatformRefusal as refusal:
            if refusal.retryable:
                return None
            # The video was accepted: that it cannot be read does not mean that it is not there.
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

    def _video_outcome(self, attempt: OpenAttempt, video_id: str) -> Outcome:
        try:
            return self._video_state(attempt.account, video_id) or StillUnknown()
        except PlatformRefusal as refusal:
            if refusal.code != MISSING:
                raise
        return self._find(attempt, set())

    def _upload_outcome(self, attempt: OpenAttempt) -> Outcome:
        """Finds the outcome of a resumable upload. Only the last call of an upload publishes the video: if that call
        was not sent, the video is not published."""
        if not attempt.checkpoint.get("is_ending"):
            return NotPublished(settled=True)
        video_id = attempt.checkpoint.get("session")["video_id"]
        outcome = self._video_outcome(attempt, video_id)
        if isinstance(outcome, StillUnknown):
            status = self._graph.read(attempt.account, video_id, fields="status").get("status") or {}
            phases = [
                (status.get(name) or {}).get("status") for name in ("processing_phase", "publishing_phase")
            ]
            if phases == ["not_started"] * 2:
                return NotPublished(settled=False)
        return outcome

    def _find(self, attempt: OpenAttempt, photo_ids: set[str] | None) -> Outcome:
        """Finds the attempt's post: the post that shows one of the staged photos in `photo_ids`.

        If there is none, returns the oldest similar post as a guess, or NotPublished if there is no similar post
        either. A post is similar if it has the same content and its id belongs to no other attempt. If `photo_ids` has
        ids, a post that shows other photos is not similar. If `photo_ids` is None, the types of the files are not
        known, so only text and number of files are compared.
        """
        start = window_start(attempt.began_at)
        rows = self._graph.rows(
            attempt.account,
            attempt.account.remote_account_id,
            "published_posts",
            since=int(start.timestamp()),
            fields=f"{_POST_FIELDS},message,attachments{{type,media_type,target,subattachments}}",
        )
        alike = []
        for row in rows:
            if not is_within(row, "created_time", start):
                continue
            targets = [shown.get("target") or {} for shown in _attachments(row)]
            shown_ids = {str(target["id"]) for target in targets if target.get("id")}
            if photo_ids and photo_ids & shown_ids:
                return _published(row)
            is_another = bool(photo_ids and shown_ids) or row.get("id") in attempt.known_remote_ids
            if not is_another and _is_like(row, attempt.content, photo_ids is None):
                alike.append(row)
        return guessed(map(_published, reversed(alike))) if alike else NotPublished(settled=False)

    def _described(self, account: Account, remote_id: str) -> Published:
        """Reads the details of a published post.

        If reading fails, returns the post with its id alone, because it is certainly published.
        """
        try:
            return _published({**self._graph.read(account, remote_id, fields=_POST_FIELDS), "id": remote_id})
        except PlatformRefusal:
            return Published(remote_id)


def _unless_in_processing(outcome: Outcome, is_video: bool, sent_by: datetime) -> Outcome:
    """Returns `outcome`. Returns StillUnknown instead for a video that was not found and was sent (at `sent_by`) so
    recently that Facebook may still be processing it."""
    may_be = is_video and datetime.now(UTC) - sent_by < _PROCESSING
    return StillUnknown() if isinstance(outcome, NotPublished) and may_be else outcome


def _published(post: Answer) -> Published:
    remote_id = str(post["id"])
    permalink = post.get("permalink_url") or f"https://www.facebook.com/{remote_id}"
    return Published(remote_id, str(permalink), iso_time(post.get("created_time")))


def _link(content: Content) -> str | None:
    """Returns the link that the post shows as a preview: the one in the settings, else the first in the text, else
    None."""
    asked = content.settings.get("link")
    if asked:
        return str(asked)
    found = _URL.search(content.message)
    return found.group().rstrip(".,;:!?)'") if found else None


def _video_problem(status: Answer) -> tuple[str, str]:
    """Returns the error code and message of a video that Facebook could not process."""
    for phase in status.values():
        errors = phase.get("errors") if isinstance(phase, dict) else None
        if errors:
            return str(errors[0].get("code", "VIDEO_ERROR")), str(errors[0].get("message", ""))
    return "VIDEO_ERROR", "Facebook could not process the video."


def _is_like(post: Answer, content: Content, by_number: bool) -> bool:
    """Whether a Facebook post has this text and these media.

    `by_number`: compares only the number of media, because their types are unknown.
    """
    if not same_text(content.message, post.get("message")):
        return False
    # Facebook decides what a link shows: it may even be a photo of Facebook's own.
    if not content.media and _link(content):
        return True
    own = [row for row in _attachments(post) if row.get("type") not in _SHARED_TYPES]
    kinds = sorted(row["media_type"] for row in own if row.get("media_type") in ("photo", "video"))
    if by_number:
        return len(kinds) == len(content.media)
    return kinds == sorted(source.type for source in content.media)


def _attachments(post: Answer) -> list[Answer]:
    """Returns a post's attachments, with the photos of an album in place of the album."""
    rows = rows_of(post.get("attachments") or {})
    return [inner for row in rows for inner in (rows_of(row.get("subattachments") or {}) or [row])]
