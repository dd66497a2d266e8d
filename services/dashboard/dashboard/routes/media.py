"""The library of files: shows uploaded files, uploads and deletes them."""

from typing import Any

from flask import Blueprint, redirect, render_template, request, url_for
from werkzeug.datastructures import FileStorage
from werkzeug.wrappers import Response

from dashboard import api, words
from dashboard.routes.shared import Places, recent_brands, search_text
from posthaste import Posthaste
from posthaste.errors import ApiError, AuthenticationError, InvalidRequest, MediaError
from posthaste.records import UploadedMedia

screens = Blueprint("media", __name__, url_prefix="/library")

#: The answer to a script that sends a file: its tile, or why it was refused.
Uploaded = str | Response

_ON_A_PAGE = 24
#: Choice of the filter → its label, and the parameters of the API's list.
KINDS: dict[str, tuple[str, dict[str, Any]]] = {
    "photos": ("Photos", {"type": "photo"}),
    "videos": ("Videos", {"type": "video"}),
    "unused": ("Unused", {"unused": True}),
}
#: As many files as a form may delete at once: the page shows no more.
_MOST = _ON_A_PAGE

_MISSING = "A file that you chose is not in your library: it may have been deleted before."


@screens.get("")
def index() -> str:
    return _listed()


@screens.post("")
def upload_all() -> tuple[str, int] | Response:
    """Uploads the files of a form that was sent without JavaScript."""
    problems = []
    for file in request.files.getlist("files"):
        if not file.filename:
            continue
        try:
            store(file)
        except (MediaError, InvalidRequest) as error:
            problems.append(f"{file.filename}: {words.said(error)}")
    if problems:
        return _listed(problems), 422
    return redirect(url_for("media.index"))


@screens.post("/files")
def upload() -> Uploaded:
    return upload_one("media_tile.html")


@screens.get("/<media_id>")
def show(media_id: str) -> str:
    client = api.reader()
    file, brands = api.together(lambda: client.get_media(media_id), recent_brands(client))
    # The list has only those of the posts that the person may see.
    post_ids = ",".join(file.scheduled_post_ids)
    posts = client.list_posts(post_ids=post_ids).posts if post_ids else []
    return render_template(
        "media_file.html", file=file, posts=posts, places=Places({}, brands), used=file.scheduled_post_count
    )


@screens.post("/delete")
def delete() -> tuple[str, int] | Response:
    """Deletes the chosen files. Files that a scheduled post needs stay, and the screen names them."""
    client, chosen = api.patient(), request.form.getlist("media_id")[:_MOST]
    if not chosen:
        return _listed(["Choose the files first."]), 400
    problems = [it for it in api.all_of(lambda media_id: _deleted(client, media_id), chosen) if it]
    if problems:
        told = list(dict.fromkeys(problems))
        return _listed(told, len(chosen) - len(problems)), 404 if told == [_MISSING] else 409
    return redirect(url_for("media.index", deleted=len(chosen)))


def upload_one(tile: str) -> Uploaded:
    """Uploads the file that a script sends, and returns the answer.

    The answer is the file's tile as HTML (from the template `tile`) or, if the API refuses the file, the reason as
    text.
    """
    file = request.files.get("file")
    if file is None or not file.filename:
        return Response("Choose a file.", 400, mimetype="text/plain")
    try:
        made = store(file)
    except (MediaError, InvalidRequest) as error:
        return Response(words.said(error), 422, mimetype="text/plain")
    return render_template(tile, file=made)


def store(file: FileStorage) -> UploadedMedia:
    """Passes a file on to the API. A large file is sent in parts, and a part that fails is sent again."""
    return api.patient().upload(file.stream, filename=file.filename, mime_type=file.mimetype or None)  # type: ignore[arg-type]


def _deleted(client: Posthaste, media_id: str) -> str:
    """Deletes a file. Returns the reason why it could not be deleted; empty if it was."""
    try:
        client.delete_media(media_id)
    except AuthenticationError:
        raise
    except ApiError as error:
        if error.status >= 500:
            raise
        if error.status == 404:
            return _MISSING
        if error.code == "MEDIA_IN_USE":
            return f"{_name(client, media_id)}: a scheduled post needs it. Change or cancel the post first."
        return words.said(error)
    return ""


def _name(client: Posthaste, media_id: str) -> str:
    try:
        return client.get_media(media_id).filename
    except ApiError:
        return media_id


def _listed(problems: list[str] | None = None, deleted: int = 0) -> str:
    kind, search = request.args.get("show", ""), search_text()
    narrowed: dict[str, Any] = dict(KINDS[kind][1]) if kind in KINDS else {}
    if search:
        narrowed["search"] = search
    cursor = request.args.get("after") or None
    found = api.reader().list_media(limit=_ON_A_PAGE, cursor=cursor, **narrowed)
    told = request.args.get("deleted", "")
    return render_template(
        "media.html", files=found.media, quota=found.quota, after=found.next_cursor, problems=problems or [],
        deleted=deleted or (int(told) if told.isdecimal() and len(told) < 4 else 0),
        is_first=cursor is None, kinds={name: text for name, (text, _) in KINDS.items()}, kind=kind, search=search,
    )  # fmt: skip
