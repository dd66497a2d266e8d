"""The YouTube Data API v3: routes, tokens, quotas and faults. Resources are in `videos` and `comments`."""

import json
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from flask import Blueprint, Response, g, request

from simulator.accounts import Account
from simulator.hosts import Hosts
from simulator.simulation import Simulation
from simulator.youtube import comments, errors, login, uploads, videos
from simulator.youtube.errors import YouTubeError, invalid, missing
from simulator.youtube.quota import WRITE_UNITS, Quota

T = TypeVar("T")
Answer = dict[str, Any]

_REST_BYTES = 1 << 18

_ROWS_PER_PAGE = {"commentThreads": 100, "comments": 100, "playlistItems": 50}


def hosts(sim: Simulation) -> Hosts:
    """Returns the routes of one simulator."""
    page, token = login.blueprints(sim)
    return {
        ("www.googleapis.com", "youtube.googleapis.com"): (_api(sim),),
        ("accounts.google.com",): (page,),
        ("oauth2.googleapis.com",): (token,),
    }


def _api(sim: Simulation) -> Blueprint:
    youtube = Blueprint("youtube", __name__)
    sessions = uploads.Sessions()
    quota = Quota(sim.clock, sim.settings.youtube_uploads, sim.settings.youtube_units)
    sim.on_reset += [sessions.clear, quota.clear]

    @youtube.errorhandler(YouTubeError)
    def refused(problem: YouTubeError) -> Response:
        while request.stream.read(_REST_BYTES):
            pass  # reads an unwanted piece, because the next call follows it on the connection
        response = _json(problem.body(), problem.status)
        if problem.status == 401:
            response.headers["WWW-Authenticate"] = (
                'Bearer realm="https://accounts.google.com/", error="invalid_token"'
            )
        return response

    @youtube.before_request
    def admit() -> None:
        g.channel = _channel(sim)

    @youtube.get("/youtube/v3/<resource>")
    def read(resource: str) -> Response:
        if resource not in _READS:
            raise missing("notFound", "Not Found")
        quota.take(g.channel.account_id, "units")
        operation, answer = _READS[resource]
        if callable(operation):
            operation = operation()
        instead = (lambda: _reject(sim)) if operation == "status" and resource == "videos" else None
        return _json(_faulted(sim, operation, lambda: answer(sim), instead))

    @youtube.post("/youtube/v3/commentThreads")
    def comment() -> Response:
        quota.take(g.channel.account_id, "units", WRITE_UNITS)
        return _json(_faulted(sim, "comment", lambda: _comment(sim)))

    @youtube.post("/youtube/v3/comments")
    def reply() -> Response:
        quota.take(g.channel.account_id, "units", WRITE_UNITS)
        return _json(_faulted(sim, "reply", lambda: _reply(sim)))

    @youtube.post("/upload/youtube/v3/videos")
    def begin() -> Response:
        return _faulted(sim, "upload", lambda: _begin(sim, sessions, quota))

    @youtube.put("/upload/youtube/v3/videos")
    def put() -> Response:
        session = sessions.find(request.args.get("upload_id", ""), g.channel.account_id)
        span = uploads.span_of(request.headers.get("Content-Range", ""))
        operation = "status" if span.is_probe else "publish" if span.is_last else "upload"
        return _faulted(sim, operation, lambda: _put(sim, session, span))

    return youtube


def _channel(sim: Simulation) -> Account:
    token = request.headers.get("Authorization", "").partition(" ")[2]
    account = sim.accounts.holder(token)
    if account is None or account.platform != "YT" or sim.accounts.is_expired(account.account_id):
        raise errors.unauthorized()
    return account


def _faulted(
    sim: Simulation, operation: str, act: Callable[[], T], on_reject: Callable[[], None] | None = None
) -> T:
    mode = sim.faults.take("YT", operation, g.channel.account_id)
    if mode == "reject" and on_reject:
        on_reject()
        mode = None
    return sim.faults.play(mode, lambda refused: errors.refusal(refused, operation), act)


def _begin(sim: Simulation, sessions: uploads.Sessions, quota: Quota) -> Response:
    if request.args.get("uploadType") != "resumable":
        raise invalid("mediaBodyRequired", "The request does not include the video content.")
    video = videos.check(request.get_json(force=True, silent=True))
    size, kind = (
        request.headers.get("X-Upload-Content-Length", ""),
        request.headers.get("X-Upload-Content-Type", ""),
    )
    if not size.isdigit() or int(size) == 0 or not kind.startswith(("video/", "application/octet-stream")):
        raise invalid("mediaBodyRequired", "The request does not include the video content.")
    quota.take(g.channel.account_id, "uploads")
    notify = request.args.get("notifySubscribers", "true")
    if notify not in ("true", "false"):
        raise invalid("invalidValue", "A parameter has an invalid value.", "youtube.parameter")
    upload_id = sessions.begin(g.channel.account_id, video, int(size), notifies=notify == "true")
    query = f"uploadType=resumable&part={request.args.get('part', '')}&upload_id={upload_id}"
    location = f"{request.base_url}?{query}"
    return Response(status=200, headers={"Location": location, "X-GUploader-UploadID": upload_id})


def _put(sim: Simulation, session: uploads.Session, span: uploads.Span) -> Response:
    with session.lock:
        if span.size_bytes != session.size_bytes:
            raise invalid("badContent", "The size is not the one that was announced.", "global")
        status = 200
        if session.video_id is None and not span.is_probe:
            uploads.take(session, span, request.stream.read)
            if session.received_bytes == session.size_bytes:
                videos.finish(sim, g.channel, session)
                status = 201
        if session.video_id is not None:
            video = sim.world.staged.get(session.video_id)
            if video is None:
                raise missing("videoNotFound", "The video that you are trying to upload cannot be found.")
            return _json(videos.shown(sim, video, _parts()), status)
        held = {"Range": f"bytes=0-{session.received_bytes - 1}"} if session.received_bytes else {}
        return Response(status=308, headers=held)


def _list_videos(sim: Simulation) -> Answer:
    found = [_video(sim, video_id) for video_id in request.args.get("id", "").split(",")]
    return _listed("video", [videos.shown(sim, video, _parts()) for video in found if video is not None])


def _list_channels(sim: Simulation) -> Answer:
    if request.args.get("mine") != "true" and request.args.get("id") != g.channel.account_id:
        raise invalid("missingRequiredParameter", "No filter selected.", "youtube.parameter")
    shown = videos.channel(sim, g.channel)
    parts = _parts() | {"kind", "id"}
    return _listed("channel", [{name: value for name, value in shown.items() if name in parts}])


def _list_uploads(sim: Simulation) -> Answer:
    if request.args.get("playlistId") != videos.uploads_playlist(g.channel.account_id):
        raise missing("playlistNotFound", "The playlist identified with the playlistId cannot be found.")
    posts = sim.world.posts_of(g.channel.account_id, "YT")[::-1]
    staged = [sim.world.staged[post.post_id] for post in posts]
    return _paged("playlistItem", "playlistItems", [videos.upload_row(video) for video in staged])


def _list_threads(sim: Simulation) -> Answer:
    post = sim.world.posts.get(request.args.get("videoId", ""))
    if post is None or post.platform != "YT":
        raise missing("videoNotFound", "The video identified by the videoId parameter could not be found.")
    parts, plain = _parts(), _is_plain()
    rows = [comments.shown_thread(sim, thread, parts, plain) for thread in comments.threads(post)]
    return _paged("commentThread", "commentThreads", rows)


def _list_comments(sim: Simulation) -> Answer:
    plain, parent_id = _is_plain(), request.args.get("parentId")
    if parent_id is None:
        ids = request.args.get("id", "").split(",")
        known = [sim.world.comments[comment_id] for comment_id in ids if comment_id in sim.world.comments]
        return _listed("comment", [comments.shown(comment, plain) for comment in known])
    replies = sim.world.replies_to(comments.found(sim, parent_id))
    return _paged("comment", "comments", [comments.shown(reply, plain) for reply in replies])


def _comment(sim: Simulation) -> Answer:
    snippet = _snippet()
    post = sim.world.posts.get(str(snippet.get("videoId")))
    if post is None or post.platform != "YT":
        raise missing("videoNotFound", "The video identified by the videoId parameter could not be found.")
    top = snippet.get("topLevelComment")
    text = (top.get("snippet") or {}).get("textOriginal") if isinstance(top, dict) else None
    made = comments.add(sim, g.channel, post, text, None)
    return comments.shown_thread(sim, made, _parts(), plain=False)


def _reply(sim: Simulation) -> Answer:
    snippet = _snippet()
    parent = comments.parent_of(sim, snippet.get("parentId"))
    made = comments.add(sim, g.channel, sim.world.posts[parent.post_id], snippet.get("textOriginal"), parent)
    return comments.shown(made, plain=False)


def _reject(sim: Simulation) -> None:
    video = _video(sim, request.args.get("id", ""))
    if video is not None:
        videos.reject(sim, video)


def _video(sim: Simulation, video_id: str) -> videos.Video | None:
    """Returns a video of the caller; those of others are not found."""
    video = sim.world.staged.get(video_id)
    is_own = isinstance(video, videos.Video) and video.post.account_id == g.channel.account_id
    return video if is_own else None


def _operation_of_videos() -> str:
    return "engagement" if "statistics" in _parts() else "status"


def _operation_of_channels() -> str:
    return "status" if _parts() == {"contentDetails"} else "profile"


_READS: dict[str, tuple[str | Callable[[], str], Callable[[Simulation], Answer]]] = {
    "videos": (_operation_of_videos, _list_videos),
    "channels": (_operation_of_channels, _list_channels),
    "playlistItems": ("status", _list_uploads),
    "commentThreads": ("comments", _list_threads),
    "comments": ("comments", _list_comments),
}


def _parts() -> set[str]:
    parts = set(filter(None, request.args.get("part", "").split(",")))
    if not parts:
        raise invalid("missingRequiredParameter", "Required parameter: part", "youtube.parameter")
    return parts


def _is_plain() -> bool:
    return request.args.get("textFormat", "html") == "plainText"


def _snippet() -> Answer:
    body = request.get_json(force=True, silent=True)
    snippet = body.get("snippet") if isinstance(body, dict) else None
    if not isinstance(snippet, dict):
        raise invalid("badRequest", "The body holds no snippet.", "global")
    return snippet


def _paged(kind: str, resource: str, rows: Sequence[Answer]) -> Answer:
    """The rows of the page that `pageToken` asks for."""
    most, token = _ROWS_PER_PAGE[resource], request.args.get("pageToken", "CAA0")
    count, start = request.args.get("maxResults", "20" if resource != "playlistItems" else "5"), token[3:]
    if (
        not count.isdigit()
        or not 1 <= int(count) <= most
        or not token.startswith("CAA")
        or not start.isdigit()
    ):
        raise invalid("invalidValue", "A parameter has an invalid value.", "youtube.parameter")
    end = int(start) + int(count)
    answer = _listed(kind, rows[int(start) : end])
    if end < len(rows):
        answer["nextPageToken"] = f"CAA{end}"
    return answer


def _listed(kind: str, rows: Sequence[Answer]) -> Answer:
    return {
        "kind": f"youtube#{kind}ListResponse",
        "pageInfo": {"totalResults": len(rows), "resultsPerPage": len(rows)},
        "items": list(rows),
    }


def _json(body: Answer, status: int = 200) -> Response:
    return Response(json.dumps(body), status, content_type="application/json; charset=UTF-8")
