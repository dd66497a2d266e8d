"""The routes of `/media`: sample files on every host, and files that are slow, broken or redirected as on public
servers.
"""

import re
import time
from collections.abc import Iterator

from flask import Blueprint, Response, redirect, request
from werkzeug.exceptions import NotFound
from werkzeug.wrappers import Response as AnyResponse

from simulator import connection
from simulator.samples import photo, video

media = Blueprint("media", __name__, url_prefix="/media")

_PHOTO = re.compile(r"photo-(\d{1,4})x(\d{1,4})(?:-(\d{1,2})mb|(-gps))?\.(\w+)")
_VIDEO = re.compile(r"video-(\d{1,4})s(?:-(\d{2,4})x(\d{2,4}))?(-moov-last)?\.(mp4|mov|webm)")
_TYPES = {"jpg": "image/jpeg", "mp4": "video/mp4", "mov": "video/quicktime", "webm": "video/webm"}


def _file(data: bytes, ending: str) -> Response:
    response = Response(data, mimetype=_TYPES.get(ending, f"image/{ending}"))
    response.add_etag()
    response.make_conditional(request.environ, accept_ranges=True, complete_length=len(data))
    return response


@media.get("/<name>")
def sample(name: str) -> Response:
    """Answers with the sample file that the name describes, such as `photo-1080x1080.jpg`, `photo-1080x1080-9mb.jpg`,
    `video-5s.mp4` or `video-5s-360x640-moov-last.mov`. 404 for any other name.
    """
    if match := _PHOTO.fullmatch(name):
        width, height, ending = int(match[1]), int(match[2]), match[5]
        if ending in photo.FORMATS and 0 < width <= photo.MAX_SIDE and 0 < height <= photo.MAX_SIDE:
            located = match[4] and ending in ("jpg", "jpeg")
            data = photo.located(width, height) if located else photo.draw(width, height, ending)
            return _file(photo.padded(data, int(match[3]) << 20) if match[3] else data, ending)
    if match := _VIDEO.fullmatch(name):
        width, height = (int(match[2]) & ~1, int(match[3]) & ~1) if match[2] else (640, 360)
        seconds, ending = int(match[1]), match[5]
        longest_seconds, longest_side = video.LIMITS[ending]
        if 0 < seconds <= longest_seconds and max(width, height) <= longest_side:
            return _file(video.make(seconds, width, height, ending, bool(match[4])), ending)
    raise NotFound


@media.get("/redirect")
def moved() -> AnyResponse:
    """Redirects to the URL in `?to=`, by default to a photo."""
    return redirect(request.args.get("to", "/media/photo-1080x1080.jpg"))


@media.get("/slow")
def slow() -> Response:
    """Answers with a photo after the number of seconds in `?seconds=` (default 30, at most 120)."""
    time.sleep(min(float(request.args.get("seconds", 30)), 120))
    return sample("photo-1080x1080.jpg")


@media.get("/html-as.jpg")
def bot_wall() -> Response:
    """Answers with a web page in place of a photo, as servers with bot protection do."""
    return Response("<!doctype html><title>Are you a robot?</title>", mimetype="text/html")


@media.get("/text-as.jpg")
def wrong_type() -> Response:
    """Answers with plain text whose Content-Type is image/jpeg."""
    return Response("not a picture", mimetype="image/jpeg")


@media.get("/huge.jpg")
def huge() -> Response:
    """Answers with a Content-Length of 5 GiB, and closes the connection after the first bytes."""
    environ = request.environ

    def first_bytes() -> Iterator[bytes]:
        yield photo.draw(1080, 1080, "jpg")[:1024]
        connection.cut(environ)

    return Response(first_bytes(), mimetype="image/jpeg", headers={"Content-Length": str(5 << 30)})
