"""The storage quota: space is reserved before the bytes arrive, counted exactly in simultaneous calls, and released
with the files.
"""

import pytest
from media_kit import samples
from media_kit.world import World, at_once

from contracts.errors import ApiError
from contracts.plans import MB, PLANS


def test_fifty_simultaneous_uploads_never_exceed_the_quota(world: World) -> None:
    free = world.caller(tier="free")
    size = 3 * MB
    results = at_once(50, lambda _: world.begin(size, free))
    refused = [it for it in results if isinstance(it, ApiError)]
    room = PLANS["free"].storage_bytes // size
    assert len(results) - len(refused) == room
    assert {it.code for it in refused} == {"QUOTA_EXCEEDED"}
    assert world.used() == room * size


def test_accounts_do_not_share_storage(world: World) -> None:
    world.begin(20 * MB)
    assert world.used("usr_b") == 0


def test_a_file_over_the_tiers_limit_is_refused_and_one_of_just_that_size_is_not(world: World) -> None:
    free = world.caller(tier="free")
    with pytest.raises(ApiError, match="FILE_TOO_LARGE") as caught:
        world.begin(25 * MB + 1, free)
    assert caught.value.extras == {"max_file_bytes": 25 * MB}
    world.begin(25 * MB, free)


def test_the_refusal_says_how_much_is_left(world: World) -> None:
    free = world.caller(tier="free")
    for _ in range(4):
        world.begin(24 * MB, free)
    with pytest.raises(ApiError, match="QUOTA_EXCEEDED") as caught:
        world.begin(5 * MB, free)
    assert caught.value.extras["quota"].remaining_bytes == 4 * MB


def test_an_empty_file_and_an_unknown_type_reserve_nothing(world: World) -> None:
    for fields, code in (
        ({"size_bytes": 0}, "INVALID_FILE_CONTENT"),
        ({"size_bytes": 1, "mime_type": "image/svg+xml"}, "UPLOAD_ERROR"),
        ({"size_bytes": 1, "filename": "a.svg"}, "UPLOAD_ERROR"),
    ):
        with pytest.raises(ApiError, match=code):
            world.begin(**fields)
    assert world.used() == 0


def test_a_file_counts_until_the_post_it_is_attached_to_is_out(world: World) -> None:
    media = world.media()
    assert media.quota.used_bytes == media.size_bytes == world.used()
    world.attach("pst_1", media)
    world.tell("pst_1", "pending", 1, media)
    assert world.used() == media.size_bytes
    world.tell("pst_1", "published", 2, media)
    assert world.used() == 0


def test_a_file_of_another_pending_post_still_counts(world: World) -> None:
    media = world.media()
    world.tell("pst_1", "pending", 1, media)
    world.tell("pst_2", "pending", 1, media)
    world.tell("pst_1", "published", 2, media)
    assert world.used() == media.size_bytes
    world.tell("pst_2", "published", 2, media)
    assert world.used() == 0


def test_a_published_file_counts_ten_minutes_at_most_for_a_post_that_was_never_stored(
    world: World,
) -> None:
    media = world.media()
    world.tell("pst_1", "published", 1, media)
    world.attach("pst_2", media)
    world.shift(minutes=9)
    world.sweep()
    assert world.used() == media.size_bytes
    world.shift(minutes=2)
    world.sweep()
    assert world.used() == 0


def test_a_cancelled_posts_file_counts_until_it_is_deleted(world: World) -> None:
    media = world.media()
    world.tell("pst_1", "pending", 1, media)
    world.tell("pst_1", "released", 2, media)
    assert world.used() == media.size_bytes


def test_a_file_smaller_than_announced_counts_its_own_size(world: World) -> None:
    data = samples.placed("image/png")
    media = world.commit(world.put(data), len(data))
    assert media.size_bytes < len(data)
    assert world.used() == media.size_bytes


def test_a_dead_workers_reservation_is_freed_for_the_same_operation(world: World) -> None:
    free, film = world.caller(tier="free"), {"filename": "a.mp4", "mime_type": "video/mp4", "generated": True}
    for _ in range(4):
        world.begin(24 * MB, free)
    world.begin(4 * MB, free, **film)
    (first,) = world.ask("SELECT key FROM uploads WHERE generated")
    world.begin(4 * MB - 1, free, **film)
    assert world.used() == PLANS["free"].storage_bytes - 1
    assert world.ask("SELECT key FROM removals") == [first]


def test_an_upload_under_inspection_keeps_its_reservation(world: World) -> None:
    free, film = world.caller(tier="free"), {"filename": "a.mp4", "mime_type": "video/mp4", "generated": True}
    for _ in range(4):
        world.begin(24 * MB, free)
    world.begin(4 * MB, free, **film)
    world.run("UPDATE uploads SET lease_until = clock_timestamp() + interval '1 minute' WHERE generated")
    with pytest.raises(ApiError, match="QUOTA_EXCEEDED"):
        world.begin(1 * MB, free, **film)
    assert world.used() == PLANS["free"].storage_bytes
