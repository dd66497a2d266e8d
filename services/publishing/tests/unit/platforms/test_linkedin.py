"""LinkedIn's text format ("little text"), and what its answers say about the outcome, even broken ones."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chassis.config import ConfigError
from publishing.platforms.base import (
    Account,
    Checkpoint,
    CommentQuery,
    OutcomeUnknown,
    PlatformRefusal,
    Refusal,
)
from publishing.platforms.comment_threads import Place
from publishing.platforms.http_client import Response
from publishing.platforms.limits import check_content, length
from publishing.platforms.linkedin.calls import Calls
from publishing.platforms.linkedin.errors import duplicate_of, refusal_from, wait_in
from publishing.platforms.linkedin.login import login
from publishing.platforms.linkedin.media import Uploads
from publishing.platforms.linkedin.reading import with_current_cursor
from publishing.platforms.linkedin.settings import LinkedInSettings
from publishing.platforms.linkedin.text import little_text, shown_text

ACCOUNT = Account("urn:li:organization:1", "token-1")
WORDS = st.text(
    alphabet=st.one_of(st.sampled_from("\\|{}@[]()<>#*_~ ab1"), st.characters(exclude_categories=("Cs",)))
)


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("plain", "plain"),
        ("a (b) [c] {d} <e>", "a \\(b\\) \\[c\\] \\{d\\} \\<e\\>"),
        ("a|b\\c @d *e* _f_ ~g~", "a\\|b\\\\c \\@d \\*e\\* \\_f\\_ \\~g\\~"),
        ("#Brot und #größe2", "{hashtag|\\#|Brot} und {hashtag|\\#|größe2}"),
        ("C# #1 #a_b a#b ##c &#39; #", "C\\# \\#1 \\#a\\_b a\\#b \\#\\#c &\\#39; \\#"),
        ("(#tag)", "\\({hashtag|\\#|tag}\\)"),
    ],
)
def test_what_is_reserved_is_escaped_and_hashtags_become_links(text: str, written: str) -> None:
    assert little_text(text) == written


@given(WORDS)
def test_a_text_comes_back_as_it_was(text: str) -> None:
    assert shown_text(little_text(text)) == text


@given(WORDS)
def test_nothing_reserved_stands_alone(text: str) -> None:
    rest, at = little_text(text), 0
    while at < len(rest):
        if rest.startswith("{hashtag|\\#|", at):
            end = rest.index("}", at)
            assert rest[at + 12 : end].isalnum()
            at = end + 1
        elif rest[at] == "\\":
            assert rest[at + 1] in "\\|{}@[]()<>#*_~"
            at += 2
        else:
            assert rest[at] not in "|{}@[]()<>#*_~"
            at += 1


def test_texts_of_others_are_read_as_people_see_them() -> None:
    written = "With @[Corner \\(Bakery\\)](urn:li:organization:1) at {hashtag|#|bread}"
    assert shown_text(written) == "With Corner (Bakery) at #bread"


def test_escapes_count_towards_the_length() -> None:
    assert length("LN", "a(b)") == 6
    assert check_content("LN", "(" * 1_500, []) == []
    [error] = check_content("LN", "(" * 1_501, [])
    assert error.extras["errors"][0]["field"] == "message"


def error(status: int, code: str | None = None, message: str = "m", **more: Any) -> Response:
    body = {"status": status, "message": message, **({"code": code} if code else {}), **more}
    return Response(status, {}, body)


def inputs(status: int, code: str) -> Response:
    return error(status, errorDetails={"inputErrors": [{"code": code, "description": "d"}]})


@contextmanager
def answering(*replies: Response) -> Iterator[tuple[Calls, list[Any]]]:
    """Yields calls that get these answers in turn, and the list of their requests."""
    calls, seen, left = Calls(LinkedInSettings(revoked_wait_seconds=0.0)), [], list(replies)

    def send(*arguments: Any, **named: Any) -> Response:
        seen.append(arguments)
        return left.pop(0)

    calls._http.send = send  # type: ignore[method-assign]
    yield calls, seen


@pytest.mark.parametrize(
    ("answer", "kind", "code"),
    [
        (error(401, serviceErrorCode=65600), Refusal.EXPIRED, "65600"),
        (error(401, "EXPIRED_ACCESS_TOKEN", serviceErrorCode=65602), Refusal.EXPIRED, "EXPIRED_ACCESS_TOKEN"),
        (error(401, "SOMETHING_ELSE"), Refusal.PERMISSION, "SOMETHING_ELSE"),
        (error(403, "ACCESS_DENIED", serviceErrorCode=100), Refusal.PERMISSION, "ACCESS_DENIED"),
        (error(422, message="Content is a duplicate of urn:li:share:7"), Refusal.REJECTED, "DUPLICATE_POST"),
        (inputs(422, "DUPLICATE_POST"), Refusal.REJECTED, "DUPLICATE_POST"),
        (inputs(400, "MEDIA_ASSET_WAITING_UPLOAD"), Refusal.TRANSIENT, "MEDIA_ASSET_WAITING_UPLOAD"),
        (error(400, "FIELD_LENGTH_TOO_LONG"), Refusal.REJECTED, "FIELD_LENGTH_TOO_LONG"),
        (error(426, "NONEXISTENT_VERSION"), Refusal.PERMISSION, "NONEXISTENT_VERSION"),
        (error(429, "TOO_MANY_REQUESTS"), Refusal.RATE_LIMITED, "TOO_MANY_REQUESTS"),
        (Response(429, {}, None), Refusal.RATE_LIMITED, "HTTP_429"),
    ],
)  # fmt: skip
def test_a_refused_post_says_what_kind_it_is(answer: Response, kind: Refusal, code: str) -> None:
    with answering(answer) as (calls, _), pytest.raises(PlatformRefusal) as refusal:
        calls.create(ACCOUNT, "posts", {})
    assert (refusal.value.kind, refusal.value.code) == (kind, code)


@pytest.mark.parametrize(
    "answer",
    [
        error(500, message="Unable to obtain activity"), error(503, "EXPIRED_ACCESS_TOKEN"), Response(502, {}, None),
        Response(201, {}, None), Response(200, {}, {"id": "1"}), Response(302, {}, None), Response(401, {}, "who?"),
    ],
)  # fmt: skip
def test_a_post_without_a_clear_answer_is_unknown(answer: Response) -> None:
    with answering(answer) as (calls, seen), pytest.raises(OutcomeUnknown):
        calls.create(ACCOUNT, "posts", {})
    assert len(seen) == 1


@pytest.mark.parametrize(
    "answer",
    [error(500), error(500, "EXPIRED_ACCESS_TOKEN"), Response(401, {}, None), Response(200, {}, None)],
)
def test_a_read_that_failed_never_cuts_a_page_off(answer: Response) -> None:
    with answering(answer) as (calls, _), pytest.raises(PlatformRefusal) as refusal:
        calls.read(ACCOUNT, "posts")
    assert refusal.value.kind is Refusal.TRANSIENT


def test_the_id_is_in_the_header_of_an_empty_answer_and_urns_in_addresses_are_encoded() -> None:
    with answering(
        Response(201, {"x-restli-id": "urn:li:share:7"}, None), Response(200, {}, {"elements": []})
    ) as (
        calls,
        seen,
    ):
        assert calls.create(ACCOUNT, "posts", {}) == ("urn:li:share:7", {})
        calls.read(ACCOUNT, "posts", method="FINDER", q="author", author="urn:li:organization:1")
    assert seen[1][1] == "https://api.linkedin.com/rest/posts?q=author&author=urn%3Ali%3Aorganization%3A1"


def test_a_revoked_token_is_asked_with_once_more_and_no_oftener() -> None:
    revoked = error(401, "REVOKED_ACCESS_TOKEN", serviceErrorCode=65601)
    with answering(revoked, Response(201, {"x-restli-id": "urn:li:share:7"}, None)) as (calls, _):
        assert calls.create(ACCOUNT, "posts", {})[0] == "urn:li:share:7"
    with answering(revoked, revoked) as (calls, seen), pytest.raises(PlatformRefusal) as refusal:
        calls.create(ACCOUNT, "posts", {})
    assert (refusal.value.kind, len(seen)) == (Refusal.EXPIRED, 2)


def test_a_duplicate_names_the_post_it_is_of() -> None:
    body = {"status": 422, "message": "Content is a duplicate of urn:li:share:7"}
    assert duplicate_of(refusal_from(body, 422, {}, "202607")) == "urn:li:share:7"
    assert duplicate_of(refusal_from(body | {"message": "No duplicate"}, 422, {}, "202607")) is None


def test_a_days_allowance_lasts_until_midnight_utc() -> None:
    assert wait_in({}, datetime(2026, 11, 20, 23, 59, 30, tzinfo=UTC)) == 30
    assert wait_in({"Retry-After": "7"}) == 7


@pytest.mark.parametrize(
    ("media", "settings", "field"),
    [
        ([], {"visibility": "EVERYBODY"}, "visibility"),
        (["photo"], {"alt_texts": "a"}, "alt_texts"),
        (["video"], {"title": 7}, "title"),
        ([], {"article": {"source": "https://example.com/"}}, "article"),
        ([], {"article": {"source": "http://127.0.0.1/", "title": "t"}}, "article.source"),
        (["photo"], {"article": {"source": "https://example.com/", "title": "t"}}, "article"),
        ([], {"is_reshare_disabled": "no"}, "is_reshare_disabled"),
    ],
)
def test_settings_that_linkedin_would_not_take_are_found(
    media: list[str], settings: dict[str, Any], field: str
) -> None:
    [found] = check_content("LN", "text", media, settings=settings)
    assert found.extras["errors"][0]["field"] == f"linkedin_settings.{field}"


def test_good_and_empty_settings_pass() -> None:
    settings = {
        "visibility": "CONNECTIONS",
        "article": {"source": "https://example.com/", "title": "t"},
    }
    assert check_content("LN", "text", [], settings=settings | {"title": None}) == []


@pytest.mark.parametrize(
    ("cursor", "place"),
    [
        ("100/50", Place("100", 50)),
        (
            "0/20/1700000000123/urn:li:comment:(urn:li:activity:7,9)",
            Place("0", 20, ("2023-11-14T22:13:20.123+00:00", "urn:li:comment:(urn:li:activity:7,9)")),
        ),
    ],
)
def test_a_list_goes_on_from_a_cursor_of_before_1_4_0(cursor: str, place: Place) -> None:
    query = with_current_cursor(CommentQuery("urn:li:share:7", cursor=cursor))
    assert Place.of(query, largest=100) == place


def test_a_cursor_of_today_is_left_alone() -> None:
    query = CommentQuery("urn:li:share:7", cursor=Place("100", 50).cursor)
    assert with_current_cursor(query) is query


class Forbidding:
    """Calls to a LinkedIn that refuses to show the state of files."""

    def read(self, account: Account, path: str) -> Any:
        raise PlatformRefusal(Refusal.PERMISSION, "ACCESS_DENIED", "Not enough permissions")


@pytest.mark.parametrize(
    ("owner", "state"), [("urn:li:organization:1", "processing"), ("urn:li:person:1", "ready")]
)
def test_a_refused_look_at_a_file_is_not_yet_ready_for_those_who_may_look_at_files(
    owner: str, state: str
) -> None:
    settings = LinkedInSettings(poll_seconds=0.0, poll_limit_seconds=0.0)
    checkpoint = Checkpoint({"media": [{"urn": "urn:li:image:1", "state": "processing"}]})
    uploads = Uploads(cast(Calls, Forbidding()), settings)
    with suppress(PlatformRefusal):
        uploads._wait(Account(owner, "token-1"), checkpoint, 0)
    assert checkpoint.get("media")[0]["state"] == state


@pytest.fixture
def environment(monkeypatch: pytest.MonkeyPatch) -> Callable[..., LinkedInSettings]:
    """Reads the settings from these variables of LinkedIn."""

    def read(**variables: str) -> LinkedInSettings:
        for name in ("CLIENT_ID", "PAGES_CLIENT_ID", "COMPANY_PAGES"):
            monkeypatch.delenv(f"LINKEDIN_{name}", raising=False)
        for name, value in variables.items():
            monkeypatch.setenv(f"LINKEDIN_{name}", value)
        return LinkedInSettings.from_env()

    return read


@pytest.mark.parametrize(
    ("variables", "member", "pages"),
    [
        ({"CLIENT_ID": "a"}, "a", ""),
        ({"PAGES_CLIENT_ID": "b"}, "", "b"),
        ({"CLIENT_ID": "a", "PAGES_CLIENT_ID": "b"}, "a", "b"),
        # As before 1.4.0.
        ({"CLIENT_ID": "a", "COMPANY_PAGES": "true"}, "", "a"),
        ({"CLIENT_ID": "a", "COMPANY_PAGES": "false", "PAGES_CLIENT_ID": "b"}, "a", "b"),
    ],
)
def test_members_and_company_pages_have_apps_of_their_own(
    environment: Callable[..., LinkedInSettings], variables: dict[str, str], member: str, pages: str
) -> None:
    found = environment(**variables)
    assert (found.member_app.client_id, found.pages_app.client_id) == (member, pages)
    assert found.app.client_id == (member or pages)


def test_browsers_may_log_in_at_another_address_than_the_server_fetches_tokens_from(
    environment: Callable[..., LinkedInSettings],
) -> None:
    inside = {"CLIENT_ID": "a", "OAUTH_URL": "http://simulator"}
    for more, expected in (
        ({}, "http://simulator/"),
        ({"AUTHORIZE_URL": "http://localhost/"}, "http://localhost/"),
    ):
        made = login(environment(**inside, **more))
        address = made.authorize_url("state", "https://example.com/back", "verifier")
        assert address.startswith(f"{expected}oauth/v2/authorization?")


@pytest.mark.parametrize(
    "variables",
    [
        {"CLIENT_ID": "a", "PAGES_CLIENT_ID": "a"},
        {"CLIENT_ID": "a", "PAGES_CLIENT_ID": "b", "COMPANY_PAGES": "true"},
    ],
)
def test_one_app_for_both_is_refused_at_start(
    environment: Callable[..., LinkedInSettings], variables: dict[str, str]
) -> None:
    with pytest.raises(ConfigError, match="LINKEDIN_PAGES_CLIENT_ID"):
        environment(**variables)
