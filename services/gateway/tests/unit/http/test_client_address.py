"""The client's address behind proxies, and allowlists of addresses."""

import pytest

from gateway.http.client_address import client_address, is_allowed, parse_address


@pytest.mark.parametrize(
    ("forwarded", "hops", "expected"),
    [
        ("", 0, "10.0.0.1"),
        ("1.1.1.1", 0, "10.0.0.1"),
        ("6.6.6.6, 1.1.1.1", 1, "1.1.1.1"),
        ("6.6.6.6, 1.1.1.1, 10.0.0.2", 2, "1.1.1.1"),
        ("1.1.1.1", 2, "1.1.1.1"),
        ("", 1, "10.0.0.1"),
    ],
)
def test_a_client_cannot_choose_its_address(forwarded: str, hops: int, expected: str) -> None:
    assert str(client_address("10.0.0.1", forwarded, hops)) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("::ffff:1.2.3.4", "1.2.3.4"),
        ("1.2.3.4:5678", "1.2.3.4"),
        ("[2001:db8::1]:443", "2001:db8::1"),
        ("fe80::1%eth0", "fe80::1"),
        ("unknown", "None"),
        ("", "None"),
    ],
)
def test_reads_addresses_in_every_spelling_proxies_use(text: str, expected: str) -> None:
    assert str(parse_address(text)) == expected


@pytest.mark.parametrize(
    ("address", "block", "expected"),
    [
        ("1.2.3.4", "1.2.3.4", True),
        ("1.2.3.4", "1.2.3.0/24", True),
        ("1.2.3.4", "1.2.3.5/24", True),
        ("1.2.4.4", "1.2.3.0/24", False),
        ("::ffff:1.2.3.4", "1.2.3.0/24", True),
        ("1.2.3.4", "::ffff:1.2.3.0/120", True),
        ("2001:db8::5", "2001:db8::/32", True),
        ("1.2.3.4", "2001:db8::/32", False),
        ("unknown", "0.0.0.0/0", False),
        ("203.0.113.9", "::/0", False),
    ],
)
def test_an_allowlist_holds_addresses_and_blocks(address: str, block: str, expected: bool) -> None:
    assert is_allowed(parse_address(address), ("9.9.9.9", block)) is expected


def test_an_empty_allowlist_lets_everyone_in() -> None:
    assert is_allowed(None, ())
