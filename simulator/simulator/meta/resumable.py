"""Meta's Resumable Upload API: the app uploads a file in a session and gets a handle, which it gives to
`/{page}/videos`.

`POST /{app}/uploads?file_name&file_length&file_type` opens a session, whose id begins with `upload:`. `POST` of the
bytes to the session, with the header `file_offset`, answers `{h}`, the handle. `GET` of the session tells from which
byte to continue (https://developers.facebook.com/docs/graph-api/guides/upload and docs/video-api/guides/publishing, as
other clients of November 2026 use them). At Meta a session ends after a day; here it ends with the process or a reset.
"""

from dataclasses import dataclass, field
from typing import Any

from flask import request

from simulator.meta.call import Call, Edge, Edges, Node
from simulator.meta.errors import GraphError, invalid

#: The file types that the guide lists.
TYPES = ("application/pdf", "image/jpeg", "image/jpg", "image/png", "video/mp4")


@dataclass(slots=True)
class Upload:
    """A file that is being uploaded, or is complete. Its handle is valid when it is complete."""

    upload_id: str
    account_id: str
    size_bytes: int
    handle: str
    data: bytearray = field(default_factory=bytearray)
    kind = "Upload"
    platform = "FB"


def begin(call: Call, app: Node) -> dict[str, Any]:
    """Answers POST /{app}/uploads: opens an upload session and returns its id."""
    size_bytes = call.whole("file_length", 0)
    if size_bytes <= 0:
        raise invalid("The parameter file_length is required")
    if call.text("file_type") not in TYPES:
        raise invalid(f"Param file_type must be one of {', '.join(TYPES)}")
    number = call.sim.world.new_id("15")
    made = Upload(f"upload:{number}", call.caller.account_id, size_bytes, f"4::{number}")
    call.sim.world.staged[made.upload_id] = made
    return {"id": made.upload_id}


def take(call: Call, node: Node) -> dict[str, Any]:
    """Answers POST /{upload}: stores the body, which must begin at the first missing byte (header `file_offset`).
    After the last byte returns the handle.
    """
    made: Upload = node.thing
    if request.headers.get("file_offset") != str(len(made.data)):
        raise invalid(f"The header file_offset has to be {len(made.data)}")
    data = request.get_data(cache=False)
    if len(made.data) + len(data) > made.size_bytes:
        raise invalid("The file is longer than file_length")
    made.data += data
    return {"h": made.handle} if len(made.data) == made.size_bytes else state(call, node)


def state(call: Call, node: Node) -> dict[str, Any]:
    """Answers GET /{upload} with the offset of the first missing byte."""
    return {"id": node.thing.upload_id, "file_offset": len(node.thing.data)}


def file_of(call: Call, handle: str) -> bytes:
    """Returns the uploaded file with this handle. Raises GraphError 100 if there is none or it is incomplete."""
    for thing in list(call.sim.world.staged.values()):
        if isinstance(thing, Upload) and thing.handle == handle and len(thing.data) == thing.size_bytes:
            return bytes(thing.data)
    raise GraphError(100, "(#100) Invalid parameter: the upload handle is not valid")


EDGES: Edges = {
    ("POST", "App", "uploads"): Edge("upload", begin),
    ("POST", "Upload", ""): Edge("upload", take),
    ("GET", "Upload", ""): Edge("status", state),
}
