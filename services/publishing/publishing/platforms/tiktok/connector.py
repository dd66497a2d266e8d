"""Publishes on TikTok and looks posts up."""

from datetime import UTC, datetime, timedelta

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
)
from publishing.platforms.http_client import Answer, poll, required
from publishing.platforms.post_matching import content_hash
from publishing.platforms.tiktok.errors import UNKNOWN_PUBLISH, failure
from publishing.platforms.tiktok.reading import TikTokReading, permalink, post_id_in
from publishing.platforms.tiktok.texts import photo_post, post_info
from publishing.platforms.tiktok.upload import UPLOAD_LOST, Upload, cut
from publishing.platforms.uploads.sources import check_bytes

#: Processing has ended. A post in the inbox is published by the creator.
_DONE = ("PUBLISH_COMPLETE", "SEND_TO_USER_INBOX")
_UPLOADING = "PROCESSING_UPLOAD"


class TikTokConnector(TikTokReading):
    """Publishes on TikTok.

    Checkpoint values: `content` (hash of the content), `privacy` and `publish_id`. For a video also `upload_url`,
    `begun_at`, `size_bytes`, `chunk_bytes`, `chunk` (how many chunks have arrived), `last_at` (when the last chunk was
    first sent) and `has_all` (all chunks have arrived). For photos also `asked` (the call that makes the post may have
    been sent).
    """

    def publish(self, account: Account, content: Content, checkpoint: Checkpoint) -> Published:
        if not content.media:
            raise PlatformRefusal(
                Refusal.REJECTED, "NO_MEDIA", "TikTok takes no posts without photos or a video."
            )
        mark = content_hash(content)
        if checkpoint.values and checkpoint.get("content") != mark:
            _clear(checkpoint)
        if checkpoint.get("publish_id"):
            published = self._resumed(account, content, checkpoint)
            if published is not None:
                return published
            _clear(checkpoint)
        creator = self._api.creator(account)
        info = post_info(content, creator, is_audited=self._settings.is_audited)
        if content.media[0].type == "video":
            _check_duration(content.media[0], creator)
            self._begin_video(account, content, info, checkpoint)
            self._upload(content.media[0], checkpoint)
        else:
            self._send_photos(account, content, info, checkpoint)
        return self._finished(account, checkpoint)

    def look_up(self, attempt: OpenAttempt) -> Outcome:
        checkpoint = attempt.checkpoint
        publish_id = checkpoint.get("publish_id")
        if not publish_id:
            # A post cannot be found without its publish id: one that may be there is never sent again.
            return StillUnknown() if checkpoint.get("asked") else NotPublished(settled=True)
        status = self._api.status(attempt.account, publish_id)
        state = status.get("status")
        if state in _DONE:
            return _published(attempt.account, checkpoint, status)
        if state == "FAILED":
            return NotPublished(settled=True, refusal=failure(str(status.get("fail_reason") or "")))
        if state == _UPLOADING and self._is_incomplete(checkpoint):
            return NotPublished(settled=False)
        return StillUnknown()

    def _resumed(self, account: Account, content: Content, checkpoint: Checkpoint) -> Published | None:
        """Completes an earlier attempt and returns the post. Returns None if that attempt has published nothing and
        never will.

        Raises PlatformRefusal if TikTok refuses a call or cannot publish the post. Raises OutcomeUnknown if the last
        chunk may have arrived but the upload URL has expired, or if TikTok does not finish processing in time.
        """
        try:
            state = self._api.status(account, checkpoint.get("publish_id")).get("status")
        except PlatformRefusal as refusal:
            is_unsent = not checkpoint.get("last_at") and checkpoint.get("upload_url")
            if refusal.code in UNKNOWN_PUBLISH and is_unsent:
                return None
            raise
        if state == "FAILED":
            return None
        if state == _UPLOADING and checkpoint.get("upload_url") and not _has_all(checkpoint):
            if _age(checkpoint, "begun_at") > timedelta(seconds=self._settings.upload_seconds):
                if checkpoint.get("last_at"):
                    raise OutcomeUnknown("the last chunk may have arrived, and its address has expired")
                return None
            try:
                self._upload(content.media[0], checkpoint)
            except PlatformRefusal as refusal:
                if refusal.code == UPLOAD_LOST:
                    return None
                raise
        return self._finished(account, checkpoint)

    def _begin_video(self, account: Account, content: Content, info: Answer, checkpoint: Checkpoint) -> None:
        """Asks TikTok for an address to which the video can be uploaded. If the answer is lost, nothing is published:
        only the last chunk publishes.
        """
        check_bytes(content.media[0])
        chunks = cut(content.media[0].length_bytes, self._settings.chunk_bytes)
        file = {
            "source": "FILE_UPLOAD",
            "video_size": chunks.size_bytes,
            "chunk_size": chunks.chunk_bytes,
            "total_chunk_count": chunks.count,
        }
        answer = self._api.ask(account, "post/publish/video/init/", {"post_info": info, "source_info": file})
        checkpoint.save(
            content=content_hash(content),
            privacy=info["privacy_level"],
            publish_id=required(answer, "publish_id"),
            upload_url=required(answer, "upload_url"),
            size_bytes=chunks.size_bytes,
            chunk_bytes=chunks.chunk_bytes,
            begun_at=datetime.now(UTC).isoformat(),
        )

    def _upload(self, source: MediaSource, checkpoint: Checkpoint) -> None:
        """Sends the chunks that TikTok does not have yet. Raises PlatformRefusal if TikTok does not take one."""
        chunks = cut(int(checkpoint.get("size_bytes")), int(checkpoint.get("chunk_bytes")))

        def before_last() -> None:
            if not checkpoint.get("last_at"):
                checkpoint.save(last_at=datetime.now(UTC).isoformat())

        def arrived(number: int) -> None:
            checkpoint.save(chunk=number, has_all=number == chunks.count or None)

        upload = Upload(self._api, self._settings, checkpoint.get("upload_url"), source, chunks)
        upload.run(int(checkpoint.get("chunk") or 0), before_last, arrived)

    def _send_photos(self, account: Account, content: Content, info: Answer, checkpoint: Checkpoint) -> None:
        """Sends the one call that makes a post of photos. Raises OutcomeUnknown if no usable answer comes."""
        body = photo_post(content, info)
        checkpoint.save(content=content_hash(content), privacy=info["privacy_level"], asked=True)
        try:
            answer = self._api.ask(account, "post/publish/content/init/", body, visible=True)
        except PlatformRefusal:
            checkpoint.save(asked=None)
            raise
        checkpoint.save(publish_id=required(answer, "publish_id", visible=True))

    def _finished(self, account: Account, checkpoint: Checkpoint) -> Published:
        """Waits until TikTok has processed the post. Raises PlatformRefusal if TikTok could not publish it,
        OutcomeUnknown if the time runs out."""
        publish_id = checkpoint.get("publish_id")
        status = poll(self._settings, lambda: self._end_of_processing(account, publish_id))
        if status is None:
            raise OutcomeUnknown("TikTok is still processing the post")
        if status.get("status") == "FAILED":
            raise failure(str(status.get("fail_reason") or ""))
        return _published(account, checkpoint, status)

    def _end_of_processing(self, account: Account, publish_id: str) -> Answer | None:
        """Returns the final status of a post; None while TikTok is processing it or cannot be asked."""
        try:
            status = self._api.status(account, publish_id)
        except PlatformRefusal:
            return None
        return status if status.get("status") in (*_DONE, "FAILED") else None

    def _is_incomplete(self, checkpoint: Checkpoint) -> bool:
        """Whether TikTok still waits for chunks of the video.

        This is certain before the last chunk is sent. Later it is assumed if the last chunk was first sent more than
        `last_chunk_seconds` ago and has not arrived.
        """
        if _has_all(checkpoint) or not checkpoint.get("upload_url"):
            return False
        if not checkpoint.get("last_at"):
            return True
        return _age(checkpoint, "last_at") > timedelta(seconds=self._settings.last_chunk_seconds)


def _check_duration(source: MediaSource, creator: Answer) -> None:
    longest = creator.get("max_video_post_duration_sec")
    if longest and source.duration_seconds and source.duration_seconds > longest:
        message = f"TikTok takes videos of at most {longest} s from this account."
        raise PlatformRefusal(Refusal.REJECTED, "duration_check_failed", message)


def _published(account: Account, checkpoint: Checkpoint, status: Answer) -> Published:
    """Returns the published post.

    The remote id is the publish id until TikTok gives a post id. TikTok does so after the review, and never for a
    private post.
    """
    post_id = post_id_in(status)
    if post_id:
        return Published(post_id, permalink(account, post_id))
    is_private = checkpoint.get("privacy") == "SELF_ONLY" or status.get("status") == "SEND_TO_USER_INBOX"
    return Published(checkpoint.get("publish_id"), is_named_later=not is_private)


def _clear(checkpoint: Checkpoint) -> None:
    checkpoint.save(**dict.fromkeys(checkpoint.values))


def _has_all(checkpoint: Checkpoint) -> bool:
    return bool(checkpoint.get("has_all"))


def _age(checkpoint: Checkpoint, name: str) -> timedelta:
    return datetime.now(UTC) - datetime.fromisoformat(checkpoint.get(name))
