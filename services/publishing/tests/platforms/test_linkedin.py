"""LinkedIn, against the simulator."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from publishing.platforms.base import (
    Account,
    Checkpoint,
    Content,
    MediaSource,
    OutcomeUnknown,
    PlatformRefusal,
    Refusal,
    StillUnknown,
)
from publishing.platforms.limits import check_content

from .simulated import Killed, Page, Simulator

MIB = 2**20
TEXT = Content("Größer & besser (8am) *now* 🍞 #fresh #a_b <at> @home [1] {x} | ~ \\ example.com/a_b")


@pytest.fixture
def page(page_on: Callable[[str], Page]) -> Page:
    return page_on("LN")


@pytest.fixture
def member(page: Page, simulator: Simulator) -> Page:
    """A person's account, which may post but read next to nothing."""
    made = simulator.call("POST", "linkedin/members", name="Mel")
    page.account = Account(made["account_id"], made["access_token"], made["username"])
    return page


@pytest.fixture
def contents(file: Callable[[str], MediaSource], film: Callable[..., MediaSource]) -> dict[str, Content]:
    photos = ("photo-300x200.png", "photo-400x200.jpg", "photo-500x200.gif")
    return {
        "photo": Content("A picture", (file(photos[0]),)),
        "photos": Content("Pictures", tuple(map(file, photos))),
        "video": Content("Moving", (film(9 * MIB),)),
    }


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    text=st.text(
        alphabet=st.one_of(
            st.sampled_from("\\|{}@[]()<>#*_~ abé1日🍞\u0301\n&"),
            st.characters(exclude_categories=("Cs",), exclude_characters="\0"),
        ),
        min_size=1,
        max_size=60,
    )
)
def test_what_goes_out_is_what_linkedin_shows(text: str, page: Page, simulator: Simulator) -> None:
    account = simulator.account("LN")
    published = page.connector.publish(account, Content(text), Checkpoint())
    [post] = simulator.posts(account)
    assert (post["id"], post["text"]) == (published.remote_id, text)


def test_hashtags_are_links(page: Page) -> None:
    page.publish(Content("#fresh C# #1 #bread2 a#b"))
    commentary = page.posts[0]["settings"]["commentary"]
    assert commentary == "{hashtag|\\#|fresh} C\\# \\#1 {hashtag|\\#|bread2} a\\#b"


def test_a_version_that_is_over_says_which_setting_to_change(page: Page, simulator: Simulator) -> None:
    simulator.call("POST", "linkedin/version", oldest=202608)
    try:
        with pytest.raises(PlatformRefusal) as refusal:
            page.publish(TEXT)
    finally:
        simulator.call("POST", "linkedin/version")
    assert (refusal.value.kind, refusal.value.code) == (Refusal.PERMISSION, "NONEXISTENT_VERSION")
    assert "LINKEDIN_VERSION" in refusal.value.message


def test_a_token_that_is_new_is_tried_once_more_and_one_that_is_revoked_is_not_forever(
    page: Page, simulator: Simulator
) -> None:
    account_id = page.account.remote_account_id
    simulator.call("POST", "linkedin/young", account_id=account_id, seconds=0.2)
    page.publish(TEXT)
    simulator.call("POST", "linkedin/young", account_id=account_id, seconds=60)
    with pytest.raises(PlatformRefusal) as refusal:
        page.publish(replace(TEXT, message="later"))
    assert (refusal.value.kind, refusal.value.code) == (Refusal.EXPIRED, "REVOKED_ACCESS_TOKEN")
    assert len(page.posts) == 1


def test_the_same_post_twice_is_refused_for_good(page: Page) -> None:
    page.publish(TEXT)
    page.stored = {}
    with pytest.raises(PlatformRefusal) as refusal:
        page.publish(TEXT)
    assert (refusal.value.kind, refusal.value.code) == (Refusal.REJECTED, "DUPLICATE_POST")


def test_a_member_of_the_pages_app_who_is_refused_a_look_at_posts_is_never_sent_again(
    page: Page, simulator: Simulator
) -> None:
    """LinkedIn refuses the look-up with 400, as if the request were wrong, and not with 403."""
    scopes = ["w_member_social", "r_organization_social"]
    made = simulator.call("POST", "linkedin/members", name="Mel", scopes=scopes)
    page.account = Account(made["account_id"], made["access_token"], made["username"])
    page.stored = {"sent_at": 1.0}
    assert page.look_up(TEXT) == StillUnknown()


def test_a_duplicate_after_an_unknown_outcome_is_the_post_itself_for_members_too(
    member: Page, simulator: Simulator
) -> None:
    simulator.call(
        "POST", "faults", platform="LN", operation="publish", mode="drop_after_accept",
        account_id=member.account.remote_account_id,
    )  # fmt: skip
    with pytest.raises(OutcomeUnknown):
        member.publish(TEXT)
    assert member.look_up(TEXT) == StillUnknown()
    with pytest.raises(OutcomeUnknown):
        member.publish(TEXT)
    [post] = member.posts
    assert member.look_up(TEXT).remote_id == post["id"]
    assert member.look_up(TEXT, post["id"]) == StillUnknown()


def test_a_member_who_may_not_look_at_files_posts_them_all_the_same(
    contents: dict[str, Content], member: Page
) -> None:
    for kind in ("photos", "video"):
        member.publish(contents[kind])
    assert [len(post["media"]) for post in member.posts] == [3, 1]


def test_a_company_page_whose_files_can_never_be_looked_at_posts_them_all_the_same(
    contents: dict[str, Content], page: Page, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks: list[str] = []
    read = page.connector._calls.read

    def refusing(account: Account, path: str, **params: Any) -> Any:
        if not path.startswith(("images/", "videos/")):
            return read(account, path, **params)
        looks.append(path)
        raise PlatformRefusal(Refusal.PERMISSION, "ACCESS_DENIED", "Not allowed.")

    monkeypatch.setattr(page.connector._calls, "read", refusing)
    page.publish(contents["video"])
    assert len(page.posts) == 1
    assert 1 < len(looks) < 10


def test_a_company_page_whose_profile_is_refused_is_shown_by_its_name(
    page: Page, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = page.connector.profile(page.account).name
    read = page.connector._calls.read

    def refusing(account: Account, path: str, **params: Any) -> Any:
        if path.startswith("organizations/"):
            raise PlatformRefusal(Refusal.PERMISSION, "ACCESS_DENIED", "Only for administrators.")
        return read(account, path, **params)

    monkeypatch.setattr(page.connector._calls, "read", refusing)
    assert page.connector.profile(page.account).name == name != ""


def test_an_upload_is_resumed_where_it_stopped(
    page: Page, film: Callable[..., MediaSource], monkeypatch: pytest.MonkeyPatch
) -> None:
    content = Content("Long", (film(30 * MIB),))
    sent: list[int] = []
    put = page.connector._calls.put

    def dying(account: Account, url: str, body: Any, **named: Any) -> str:
        if len(sent) == 6:
            sent.append(-1)
            raise Killed
        sent.append(int(url.rpartition("/")[2]))
        return put(account, url, body, **named)  # type: ignore[no-any-return]

    monkeypatch.setattr(page.connector._calls, "put", dying)
    with pytest.raises(Killed):
        page.publish(content)
    page.publish(content)
    # The last checkpoint before the kill is after the fourth part; each part has its own address.
    assert sent == [0, 1, 2, 3, 4, 5, -1, 4, 5, 6, 7]
    assert page.posts[0]["media"][0]["bytes"] == 30 * MIB


def test_a_file_still_in_work_is_waited_for_by_the_next_attempt(
    contents: dict[str, Content],
    page: Page,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    page.change(poll_limit_seconds=0.0)
    with pytest.raises(PlatformRefusal) as refusal:
        page.publish(contents["video"])
    assert (refusal.value.kind, refusal.value.code) == (Refusal.TRANSIENT, "NOT_READY")
    page.change(poll_limit_seconds=10.0)
    monkeypatch.setattr(page.connector._calls, "put", None)
    page.publish(contents["video"])
    assert len(page.posts) == 1


@pytest.mark.parametrize("name", ["video-1s-1900x1000.mp4", "photo-40x40.webp"])
def test_a_file_that_linkedin_cannot_use_is_rejected_with_its_words(
    name: str, page: Page, file: Callable[[str], MediaSource], film: Callable[..., MediaSource]
) -> None:
    source = file(name)
    if source.type == "video":
        source = film(MIB, source.body or b"")
    with pytest.raises(PlatformRefusal) as refusal:
        page.publish(Content("x", (source,)))
    assert (refusal.value.kind, refusal.value.code) == (Refusal.REJECTED, "PROCESSING_FAILED")


@pytest.mark.parametrize(
    "change", [{"until": 0.0}, {"state": "sending", "parts": [["{url}/dms-uploads/urn/0", 5]]}]
)
def test_an_upload_that_is_no_good_any_more_is_made_anew(
    change: dict[str, Any], contents: dict[str, Content], page: Page, simulator: Simulator
) -> None:
    page.fault("publish", "rate_limit")
    with pytest.raises(PlatformRefusal):
        page.publish(contents["photo"])
    if "parts" in change:
        change["parts"][0][0] = f"{simulator.at('www.linkedin.com')}/dms-uploads/urn/0"
    page.stored["media"][0] |= change
    before = page.stored["media"][0]["urn"]
    page.publish(contents["photo"])
    assert page.stored["media"][0]["urn"] != before
    assert len(page.posts) == 1


def test_files_go_to_linkedins_own_hosts_alone(
    contents: dict[str, Content], page: Page, monkeypatch: pytest.MonkeyPatch
) -> None:
    value = {"image": "urn:li:image:1", "uploadUrl": "https://linkedin.com.evil.example/1"}
    monkeypatch.setattr(page.connector._calls, "act", lambda *_, **__: value)
    with pytest.raises(PlatformRefusal) as refusal:
        page.publish(contents["photo"])
    assert refusal.value.code == "STRANGE_HOST"


def test_what_the_client_asked_for_besides_goes_along(contents: dict[str, Content], page: Page) -> None:
    page.publish(
        replace(contents["photos"], settings={"visibility": "LOGGED_IN", "alt_texts": ["Brot"], "other": 1})
    )
    page.publish(replace(contents["video"], settings={"title": "How we bake", "is_reshare_disabled": True}))
    article = {"source": "https://example.com/a", "title": "Bread"}
    page.publish(Content("Read", settings={"article": article}))
    photos, film, link = (post["settings"] for post in page.posts)
    assert photos["visibility"] == "LOGGED_IN"
    assert [image.get("altText") for image in photos["content"]["multiImage"]["images"]] == [
        "Brot",
        None,
        None,
    ]
    assert (film["content"]["media"]["title"], film["isReshareDisabledByAuthor"]) == ("How we bake", True)
    assert link["content"] == {"article": article}


def test_a_reply_to_a_reply_stands_in_the_thread_and_organizations_are_named(
    page: Page, simulator: Simulator
) -> None:
    remote_id = page.publish(TEXT).remote_id
    own = page.connector.comment(page.account, remote_id, "More (to come) #soon")
    reply = page.connector.reply(page.account, own, "Thank you")
    nested = page.connector.reply(page.account, reply, "And you")
    comments = {one.id: one for one in page.comments(remote_id)}
    assert list(comments) == [nested, reply, own]
    assert [comments[one].parent_id for one in (reply, nested)] == [own, own]
    assert (comments[own].reply_count, comments[own].text) == (2, "More (to come) #soon")
    assert comments[own].author_name == simulator.shown(page.account)["name"]


def test_a_member_has_a_name_and_a_picture(member: Page) -> None:
    profile = member.connector.profile(member.account)
    assert (profile.name, profile.followers) == ("Mel", 0)
    assert profile.picture.endswith(".jpg")


def test_a_first_comment_is_counted_as_it_is_written(page: Page) -> None:
    text = " ".join(f"#hashtag{number:02}" for number in range(20)).ljust(1_089, "a")
    assert check_content("LN", "text", [], text) == []
    remote_id = page.publish(TEXT).remote_id
    assert page.connector.comment(page.account, remote_id, text)
    assert check_content("LN", "text", [], "(" * 1_250) == []
    [error] = check_content("LN", "text", [], "a" * 1_251)
    assert error.extras["errors"][0]["field"] == "first_comment"
