"""Simulates the YouTube Data API v3: its routes, tokens, quotas and faults. Videos are in videos.py, comments in
comments.py.
"""

from collections.abc import Callable, Sequence

from flask import Blueprint, Response, g, request

from simulator.hosts import Hosts
from simulator.simulation import Simulation
from simulator.youtube import comments, description, login, upload_routes, videos
from simulator.youtube.caller import Answer, faulted, json_answer, let_in
from simulator.youtube.errors import YouTubeError, invalid, missing
from simulator.youtube.quota import WRITE_UNITS, Quota

_REST_BYTES = 1 << 18

_ROWS_PER_PAGE = {"commentThreads": 100, "comments": 100, "playlistItems": 50}


def hosts(sim: Simulation) -> Hosts:
    """Returns the routes of the simulated YouTube by host."""
    page, token = login.blueprints(sim)
    return {
        ("www.googleapis.com", "youtube.googleapis.com"): (_api(sim),),
        ("accounts.google.com",): (page,),
        ("oauth2.googleapis.com",): (token,),
    }


def _api(sim: Simulation) -> Blueprint:
    youtube = Blueprint("youtube", __name__)
    quota = Quota(sim.clock, sim.settings.youtube_uploads, sim.settings.youtube_units)
    sim.on_reset.append(quota.clear)

    @youtube.errorhandler(YouTubeError)
    def refused(problem: YouTubeError) -> Response:
        while request.stream.read(_REST_BYTES):
            pass  # reads the refused piece, because the client's next request follows it on the connection
        response = json_answer(problem.body(), problem.status)
        if problem.status == 401:
            response.headers["WWW-Authenticate"] = (
                'Bearer realm="https://accounts.google.com/", error="invalid_token"'
            )
        return response

    @youtube.get("/youtube/v3/<resource>")
    def read(resource: str) -> Response:
        if resource not in _READS:
            raise missing("notFound", "Not Found")
        let_in(sim, f"{resource}.list")
        quota.take(g.channel.account_id, "units")
        operation, answer = _READS[resource]
        if callable(operation):
            operation = operation()
        instead = (lambda: _reject(sim)) if operation == "status" and resource == "videos" else None
        return json_answer(faulted(sim, operation, lambda: answer(sim), instead))

    @youtube.post("/youtube/v3/commentThreads")
    def comment() -> Response:
        let_in(sim, "commentThreads.insert")
        quota.take(g.channel.account_id, "units", WRITE_UNITS)
        return json_answer(faulted(sim, "comment", lambda: _comment(sim)))

    @youtube.post("/youtube/v3/comments")
    def reply() -> Response:
        let_in(sim, "comments.insert")
        quota.take(g.channel.account_id, "units", WRITE_UNITS)
        return json_answer(faulted(sim, "reply", lambda: _reply(sim)))

    @youtube.delete("/youtube/v3/<any(videos, comments):resource>")
    def delete(resource: str) -> Response:
        let_in(sim, f"{resource}.delete")
        quota.take(g.channel.account_id, "units", WRITE_UNITS)
        (_delete_video if resource == "videos" else _delete_comment)(sim, request.args.get("id", ""))
        return Response(status=204)

    youtube.register_blueprint(upload_routes.blueprint(sim, quota))
    return youtube


def _list_videos(sim: Simulation) -> Answer:
    found = [_video(sim, video_id) for video_id in description.values("id")]
    return _listed("video", [videos.shown(sim, video, _parts()) for video in found if video is not None])


def _list_channels(sim: Simulation) -> Answer:
    if request.args.get("mine") != "true" and g.channel.account_id not in description.values("id"):
        return _listed("channel", [])  # others' channels are not simulated
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
        ids = description.values("id")
        known = [sim.world.comments[comment_id] for comment_id in ids if comment_id in sim.world.comments]
        return _listed("comment", [comments.shown(comment, plain) for comment in known])
    replies = sim.world.replies_to(comments.found(sim, parent_id))
    return _paged("comment", "comments", [comments.shown(reply, plain) for reply in replies])


def _comment(sim: Simulation) -> Answer:
    snippet = _snippet("CommentThread")
    post = sim.world.posts.get(str(snippet.get("videoId")))
    if post is None or post.platform != "YT":
        raise missing("videoNotFound", "The video identified by the videoId parameter could not be found.")
    top = snippet.get("topLevelComment")
    text = (top.get("snippet") or {}).get("textOriginal") if isinstance(top, dict) else None
    made = comments.add(sim, g.channel, post, text, None)
    return comments.shown_thread(sim, made, _parts(), plain=False)


def _reply(sim: Simulation) -> Answer:
    snippet = _snippet("Comment")
    parent = comments.parent_of(sim, snippet.get("parentId"))
    made = comments.add(sim, g.channel, sim.world.posts[parent.post_id], snippet.get("textOriginal"), parent)
    return comments.shown(made, plain=False)


def _reject(sim: Simulation) -> None:
    video = _video(sim, request.args.get("id", ""))
    if video is not None:
        videos.reject(sim, video)


def _delete_video(sim: Simulation, video_id: str) -> None:
    if _video(sim, video_id) is None:
        raise missing("videoNotFound", "The video that you are trying to delete cannot be found.")
    sim.world.remove_post(video_id)
    del sim.world.staged[video_id]


def _delete_comment(sim: Simulation, comment_id: str) -> None:
    """Deletes a comment and the replies to it. Raises YouTubeError if there is no such comment. Also raises it if the
    calling channel neither wrote the comment nor owns the video.
    """
    comment = comments.found(sim, comment_id)
    if g.channel.account_id not in (comment.author_id, sim.world.posts[comment.post_id].account_id):
        message = "The comment could not be deleted due to insufficient permissions."
        raise YouTubeError(403, "forbidden", message, "youtube.comment")
    for row in [*sim.world.replies_to(comment), comment]:
        sim.world.remove_comment(row.comment_id)


def _video(sim: Simulation, video_id: str) -> videos.Video | None:
    """Returns the calling channel's video with this id; None if there is none."""
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
    return {*description.values("part")}


def _is_plain() -> bool:
    return request.args.get("textFormat", "html") == "plainText"


def _snippet(schema: str) -> Answer:
    body = request.get_json(force=True, silent=True)
    if not isinstance(body, dict) or not isinstance(body.get("snippet"), dict):
        raise invalid("badRequest", "The body holds no snippet.", "global")
    description.check_fields(schema, body)
    snippet: Answer = body["snippet"]
    return snippet


def _paged(kind: str, resource: str, rows: Sequence[Answer]) -> Answer:
    """Returns the answer with the rows of the page that `pageToken` and `maxResults` ask for. Raises YouTubeError if
    one of these parameters is invalid.
    """
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
