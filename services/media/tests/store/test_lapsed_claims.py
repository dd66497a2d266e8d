"""The claim of an upload lapses because the storage answers late. Another call takes over, one file is kept, and both
answers name it.
"""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
import urllib3
from media_kit import samples
from media_kit.world import World, at_once

from chassis.sandbox.pool import SandboxPool
from contracts import media as api
from contracts.errors import INVALID_FILE_CONTENT, ApiError
from media.context import AppContext
from media.files import multipart_uploads, uploads
from media.models import Upload
from media.store.uploads import Uploads

#: Every place between the claim and the file's row where the storage can be late: before each of its calls, and after
#: the last.
PLACES = [(call, False) for call in ("parts", "complete_parts", "size", "read", "download", "put")] + [
    ("put", True)
]
late_at_each_place = pytest.mark.parametrize(
    ("call", "is_after"),
    PLACES,
    ids=[f"{'after' if is_after else 'before'} {call}" for call, is_after in PLACES],
)
FILES = {
    "video": (samples.film(), "a.mp4", "video/mp4"),
    "converted image": (samples.converted("image/heic"), "a.heic", "image/heic"),
}


@pytest.fixture(params=FILES)
def uploaded(request: pytest.FixtureRequest, world: World) -> api.CompleteParts:
    """The request that completes an upload whose only part has arrived."""
    data, filename, mime_type = FILES[request.param]
    fields = {"filename": filename, "mime_type": mime_type, "size_bytes": len(data)}
    begun = multipart_uploads.begin(world.context, world.caller(), api.BeginParts(**fields))
    answer = urllib3.request("PUT", begun.parts[0].url, body=data)
    tags = (api.PartTag(number=1, etag=answer.headers["ETag"]),)
    return api.CompleteParts(id=begun.upload_id, parts=tags)


@pytest.fixture
def other(world: World, sandbox_pools: tuple[SandboxPool, SandboxPool]) -> World:
    """Another process of the media service."""
    context = AppContext(world.database, world.context.settings)
    context.sandbox_pool = sandbox_pools[1]
    return World(context, world.database)


@pytest.fixture
def lapsing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes each claim lapse at once."""
    monkeypatch.setattr(uploads, "_INSPECTION_LEASE", timedelta(0))


def complete(world: World, request: api.CompleteParts) -> api.UploadedMedia:
    return multipart_uploads.complete(world.context, world.caller(), request)


def claim(world: World, request: api.CompleteParts) -> Upload | None:
    """Claims the upload, as another call does. Returns None if the upload is gone or claimed already."""
    with world.database.transaction() as connection:
        return Uploads(connection).claim(request.id, timedelta(0))


def interrupt(
    monkeypatch: pytest.MonkeyPatch, world: World, call: str, *, is_after: bool, by: Callable[[], Any]
) -> list[Any]:
    """Runs `by` once, right before or after the storage's next `call`. Returns a list, which then gets the result of
    `by`.
    """
    bucket, results = world.context.bucket, []
    original = getattr(bucket, call)

    def interrupted(*arguments: Any) -> Any:
        monkeypatch.setattr(bucket, call, original)
        if is_after:
            answer = original(*arguments)
            results.append(by())
            return answer
        results.append(by())
        return original(*arguments)

    monkeypatch.setattr(bucket, call, interrupted)
    return results


def check_kept(world: World, media: api.UploadedMedia) -> None:
    """Asserts that exactly this file is stored, with the size in its row, and that no removal waits."""
    (row,) = world.ask("SELECT id, key, slug, size_bytes FROM media")
    assert row.id == media.media_id
    name = f"{row.key}/{row.slug}"
    assert world.object_names() == {name}
    assert world.context.bucket.size(name) == row.size_bytes == media.size_bytes == world.used()
    assert world.ask("SELECT 1 FROM uploads UNION ALL SELECT 1 FROM removals") == []


@late_at_each_place
def test_a_completion_that_is_overtaken_at_any_storage_call_answers_with_the_kept_file(
    world: World,
    other: World,
    uploaded: api.CompleteParts,
    lapsing: None,
    monkeypatch: pytest.MonkeyPatch,
    call: str,
    is_after: bool,
) -> None:
    overtaking = interrupt(monkeypatch, world, call, is_after=is_after, by=lambda: complete(other, uploaded))
    late = complete(world, uploaded)
    assert [it.media_id for it in overtaking] == [late.media_id]
    check_kept(world, late)
    assert complete(world, uploaded) == late


@late_at_each_place
def test_a_completion_whose_upload_another_call_inspects_by_then_changes_nothing(
    world: World,
    uploaded: api.CompleteParts,
    lapsing: None,
    monkeypatch: pytest.MonkeyPatch,
    call: str,
    is_after: bool,
) -> None:
    claims = interrupt(monkeypatch, world, call, is_after=is_after, by=lambda: claim(world, uploaded))
    with pytest.raises(ApiError, match="SERVICE_UNAVAILABLE"):
        complete(world, uploaded)
    (row,) = world.ask("SELECT lease_until FROM uploads")
    assert [it.lease_until for it in claims] == [row.lease_until]
    assert world.ask("SELECT 1 FROM media UNION ALL SELECT 1 FROM removals") == []
    check_kept(world, complete(world, uploaded))


@pytest.mark.parametrize("call", ["parts", "size", "download"])
def test_a_refusal_after_the_claim_lapsed_removes_nothing_of_another_call(
    world: World,
    uploaded: api.CompleteParts,
    lapsing: None,
    monkeypatch: pytest.MonkeyPatch,
    call: str,
) -> None:
    def refuse() -> None:
        claim(world, uploaded)
        raise ApiError(INVALID_FILE_CONTENT)

    interrupt(monkeypatch, world, call, is_after=False, by=refuse)
    with pytest.raises(ApiError, match="SERVICE_UNAVAILABLE"):
        complete(world, uploaded)
    check_kept(world, complete(world, uploaded))


def test_a_lapsed_claim_that_nobody_took_over_keeps_the_file(
    world: World, uploaded: api.CompleteParts, lapsing: None
) -> None:
    check_kept(world, complete(world, uploaded))


def test_a_completion_that_is_overtaken_by_the_end_of_the_upload_is_not_found(
    world: World, uploaded: api.CompleteParts, lapsing: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    def abort() -> None:
        uploads.abort(world.context, world.caller(), api.UploadId(upload_id=uploaded.id))

    interrupt(monkeypatch, world, "complete_parts", is_after=False, by=abort)
    with pytest.raises(ApiError, match="NOT_FOUND"):
        complete(world, uploaded)
    assert world.ask("SELECT 1 FROM media UNION ALL SELECT 1 FROM uploads") == []


def test_of_completions_sent_at_once_one_keeps_the_file_and_the_others_learn_of_it_or_retry(
    world: World, uploaded: api.CompleteParts
) -> None:
    results = at_once(4, lambda _: complete(world, uploaded))
    kept = {it.media_id for it in results if isinstance(it, api.UploadedMedia)}
    assert len(kept) == 1
    assert {it.code for it in results if isinstance(it, ApiError)} <= {"SERVICE_UNAVAILABLE"}
    again = at_once(4, lambda _: complete(world, uploaded))
    assert {it.media_id for it in again} == kept
    check_kept(world, again[0])


def test_completions_sent_at_once_whose_claims_lapse_keep_one_file(
    world: World, uploaded: api.CompleteParts, lapsing: None
) -> None:
    results = at_once(4, lambda _: complete(world, uploaded))
    kept = {it.media_id for it in results if isinstance(it, api.UploadedMedia)}
    assert len(kept) <= 1
    assert {it.code for it in results if isinstance(it, ApiError)} <= {"SERVICE_UNAVAILABLE"}
    media = complete(world, uploaded)
    assert kept <= {media.media_id}
    check_kept(world, media)
