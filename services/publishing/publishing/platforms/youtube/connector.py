"""Publishes on YouTube and looks posts up."""

from publishing.platforms.base import (
    Account,
    Checkpoint,
    Content,
    MediaSource,
    NotPublished,
    OpenAttempt,
    Outcome,
    PlatformRefusal,
    Published,
    Refusal,
    guessed,
)
from publishing.platforms.http_client import Answer, iso_time, poll
from publishing.platforms.post_matching import content_hash, same_text, window_start
from publishing.platforms.uploads.sources import check_bytes
from publishing.platforms.youtube.calls import items_of
from publishing.platforms.youtube.errors import problem_of
from publishing.platforms.youtube.reading import YouTubeReading, permalink
from publishing.platforms.youtube.texts import notifies_subscribers, video_of
from publishing.platforms.youtube.upload import Upload, UploadState, upload_state

_NOT_THERE = PlatformRefusal(
    Refusal.REJECTED, "videoNotFound", "YouTube accepted the video, and it is no longer there."
)


class YouTubeConnector(YouTubeReading):
    """Publishes videos on YouTube.

    Checkpoint values: `content` (hash of the content), `session` and `size_bytes` from the beginning of an upload,
    `video_id` once YouTube has accepted the video.
    """

    def publish(self, account: Account, content: Content, checkpoint: Checkpoint) -> Published:
        source = _video_in(content)
        mark = content_hash(content)
        begun = (checkpoint.get("content"), checkpoint.get("size_bytes"))
        if checkpoint.values and begun != (mark, source.length_bytes):
            checkpoint.save(content=None, session=None, size_bytes=None, video_id=None)
        video_id = checkpoint.get("video_id")
        if video_id:
            video = self._video(account, video_id)
            if video is not None and problem_of(video) is None:
                return self._processed(account, video)
            checkpoint.save(session=None, video_id=None)
        video = self._uploaded(account, content, source, checkpoint)
        checkpoint.save(video_id=str(video["id"]))
        return self._processed(account, video)

    def look_up(self, attempt: OpenAttempt) -> Outcome:
        checkpoint, account = attempt.checkpoint, attempt.account
        video_id, session = checkpoint.get("video_id"), checkpoint.get("session")
        if not video_id and not session:
            # The session is stored before the first byte is sent: there is no video.
            return NotPublished(settled=True)
        if not video_id:
            state = upload_state(self._api, account, session, int(checkpoint.get("size_bytes") or 0))
            if state.is_lost:
                return self.search(attempt)
            if state.video is None:
                # The attempt may still be uploading.
                return NotPublished(settled=False)
            video_id = str(state.video["id"])
        video = self._video(account, video_id)
        if video is None:
            return NotPublished(settled=False, refusal=_NOT_THERE)
        problem = problem_of(video)
        return NotPublished(settled=True, refusal=problem) if problem else _published(video)

    def search(self, attempt: OpenAttempt) -> Outcome:
        """Finds the channel's oldest video that has this attempt's title and description."""
        account, content = attempt.account, attempt.content
        channel = self.channels(account, "contentDetails")
        if not channel:
            raise PlatformRefusal(Refusal.PERMISSION, "NO_CHANNEL", "The account has no YouTube channel.")
        playlist = channel[0]["contentDetails"]["relatedPlaylists"]["uploads"]
        asked = video_of(content.message, content.settings)["snippet"]
        start, found = window_start(attempt.began_at), []
        for row in self._api.rows(
            account, "playlistItems", part="snippet", playlistId=playlist, maxResults=50
        ):
            shown = row.get("snippet") or {}
            made_at = iso_time(shown.get("publishedAt"))
            if made_at is not None and made_at < start:
                break
            video_id = str((shown.get("resourceId") or {}).get("videoId") or "")
            alike = all(same_text(asked[name], shown.get(name)) for name in ("title", "description"))
            if video_id and video_id not in attempt.known_remote_ids and alike:
                found.append(Published(video_id, permalink(video_id), made_at))
        return guessed(reversed(found)) if found else NotPublished(settled=False)

    def _uploaded(
        self, account: Account, content: Content, source: MediaSource, checkpoint: Checkpoint
    ) -> Answer:
        """Uploads the video in the session of an earlier attempt if that still exists, else in a new one. Returns the
        video."""
        session, state = checkpoint.get("session"), UploadState()
        if session:
            state = upload_state(self._api, account, session, source.length_bytes)
        if state.is_lost:
            video = video_of(content.message, content.settings, is_ai_made=content.is_ai_made)
            kind, notifies = source.content_type or "video/mp4", notifies_subscribers(content.settings)
            session = self._api.begin_upload(account, video, source.length_bytes, kind, notifies=notifies)
            state = UploadState(received_bytes=0)
            checkpoint.save(content=content_hash(content), session=session, size_bytes=source.length_bytes)
        return Upload(self._api, self._settings, account, session, source).run(state)

    def _processed(self, account: Account, video: Answer) -> Published:
        """Waits until YouTube has processed the video and returns the post.

        Returns it also if the time runs out, because YouTube publishes nearly every accepted video. Raises
        PlatformRefusal if YouTube could not process the video, or has rejected or deleted it.
        """
        done = poll(self._settings, lambda: self._video_done(account, str(video["id"])))
        return _published(done or video)

    def _video_done(self, account: Account, video_id: str) -> Answer | None:
        """Returns the processed video; None while YouTube is processing it or cannot be asked.

        Raises PlatformRefusal if YouTube could not process the video, or has rejected or deleted it.
        """
        try:
            video = self._video(account, video_id)
        except PlatformRefusal:
            return None
        if video is None:
            return None
        if (problem := problem_of(video)) is not None:
            raise problem
        return video if (video.get("status") or {}).get("uploadStatus") == "processed" else None

    def _video(self, account: Account, video_id: str) -> Answer | None:
        items = items_of(
            self._api.read(account, "videos", part="snippet,status,processingDetails", id=video_id)
        )
        return items[0] if items else None


def _video_in(content: Content) -> MediaSource:
    """Returns the video of a post. Raises PlatformRefusal unless it is the post's only file."""
    if [source.type for source in content.media] != ["video"]:
        raise PlatformRefusal(Refusal.REJECTED, "NO_VIDEO", "YouTube takes one video and nothing else.")
    check_bytes(content.media[0])
    return content.media[0]


def _published(video: Answer) -> Published:
    video_id = str(video["id"])
    return Published(video_id, permalink(video_id), iso_time((video.get("snippet") or {}).get("publishedAt")))
