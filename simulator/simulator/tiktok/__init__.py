"""Simulates TikTok's API v2: its routes, tokens, rate limits and faults. Uploads and processing are in posts.py."""

import json
import threading
from collections import Counter
from collections.abc import Callable
from typing import Any, TypeVar

from flask import Blueprint, Response, g, request

from simulator.accounts import Account
from simulator.faults import REFUSALS
from simulator.hosts import Hosts, url_of
from simulator.simulation import Simulation
from simulator.tiktok import errors, fields, login, posts
from simulator.tiktok.errors import TikTokError, UploadRefused, good, invalid
from simulator.tiktok.posts import Publication

T = TypeVar("T")
Answer = dict[str, Any]

#: The hosts of upload URLs: the first in the reference of a direct post, the second in the media transfer guide.
UPLOAD_HOST, _OTHER_UPLOAD_HOST = "open-upload.tiktokapis.com", "upload.us.tiktokapis.com"

_REST_BYTES = 1 << 18
#: The scope that a call needs ("Scope" in its reference, developers.tiktok.com/doc/content-posting-api-reference-…:
#: direct-post and photo-post as fetched on 11 September 2026, get-video-status in an undated copy).
_PUBLISH, _UPLOAD = "video.publish", "video.upload"
_CHUNK_STATUS = {"reject": 400, "rate_limit": 429, "server_error": 500, "expired": 403}


class Gate:
    """Counts the calls of each account in a minute and its posts in a day (docs/platforms.md, section 5)."""

    def __init__(self, sim: Simulation) -> None:
        self._sim = sim
        self._lock = threading.Lock()
        self._calls: Counter[tuple[str, str, int]] = Counter()

    def call(self, account: Account, name: str, per_minute: int) -> None:
        """Counts a call of the kind `name`. Raises TikTokError rate_limit_exceeded if the account has used up its
        limit.
        """
        self._count(account, name, 60, per_minute, "rate_limit_exceeded")

    def post(self, account: Account) -> None:
        """Counts a post. Raises TikTokError spam_risk_too_many_posts if the account has used up its posts of a day."""
        allowed = self._sim.settings.tiktok_posts
        self._count(account, "posts", 86_400, allowed, "spam_risk_too_many_posts")

    def clear(self) -> None:
        with self._lock:
            self._calls.clear()

    def _count(self, account: Account, name: str, seconds: int, allowed: int, code: str) -> None:
        key = (account.account_id, name, int(self._sim.clock.now().timestamp()) // seconds)
        with self._lock:
            if self._calls[key] >= allowed:
                raise TikTokError(code, "The limit has been reached. Please try again later.")
            self._calls[key] += 1


def hosts(sim: Simulation) -> Hosts:
    """Returns the routes of the simulated TikTok by host."""
    tiktok, files = Blueprint("tiktok", __name__), Blueprint("tiktok-upload", __name__)
    gate = Gate(sim)
    #: Uploads of videos, whose files a reset closes.
    uploads: list[Publication] = []
    sim.on_reset += [gate.clear, lambda: posts.close(uploads)]
    _add_publishing(tiktok, sim, gate, uploads)
    _add_upload(files, sim)
    _add_reading(tiktok, sim)
    dialog, token = login.blueprints(sim)

    @tiktok.errorhandler(TikTokError)
    def refused(problem: TikTokError) -> Response:
        return _json(problem.body(), problem.status)

    @tiktok.app_errorhandler(404)
    def unknown(problem: Exception) -> Response:
        return _json(errors.unknown_path().body(), 404)

    @files.errorhandler(UploadRefused)
    def not_taken(problem: UploadRefused) -> Response:
        while request.stream.read(_REST_BYTES):
            pass  # reads the refused chunk, because the client's next request follows it on the connection
        return Response(status=problem.status)

    return {
        ("open.tiktokapis.com",): (tiktok, token),
        (UPLOAD_HOST, _OTHER_UPLOAD_HOST): (files,),
        ("www.tiktok.com",): (dialog,),
    }


def _add_publishing(tiktok: Blueprint, sim: Simulation, gate: Gate, uploads: list[Publication]) -> None:
    per_minute = sim.settings.tiktok_inits

    @tiktok.post("/v2/post/publish/creator_info/query/")
    def creator_info() -> Response:
        account = _account(sim, _PUBLISH)
        gate.call(account, "creator_info", max(20, per_minute))
        return _json(_faulted(sim, "profile", lambda: good(_creator(sim, account))))

    @tiktok.post("/v2/post/publish/video/init/")
    def init_video() -> Response:
        account, body = _account(sim, _PUBLISH), _body()
        gate.call(account, "init", per_minute)
        info = posts.check_post(sim, body, is_video=True)
        pending = sim.faults.take("TT", "publish", account.account_id)
        if pending in REFUSALS:
            raise errors.refusal(str(pending), "publish")

        def act() -> Answer:
            gate.post(account)
            made = posts.begin_video(sim, account, info, body.get("source_info"))
            made.pending_fault = pending
            uploads.append(made)
            path = f"/video/?upload_id={made.publish_id}&upload_token={made.upload_token}"
            return good({"publish_id": made.publish_id, "upload_url": url_of(UPLOAD_HOST, path)})

        return _json(_faulted(sim, "upload", act))

    @tiktok.post("/v2/post/publish/content/init/")
    def init_photos() -> Response:
        account, body = _account(sim, _PUBLISH), _body()
        gate.call(account, "init", per_minute)
        if body.get("media_type") != "PHOTO" or body.get("post_mode") != "DIRECT_POST":
            raise invalid("media_type has to be PHOTO, post_mode DIRECT_POST")
        info = posts.check_post(sim, body, is_video=False)

        def act() -> Answer:
            gate.post(account)
            label = {"is_aigc": body.get("is_aigc")}  # for photos it is outside of post_info
            made = posts.begin_photos(sim, account, info | label, body.get("source_info"))
            return good({"publish_id": made.publish_id})

        return _json(_faulted(sim, "publish", act))

    @tiktok.post("/v2/post/publish/status/fetch/")
    def status() -> Response:
        account = _account(sim, _PUBLISH, _UPLOAD)
        gate.call(account, "status", max(30, per_minute))
        made = sim.world.staged.get(str(_body().get("publish_id")))
        if not isinstance(made, Publication):
            raise TikTokError("invalid_publish_id", "The publish_id does not exist.")
        if made.account_id != account.account_id:
            code = "token_not_authorized_for_specified_publish_id"
            raise TikTokError(code, "The token does not own the publish_id.")
        reject = lambda: posts.fail(sim, made, "frame_rate_check_failed")  # noqa: E731
        return _json(_faulted(sim, "status", lambda: good(posts.status_of(sim, made)), reject))


def _add_upload(files: Blueprint, sim: Simulation) -> None:
    @files.put("/video/")
    def put() -> Response:
        """Stores one chunk of a video. The token in the upload URL is the only credential."""
        made = sim.world.staged.get(request.args.get("upload_id", ""))
        token = request.args.get("upload_token", "")
        if not isinstance(made, Publication) or not token or made.upload_token != token:
            raise UploadRefused(403)
        if sim.clock.ticks() - made.began_ticks > posts.UPLOAD_SECONDS or made.failure:
            raise UploadRefused(403)
        span = request.headers.get("Content-Range", "")
        mode = made.pending_fault if posts.is_last_chunk(made, span) else None
        if mode is None:
            operation = "publish" if posts.is_last_chunk(made, span) else "upload"
            mode = sim.faults.take("TT", operation, made.account_id)
        made.pending_fault = None if posts.is_last_chunk(made, span) else made.pending_fault

        def act() -> Response:
            with made.lock:
                end = posts.take_chunk(sim, made, span, request.stream.read)
            headers = {"Content-Range": f"bytes 0-{end - 1}/{made.size_bytes}"}
            return Response(status=201 if end == made.size_bytes else 206, headers=headers)

        return sim.faults.play(mode, lambda refused: UploadRefused(_CHUNK_STATUS[refused]), act)


def _add_reading(tiktok: Blueprint, sim: Simulation) -> None:
    @tiktok.get("/v2/user/info/")
    def user() -> Response:
        account = _account(sim)
        shown = fields.user(account, len(sim.world.posts_of(account.account_id)))
        names = fields.asked(fields.USER, g.granted)
        return _json(_faulted(sim, "profile", lambda: good({"user": {name: shown[name] for name in names}})))

    @tiktok.post("/v2/video/query/")
    def videos() -> Response:
        account = _account(sim, fields.LIST)
        names = fields.asked(fields.VIDEO, g.granted)
        filters = _body().get("filters")
        ids = filters.get("video_ids") if isinstance(filters, dict) else None
        if not isinstance(ids, list) or not 1 <= len(ids) <= 20:
            raise invalid("filters.video_ids needs 1 to 20 ids")

        def act() -> Answer:
            shown = [_video(sim, account, str(post_id)) for post_id in ids]
            rows = [{name: row[name] for name in names} for row in shown if row is not None]
            return good({"videos": rows})

        return _json(_faulted(sim, "engagement", act))


def _creator(sim: Simulation, account: Account) -> Answer:
    return {
        "creator_nickname": account.name,
        "creator_username": account.username,
        "creator_avatar_url": f"https://p16-sign.tiktokcdn.com/{account.account_id}.jpeg",
        "privacy_level_options": sim.told("tiktok_privacy_levels", list(posts.PRIVACIES)),
        "comment_disabled": False,
        "duet_disabled": False,
        "stitch_disabled": True,
        "max_video_post_duration_sec": sim.told("tiktok_video_seconds", sim.settings.tiktok_video_seconds),
    }


def _video(sim: Simulation, account: Account, post_id: str) -> Answer | None:
    """Returns a public post of the account as TikTok shows it; None if there is none with this id."""
    post = sim.world.posts.get(post_id)
    if post is None or post.platform != "TT" or post.account_id != account.account_id:
        return None
    made = sim.world.staged.get(post.settings["publish_id"])
    if not isinstance(made, Publication) or not posts.is_public(sim, made):
        return None
    return fields.video(account, post)


def _account(sim: Simulation, *scopes: str) -> Account:
    """Returns the account that makes the call. Raises TikTokError if its token is invalid, or has none of `scopes`."""
    token = request.headers.get("Authorization", "").partition(" ")[2]
    account = sim.accounts.holder(token)
    if account is None or account.platform != "TT" or sim.accounts.is_expired(account.account_id):
        raise errors.expired()
    # A token that the control API made has no list of scopes: it may do everything.
    granted = sim.accounts.facts(token).get("scopes")
    g.account, g.granted = account, None if granted is None else frozenset(granted)
    if granted is not None and scopes and not set(scopes) & set(granted):
        raise errors.unauthorized()
    return account


def _faulted(
    sim: Simulation, operation: str, act: Callable[[], T], on_reject: Callable[[], None] | None = None
) -> T:
    mode = sim.faults.take("TT", operation, g.account.account_id)
    if mode == "reject" and on_reject:
        on_reject()
        mode = None
    return sim.faults.play(mode, lambda refused: errors.refusal(refused, operation), act)


def _body() -> Answer:
    body = request.get_json(force=True, silent=True)
    if not isinstance(body, dict):
        raise invalid("The body is not a JSON object")
    return body


def _json(body: Answer, status: int = 200) -> Response:
    return Response(json.dumps(body), status, content_type="application/json; charset=utf-8")
