"""YouTube: making a video and finding out what became of one. Comments and counts are in `reading`."""

from collections.abc import Collection
from datetime import datetime

from publishing.platforms.base import (
    Account,
    Checkpoint,
    Content,
    MediaSource,
    NotPublished,
    Outcome,
    PlatformRefusal,
    Published,
    Refusal,
    guessed,
)
from publishing.platforms.likeness import fingerprint, same_text, window_start
from publishing.platforms.sources import check_bytes
from publishing.platforms.wire import poll
from publishing.platforms.youtube.calls import Answer, items_of, rfc3339
from publishing.platforms.youtube.errors import problem_of
from publishing.platforms.youtube.reading import YouTubeReading
from publishing.platforms.youtube.texts import video_of
from publishing.platforms.youtube.upload import Standing, Upload, standing

_NOT_THERE = PlatformRefusal(Refusal.REJECTED, "videoNotFound", "The video was taken and is no longer there.")


class YouTubeConnector(YouTubeReading):
    """Publishing. Checkpoint values: `content`, `session` and `size_bytes` (an upload), `video_id` (taken)."""

    def publish(self, account: Account, content: Content, checkpoint: Checkpoint) -> Published:
        source = _video_in(content)
        mark = fingerprint(content)
        begun = (checkpoint.get("content"), checkpoint.get("size_bytes"))
        if checkpoint.values and begun != (mark, source.length_bytes):
            checkpoint.save(content=None, session=None, size_bytes=None, video_id=None)
        video_id = checkpoint.get("video_id")
        if video_id:
            video = self._video(account, video_id)
            if video is not None and problem_of(video) is None:
                return self._processed(account, video)
            checkpoint.save(session=None, video_id=None)
        video = self._uploaded(account, content, source, mark, checkpoint)
        checkpoint.save(video_id=str(video["id"]))
        return self._processed(account, video)

    def look_up(
        self,
        account: Account,
        content: Content,
        checkpoint: Checkpoint,
        *,
        began_at: datetime,
        known_remote_ids: Collection[str] = (),
    ) -> Outcome:
        video_id, session = checkpoint.get("video_id"), checkpoint.get("session")
        if not video_id and not session:
            # The session is stored before the first byte is sent: there is no video.
            return NotPublished(settled=True)
        if not video_id:
            at = standing(self._api, account, session, int(checkpoint.get("size_bytes") or 0))
            if at.is_lost:
                return self._find(account, content, began_at, known_remote_ids)
            if at.video is None:
                # Whoever began the upload may still be at it.
                return NotPublished(settled=False)
            video_id = str(at.video["id"])
        video = self._video(account, video_id)
        if video is None:
            return NotPublished(settled=False, refusal=_NOT_THERE)
        problem = problem_of(video)
        return NotPublished(settled=True, refusal=problem) if problem else _published(video)

    def search(
        self,
        account: Account,
        content: Content,
        *,
        began_at: datetime,
        ended_at: datetime,
        known_remote_ids: Collection[str] = (),
    ) -> Outcome:
        return self._find(account, content, began_at, known_remote_ids)

    def _uploaded(
        self, account: Account, content: Content, source: MediaSource, mark: str, checkpoint: Checkpoint
    ) -> Answer:
        """The video, by the session of an earlier attempt where it still lives, else by a new one."""
        session, at = checkpoint.get("session"), Standing()
        if session:
            at = standing(self._api, account, session, source.length_bytes)
        if at.is_lost:
            asked = video_of(content.message, content.settings)
            kind = source.content_type or "video/mp4"
            session, at = (
                self._api.begin_upload(account, asked, source.length_bytes, kind),
                Standing(received_bytes=0),
            )
            checkpoint.save(content=mark, session=session, size_bytes=source.length_bytes)
        return Upload(self._api, self._settings, account, session, source).run(at)

    def _processed(self, account: Account, video: Answer) -> Published:
        """Waits for the end of processing, for a while: what was taken is out (`poll_limit_seconds`)."""
        done = poll(self._settings, lambda: self._video_done(account, str(video["id"])))
        return _published(done or video)

    def _video_done(self, account: Account, video_id: str) -> Answer | None:
        """The processed video; None while YouTube is at work, errors of looking included. Raises why there is none."""
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

    def _find(
        self, account: Account, content: Content, began_at: datetime, known: Collection[str]
    ) -> Outcome:
        """Where no session tells anything: the oldest upload that looks like this one."""
        channel = items_of(self._api.read(account, "channels", part="contentDetails", mine="true"))
        if not channel:
            raise PlatformRefusal(Refusal.PERMISSION, "NO_CHANNEL", "The account has no YouTube channel.")
        playlist = channel[0]["contentDetails"]["relatedPlaylists"]["uploads"]
        asked, start = video_of(content.message, content.settings)["snippet"], window_start(began_at)
        found = []
        for row in self._api.rows(
            account, "playlistItems", part="snippet", playlistId=playlist, maxResults=50
        ):
            shown = row.get("snippet") or {}
            made_at = rfc3339(shown.get("publishedAt"))
            if made_at is not None and made_at < start:
                break
            video_id = str((shown.get("resourceId") or {}).get("videoId") or "")
            alike = all(same_text(asked[name], shown.get(name)) for name in ("title", "description"))
            if video_id and video_id not in known and alike:
                found.append(Published(video_id, _permalink(video_id), made_at))
        return guessed(reversed(found)) if found else NotPublished(settled=False)


def _video_in(content: Content) -> MediaSource:
    """The one video of a post. Raises PlatformRefusal."""
    if [source.type for source in content.media] != ["video"]:
        raise PlatformRefusal(Refusal.REJECTED, "NO_VIDEO", "YouTube takes one video and nothing else.")
    check_bytes(content.media[0])
    return content.media[0]


def _published(video: Answer) -> Published:
    video_id = str(video["id"])
    return Published(video_id, _permalink(video_id), rfc3339((video.get("snippet") or {}).get("publishedAt")))


def _permalink(video_id: str) -> str:
    return f"https://www.youtube.com/watch?v={video_id}"
