"""Facts that the platforms report about themselves: each is as expected, until a platform reports another."""

from collections.abc import Callable, Iterator

import pytest

from publishing.platforms.base import Account
from publishing.platforms.facts import Fact, ask
from publishing.platforms.http_client import transient
from publishing.platforms.registry import PLUGINS
from simulator.simulation import DOUBTFUL

from .simulated import Page, Simulator


@pytest.fixture
def tell(simulator: Simulator) -> Iterator[Callable[..., None]]:
    """`tell(**differences)` makes the platforms report other facts."""
    yield lambda **differences: simulator.call("POST", "differences", **differences)
    simulator.call("POST", "differences")


def facts(page: Page, account: Account | None = None) -> dict[str, Fact]:
    found = PLUGINS[page.platform].facts(page.settings, account or page.account)
    return {fact.check: fact for fact in found}


@pytest.mark.parametrize("platform", PLUGINS)
def test_every_fact_holds_on_the_simulator(page_on: Callable[[str], Page], platform: str) -> None:
    found = facts(page_on(platform))
    assert found
    assert {check: fact.found for check, fact in found.items() if not fact.holds} == {}


#: Platform, what it tells, the check that fails, and what it finds.
DIFFERENCES: list[tuple[str, dict[str, object], str, str]] = [
    ("FB", {"facebook_pieces": False}, "videos in pieces", "(#100)"),
    ("FB", {"graph_version": "v27.0"}, "version of the Graph API", "v27.0"),
    ("IG", {"graph_version": "v27.0"}, "version of the Graph API", "v27.0"),
    ("IG", {"instagram_quota": 25}, "posts in 24 hours", "25, of which 0 are used"),
    ("LN", {"linkedin_file_state": False}, "state of a file", "Not enough permissions"),
    (
        "LN",
        {"linkedin_oldest_version": 202608},
        "version of the API, and permission to post",
        "LinkedIn no longer serves version 202607",
    ),
    ("LN", {"linkedin_role": "CONTENT_MANAGER"}, "role on the page", "CONTENT_MANAGER"),
    ("TT", {"tiktok_privacy_levels": ["SELF_ONLY"]}, "who may see posts", "SELF_ONLY"),
    ("TT", {"tiktok_video_seconds": 300}, "longest video", "300 s"),
    ("TW", {"x_fields": "post.fields"}, "names of a post's fields", "One or more parameters"),
    ("TW", {"x_search": False}, "recent search, which finds comments", "When authenticating requests"),
    ("YT", {"youtube_long_uploads": "eligible"}, "videos of more than 15 minutes", "eligible"),
    ("YT", {"youtube_uploads_list": ""}, "list of the channel's uploads", "none"),
]


def test_there_is_a_switch_for_every_fact_that_is_asked(page_on: Callable[[str], Page]) -> None:
    tried = {(platform, check) for platform, _, check, _ in DIFFERENCES}
    assert tried == {(platform, check) for platform in PLUGINS for check in facts(page_on(platform))}
    assert {name for _, told, _, _ in DIFFERENCES for name in told} == {*DOUBTFUL}


@pytest.mark.parametrize(("platform", "difference", "check", "found"), DIFFERENCES)
def test_a_platform_that_tells_otherwise_fails_just_that_check(
    page_on: Callable[[str], Page],
    tell: Callable[..., None],
    platform: str,
    difference: dict[str, object],
    check: str,
    found: str,
) -> None:
    tell(**difference)
    told = facts(page_on(platform))
    assert [one for one, fact in told.items() if not fact.holds] == [check]
    assert told[check].found.startswith(found)
    assert told[check].advice


def test_a_member_of_linkedin_is_checked_as_a_company_page_is(
    page_on: Callable[[str], Page], simulator: Simulator
) -> None:
    made = simulator.call("POST", "linkedin/members", name="Mel")
    [fact] = facts(page_on("LN"), Account(made["account_id"], made["access_token"])).values()
    assert fact.holds, fact.found


def test_a_passing_failure_leaves_the_question_open() -> None:
    def question() -> tuple[bool, str]:
        raise transient("UNREACHABLE", "The platform could not be reached.")

    fact = ask("limit", "50", "Ask for more.", question)
    assert (fact.holds, fact.found) == (None, "The platform could not be reached. (UNREACHABLE)")
