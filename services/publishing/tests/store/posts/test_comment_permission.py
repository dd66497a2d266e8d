"""A first comment is refused at once if the page's token may not write comments, when a post is made and when it is
changed.
"""

from collections.abc import Callable
from typing import Any

import pytest
from publishing_kit.fake_platform import FakePlatform
from publishing_kit.world import World

from contracts import publishing as api
from contracts.caller import Caller
from contracts.errors import ApiError
from publishing.comments import replies
from publishing.pages import health
from publishing.posts import several_pages, validation
from publishing.records import Credentials
from publishing.store.pages import Pages
from publishing.store.received import Received

MEMBER = ("openid", "profile", "w_member_social")


@pytest.fixture
def page(world: World) -> Callable[..., api.Page]:
    """Makes a page whose token has these scopes. None: the scopes were not stored."""

    def make(platform: str, scopes: tuple[str, ...] | None) -> api.Page:
        page = world.page(platform)
        with world.database.transaction() as connection:
            row = Pages(connection).get(page.id)
            stored = world.app.vault.seal(Credentials(access_token="token", scopes=scopes))
            assert Pages(connection).exchange_credentials(page.id, row.access_token, stored)
        return page

    return make


def refused(call: Callable[..., Any], *arguments: Any, **fields: Any) -> dict[str, Any]:
    with pytest.raises(ApiError) as raised:
        call(*arguments, **fields)
    return {"code": raised.value.code, **raised.value.extras}


def test_a_member_of_linkedins_app_for_members_gets_no_first_comment(
    world: World, platform: FakePlatform, page: Any
) -> None:
    member, at = page("LN", MEMBER), world.in_minutes(20)
    expected = {"code": "PAGE_PERMISSION_MISSING", "field": "first_comment", "page_id": member.id}
    assert refused(world.schedule, member, at, first_comment="first") == expected
    assert refused(world.publish, member, "now", first_comment="first") == expected
    post = world.schedule(member, at)
    assert refused(world.edit, post, first_comment="first") == expected
    assert world.edit(post, message="changed").message == "changed"
    assert platform.posts == []


def test_of_several_pages_only_the_one_without_the_permission_is_refused(
    world: World, platform: FakePlatform, page: Any
) -> None:
    member, other = page("LN", MEMBER), page("FB", None)
    planned = tuple(api.PlannedPage(page_id=one.id, operation_id=f"op_{one.id}") for one in (member, other))
    request = api.PublishPosts(pages=planned, message="m", first_comment="first")
    results = several_pages.publish_on_pages(world.app, world.caller("op"), request).results
    assert [result.status for result in results] == [400, 201]
    assert platform.messages == ["m"]


def test_an_edit_is_not_refused_because_of_a_first_comment_that_it_leaves_alone(
    world: World, page: Any
) -> None:
    post = world.schedule(page("LN", None), world.in_minutes(20), first_comment="first")
    with world.database.transaction() as connection:
        row = Pages(connection).get(post.page_id)
        stored = world.app.vault.seal(Credentials(access_token="token", scopes=MEMBER))
        assert Pages(connection).exchange_credentials(post.page_id, row.access_token, stored)
    assert world.edit(post, message="changed").message == "changed"
    assert refused(world.edit, post, first_comment="second")["code"] == "PAGE_PERMISSION_MISSING"


def test_a_dry_run_says_so(world: World, page: Any) -> None:
    request = api.ValidatePost(page_id=page("LN", MEMBER).id, message="m", first_comment="first")
    [found] = validation.validate(world.app, world.caller(), request).errors
    assert (found.code, found.field) == ("PAGE_PERMISSION_MISSING", "first_comment")
    assert "LinkedIn" in found.message


@pytest.mark.parametrize(
    ("platform_code", "scopes", "may"),
    [
        ("LN", MEMBER, False),
        ("LN", ("r_basicprofile", "w_member_social", "w_member_social_feed"), True),
        ("LN", ("openid", "profile", "w_member_social", "rw_organization_admin"), True),
        ("LN", None, None),
        ("FB", ("pages_show_list", "pages_manage_posts"), False),
        ("FB", ("pages_manage_posts", "pages_manage_engagement"), True),
        ("IG", ("instagram_basic", "instagram_content_publish"), False),
        ("YT", ("https://www.googleapis.com/auth/youtube.upload",), False),
    ],
)
def test_the_granted_scopes_decide_and_pages_without_stored_scopes_are_not_refused(
    world: World,
    platform: FakePlatform,
    page: Any,
    platform_code: str,
    scopes: tuple[str, ...] | None,
    may: bool | None,
) -> None:
    made = page(platform_code, scopes)
    request = api.ValidatePost(
        page_id=made.id, message="m", first_comment="first", media_urls=("https://example.com/a.jpg",)
    )
    errors = validation.validate(world.app, world.caller(), request).errors
    assert ("PAGE_PERMISSION_MISSING" in [found.code for found in errors]) is (may is False)
    assert health.check(world.app, world.caller(), api.GetPage(id=made.id)).can_comment is may


def test_a_platform_without_comments_says_that_it_has_none(world: World, page: Any) -> None:
    video = "https://example.com/a.mp4"
    request = api.ValidatePost(page_id=page("TT", ()).id, first_comment="first", media_urls=(video,))
    codes = [found.code for found in validation.validate(world.app, world.caller(), request).errors]
    assert "PAGE_PERMISSION_MISSING" not in codes
    assert "VALIDATION_ERROR" in codes


def test_a_reply_is_refused_before_the_platform_is_asked(
    world: World, platform: FakePlatform, page: Any
) -> None:
    member = page("LN", MEMBER)
    post = world.published(member)
    with world.database.transaction() as connection:
        Received(connection).add(post.post_id, ["r1"])
        comment = Received(connection).known(post.post_id, ["r1"])["r1"]
    request = api.ReplyToComment(page_id=member.id, comment_id=comment.id, message="thanks")
    expected = {"code": "PAGE_PERMISSION_MISSING", "field": "page_id", "page_id": member.id}
    assert refused(replies.reply, world.app, world.caller("op"), request) == expected
    assert platform.comments == []


def test_other_accounts_learn_nothing_of_a_page(world: World, page: Any) -> None:
    request = api.ValidatePost(page_id=page("LN", MEMBER).id, message="m", first_comment="first")
    stranger = Caller(account_id="usr_z", user_id="usr_z")
    assert refused(validation.validate, world.app, stranger, request)["code"] == "NOT_FOUND"
