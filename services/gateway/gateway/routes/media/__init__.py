"""Media: upload through the gateway or straight into storage, list, get and delete; and the public files."""

from contracts import media as api
from contracts.errors import (
    FILE_TOO_LARGE,
    INVALID_FILE_CONTENT,
    MEDIA_IN_USE,
    NO_FILE,
    NOT_FOUND,
    QUOTA_EXCEEDED,
    UPLOAD_ERROR,
)
from contracts.record import Nothing, Record
from gateway.endpoint import endpoint
from gateway.exchange import Exchange
from gateway.http.answers import Answer
from gateway.routes.media import download, upload

_FILE = (UPLOAD_ERROR, INVALID_FILE_CONTENT, FILE_TOO_LARGE, QUOTA_EXCEEDED)
#: The media service reads some files as a whole before it accepts them, also files uploaded in parts.
_COMPLETE_SECONDS = 120.0


class FilePath(Record):
    """The public address of a file. It has no field for a platform, because with one anybody could make the server
    create renditions.
    """

    key: str
    filename: str


@endpoint(
    "POST", "/media/upload", scope="write:media", meter="writes", status=201, errors=(*_FILE, NO_FILE),
    idempotent=False, streams=True,
)  # fmt: skip
def upload_media(exchange: Exchange, _request: Nothing) -> api.UploadedMedia:
    """Upload a file as multipart/form-data; the part named file must be the last."""
    return upload.receive(exchange)


@endpoint("GET", "/media", scope="read:media", meter="reads")
def list_media(exchange: Exchange, request: api.ListMedia) -> api.MediaList:
    """List uploaded and generated files, newest first."""
    return exchange.ask(exchange.services.media.list_media, request)


@endpoint("GET", "/media/{id}", scope="read:media", meter="reads", errors=(NOT_FOUND,))
def get_media(exchange: Exchange, request: api.MediaId) -> api.Media:
    """Get a file."""
    return exchange.ask(exchange.services.media.get_media, request)


@endpoint("DELETE", "/media/{id}", scope="write:media", meter="writes", errors=(NOT_FOUND, MEDIA_IN_USE))
def delete_media(exchange: Exchange, request: api.MediaId) -> api.MediaDeleted:
    """Delete a file that no pending post uses."""
    return exchange.ask(exchange.services.media.delete_media, request)


@endpoint(
    "POST", "/media/uploads", scope="write:media", meter="writes", status=201,
    errors=(UPLOAD_ERROR, FILE_TOO_LARGE, QUOTA_EXCEEDED),
)  # fmt: skip
def begin_upload(exchange: Exchange, request: api.BeginParts) -> api.UploadParts:
    """Begin the upload of a large file in parts, straight into storage."""
    return exchange.ask(exchange.services.media.begin_parts, request)


@endpoint(
    "POST", "/media/uploads/{id}/complete", scope="write:media", meter="writes", status=201,
    errors=(*_FILE, NOT_FOUND), deadline_seconds=_COMPLETE_SECONDS,
)  # fmt: skip
def complete_upload(exchange: Exchange, request: api.CompleteParts) -> api.UploadedMedia:
    """Complete an upload after all its parts were sent."""
    complete_parts = exchange.services.media.complete_parts
    return exchange.ask_until_free(complete_parts, request, timeout_seconds=exchange.remaining_seconds)


@endpoint(
    "GET", "/media/{key}/{filename}", scope=None, meter="", result=bytes, errors=(NOT_FOUND,), token=False,
    outside=True, headers=("ETag",),
)  # fmt: skip
def get_file(exchange: Exchange, request: FilePath) -> Answer:
    """Download a file from its public address; ranges and conditional requests are supported."""
    return download.serve(exchange, api.LocateFile(key=request.key, filename=request.filename))
