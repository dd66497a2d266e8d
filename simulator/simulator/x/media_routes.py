"""The X API's routes for files: upload in one call or in segments, processing state and alternative text."""

import base64
import binascii
from typing import Any

from flask import Blueprint, Response, request
from werkzeug.sansio.multipart import Data, Epilogue, Field, File, MultipartDecoder

from simulator.accounts import Account
from simulator.simulation import Simulation
from simulator.x.errors import invalid
from simulator.x.gate import Answer, Gate
from simulator.x.media import EXPIRES_SECONDS, Upload, Uploads

#: X's OpenAPI 2.167, `InitializeMediaUploadRequest`.
_INITIALIZE = {"additional_owners", "media_category", "media_type", "shared", "total_bytes"}


def blueprint(sim: Simulation, uploads: Uploads, gate: Gate) -> Blueprint:
    """Returns the X API's routes for files."""
    x = Blueprint("x_media", __name__)
    _add_segments(x, sim, uploads, gate)
    _add_states(x, uploads, gate)

    @x.post("/2/media/upload")
    def upload_whole() -> Response:
        body = _fields("media", "media_category", "additional_owners")
        category = str(body.get("media_category", ""))
        data = _file(body)
        return gate.run("upload", lambda account: _told(uploads.whole(account.account_id, category, data)))

    return x


def _add_segments(x: Blueprint, sim: Simulation, uploads: Uploads, gate: Gate) -> None:
    @x.post("/2/media/upload/initialize")
    def initialize() -> Response:
        body = request.get_json(silent=True)
        if not isinstance(body, dict) or not isinstance(body.get("total_bytes"), int):
            raise invalid("total_bytes", "", "$.total_bytes: integer expected")
        _check_keys(body, _INITIALIZE)
        names = str(body.get("media_type")), str(body.get("media_category") or "")
        return gate.run(
            "upload",
            lambda account: _told(uploads.begin(account.account_id, *names, body["total_bytes"])),
        )

    @x.post("/2/media/upload/<media_id>/append")
    def append(media_id: str) -> Response:
        body = _fields("media", "segment_index")
        index, data = str(body.get("segment_index", "")), _file(body)
        if not index.isdigit():
            raise invalid("segment_index", index, "integer expected")

        def act(account: Account) -> Answer:
            uploads.append(uploads.find(account.account_id, media_id), int(index), data)
            return {"data": {"expires_at": int(sim.clock.now().timestamp()) + EXPIRES_SECONDS}}

        return gate.run("upload", act)

    @x.post("/2/media/upload/<media_id>/finalize")
    def finalize(media_id: str) -> Response:
        def act(account: Account) -> Answer:
            upload = uploads.find(account.account_id, media_id)
            uploads.finish(upload)
            # X processes no photo, so the answer has no `processing_info`.
            return _told(upload, uploads.processing(upload) if upload.category != "tweet_image" else None)

        return gate.run("upload", act)


def _add_states(x: Blueprint, uploads: Uploads, gate: Gate) -> None:
    @x.get("/2/media/upload")
    def status() -> Response:
        media_id = request.args.get("media_id", "")

        def act(account: Account) -> Answer:
            upload = uploads.find(account.account_id, media_id)
            return _told(upload, uploads.processing(upload))

        def fail(account: Account) -> Answer:
            upload = uploads.find(account.account_id, media_id)
            upload.error, upload.ready_ticks = {"code": 1, "name": "InvalidMedia", "message": "Refused"}, 0.0
            return act(account)

        return gate.run("status", act, on_reject=fail)

    @x.post("/2/media/metadata")
    def describe() -> Response:
        body = request.get_json(silent=True) or {}

        def act(account: Account) -> Answer:
            upload = uploads.find(account.account_id, str(body.get("id")))
            text = str(((body.get("metadata") or {}).get("alt_text") or {}).get("text") or "")
            if not 0 < len(text) <= 1_000:
                raise invalid("metadata.alt_text.text", len(text), "must have 1 to 1000 characters")
            upload.alt_text = text
            return {"data": {"id": upload.media_id, "associated_metadata": {"alt_text": {"text": text}}}}

        return gate.run("upload", act)


def _told(upload: Upload, processing: Answer | None = None) -> Answer:
    data: Answer = {
        "id": upload.media_id,
        "media_key": upload.media_key,
        "size": upload.total_bytes,
        "expires_after_secs": EXPIRES_SECONDS,
    }
    return {"data": data | {"processing_info": processing} if processing else data}


def _fields(*known: str) -> dict[str, Any]:
    """Returns the fields of the request, which is a JSON object or a form. Accepts a form whose file has no file name.
    Raises XError for an unknown field.
    """
    if request.is_json:
        body = request.get_json(silent=True)
        found = body if isinstance(body, dict) else {}
    else:
        found = _parts()
        found |= {name: value.decode("utf-8", "replace") for name, value in found.items() if name != "media"}
    _check_keys(found, {*known})
    return found


def _parts() -> dict[str, Any]:
    """Returns the parts of a form as bytes. Raises XError if the body is not a valid form.

    Flask would decode a file as text if it has no file name. The npm package twitter-api-v2 sends such files.
    """
    decoder = MultipartDecoder(request.mimetype_params.get("boundary", "").encode())
    found: dict[str, Any] = {}
    name = ""
    try:
        decoder.receive_data(request.get_data())
        decoder.receive_data(None)
        while not isinstance(event := decoder.next_event(), Epilogue):
            if isinstance(event, Field | File):
                name, found[event.name] = event.name, b""
            elif isinstance(event, Data):
                found[name] += event.data
    except ValueError as problem:
        raise invalid("body", "", "The body is not a valid form.") from problem
    return found


def _check_keys(body: dict[str, Any], known: set[str]) -> None:
    for key in body.keys() - known:
        message = f"$.{key}: is not defined in the schema and the schema does not allow additional properties"
        raise invalid(key, "", message)


def _file(body: dict[str, Any]) -> bytes:
    media = body.get("media")
    if not media or not isinstance(media, str | bytes):
        raise invalid("media", "", "the file is missing")
    if isinstance(media, bytes):
        return media
    try:
        return base64.b64decode(media, validate=True)
    except binascii.Error as problem:
        raise invalid("media", "", "$.media: must be base64") from problem
