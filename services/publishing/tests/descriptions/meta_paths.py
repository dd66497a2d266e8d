"""Makes every request that we send to the Graph API for Facebook and Instagram. An object's id tells its kind."""

from typing import Any

from publishing.platforms.base import Account, Content, MediaSource
from publishing.platforms.facebook.connector import FacebookConnector
from publishing.platforms.facebook.login import FacebookLogin
from publishing.platforms.facebook.trial import TRIAL as FACEBOOK_TRIAL
from publishing.platforms.instagram.connector import InstagramConnector
from publishing.platforms.instagram.facts import facts as instagram_facts
from publishing.platforms.instagram.login import InstagramLogin
from publishing.platforms.instagram.trial import TRIAL as INSTAGRAM_TRIAL
from publishing.platforms.meta.facts import facebook as facebook_facts
from publishing.platforms.meta.settings import MetaSettings
from publishing.platforms.post_matching import content_hash

from .played import ISO, Answer, Drive, Played, photo, video

SETTINGS = MetaSettings(
    app_id="1", app_secret="secret", asks_ads_read=True, poll_seconds=0.0, poll_limit_seconds=0.02
)
_SIZE = 100_000
_GONE = (400, {"error": {"code": 100, "error_subcode": 33, "message": "no such object"}})
_REFUSED = (400, {"error": {"code": 368, "message": "blocked"}})
_BEGUN = {"upload_session_id": "5", "video_id": "2001", "start_offset": "0", "end_offset": str(_SIZE)}
_SENT = {"start_offset": str(_SIZE), "end_offset": str(_SIZE)}
_NEXT = {"paging": {"next": "https://graph.facebook.com/", "cursors": {"after": "a1"}}}
_COMMENT = {
    "id": "1001_5_9",
    "message": "Thanks",
    "created_time": ISO,
    "from": {"id": "1001", "name": "Bakery"},
}


def _login(played: Played) -> None:
    page = {
        "id": "1001",
        "name": "Bakery",
        "access_token": "p",
        "instagram_business_account": {"id": "17841"},
    }
    played.on("GET", "/oauth/access_token$", {"access_token": "t", "expires_in": 5_184_000})
    played.on("GET", "/debug_token$", {"data": {"scopes": ["pages_show_list"]}})
    played.on("GET", "/me$", {"id": "3"})
    played.on("GET", "/me/permissions$", {"data": [{"permission": "pages_show_list", "status": "granted"}]})
    played.on("GET", "/me/accounts$", {"data": [page], **_NEXT}, {"data": []})
    played.on("GET", "/me/businesses$", {"data": [{"id": "4001"}]})
    played.on("GET", "/4001/(owned|client)_pages$", {"data": [page]})


def drive_facebook(played: Played) -> None:
    _login(played)
    post = {"id": "1001_5", "permalink_url": "https://www.facebook.com/1001_5", "created_time": ISO}
    played.on("GET", "/1001$", {"id": "1001", "name": "Bakery"})
    played.on("POST", "/1001/feed$", post)
    played.on("POST", "/1001/photos$", {"id": "3001"})
    played.on("DELETE", "/3001$", {"success": True})
    played.on("GET", "/1001_5$", post)
    played.on(
        "GET", "/1001/published_posts$", {"data": [{**post, "message": "Hello"}], **_NEXT}, {"data": []}
    )
    ready = {"status": {"video_status": "ready"}, "post_id": "1001_5"}
    played.on("GET", "/2001$", ready)
    played.on("POST", "/comments$", {"id": "1001_5_9"})
    played.on("GET", "/comments$", {"data": [_COMMENT], **_NEXT}, {"data": [_COMMENT]})
    played.on("GET", "/1001_5_9$", _COMMENT | {"parent": {"id": "1001_5_8"}})
    played.on("POST", "/1001/subscribed_apps$", {"success": True})

    facebook = Drive(played, FacebookConnector(SETTINGS), FacebookLogin(SETTINGS), Account("1001", "token"))
    facebook.log_in()
    link = {"link": "https://example.org/bread"}
    hello, photos = (
        Content("Hello", (), link),
        Content("Photos", (photo(1), MediaSource("photo", "https://a.example/b.jpg"))),
    )
    for content in (Content("See https://example.org"), hello, Content("", (photo(),)), photos):
        facebook.publish(content)
        facebook.look_up(content, photo_ids=["3001"])
        facebook.search(content)
    played.on("POST", "/1001/feed$", _REFUSED)
    facebook.publish(photos)  # its staged photos are deleted
    played.on("POST", "/1001/photos$", {"id": "3001"}, _REFUSED)
    facebook.publish(photos)
    _films(played, facebook)
    facebook.comments("1001_5", "1001_5_9", cursor="a1")
    facebook.attempt(lambda: facebook.connector.read_comment(facebook.account, "1001_5_9"))
    facebook.attempt(lambda: facebook.connector.subscribe(facebook.account))
    facebook.read("1001_5")
    facebook.attempt(lambda: list(facebook_facts(SETTINGS, facebook.account)))
    facebook.stage(FACEBOOK_TRIAL, SETTINGS)
    facebook.remove(FACEBOOK_TRIAL, SETTINGS, "3001")


def _films(played: Played, facebook: Drive) -> None:
    """Publishes videos in pieces, after a break, after the session has expired, and by address, and looks them up."""
    film, by_address = video(_SIZE), MediaSource("video", "https://a.example/a.mp4")
    for content in (Content("Film", (film,)), Content("", (film,), {"is_ai_generated": True})):
        played.on("POST", "/1001/videos$", _BEGUN, _SENT, {"success": True})
        facebook.publish(content)
    film_post = Content("Film", (film,))
    stored: dict[str, Any] = {
        "content": content_hash(film_post), "session": {"id": "5", "video_id": "2001"}, "next": [0, _SIZE],
    }  # fmt: skip
    played.on("POST", "/1001/videos$", _REFUSED, _BEGUN, _SENT, {"success": True})
    facebook.publish(film_post, **stored)
    played.on("POST", "/1001/videos$", {"id": "2001"})
    facebook.publish(Content("Film", (by_address,), {"is_ai_generated": True}))
    facebook.publish(Content("", (by_address,)))
    facebook.look_up(film_post, video_id="2001")
    played.on("GET", "/2001$", {"status": {"video_status": "processing"}})
    facebook.look_up(film_post, **stored, is_ending=True)
    played.on("GET", "/2001$", _GONE)
    facebook.look_up(film_post, video_id="2001")


def drive_instagram(played: Played) -> None:
    _login(played)
    comment = {
        "id": "17850",
        "text": "Thanks",
        "timestamp": ISO,
        "username": "bakery",
        "from": {"id": "17841"},
    }
    thread = comment | {"replies": {"data": [comment], **_NEXT}}
    media = {"id": "1800", "permalink": "https://www.instagram.com/p/a", "timestamp": ISO, "caption": "Hello",
             "media_type": "IMAGE", "like_count": 1}  # fmt: skip
    played.on("GET", "/17841$", {"id": "17841", "username": "bakery"})
    played.on("POST", "/17841/media$", {"id": "1790"})
    played.on("POST", "/17841/media_publish$", {"id": "1800"})
    played.on("GET", "/1790$", {"status_code": "FINISHED"})
    played.on("GET", "/1800$", media)
    played.on("GET", "/1800/insights$", {"data": [{"values": [{"value": 2}]}]})
    played.on("GET", "/17841/media$", {"data": [media], **_NEXT}, {"data": []})
    played.on("POST", "/(comments|replies)$", {"id": "17850"})
    played.on("GET", "/1800/comments$", {"data": [thread, thread], **_NEXT}, {"data": [thread, thread]})
    played.on("GET", "/17850/replies$", {"data": [comment], **_NEXT}, {"data": [comment]})
    played.on("GET", "/17850$", comment | {"parent_id": "17850"})
    played.on(
        "POST",
        "/me/subscribed_apps$",
        {"success": True},
        (400, {"error": {"code": 100, "message": "no page"}}),
    )
    played.on("POST", "/17841/subscribed_apps$", {"success": True})
    played.on("GET", "/17841/content_publishing_limit$", {"data": [{"config": {"quota_total": 100}}]})

    instagram = Drive(
        played, InstagramConnector(SETTINGS), InstagramLogin(SETTINGS), Account("17841", "token")
    )
    instagram.log_in()
    settings: list[dict[str, Any]] = [
        *({name: value} for name in ("share_to_feed", "is_ai_generated") for value in (True, False)),
        {"thumb_offset": 0}, {"cover_url": "https://a.example/c.jpg"}, {"alt_text": "A loaf"},
    ]  # fmt: skip
    files = ((photo(),), (video(),), (photo(), video()))
    for content in (Content("Hello", kinds, one) for kinds in files for one in settings):
        instagram.publish(content)
    _again(played, instagram, Content("Hello", (photo(), video())))
    instagram.comments("1800", "17850")
    instagram.attempt(lambda: instagram.connector.read_comment(instagram.account, "17850"))
    for _ in range(2):
        instagram.attempt(lambda: instagram.connector.subscribe(instagram.account))
    instagram.read("1800")
    instagram.attempt(lambda: list(instagram_facts(SETTINGS, instagram.account)))
    instagram.stage(INSTAGRAM_TRIAL, SETTINGS)


def _again(played: Played, instagram: Drive, content: Content) -> None:
    """Repeats an attempt with the checkpoint that it stored, and looks it up in every state of its container."""
    mark = content_hash(content)
    instagram.publish(content, content=mark, container_id="1790")
    instagram.publish(content, content=mark, children=["1790", None])
    played.on("POST", "/17841/media_publish$", _REFUSED)
    instagram.publish(content)
    states: tuple[Answer, ...] = (
        {"status_code": "PUBLISHED"}, {"status_code": "ERROR", "status": "Error: 2207085"}, _GONE,
    )  # fmt: skip
    for state in states:
        played.on("GET", "/1790$", state)
        instagram.look_up(content, container_id="1790")
        instagram.publish(content)
    instagram.search(Content("Hello", (photo(),)))
