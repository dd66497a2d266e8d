"""Makes every request that we send to YouTube."""

from contracts.post_settings import YouTubePostSettings
from publishing.platforms.base import Account, Content
from publishing.platforms.oauth.base import App
from publishing.platforms.post_matching import content_hash
from publishing.platforms.youtube.connector import YouTubeConnector
from publishing.platforms.youtube.facts import facts
from publishing.platforms.youtube.login import YouTubeLogin
from publishing.platforms.youtube.settings import YouTubeSettings
from publishing.platforms.youtube.trial import TRIAL

from .played import NOW, Drive, Played, each_setting, video

_SIZE = 300_000
_SESSION = "https://www.googleapis.com/upload/youtube/v3/videos?uploadType=resumable&upload_id=u1"
_ISO = NOW.strftime("%Y-%m-%dT%H:%M:%SZ")
_VIDEO = {
    "id": "v1",
    "snippet": {"title": "Bread", "publishedAt": _ISO},
    "status": {"uploadStatus": "processed"},
}


def drive(played: Played) -> None:
    settings = YouTubeSettings(
        app=App("client", "secret"), poll_seconds=0.0, poll_limit_seconds=0.02, chunk_bytes=256 * 1024,
        resume_seconds=0.0,
    )  # fmt: skip
    account = Account("UC7", "token", "bakery")
    youtube = Drive(played, YouTubeConnector(settings), YouTubeLogin(settings), account)
    _answers(played)
    youtube.log_in()
    made = [
        *(Content("Bread\nFresh", (video(_SIZE),), one) for one in each_setting(YouTubePostSettings)),
        Content("Bread", (video(_SIZE, is_ai_made=True),)),
    ]
    for content in made:
        # A first piece, the last one, and later on its own.
        played.on("PUT", "/videos$", (308, {}, {"Range": "bytes=0-262143"}), _VIDEO)
        youtube.publish(content)
    # The first piece breaks, so YouTube is asked what it has.
    played.on("PUT", "/videos$", (503, {}), (308, {}, {"Range": "bytes=0-262143"}), _VIDEO)
    youtube.publish(made[0])
    _resume(played, youtube, made[0])
    youtube.comments("v1", "c1.r1")
    youtube.read("v1")
    youtube.attempt(lambda: list(facts(settings, account)))
    youtube.remove(TRIAL, settings, "v1")


def _resume(played: Played, youtube: Drive, content: Content) -> None:
    """Looks an attempt up, and repeats it with the checkpoint that it stored."""
    stored = {"content": content_hash(content), "size_bytes": _SIZE}
    played.on("PUT", "/videos$", (308, {}, {"Range": "bytes=0-262143"}), _VIDEO)
    youtube.publish(content, **stored, session=_SESSION)
    played.on("PUT", "/videos$", _VIDEO)
    youtube.look_up(content, **stored, session=_SESSION)
    played.on("PUT", "/videos$", (404, {}))
    youtube.look_up(content, **stored, session=_SESSION)
    youtube.publish(content, **stored, video_id="v1")
    youtube.look_up(content, **stored, video_id="v1")


def _answers(played: Played) -> None:
    channel = {
        "id": "UC7", "snippet": {"title": "Bakery"}, "contentDetails": {"relatedPlaylists": {"uploads": "UU7"}},
    }  # fmt: skip
    comment = {"id": "c1", "snippet": {"textOriginal": "Thanks", "publishedAt": _ISO, "parentId": "c1"}}
    thread = {"id": "c1", "snippet": {"topLevelComment": comment, "totalReplyCount": 9}}
    row = {"snippet": {"title": "Bread", "publishedAt": _ISO, "resourceId": {"videoId": "v1"}}}
    played.on("POST", "/upload/youtube/v3/videos$", (200, {}, {"Location": _SESSION}))
    played.on("GET", "/videos$", {"items": [_VIDEO]})
    played.on("GET", "/channels$", {"items": [channel]})
    played.on("GET", "/playlistItems$", {"items": [row], "nextPageToken": "p2"}, {"items": []})
    played.on("POST", "/commentThreads$", {"id": "c1"})
    played.on("POST", "/comments$", {"id": "c1.r2"})
    played.on(
        "GET",
        "/commentThreads$",
        {"items": [thread, thread], "nextPageToken": "p2"},
        {"items": [thread, thread]},
    )
    played.on("GET", "/comments$", {"items": [comment], "nextPageToken": "p2"}, {"items": [comment]})
    played.on("POST", "/token$", {"access_token": "t", "refresh_token": "r", "expires_in": 3_600})
    played.on("POST", "/revoke$", {})
    played.on("DELETE", "/videos$", (204, {}))
