"""Makes every request that we send to TikTok."""

from contracts.post_settings import TikTokPostSettings
from publishing.platforms.base import Account, Content
from publishing.platforms.oauth.base import App
from publishing.platforms.post_matching import content_hash
from publishing.platforms.tiktok.connector import TikTokConnector
from publishing.platforms.tiktok.facts import facts
from publishing.platforms.tiktok.login import TikTokLogin
from publishing.platforms.tiktok.settings import TikTokSettings

from .played import NOW, Answer, Drive, Played, each_setting, photo, video

_MIB = 2**20
_UPLOAD = "https://open-upload.tiktokapis.com/video/?upload_id=1&upload_token=a"


def _ok(**data: object) -> Answer:
    return {"data": data, "error": {"code": "ok", "message": ""}}


def drive(played: Played) -> None:
    settings = TikTokSettings(
        app=App("client", "secret"), is_audited=True, poll_seconds=0.0, poll_limit_seconds=0.02, chunk_bytes=5 * _MIB,
        resumes=0,
    )  # fmt: skip
    levels = ["PUBLIC_TO_EVERYONE", "MUTUAL_FOLLOW_FRIENDS", "FOLLOWER_OF_CREATOR", "SELF_ONLY"]
    done = _ok(status="PUBLISH_COMPLETE", publicaly_available_post_id=[731])
    creator = {"comment_disabled": True, "duet_disabled": True, "stitch_disabled": True}
    played.on("POST", "/creator_info/query/$", _ok(privacy_level_options=levels, **creator))
    played.on("POST", "/(video|content)/init/$", _ok(publish_id="v_pub~1", upload_url=_UPLOAD))
    played.on("PUT", "/video/$", (201, {}))
    played.on("POST", "/status/fetch/$", done)
    played.on("POST", "/video/query/$", _ok(videos=[{"id": "731"}]))
    played.on("GET", "/user/info/$", _ok(user={"open_id": "7", "username": "bakery"}))
    played.on("POST", "/oauth/token/$", {"access_token": "t", "refresh_token": "r", "expires_in": 86_400})
    played.on("POST", "/oauth/revoke/$", {})

    tiktok = Drive(played, TikTokConnector(settings), TikTokLogin(settings), Account("7", "token", "bakery"))
    tiktok.log_in()
    contents = [
        *(Content("Fresh bread", (video(),), one) for one in each_setting(TikTokPostSettings)),
        Content("A long film", (video(11 * _MIB),)),
        Content("Made by AI", (video(is_ai_made=True),)),
        *(Content("Fresh bread", (photo(1), photo(2)), one) for one in each_setting(TikTokPostSettings)),
        Content("", (photo(1, is_ai_made=True),)),
    ]
    for content in contents:
        tiktok.publish(content)
        tiktok.look_up(content, publish_id="v_pub~1")
    film = Content("Fresh bread", (video(),))
    stored = {"content": content_hash(film), "publish_id": "v_pub~1", "privacy": "SELF_ONLY"}
    tiktok.publish(film, **stored)
    played.on("POST", "/status/fetch/$", _ok(status="PROCESSING_UPLOAD"), done)
    begun = {
        "upload_url": _UPLOAD,
        "begun_at": NOW.isoformat(),
        "size_bytes": 100_000,
        "chunk_bytes": 100_000,
    }
    tiktok.publish(film, **stored, **begun)
    tiktok.read("731", "v_pub~1")
    tiktok.attempt(lambda: tiktok.connector.named(tiktok.account, "v_pub~1"))
    tiktok.attempt(lambda: list(facts(settings, tiktok.account)))
