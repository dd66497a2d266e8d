"""The copy of a stored file in the temporary folder, and whose errors are reported as those of the folder."""

import errno
import tempfile
from functools import partial
from types import SimpleNamespace
from typing import IO, Any

import pytest
from structlog.testing import capture_logs

from contracts.errors import ApiError
from media.inspection.uploaded_files import fetched


def context(error: OSError | None = None) -> Any:
    """Returns a context with a bucket whose download raises `error`, or else writes an empty file."""

    def download(_name: str, _to: IO[bytes]) -> None:
        if error is not None:
            raise error

    return SimpleNamespace(bucket=SimpleNamespace(download=download))


def test_a_full_temporary_folder_is_an_outage_that_is_logged() -> None:
    full = OSError(errno.ENOSPC, "No space left on device")
    with (
        capture_logs() as lines,
        pytest.raises(ApiError, match="SERVICE_UNAVAILABLE"),
        fetched(context(full), "key/cake.jpg"),
    ):
        pass
    assert [line["event"] for line in lines] == ["temporary_file_failed"]


def test_a_temporary_folder_that_is_full_also_when_the_files_are_closed_is_an_outage(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Closing a file writes once more what a failed write has left in its buffer."""
    monkeypatch.setattr(tempfile, "TemporaryFile", partial(open, "/dev/full", "r+b"))
    bucket = SimpleNamespace(download=lambda _name, to: (to.write(b"GIF89a"), to.flush()))
    with (
        pytest.raises(ApiError, match="SERVICE_UNAVAILABLE"),
        fetched(SimpleNamespace(bucket=bucket), "key/cake.gif"),  # type: ignore[arg-type]
    ):
        pass


def test_an_error_of_the_work_on_the_files_is_not_logged_as_one_of_the_temporary_folder() -> None:
    with (
        capture_logs() as lines,
        pytest.raises(ApiError, match="SERVICE_UNAVAILABLE"),
        fetched(context(), "key/cake.jpg"),
    ):
        raise BrokenPipeError
    assert [line["event"] for line in lines] == ["work_on_file_failed"]
