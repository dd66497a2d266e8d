"""The X API's addresses for files: whole, in segments, their state and their alternative texts."""

import base64

from flask import Blueprint, Response, request

from simulator.accounts import Account
from simulator.simulation import Simulation
from simulator.x.errors import invalid
from simulator.x.gate import Answer, Gate
from simulator.x.media import EXPIRES_SECONDS, Upload, Uploads


def blueprint(sim: Simulation, uploads: Uploads, gate: Gate) -> Blueprint:
    """Routes of one simulator."""
    x = Blueprint("x_media", __name__)
    _add_segments(x, sim, uploads, gate)
    _add_states(x, uploads, gate)

    @x.post("/2/media/upload")
    def upload_whole() -> Response:
        category = request.form.get("media_category", "")
        data = _file()
        return gate.run("upload", lambda account: _told(uploads.whole(account.account_id, category, data)))

    return x


def _add_segments(x: Blueprint, sim: Simulation, uploads: Uploads, gate: Gate) -> None:
    @x.post("/2/media/upload/initialize")
    def initialize() -> Response:
        body = request.get_json(silent=True)
        if not isinstance(body, dict) or not isinstance(body.get("total_bytes"), int):
            raise invalid("total_bytes", "", "$.total_bytes: integer expected")
        names = str(body.get("media_type")), str(body.get("media_category"))
        return gate.run(
            "upload",
            lambda account: _told(uploads.begin(account.account_id, *names, body["total_bytes"])),
        )

    @x.post("/2/media/upload/<media_id>/append")
    def append(media_id: str) -> Response:
        body = request.get_json(silent=True) or request.form
        index, data = str(body.get("segment_index", "")), _file()
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
            return _told(upload, uploads.processing(upload))

        return gate.run("upload", act)


def _add_states(x: Blueprint, uploads: Uploads, gate: Gate) -> None:
    @x.get("/2/media/upload")
    def status() -> Response:
        media_id = request.args.get("media_id", "")
        if request.args.get("command", "STATUS") != "STATUS":
            raise invalid("command", request.args.get("command", ""), "must be STATUS")

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


def _file() -> bytes:
    if request.is_json:
        return base64.b64decode(str((request.get_json(silent=True) or {}).get("media") or ""))
    if "media" not in request.files:
        raise invalid("media", "", "the file is missing")
    with request.files["media"].stream as stream:
        return stream.read()
