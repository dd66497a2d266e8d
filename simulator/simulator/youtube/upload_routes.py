"""The routes for uploads to YouTube: sessions (`uploadType=resumable`), and file and metadata in one call
(`multipart`).
"""

import json
from typing import Any

from flask import Blueprint, Response, g, request

from simulator.simulation import Simulation
from simulator.youtube import uploads, videos
from simulator.youtube.caller import faulted, json_answer, let_in
from simulator.youtube.description import values
from simulator.youtube.errors import YouTubeError, invalid, missing
from simulator.youtube.quota import Quota

_TYPES = ("video/", "application/octet-stream")
#: Both paths lead to the same method (`mediaUpload.protocols` in the discovery document).
_ADDRESSES = ("/upload/youtube/v3/videos", "/resumable/upload/youtube/v3/videos")


def blueprint(sim: Simulation, quota: Quota) -> Blueprint:
    """Returns the routes for uploads to YouTube."""
    youtube = Blueprint("youtube_uploads", __name__)
    sessions = uploads.Sessions()
    sim.on_reset.append(sessions.clear)

    def begin() -> Response:
        let_in(sim, "videos.insert")
        if request.args.get("uploadType") == "multipart":
            return faulted(sim, "publish", lambda: _whole(sim, sessions, quota))
        return faulted(sim, "upload", lambda: _begin(sessions, quota))

    def put() -> Response:
        let_in(sim, "videos.insert")
        session = sessions.find(request.args.get("upload_id", ""), g.channel.account_id)
        span = uploads.span_of(request.headers.get("Content-Range"), request.content_length or 0)
        operation = "status" if span.is_probe else "publish" if span.is_last else "upload"
        return faulted(sim, operation, lambda: _put(sim, session, span))

    for number, address in enumerate(_ADDRESSES):
        youtube.add_url_rule(address, f"begin{number}", begin, methods=["POST"])
        youtube.add_url_rule(address, f"put{number}", put, methods=["PUT"])
    return youtube


def _begin(sessions: uploads.Sessions, quota: Quota) -> Response:
    if request.args.get("uploadType") != "resumable":
        raise _without_file()
    video = videos.check(request.get_json(force=True, silent=True))
    # Both headers are optional: the pieces name the size as well.
    size = request.headers.get("X-Upload-Content-Length")
    _check_type(request.headers.get("X-Upload-Content-Type", "application/octet-stream"))
    if size is not None and (not size.isdigit() or int(size) == 0):
        raise _without_file()
    quota.take(g.channel.account_id, "uploads")
    upload_id = sessions.begin(g.channel.account_id, video, int(size) if size else None, notifies=_notifies())
    query = f"uploadType=resumable&part={','.join(values('part'))}&upload_id={upload_id}"
    location = f"{request.base_url}?{query}"
    return Response(status=200, headers={"Location": location, "X-GUploader-UploadID": upload_id})


def _whole(sim: Simulation, sessions: uploads.Sessions, quota: Quota) -> Response:
    metadata, kind, data = _related_parts()
    video = videos.check(metadata)
    _check_type(kind)
    if not data:
        raise _without_file()
    quota.take(g.channel.account_id, "uploads")
    upload_id = sessions.begin(g.channel.account_id, video, len(data), notifies=_notifies())
    session = sessions.find(upload_id, g.channel.account_id)
    session.file.write(data)
    made = videos.finish(sim, g.channel, session)
    return json_answer(videos.shown(sim, made, {*values("part")}))


def _put(sim: Simulation, session: uploads.Session, span: uploads.Span) -> Response:
    with session.lock:
        session.size_bytes = session.size_bytes or span.size_bytes
        if span.size_bytes not in (None, session.size_bytes):
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
            return json_answer(videos.shown(sim, video, {*values("part")}), status)
        held = {"Range": f"bytes=0-{session.received_bytes - 1}"} if session.received_bytes else {}
        return Response(status=308, headers=held)


def _related_parts() -> tuple[Any, str, bytes]:
    """Returns the metadata, the file's media type and the file's bytes from a multipart/related body. Raises
    YouTubeError if the body does not have these two parts.
    """
    delimiter = b"--" + request.mimetype_params.get("boundary", "").encode()
    body = request.get_data()
    first, _, _ = body.partition(b"\n")
    # Google's Python client ends lines with a line feed only.
    newline = b"\r\n" if first.endswith(b"\r") else b"\n"
    parts = (newline + body).split(newline + delimiter)[1:-1]
    if request.mimetype != "multipart/related" or len(parts) != 2:
        raise invalid("badContent", "Multipart body must contain 2 parts.", "global")
    (_, text), (head, data) = (
        part.split(newline * 2, 1) if newline * 2 in part else (b"", b"") for part in parts
    )
    kinds = [
        line.partition(b":")[2] for line in head.split(newline) if line.lower().startswith(b"content-type:")
    ]
    try:
        return json.loads(text), (kinds or [b""])[0].decode("latin-1").strip(), data
    except ValueError as problem:
        raise invalid("parseError", "Parse Error", "global") from problem


def _check_type(kind: str) -> None:
    if not kind.startswith(_TYPES):
        raise invalid(
            "badContent", f"Media type '{kind}' is not supported. Valid media types: [video/*]", "global"
        )


def _without_file() -> YouTubeError:
    return invalid("mediaBodyRequired", "The request does not include the video content.")


def _notifies() -> bool:
    return request.args.get("notifySubscribers", "true") == "true"
