"""Uploads of videos in pieces to a Facebook page, in the phases start, transfer and finish (docs/platforms.md, section
2).

A video is visible only after `finish`.
"""

from dataclasses import dataclass, field, replace
from typing import Any

from simulator.meta import media
from simulator.meta.call import Call, Node
from simulator.meta.errors import GraphError, invalid
from simulator.world import Medium

#: Size of a piece; other sizes are possible at Facebook.
PIECE_BYTES = 8 << 20


@dataclass(slots=True)
class Session:
    """An upload session of one video, with the bytes received so far."""

    session_id: str
    video_id: str
    account_id: str
    size_bytes: int
    data: bytearray = field(default_factory=bytearray)
    kind = "UploadSession"
    platform = "FB"

    @property
    def offsets(self) -> dict[str, str]:
        """The range of the next piece: its first byte, and the byte after its end. Both are equal when the file is
        complete.
        """
        start = len(self.data)
        return {
            "start_offset": str(start),
            "end_offset": str(min(start + PIECE_BYTES, self.size_bytes)),
        }


def start(call: Call, page: Node) -> tuple[Session, dict[str, Any]]:
    """Starts an upload of `file_size` bytes. Returns the session, and the answer with the range of the first piece.
    Raises GraphError if Facebook would refuse the upload.
    """
    if not call.sim.told("facebook_pieces", True):
        raise invalid("Param upload_phase is not known")
    size_bytes = call.whole("file_size", 0)
    if size_bytes <= 0:
        raise invalid("Param file_size must be a positive integer")
    if size_bytes > media.FACEBOOK_VIDEO_BYTES:
        raise GraphError(352, "The video file you selected is too large.", 1363026)
    world = call.sim.world
    session = Session(world.new_id("14"), world.new_id("13"), page.account_id, size_bytes)
    world.staged[session.session_id] = session
    told = {"upload_session_id": session.session_id, "video_id": session.video_id}
    return session, told | session.offsets


def transfer(call: Call, page: Node) -> dict[str, Any]:
    """Stores the piece `video_file_chunk`, which must begin at the first missing byte (`start_offset`). Returns the
    range of the next piece. Raises GraphError if the piece does not fit.
    """
    session = of(call, page)
    if "video_file_chunk" not in call.files:
        raise invalid("Param video_file_chunk is required")
    if call.whole("start_offset", -1) != len(session.data):
        raise GraphError(
            6001, "There was a problem uploading your video file.", 1363037, data=dict(session.offsets)
        )
    piece = call.files["video_file_chunk"].read(PIECE_BYTES + 1)
    if len(session.data) + len(piece) > int(session.offsets["end_offset"]):
        raise invalid("The chunk is larger than what was asked for")
    session.data += piece
    return session.offsets


def finish(call: Call, page: Node) -> Medium:
    """Ends the session and returns the video. Raises GraphError 6000 if bytes are missing, and 351 or 352 if Facebook
    would refuse the video.
    """
    session = of(call, page)
    if len(session.data) != session.size_bytes:
        raise GraphError(6000, "The video has not been uploaded completely.", 1363033)
    medium = media.facebook_film(bytes(session.data), "")
    call.sim.world.staged.pop(session.session_id, None)
    return replace(medium, medium_id=session.video_id)


def of(call: Call, page: Node) -> Session:
    """Returns the page's upload session that the call names. Raises GraphError 100 if there is none."""
    found = call.sim.world.staged.get(call.text("upload_session_id"))
    if not isinstance(found, Session) or found.account_id != page.account_id:
        raise invalid("Invalid upload_session_id")
    return found
