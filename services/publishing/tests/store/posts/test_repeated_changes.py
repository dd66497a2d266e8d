"""A change whose first answer was lost: the same operation gets an answer again, and changes nothing a second time."""

from typing import Any

import pytest
from msgspec.structs import replace
from publishing_kit.fake_platform import FakePlatform
from publishing_kit.world import World

from contracts import publishing as api
from contracts.caller import operator
from contracts.errors import ApiError
from publishing.pages import linked_pages, page_list, unlinking
from publishing.posts import cancellation, checks, edits, retry
from publishing.sending.context import SendingContext


def refused(call: Any, *args: Any) -> str:
    with pytest.raises(ApiError) as refusal:
        call(*args)
    return refusal.value.code


@pytest.fixture
def failed(world: World) -> api.PostId:
    post = world.schedule(world.page(), world.in_minutes(11))
    fail(world, post.id)
    return api.PostId(id=post.id)


def fail(world: World, post_id: str) -> None:
    world.run("UPDATE posts SET state = 'failed', out_at = NULL, attempts = 4 WHERE id = :id", id=post_id)


def test_a_post_is_cancelled_again_by_the_operation_that_did(world: World, app: SendingContext) -> None:
    asked = api.PostId(id=world.schedule(world.page(), world.in_minutes(11)).id)
    caller = world.caller()
    first = cancellation.cancel(app, caller, asked)
    assert cancellation.cancel(app, caller, asked) == first
    assert refused(cancellation.cancel, app, world.caller(), asked) == "NOT_FOUND"
    assert refused(cancellation.cancel, app, replace(caller, operation_id=None), asked) == "NOT_FOUND"
    assert refused(cancellation.cancel, app, replace(caller, account_id="usr_b"), asked) == "NOT_FOUND"


def test_a_cancellation_without_an_operation_is_not_taken_for_another(
    world: World, app: SendingContext
) -> None:
    asked = api.PostId(id=world.schedule(world.page(), world.in_minutes(11)).id)
    caller = replace(world.caller(), operation_id=None)
    cancellation.cancel(app, caller, asked)
    assert refused(cancellation.cancel, app, caller, asked) == "NOT_FOUND"


def test_a_retry_is_answered_again_and_tries_no_second_time(
    world: World, app: SendingContext, failed: api.PostId
) -> None:
    caller = world.caller()
    first = retry.retry(app, caller, failed)
    assert retry.retry(app, caller, failed) == first
    assert refused(retry.retry, app, world.caller(), failed) == "POST_IN_PROGRESS"
    fail(world, failed.id)
    assert retry.retry(app, caller, failed).status == "failed"
    assert retry.retry(app, world.caller(), failed).status == "queued"


def test_a_retry_whose_twin_was_first_is_answered(
    world: World, app: SendingContext, failed: api.PostId, monkeypatch: pytest.MonkeyPatch
) -> None:
    caller = world.caller()
    check = checks.check_page

    def twin_first(*args: Any) -> None:
        monkeypatch.setattr(retry, "check_page", check)
        retry.retry(app, caller, failed)
        fail(world, failed.id)

    monkeypatch.setattr(retry, "check_page", twin_first)
    assert retry.retry(app, caller, failed).status == "failed"


def test_an_edit_is_answered_again_when_its_rules_would_refuse_it_by_now(
    world: World, app: SendingContext, platform: FakePlatform
) -> None:
    post = world.schedule(world.page(), world.in_minutes(60))
    caller, asked = world.caller(), api.EditPost(id=post.id, scheduled_at=world.in_minutes(11), message="new")
    first = edits.edit(app, caller, asked)
    world.shift(120)
    assert edits.edit(app, caller, asked) == first
    assert refused(edits.edit, app, world.caller(), asked) == "SCHEDULE_OUT_OF_RANGE"
    world.shift(600)
    world.send()
    assert platform.messages == ["new"]
    assert edits.edit(app, caller, asked).status == "published"
    assert refused(edits.edit, app, world.caller(), api.EditPost(id=post.id, message="x")) == "NOT_FOUND"


def test_an_edit_whose_twin_was_first_is_answered(
    world: World, app: SendingContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    post = world.schedule(world.page(), world.in_minutes(60))
    caller, asked = world.caller(), api.EditPost(id=post.id, message="new")
    check = edits.check_page

    def twin_first(*args: Any) -> None:
        monkeypatch.setattr(edits, "check_page", check)
        edits.edit(app, caller, asked)
        fail(world, post.id)

    monkeypatch.setattr(edits, "check_page", twin_first)
    again = edits.edit(app, caller, asked)
    assert (again.status, again.message) == ("failed", "new")


def test_a_post_that_was_brought_due_and_is_out_is_answered_again(
    world: World, app: SendingContext, platform: FakePlatform
) -> None:
    asked = api.PostId(id=world.schedule(world.page(), world.in_minutes(60)).id)
    caller = replace(operator(), operation_id="op_1")
    retry.bring_due(app, caller, asked)
    world.send()
    assert len(platform.posts) == 1
    assert retry.bring_due(app, caller, asked).status == "published"
    other = replace(operator(), operation_id="op_2")
    assert refused(retry.bring_due, app, other, asked) == "NOT_FOUND"


def test_a_page_is_unlinked_again_by_the_operation_that_did(world: World, app: SendingContext) -> None:
    page = world.page()
    queued = world.fill(page, 2)
    caller, asked = world.caller(), api.UnlinkPage(id=page.id, cancel_queued=True)
    first = unlinking.unlink(app, caller, asked)
    assert set(first.cancelled_posts) == {post.id for post in queued}
    assert unlinking.unlink(app, caller, asked) == first
    assert refused(unlinking.unlink, app, world.caller(), asked) == "NOT_FOUND"


def test_a_page_that_was_linked_again_meanwhile_stays_so(world: World, app: SendingContext) -> None:
    page, caller = world.page(), world.caller()
    asked = api.UnlinkPage(id=page.id)
    first = unlinking.unlink(app, caller, asked)
    link = api.LinkPage(
        owner_account_id=caller.account_id, brand_id=page.brand_id, brand_name=page.brand_name,
        platform=page.platform, remote_account_id=page.account_id, access_token="new", name=page.name,
    )  # fmt: skip
    linked_pages.link(app, operator(), link)
    assert unlinking.unlink(app, caller, asked) == first
    assert page_list.show(app, world.caller(), api.GetPage(id=page.id)).id == page.id
