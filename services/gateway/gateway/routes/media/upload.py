"""POST /media/upload: sends a file from the client's multipart body straight into storage.

docs/spec.md, "Upload rules", says what files are accepted.

The media service has the rules: it says where the file is stored, and checks the file after it has arrived. This
module only finds the file in the body, and checks that it is not larger than the tier allows.
"""

import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
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
from contracts.media import BeginUpload, CommitUpload, UploadedMedia, UploadId, UploadTicket
from contracts.plans import PLANS
from gateway.exchange import Exchange
from gateway.http.body import BodyStream
from gateway.http.multipart import BLOCK_BYTES, Multipart, Part, boundary_of, malformed
from gateway.http.request_reader import flaw_in
from gateway.transfers.spool_budget import budget_used_up

log = structlog.get_logger()

#: What follows the file when it is the last part: the closing boundary's dashes and a line break.
_ENDING = b"--\r\n"
#: Boundaries of clients that may leave out that line break, so that the file's length cannot be computed.
_BARE_ENDINGS = (b"----formdata-undici-",)
#: The longest that an upload may take: as long as the media service keeps its reservation.
_MAX_SECONDS = 15 * 60.0
#: The media service reads some files as a whole before it accepts them, and copies a few videos at once: on a busy
#: machine the last of 20 videos waits for a minute.
_COMMIT_SECONDS = 120.0
_ABORT_SECONDS = 5.0
_TOO_SLOW = "The upload took longer than 15 minutes; upload large files in parts: POST /media/uploads."
_WRONG_ENDING = (
    "The file must be the last part of the body, and a line break must follow the closing boundary."
)


def receive(exchange: Exchange) -> UploadedMedia:
    """Receives the file of a request and stores it. After an ApiError, nothing of the file is kept."""
    content_type = exchange.environ.get("CONTENT_TYPE", "")
    max_bytes = PLANS[exchange.caller.tier].max_file_bytes
    stream = BodyStream(exchange.environ)
    if not content_type and stream.is_empty:
        raise ApiError(NO_FILE)
    if content_type.partition(";")[0].strip().lower() != "multipart/form-data":
        raise ApiError(UNSUPPORTED_MEDIA_TYPE, "Send the file as multipart/form-data.")
    boundary = boundary_of(content_type)
    with exchange.services.upload_slots.slot(exchange.caller.account_id):
        parts = Multipart(_within_time(stream), boundary)
        part = _find_file(parts)
        if stream.length is not None and not boundary.startswith(_BARE_ENDINGS):
            size_bytes = stream.length - parts.position - len(parts.delimiter) - len(_ENDING)
            if size_bytes > BLOCK_BYTES:
                return _store(
                    exchange, part, _checked(size_bytes, max_bytes), _blocks_of_length(parts, size_bytes)
                )
        with (
            exchange.services.spool_budget.share() as grow,
            tempfile.SpooledTemporaryFile(BLOCK_BYTES) as spool,
        ):
            size_bytes = _fill(spool, parts, max_bytes, grow)
            return _store(exchange, part, size_bytes, iter(lambda: spool.read(BLOCK_BYTES), b""))


def _within_time(stream: BodyStream) -> Callable[[int], bytes]:
    """Returns the stream's `read` with a limit on the whole upload: it raises UPLOAD_ERROR after `_MAX_SECONDS`."""
    end = time.monotonic() + _MAX_SECONDS

    def read(most: int) -> bytes:
        block = stream.read(most)
        if time.monotonic() > end:
            raise malformed(_TOO_SLOW)
        return block

    return read


def _find_file(parts: Multipart) -> Part:
    """Reads on to the part that is named file. Raises NO_FILE if there is none, and UPLOAD_ERROR if the body is
    malformed.
    """
    while (part := parts.next_part()) is not None:
        if part.name == "file" and part.filename:
            flaw = flaw_in(part.filename)
            if flaw is not None:
                raise malformed(f"The file's name: {flaw}.")
            return part
        parts.skip()
    raise ApiError(NO_FILE)


def _checked(size_bytes: int, max_bytes: int) -> int:
    if size_bytes > max_bytes:
        raise ApiError(FILE_TOO_LARGE, max_file_bytes=max_bytes)
    return size_bytes


def _blocks_of_length(parts: Multipart, size_bytes: int) -> Iterator[memoryview]:
    """Yields the file's bytes as they arrive. Raises ApiError if there are more or fewer than `size_bytes`.

    The last block is yielded only when the body has ended.
    """
    sent, held = 0, memoryview(b"")
    for block in parts.content():
        if sent + len(held) + len(block) > size_bytes:
            raise malformed(_WRONG_ENDING)
        if held:
            yield held
        sent, held = sent + len(held), block
    if sent + len(held) < size_bytes or parts.next_part() is not None:
        raise malformed(_WRONG_ENDING)
    yield held


def _fill(spool: IO[bytes], parts: Multipart, max_bytes: int, grow: Callable[[int], None]) -> int:
    """Writes a file of unknown size to a temporary file, and returns its size in bytes.

    `grow` is called with the file's new size before each write to disk.
    """
    size_bytes = 0
    for block in parts.content():
        size_bytes = _checked(size_bytes + len(block), max_bytes)
        if size_bytes > BLOCK_BYTES:  # smaller ones stay in memory
            grow(size_bytes)
        try:
            spool.write(block)
        except OSError as error:
            log.warning("upload_not_spooled", error=str(error))
            raise budget_used_up() from error
    while parts.next_part() is not None:
        parts.skip()
    spool.seek(0)
    return size_bytes


def _store(exchange: Exchange, part: Part, size_bytes: int, blocks: Iterable[Any]) -> UploadedMedia:
    media = exchange.services.media
    begin = BeginUpload(filename=part.filename or "", mime_type=part.mime_type, size_bytes=size_bytes)
    exchange.restart_deadline()  # reading the body may have taken long
    ticket = exchange.ask(media.begin_upload, begin)
    try:
        exchange.services.storage.put(ticket.url, ticket.headers, size_bytes, blocks)
    except BaseException:
        _abort(exchange, ticket)
        raise
    commit = CommitUpload(upload_id=ticket.upload_id, size_bytes=size_bytes)
    try:
        return exchange.ask_until_free(media.commit_upload, commit, timeout_seconds=_COMMIT_SECONDS)
    except ApiError as error:
        if error.row is NOT_FOUND:
            raise malformed(_TOO_SLOW) from error
        if error.row is SERVICE_UNAVAILABLE:
            # The client sends the file again, for which the storage must be free.
            _abort(exchange, ticket)
        raise


def _abort(exchange: Exchange, ticket: UploadTicket) -> None:
    """Tells the media service that an upload has failed. If this call fails too, the media service removes the upload
    later."""
    aborted = UploadId(upload_id=ticket.upload_id)
    try:
        exchange.ask(exchange.services.media.abort_upload, aborted, timeout_seconds=_ABORT_SECONDS)
    except ApiError as error:
        log.warning("upload_not_aborted", upload_id=ticket.upload_id, code=error.code)
