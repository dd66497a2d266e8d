"""Makes one rendition: storage → sandboxed process → storage. Temporary files have no name: a kill leaves none."""

import tempfile
from typing import Any

from contracts.renditions import Need
from media.context import AppContext
from media.inspection.uploaded_files import put_file
from media.records import MediaRow


def make(context: AppContext, row: MediaRow, need: Need, object_name: str) -> dict[str, Any]:
    """Stores the rendition under the name; returns its size in bytes, width, height, and duration if it has one.

    Raises WorkFailed, NotStarted, OSError, SERVICE_UNAVAILABLE.
    """
    with tempfile.TemporaryFile() as original, tempfile.TemporaryFile() as made:
        context.bucket.download(row.object_name, original)
        argument = {
            "mime_type": row.mime_type,
            "width": need.width,
            "height": need.height,
            "max_bytes": need.max_bytes,
        }
        facts: dict[str, Any] = context.sandbox_pool.run(
            "make_picture", argument, (original.fileno(), made.fileno())
        )
        return {**facts, "size_bytes": put_file(context, object_name, made, need.mime_type)}
