"""Edits, cancellations and retries on a real database."""

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from publishing_kit.refusals import refused
from publishing_kit.world import World

from contracts import publishing as api
from contracts.caller import Caller, operator
from publishing.pages import linked_pages
from publishing.posts import (
    cancellation,
    edits,
    reading,
    retry,
)
from publishing.sending.context import SendingContext


def test_an_edit_asks_the_rules_again_for_what_it_changes(world: World, app: SendingContext) -> None:
    page = world.page()
    first = world.schedule(page, world.in_minutes(20))
    second = world.schedule(page, world.in_minutes(30))
    near = api.EditPost(id=second.id, scheduled_at=first.scheduled_at + timedelta(seconds=30))
    assert refused(edits.edit, app, world.caller(), near).code == "PAGE_PUBLISH_GUARDRAIL"
    beside_itself = api.EditPost(id=second.id, scheduled_at=second.scheduled_at + timedelta(seconds=30))
    assert edits.edit(app, world.caller(), beside_itself).scheduled_at == beside_itself.scheduled_at
    empty = api.EditPost(id=second.id, message=None)
    assert refused(edits.edit, app, world.caller(), empty).code == "VALIDATION_ERROR"
    edited = edits.edit(
        app, world.caller(), api.EditPost(id=second.id, message="new", first_comment="and more")
    )
    assert (edited.message, edited.first_comment) == ("new", "and more")
    assert edits.edit(app, world.caller(), api.EditPost(id=second.id)) == edited


def test_what_was_prepared_for_other_content_is_forgotten_with_it(world: World, app: SendingContext) -> None:
    post = world.schedule(world.page(), world.in_minutes(20))
    world.run("""UPDATE posts SET checkpoint = '{"video_id": "1"}'""")
    edits.edit(app, world.caller(), api.EditPost(id=post.id, scheduled_at=world.in_minutes(30)))
    assert reading.get_post(app, world.caller(), post.id).checkpoint == {"video_id": "1"}
    edits.edit(app, world.caller(), api.EditPost(id=post.id, message="new"))
    assert reading.get_post(app, world.caller(), post.id).checkpoint is None


def test_edits_of_different_fields_at_once_lose_nothing(world: World, app: SendingContext) -> None:
    post = world.schedule(world.page(), world.in_minutes(20))
    settings = {"link": "https://example.com/menu"}
    asked = [
        api.EditPost(id=post.id, message="new"),
        api.EditPost(id=post.id, first_comment="comment"),
        api.EditPost(id=post.id, facebook_settings=settings),
    ] * 5
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda edit: edits.edit(app, world.caller(), edit), asked))
    edited = reading.show(app, world.caller(), api.PostId(id=post.id))
    assert (edited.message, edited.first_comment, edited.facebook_settings) == ("new", "comment", settings)


def test_a_cancelled_post_is_gone_for_every_change(world: World, app: SendingContext) -> None:
    post = world.schedule(world.page(), world.in_minutes(11))
    assert cancellation.cancel(app, world.caller(), api.PostId(id=post.id)) == api.Cancelled(
        success=True, id=post.id
    )
    for call in (
        lambda: cancellation.cancel(app, world.caller(), api.PostId(id=post.id)),
        lambda: edits.edit(app, world.caller(), api.EditPost(id=post.id, message="new")),
        lambda: retry.retry(app, world.caller(), api.PostId(id=post.id)),
    ):
        assert refused(call).code == "NOT_FOUND"
    assert reading.show(app, world.caller(), api.PostId(id=post.id)).status == "cancelled"


def test_a_failed_post_that_nobody_needs_is_cancelled_and_never_sent_again(
    world: World, app: SendingContext
) -> None:
    post = world.schedule(world.page(), world.in_minutes(11))
    world.run(
        "UPDATE posts SET state = 'failed', out_at = NULL, error_code = 'PLATFORM_REJECTED', error_message = 'No.'"
    )
    cancellation.cancel(app, world.caller(), api.PostId(id=post.id))
    shown = reading.show(app, world.caller(), api.PostId(id=post.id))
    assert (shown.status, shown.error.code if shown.error else "") == ("cancelled", "PLATFORM_REJECTED")
    assert refused(retry.retry, app, world.caller(), api.PostId(id=post.id)).code == "NOT_FOUND"


@pytest.mark.parametrize(
    ("state", "code"),
    [("published", "NOT_FOUND"), ("cancelled", "NOT_FOUND"), ("unknown", "POST_IN_PROGRESS")],
)
def test_an_edit_of_a_post_no_longer_queued_says_so_whatever_else_is_wrong(
    world: World, app: SendingContext, state: str, code: str
) -> None:
    page = world.page()
    post = world.schedule(page, world.in_minutes(20))
    gone = "out_at = CASE WHEN :state <> 'cancelled' THEN out_at END"
    world.run(f"UPDATE posts SET state = :state, attempts = 1, {gone}", state=state)
    late = api.EditPost(id=post.id, scheduled_at=world.in_minutes(5))
    assert refused(edits.edit, app, world.caller(), late).code == code
    lost = api.EditPost(id=post.id, media_ids=("med_none",))
    assert refused(edits.edit, app, world.caller(), lost).code == code
    linked_pages.expire(app, operator(), api.GetPage(id=page.id))
    assert refused(edits.edit, app, world.caller(), api.EditPost(id=post.id, message="new")).code == code


def test_the_operator_sees_every_post_and_may_not_change_it_as_its_owner_may(
    world: World, app: SendingContext
) -> None:
    post = world.schedule(world.page(), world.in_minutes(11))
    assert reading.show(app, operator(), api.PostId(id=post.id)) == post
    for change in (cancellation.cancel, retry.retry):
        assert refused(change, app, operator(), api.PostId(id=post.id)).code == "NOT_FOUND"
    stranger = Caller(account_id="usr_b", user_id="usr_b", scopes=("*",))
    assert refused(reading.show, app, stranger, api.PostId(id=post.id)).code == "NOT_FOUND"


def test_a_queued_post_cannot_be_retried(world: World, app: SendingContext) -> None:
    post = world.schedule(world.page(), world.in_minutes(11))
    assert refused(retry.retry, app, world.caller(), api.PostId(id=post.id)).code == "POST_IN_PROGRESS"
