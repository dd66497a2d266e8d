"""Puts a version into the addresses of our static files.

So browsers keep each file for a year, and load a changed one at once.
"""

import hashlib
from pathlib import Path
from typing import Any

from flask import Flask, Response, request

#: The field of a file's address that holds its version.
_FIELD = "v"
_YEAR = "public, max-age=31536000, immutable"
#: For an address without the version of the present file: the browser asks each time whether it has changed.
_ASK = "no-cache"


def attach(app: Flask) -> None:
    """Adds a hash of the file's content to the URL of each static file, and a Cache-Control header to its response."""
    folder = Path(app.static_folder or "")
    versions = {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()[:16]
        for path in folder.rglob("*")
        if path.is_file()
    }

    @app.url_defaults
    def add_version(endpoint: str, values: dict[str, Any]) -> None:
        if endpoint == "static" and values.get("filename") in versions:
            values.setdefault(_FIELD, versions[values["filename"]])

    @app.after_request
    def keep(response: Response) -> Response:
        if request.endpoint == "static" and response.status_code in (200, 304):
            version = versions.get((request.view_args or {}).get("filename", ""))
            is_present = version is not None and request.args.get(_FIELD) == version
            response.headers["Cache-Control"] = _YEAR if is_present else _ASK
        return response
