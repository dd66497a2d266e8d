"""An upload: from the client's multipart body straight into storage, a block at a time (spec "Upload rules").

media says where to put a file of which size and looks at what came; the rules are media's. Here is only what can
be said without knowing the bytes: where the file is in the body, and that it is not larger than the tier allows.
"""

import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import PurePosixPath
from typing import IO, Any

import structlog

from contracts.errors import (
    FILE_TOO_LARGE,
    NO_FILE,
    NOT_FOUND,
    SERVICE_UNAVAILABLE,
    UNSUPPORTED_MEDIA_TYPE,
    ApiError,
)
from contracts.media import MIME_TYPES, BeginUpload, CommitUpload, UploadedMedia, UploadId, UploadTicket
from contracts.plans import PLANS
from gateway.exchange import Exchange
from gateway.http.json_body import flaw_in
from gateway.http.multipart import BLOCK_BYTES, Multipart, Part, boundary_of, malformed
from gateway.http.streams import BodyStream

log = structlog.get_logger()

#: What stands behind the file when it is the last part: the closing boundary's dashes and a line break.
_ENDING = b"--\r\n"
#: Boundaries of clients that may leave out that line break: what they send is as long as it turns out to be.
_BARE_ENDINGS = (b"----formdata-undici-",)
#: How long a file may take to come: as long as media keeps its reservation.
_MOST_SECONDS = 15 * 60.0
#: media looks at the whole of some files. Our choice.
_COMMIT_SECONDS = 120.0
_ABORT_SECONDS = 5.0
#: How long an upload waits for a place. Our choice.
UPLOAD_WAIT_SECONDS = 10.0
_TOO_SLOW = "The upload took longer than its storage is kept; put large files in parts: POST /media/uploads."
_NO_ROOM = (
    "Too many uploads of unknown length at this moment; send the file with a Content-Length, or large files in parts: "
    "POST /media/uploads."
)
_UNFORESEEN = "The file must be the last part of the body, and a line break must follow the closing boundary."


class SpoolBudget:
    """So many bytes in temporary files, of all uploads of this process together."""

    def __init__(self, most_bytes: int) -> None:
        self._left, self._lock = most_bytes, threading.Lock()

    @contextmanager
    def take(self) -> Iterator[Callable[[int], None]]:
        """What is to be called with each size one file grows to, in bytes: raises ApiError SERVICE_UNAVAILABLE."""
        taken = 0

        def grow(size_bytes: int) -> None:
            nonlocal taken
            with self._lock:
                if size_bytes - taken > self._left:
                    raise _no_room()
                self._left -= size_bytes - taken
                taken = size_bytes

        try:
            yield grow
        finally:
            with self._lock:
                self._left += taken


def _no_room() -> ApiError:
    return ApiError(SERVICE_UNAVAILABLE, _NO_ROOM, retry_after_seconds=int(UPLOAD_WAIT_SECONDS))


def receive(exchange: Exchange) -> UploadedMedia:
    """The whole upload. Raises ApiError, after which nothing of the file is kept."""
    content_type = exchange.environ.get("CONTENT_TYPE", "")
    most = PLANS[exchange.caller.tier].max_file_bytes
    stream = BodyStream(exchange.environ)
    if not content_type and stream.is_empty:
        raise ApiError(NO_FILE)
    if content_type.partition(";")[0].strip().lower() != "multipart/form-data":
        raise ApiError(UNSUPPORTED_MEDIA_TYPE, "Send the file as multipart/form-data.")
    boundary = boundary_of(content_type)
    with exchange.services.upload_slots.take(exchange.caller.account_id):
        parts = Multipart(_in_time(stream), boundary)
        part = _file_in(parts)
        if stream.length is not None and not boundary.startswith(_BARE_ENDINGS):
            size_bytes = stream.length - parts.position - len(parts.delimiter) - len(_ENDING)
            if size_bytes > BLOCK_BYTES:
                return _store(exchange, part, _checked(size_bytes, most), _foretold(parts, size_bytes))
        with (
            exchange.services.spool_budget.take() as grow,
            tempfile.SpooledTemporaryFile(BLOCK_BYTES) as spool,
        ):
            size_bytes = _fill(spool, parts, most, grow)
            return _store(exchange, part, size_bytes, iter(lambda: spool.read(BLOCK_BYTES), b""))


def _in_time(stream: BodyStream) -> Callable[[int], bytes]:
    """What comes within the time a file may take; then ApiError UPLOAD_ERROR: a steady line ends too."""
    end = time.monotonic() + _MOST_SECONDS

    def read(most: int) -> bytes:
        block = stream.read(most)
        if time.monotonic() > end:
            raise malformed(_TOO_SLOW)
        return block

    return read


def _file_in(parts: Multipart) -> Part:
    """The part named file, whatever comes before it. Raises ApiError NO_FILE, UPLOAD_ERROR."""
    while (part := parts.next_part()) is not None:
        if part.name == "file" and part.filename:
            flaw = flaw_in(part.filename)
            if flaw is not None:
                raise malformed(f"The file's name: {flaw}.")
            return part
        parts.skip()
    raise ApiError(NO_FILE)


def _checked(size_bytes: int, most: int) -> int:
    if size_bytes > most:
        raise ApiError(FILE_TOO_LARGE, max_file_bytes=most)
    return size_bytes


def _foretold(parts: Multipart, size_bytes: int) -> Iterator[memoryview]:
    """The file's bytes as they arrive. The last are let go only when the body ends as it was taken to end."""
    sent, held = 0, memoryview(b"")
    for block in parts.content():
        if sent + len(held) + len(block) > size_bytes:
            raise malformed(_UNFORESEEN)
        if held:
            yield held
        sent, held = sent + len(held), block
    if sent + len(held) < size_bytes or parts.next_part() is not None:
        raise malformed(_UNFORESEEN)
    yield held


def _fill(spool: IO[bytes], parts: Multipart, most: int, grow: Callable[[int], None]) -> int:
    """Keeps a file whose size is not known beforehand for the length of this request; returns its size."""
    size_bytes = 0
    for block in parts.content():
        size_bytes = _checked(size_bytes + len(block), most)
        if size_bytes > BLOCK_BYTES:  # until then it is kept in memory
            grow(size_bytes)
        try:
            spool.write(block)
        except OSError as error:
            log.warning("upload_not_spooled", error=str(error))
            raise _no_room() from error
    while parts.next_part() is not None:
        parts.skip()
    spool.seek(0)
    return size_bytes


def _store(exchange: Exchange, part: Part, size_bytes: int, blocks: Iterable[Any]) -> UploadedMedia:
    media = exchange.services.media
    begin = BeginUpload(filename=part.filename or "", mime_type=_type_of(part), size_bytes=size_bytes)
    exchange.restart_deadline()  # the body may have taken its time
    ticket = exchange.ask(media.begin_upload, begin)
    try:
        exchange.services.storage.put(ticket.url, ticket.headers, size_bytes, blocks)
    except BaseException:
        _abort(exchange, ticket)
        raise
    commit = CommitUpload(upload_id=ticket.upload_id, size_bytes=size_bytes)
    try:
        return media.commit_upload(exchange.caller, commit, timeout_seconds=_COMMIT_SECONDS)  # type: ignore[call-arg]
    except ApiError as error:
        if error.row is NOT_FOUND:
            raise malformed(_TOO_SLOW) from error
        raise


def _abort(exchange: Exchange, ticket: UploadTicket) -> None:
    """At once, or by media's own sweep."""
    try:
        exchange.services.media.abort_upload(
            exchange.caller, UploadId(upload_id=ticket.upload_id), timeout_seconds=_ABORT_SECONDS
        )  # type: ignore[call-arg]
    except ApiError as error:
        log.warning("upload_not_aborted", upload_id=ticket.upload_id, code=error.code)


def _type_of(part: Part) -> str:
    """As declared; a part that declares none goes by its name's ending. Our choice."""
    if part.mime_type:
        return part.mime_type
    ending = PurePosixPath(part.filename or "").suffix.lower()
    return next((kind for kind, endings in MIME_TYPES.items() if ending in endings), "")
