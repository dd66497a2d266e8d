"""Validation of single fields."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accounts import fields
from contracts.errors import ApiError

NOW = datetime(2027, 2, 28, 12, 0, tzinfo=UTC)

NOT_ADDRESSES = ["", "ann", "ann@", "@example.com", "ann@example", "ann@@example.com", "ann@example..com"]
NOT_ADDRESSES += [
    "a b@example.com",
    "ann@exam\0ple.com",
    "ann@\ud800.com",
    "ann@example.com\u200b",
    "ann@.com",
]
NOT_ADDRESSES += [
    "a" * 65 + "@example.com",
    "ann@" + "e" * 250 + ".com",
    "a<b>@example.com",
    "a@b.com, c@d.com",
    # In the header of a mail these are written in code, and name another mailbox.
    "=?utf-8?q?eve=40example.net=3e?=ann@example.com",
    "ann@=?utf-8?q?example.net?=.example.com",
]
NOT_URLS = [
    "",
    "logo.png",
    "ftp://a.example/x",
    "javascript:alert(1)",
    "https://",
    "https://a.example:99999/x",
]
NOT_URLS += [
    "https://a b.example/",
    "https://[::1",
    "https://a.example/\n",
    "https://\0",
    "https://a/" + "x" * 2048,
]
NOT_NETWORKS = ["", "example.com", "10.0.0.256", "010.0.0.1", "10.0.0.0/33", "fe80::1%eth0", "\0"]
NOT_IDS = ["", "usr", "usr_\0", "usr_" + "\ud800" * 26, "x" * 100_000, "usr_" + "a" * 65]
BEYOND_TIME = datetime.max.replace(tzinfo=timezone(-timedelta(hours=12)))


def refusal(function: Callable[[], object]) -> str:
    with pytest.raises(ApiError) as caught:
        function()
    return caught.value.code


def test_an_address_is_one_whatever_its_case() -> None:
    assert fields.email("  Ann.Lee+News@Example.COM ") == "ann.lee+news@example.com"


@pytest.mark.parametrize("address", NOT_ADDRESSES)
def test_what_is_not_an_address_is_refused(address: str) -> None:
    assert refusal(lambda: fields.email(address)) == "VALIDATION_ERROR"


@given(st.text(st.characters(codec=None)))
def test_no_text_gets_past_that_postgresql_could_not_hold(value: str) -> None:
    storable = "\0" not in value and not any(0xD800 <= ord(character) <= 0xDFFF for character in value)
    if storable:
        assert fields.text("name", value, max_length=10_000) == value
    else:
        assert refusal(lambda: fields.text("name", value, max_length=10_000)) == "VALIDATION_ERROR"


def test_a_password_has_8_to_256_characters() -> None:
    assert fields.password("x" * 8) == "x" * 8
    assert fields.password("ü" * 256)
    assert refusal(lambda: fields.password("x" * 7)) == "VALIDATION_ERROR"
    assert refusal(lambda: fields.password("x" * 257)) == "VALIDATION_ERROR"


def test_blanks_alone_are_no_name() -> None:
    assert fields.name("name", "  Acme ") == "Acme"
    assert refusal(lambda: fields.name("name", "  ")) == "VALIDATION_ERROR"


@pytest.mark.parametrize("zone", ["UTC", "Europe/Berlin", "America/Argentina/Ushuaia"])
def test_zones_of_the_iana_database_are_taken(zone: str) -> None:
    assert fields.timezone(zone) == zone


@pytest.mark.parametrize(
    "zone", ["", "Mars/Olympus", "europe/berlin", "../etc/passwd", "localtime", "Factory", "+02:00"]
)
def test_what_is_not_an_iana_zone_is_refused(zone: str) -> None:
    assert refusal(lambda: fields.timezone(zone)) == "VALIDATION_ERROR"


@pytest.mark.parametrize("logo", NOT_URLS)
def test_a_logo_is_an_http_url(logo: str) -> None:
    assert refusal(lambda: fields.url("logo", logo)) == "VALIDATION_ERROR"
    assert fields.url("logo", "https://cdn.example/logo.png?v=2") == "https://cdn.example/logo.png?v=2"
    assert fields.url("logo", None) is None


def test_an_allowlist_is_stored_in_one_spelling() -> None:
    entries = ["10.0.0.7", "10.0.0.7/32", "10.1.2.3/8", "2001:DB8::1", "::ffff:192.0.2.0/120"]
    assert fields.ip_allowlist(entries) == (
        "10.0.0.7",
        "10.0.0.0/8",
        "2001:db8::1",
        "192.0.2.0/24",
    )


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("de", "de"),
        ("PT-br", "pt-BR"),
        ("zh-hant", "zh-Hant"),
        ("ZH-HANT-TW", "zh-Hant-TW"),
        ("es-419", "es-419"),
    ],
)
def test_a_language_is_kept_in_its_usual_spelling(given: str, kept: str) -> None:
    assert fields.language(given) == kept


@pytest.mark.parametrize("tag", ["", "d", "de_DE", "de-", "deutsch", "de-DE-1996", "x-klingon", "dé", "de\n"])
def test_what_is_no_language_tag_is_refused(tag: str) -> None:
    assert refusal(lambda: fields.language(tag)) == "VALIDATION_ERROR"


@pytest.mark.parametrize("entry", NOT_NETWORKS)
def test_what_is_no_address_does_not_enter_an_allowlist(entry: str) -> None:
    assert refusal(lambda: fields.ip_allowlist([entry])) == "VALIDATION_ERROR"


def test_an_allowlist_has_at_most_50_entries() -> None:
    assert len(fields.ip_allowlist([f"10.0.0.{n}" for n in range(50)])) == 50
    assert refusal(lambda: fields.ip_allowlist([f"10.0.0.{n}" for n in range(51)])) == "VALIDATION_ERROR"


def test_a_token_may_live_for_two_years_and_no_longer() -> None:
    two_years = NOW.replace(year=2029)
    assert fields.expires_at(two_years, NOW) == two_years
    assert fields.expires_at(None, NOW) is None
    assert refusal(lambda: fields.expires_at(two_years + timedelta(days=2), NOW)) == "VALIDATION_ERROR"
    assert refusal(lambda: fields.expires_at(NOW, NOW)) == "VALIDATION_ERROR"


def test_an_expiry_is_kept_in_utc_and_whole_milliseconds() -> None:
    given_at = datetime(2027, 3, 1, 14, 0, 0, 123_999, tzinfo=timezone(timedelta(hours=2)))
    assert fields.expires_at(given_at, NOW) == datetime(2027, 3, 1, 12, 0, 0, 123_000, tzinfo=UTC)


@pytest.mark.parametrize("moment", [datetime(2027, 3, 1), BEYOND_TIME])
def test_an_expiry_without_a_zone_or_beyond_time_is_a_malformed_date(moment: datetime) -> None:
    assert refusal(lambda: fields.expires_at(moment, NOW)) == "INVALID_DATE"


@pytest.mark.parametrize("made_up", NOT_IDS)
def test_an_id_that_we_never_make_is_not_found(made_up: str) -> None:
    assert refusal(lambda: fields.known_id(made_up)) == "NOT_FOUND"
