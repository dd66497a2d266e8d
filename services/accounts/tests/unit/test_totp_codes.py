"""Codes of authenticator apps, against the vectors of RFC 6238."""

import base64
from datetime import UTC, datetime

import pytest

from accounts.users import totp_codes

#: RFC 6238, appendix B, with SHA-1; our six digits are the last of its eight.
SECRET = base64.b32encode(b"12345678901234567890").decode()
VECTORS = {59: "94287082", 1111111109: "07081804", 1111111111: "14050471", 1234567890: "89005924",
           2000000000: "69279037", 20000000000: "65353130"}  # fmt: skip


@pytest.mark.parametrize(("seconds", "code"), VECTORS.items())
def test_the_vectors_of_the_rfc(seconds: int, code: str) -> None:
    moment = datetime.fromtimestamp(seconds, UTC)
    assert totp_codes.step_of(SECRET, code[2:], moment) == seconds // 30


@pytest.mark.parametrize(
    ("late", "is_accepted"), [(-60, False), (-30, True), (0, True), (30, True), (60, False)]
)
def test_a_code_is_accepted_one_step_early_and_late(late: int, is_accepted: bool) -> None:
    moment = 1111111109 + late
    found = totp_codes.step_of(SECRET, "081804", datetime.fromtimestamp(moment, UTC))
    assert found == (1111111109 // 30 if is_accepted else None)


@pytest.mark.parametrize("code", ["", "28708", "2870820", "ÄÖÜ123", "٢٨٧٠٨٢", "\ud800"])
def test_anything_else_is_no_code(code: str) -> None:
    assert totp_codes.step_of(SECRET, code, datetime.fromtimestamp(59, UTC)) is None


def test_codes_may_be_typed_with_blanks_hyphens_and_capitals() -> None:
    assert totp_codes.plain(" 287 082\n") == "287082"
    assert totp_codes.plain("ABCD-efgh") == "abcdefgh"
    assert totp_codes.is_of_app("287082")
    assert not totp_codes.is_of_app("٢٨٧٠٨٢")
    assert totp_codes.readable("abcdefgh") == "abcd-efgh"


def test_the_address_for_an_app_names_the_installation_and_the_account() -> None:
    url = totp_codes.otpauth_url(SECRET, email="ann@example.com", issuer="posts.example.com")
    assert url.startswith("otpauth://totp/posts.example.com:ann%40example.com?")
    assert f"secret={SECRET}" in url
    assert "issuer=posts.example.com" in url
