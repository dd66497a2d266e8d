"""Where a linking may send the person back to: only to addresses in the operator's list, compared as text."""

import pytest

from chassis.config import ConfigError
from contracts.errors import ApiError
from publishing.rules import return_urls

LISTED = return_urls.parse(
    ["usr_a=https://app.example/linked", "*=https://any.example/", "usr_b=http://127.0.0.1:3000/back"]
)


@pytest.mark.parametrize(
    ("account", "url"),
    [
        ("usr_a", "https://app.example/linked"),
        ("usr_a", "https://app.example/linked?tab=1&next=https://evil.test"),
        ("usr_b", "http://127.0.0.1:3000/back"),
        ("usr_z", "https://any.example/"),
        ("usr_z", "https://any.example/?"),
    ],
)
def test_a_listed_address_is_taken_with_any_query(account: str, url: str) -> None:
    return_urls.check(LISTED, account, url)


@pytest.mark.parametrize(
    "url",
    [
        "",
        "https://evil.test/linked",
        "http://app.example/linked",
        "//app.example/linked",
        "/linked",
        "https://app.example",
        "https://app.example/",
        "https://app.example/linked/",
        "https://app.example/linked/../admin",
        "https://app.example/LINKED",
        "https://APP.example/linked",
        "https://app.example:443/linked",
        "https://app.example.evil.test/linked",
        "https://app.example@evil.test/linked",
        "https://evil.test/?https://app.example/linked",
        "https://evil.test\\@app.example/linked",
        "https://app.example/linked#https://evil.test",
        "https://app.example/linked?x=#y",
        "https://app.example/linked;x",
        "https://app.example/linked?x=\r\nSet-Cookie: a=b",
        'https://app.example/linked?x="><script>',
        "https://app.example/linked?x= y",
        " https://app.example/linked",
        "https://app.example/linked\0",
        "https://app.example/linked?x=ü",
        "javascript:alert(1)//https://app.example/linked",
        "data:text/html,x",
        "*",
        "https://app.example/linked?" + "x" * 2_000,
    ],
)
def test_anything_else_is_refused(url: str) -> None:
    with pytest.raises(ApiError) as raised:
        return_urls.check(LISTED, "usr_a", url)
    assert (raised.value.code, raised.value.extras["errors"][0]["field"]) == (
        "VALIDATION_ERROR",
        "return_url",
    )


def test_an_account_has_its_own_list() -> None:
    with pytest.raises(ApiError):
        return_urls.check(LISTED, "usr_b", "https://app.example/linked")


@pytest.mark.parametrize(
    "entry",
    [
        "https://app.example/",
        "usr_a=app.example/",
        "usr_a=https://app.example",
        "usr_a=http://app.example/",
        "usr_a=https://app.example/?x",
        "usr_a=https://app.example/#x",
        "usr_a=https://user@app.example/",
        "usr_a=https://*.example/",
        "usr_a=javascript:alert(1)",
        "=https://app.example/",
        "usr_a=https://app.example/<x>",
    ],
)
def test_a_list_that_means_something_else_stops_the_start(entry: str) -> None:
    with pytest.raises(ConfigError):
        return_urls.parse([entry])


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("https://a.example/", "https://a.example/?session_id=lnk_1&status=choose"),
        ("https://a.example/?x=1", "https://a.example/?x=1&session_id=lnk_1&status=choose"),
    ],
)
def test_the_outcome_is_added_to_the_query(url: str, expected: str) -> None:
    assert return_urls.with_outcome(url, "lnk_1", "choose") == expected
