"""Makes every request that we send to X."""

from itertools import chain
from typing import Any

from contracts.post_settings import XPostSettings
from publishing.platforms.base import Account, Content
from publishing.platforms.oauth.base import App
from publishing.platforms.x.connector import XConnector
from publishing.platforms.x.facts import facts
from publishing.platforms.x.login import XLogin
from publishing.platforms.x.settings import XSettings
from publishing.platforms.x.trial import TRIAL

from .played import NOW, Drive, Played, each_setting, photo, video

_POST = {"id": "99", "text": "Hello", "created_at": NOW.strftime("%Y-%m-%dT%H:%M:%S.000Z"), "author_id": "7"}
_MADE = {"data": {"id": "11", "expires_after_secs": 86_400}}
_DONE = {"data": {"processing_info": {"state": "succeeded"}}}
_FAILED = {"data": {"processing_info": {"state": "failed"}}}
_UNKNOWN_PARAMETER = (
    400,
    {"title": "Invalid Request", "type": "https://api.x.com/2/problems/invalid-request"},
)


def drive(played: Played) -> None:
    for fields in ("tweet.fields", "post.fields"):
        for secret in ("secret", ""):
            _drive(played, _settings(fields, App("client", secret)))
    # X takes the other names than those that are tried first.
    played.on("GET", "/users/7/tweets$", _UNKNOWN_PARAMETER, {"data": [_POST], "meta": {}})
    _on(played, _settings("tweet.fields", App("client"))).look_up(Content("Hello"), sent_at=NOW.timestamp())


def _settings(fields: str, app: App) -> XSettings:
    return XSettings(
        app=app, fields_parameter=fields, poll_seconds=0.0, poll_limit_seconds=0.02, segment_bytes=60_000
    )


def _on(played: Played, settings: XSettings) -> Drive:
    return Drive(played, XConnector(settings), XLogin(settings), Account("7", "token", "bakery"))


def _drive(played: Played, settings: XSettings) -> None:
    page = {"data": [_POST], "meta": {"next_token": "n2"}}
    user: dict[str, Any] = {"data": {"id": "7", "name": "Bakery", "username": "bakery"}}
    played.on("GET", "/users/me$", user)
    played.on("GET", "/users/7/tweets$", page, {"data": [], "meta": {}})
    played.on("GET", "/tweets/search/recent$", {"data": [_POST], "meta": {}})
    played.on("GET", r"/tweets/\d+$", {"data": _POST})
    played.on("GET", "/media/upload$", _DONE, _FAILED, (503, {}), _DONE)
    played.on("POST", "/media/upload$", _MADE)
    played.on("POST", "/media/upload/initialize$", _MADE)
    played.on("POST", "/media/(upload/11/(append|finalize)|metadata)$", {"data": {}})
    played.on("POST", "/tweets$", {"data": {"id": "99"}})
    played.on("DELETE", "/tweets/99$", {"data": {"deleted": True}})
    played.on("POST", "/oauth2/token$", {"access_token": "t", "refresh_token": "r", "expires_in": 7_200})
    played.on("POST", "/oauth2/revoke$", {})

    x = _on(played, settings)
    x.log_in()
    for content in (
        *(Content("Hello, see example.org", (), one) for one in each_setting(XPostSettings)),
        Content("Photos", (photo(1), photo(2, "image/png")), {"alt_texts": ["One", "Two"]}),
        *chain.from_iterable(
            (Content("GIF", (photo(3, "image/gif"),)), Content("Film", (video(),))) for _ in range(2)
        ),
        Content("Made by AI", (photo(4, is_ai_made=True),)),
    ):
        x.publish(content)
        x.look_up(content, sent_at=NOW.timestamp())
        x.search(content)
    x.comments("98", "97", cursor="96")
    x.read("99")
    x.attempt(lambda: list(facts(settings, x.account)))
    x.remove(TRIAL, settings, "99")
    played.on("DELETE", "/tweets/99$", {"data": {"deleted": False}})
    x.attempt(lambda: x.remove(TRIAL, settings, "99"))
