"""Videos and channels on YouTube: the checks of a new video, its state, and its JSON in the API (docs/platforms.md,
section 7).
"""

from dataclasses import dataclass
from typing import Any

from simulator.accounts import Account
from simulator.clock import rfc3339
from simulator.simulation import Simulation
from simulator.world import Medium, Post
from simulator.youtube import description
from simulator.youtube.errors import invalid
from simulator.youtube.uploads import Session, is_film, video_id_of

#: Longest title, description and tags: developers.google.com/youtube/v3/docs/videos, `snippet.title`, `.description`,
#: `.tags[]` (read 23 November 2026).
TITLE_CHARACTERS = 100
DESCRIPTION_BYTES = 5_000
TAGS_CHARACTERS = 500
#: Boolean fields of `status`, and the values of `privacyStatus` (discovery document, `VideoStatus`).
FLAGS = ("selfDeclaredMadeForKids", "containsSyntheticMedia", "embeddable", "publicStatsViewable")
PRIVACIES = ("public", "unlisted", "private")
#: The category "People & Blogs", for videos without one: other clients (Postiz, 2026) send none.
_CATEGORY = "22"


@dataclass(slots=True)
class Video:
    """A video of a channel, in any state. `ready_ticks` is the time of `Clock.ticks` at which its processing ends."""

    post: Post
    ready_ticks: float
    failure: str | None = None
    rejection: str | None = None
    kind = "Video"
    platform = "YT"

    def status(self, ticks: float) -> str:
        """Returns `uploadStatus`: uploaded, processed, failed or rejected."""
        if self.failure or self.rejection:
            return "failed" if self.failure else "rejected"
        return "processed" if ticks >= self.ready_ticks else "uploaded"


def check(video: Any) -> dict[str, Any]:
    """Checks the metadata of a new video. Returns two of its objects: `snippet` and `status`. Raises YouTubeError if
    YouTube would refuse the metadata.
    """
    if not isinstance(video, dict):
        raise invalid("invalidVideoMetadata", "The request metadata is invalid.")
    description.check_fields("Video", video)
    snippet, status = video.get("snippet", {}), video.get("status", {})
    if not isinstance(snippet, dict) or not isinstance(status, dict):
        raise invalid("invalidVideoMetadata", "The request metadata is invalid.")
    title, text, tags = snippet.get("title"), snippet.get("description", ""), snippet.get("tags", [])
    if (
        not isinstance(title, str)
        or not title.strip()
        or len(title) > TITLE_CHARACTERS
        or _has_brackets(title)
    ):
        raise invalid("invalidTitle", "The request metadata specifies an invalid or empty video title.")
    if not isinstance(text, str) or len(text.encode()) > DESCRIPTION_BYTES or _has_brackets(text):
        raise invalid("invalidDescription", "The request metadata specifies an invalid video description.")
    if not isinstance(tags, list) or not all(isinstance(tag, str) and tag for tag in tags):
        raise invalid("invalidTags", "The request metadata specifies invalid video keywords.")
    if sum(len(tag) + 2 * (" " in tag) for tag in tags) + max(len(tags) - 1, 0) > TAGS_CHARACTERS:
        raise invalid("invalidTags", "The request metadata specifies invalid video keywords.")
    if not str(snippet.get("categoryId", _CATEGORY)).isdigit():
        raise invalid(
            "invalidCategoryId", "The snippet.categoryId property specifies an invalid category ID."
        )
    if status.get("privacyStatus", "public") not in PRIVACIES:
        raise invalid("invalidVideoMetadata", "The request metadata specifies an invalid privacy status.")
    if any(not isinstance(status.get(name, False), bool) for name in FLAGS):
        raise invalid("invalidVideoMetadata", "The request metadata is invalid.")
    return {"snippet": snippet, "status": status}


def finish(sim: Simulation, channel: Account, session: Session) -> Video:
    """Creates the video of a session whose file is complete."""
    snippet, status = session.video["snippet"], session.video["status"]
    settings = {
        "title": snippet["title"],
        "privacy": status.get("privacyStatus", "public"),
        "category_id": snippet.get("categoryId", _CATEGORY),
        "tags": snippet.get("tags", []),
        "made_for_kids": status.get("selfDeclaredMadeForKids", False),
        "contains_synthetic_media": status.get("containsSyntheticMedia", False),
        "notify_subscribers": session.notifies,
    }
    post = Post(
        video_id_of(sim.world), channel.account_id, "YT", channel.name, snippet.get("description", ""),
        [Medium("video", session.size_bytes or 0)], sim.clock.now(), settings=settings,
    )  # fmt: skip
    video = Video(post, sim.clock.ticks() + sim.film_seconds("YT"))
    session.video_id = post.post_id
    with sim.world.lock:
        sim.world.staged[post.post_id] = video
        if is_film(session):
            sim.world.add_post(post)
        else:
            video.failure = "invalidFile"
    session.file.close()
    return video


def reject(sim: Simulation, video: Video) -> None:
    """Marks the video as rejected (a duplicate) and removes its post."""
    video.rejection = "duplicate"
    sim.world.remove_post(video.post.post_id)


def shown(sim: Simulation, video: Video, parts: set[str]) -> dict[str, Any]:
    """Returns the JSON of a video with the requested parts."""
    post, state = video.post, video.status(sim.clock.ticks())
    status: dict[str, Any] = {
        "uploadStatus": state,
        "privacyStatus": post.settings["privacy"],
        "selfDeclaredMadeForKids": post.settings["made_for_kids"],
        "madeForKids": post.settings["made_for_kids"],
        **({"containsSyntheticMedia": True} if post.settings["contains_synthetic_media"] else {}),
    }
    if video.failure:
        status["failureReason"] = video.failure
    if video.rejection:
        status["rejectionReason"] = video.rejection
    snippet = {
        "publishedAt": rfc3339(post.created_at),
        "channelId": post.account_id,
        "channelTitle": post.author,
        "title": post.settings["title"],
        "description": post.text,
        "categoryId": post.settings["category_id"],
        **({"tags": post.settings["tags"]} if post.settings["tags"] else {}),
    }
    processing = {"processed": "succeeded", "uploaded": "processing"}.get(state, "failed")
    counts = {"viewCount": "0", "likeCount": str(post.likes), "favoriteCount": "0"}
    if not post.settings["made_for_kids"]:
        counts["commentCount"] = str(post.comment_count)
    every = {
        "snippet": snippet,
        "status": status,
        "processingDetails": {"processingStatus": processing},
        "statistics": counts,
    }
    chosen = {name: value for name, value in every.items() if name in parts}
    return {"kind": "youtube#video", "etag": post.post_id[::-1], "id": post.post_id, **chosen}


def upload_row(video: Video) -> dict[str, Any]:
    """Returns the JSON of the video as an item of the channel's playlist of uploads."""
    post = video.post
    snippet = {
        "publishedAt": rfc3339(post.created_at),
        "channelId": post.account_id,
        "title": post.settings["title"],
        "description": post.text,
        "resourceId": {"kind": "youtube#video", "videoId": post.post_id},
    }
    return {"kind": "youtube#playlistItem", "id": f"UU{post.post_id}", "snippet": snippet}


def channel(sim: Simulation, account: Account) -> dict[str, Any]:
    """Returns the JSON of a channel, with all parts.

    The id of its playlist of uploads is derived from the channel's id.
    """
    picture = {"url": f"https://yt3.ggpht.com/{account.account_id}", "width": 88, "height": 88}
    return {
        "kind": "youtube#channel",
        "id": account.account_id,
        "snippet": {
            "title": account.name,
            "customUrl": f"@{account.username}",
            "thumbnails": {"default": picture},
        },
        "statistics": {
            "viewCount": "0",
            "subscriberCount": str(account.followers),
            "hiddenSubscriberCount": False,
            "videoCount": "0",
        },
        "status": {
            "privacyStatus": "public",
            "isLinked": True,
            "longUploadsStatus": sim.told("youtube_long_uploads", "allowed"),
        },
        "contentDetails": {
            "relatedPlaylists": {
                "likes": "",
                "uploads": sim.told("youtube_uploads_list", uploads_playlist(account.account_id)),
            }
        },
    }


def uploads_playlist(channel_id: str) -> str:
    """Returns the id of the playlist with a channel's uploads."""
    return f"UU{channel_id[2:]}"


def _has_brackets(text: str) -> bool:
    return "<" in text or ">" in text
