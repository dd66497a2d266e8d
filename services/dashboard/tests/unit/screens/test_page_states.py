"""The list of pages and the screen of a brand say the same about a page's connection."""

from datetime import UTC, datetime
from types import SimpleNamespace

import pytest

from dashboard import api, kept
from dashboard.app import create_app
from dashboard.config import Config
from posthaste.records import LastRefusal


def test_a_page_whose_platform_refused_a_post_says_so_wherever_it_is_shown(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    browser = create_app(Config(api_url="http://127.0.0.1:9", public_url="http://localhost")).test_client()
    browser.set_cookie("posthaste_session", "svc_session_x")
    page = SimpleNamespace(
        id="pag_f", name="Bakery", platform="FB", brand_id="brd_1", brand_name="Bakery", username=None, followers=1,
        expired=False, missing_permissions=None, checked_at=None, token_expires_at=None,
    )  # fmt: skip
    brand = SimpleNamespace(id="brd_1", name="Bakery", timezone="UTC", archived_at=None, pages=[page])
    client = SimpleNamespace(
        list_pages=lambda **_: SimpleNamespace(pages=[page], next_cursor=None), iterate_brands=lambda **_: [],
        get_brand=lambda _: SimpleNamespace(brand=brand),
        list_collaborators=lambda *_, **__: SimpleNamespace(collaborators=[], next_cursor=None),
        list_invitations=lambda *_, **__: SimpleNamespace(invitations=[], next_cursor=None),
    )  # fmt: skip
    for name in ("reader", "own"):
        monkeypatch.setattr(api, name, lambda: client)

    def shown(message: str) -> dict[str, str]:
        """Returns the page's state on each screen, after a post was refused with this message of the platform."""
        monkeypatch.setattr(kept, "_values", {})
        page.last_refusal = LastRefusal(
            post_id="pst_1", code="PLATFORM_REJECTED", message=message,
            refused_at=datetime(2026, 11, 27, 12, tzinfo=UTC),
        )  # fmt: skip
        answers = {address: browser.get(address).text for address in ("/pages", "/brands/brd_1")}
        states = ("Connected", "Post refused", "Not connected", "Missing permission")
        return {
            address: "".join(state for state in states if f">{state}<" in text)
            for address, text in answers.items()
        }

    assert shown("Not permitted. (403)") == {"/pages": "Post refused", "/brands/brd_1": "Post refused"}
    listed = browser.get("/pages").text
    for text in (
        "Facebook refused a post: ",
        "Not permitted. (403)",
        "/posts/pst_1",
        '<time datetime="2026-11-27T12:00',
    ):
        assert text in listed
    assert shown("The text is too long. (400)") == {"/pages": "Connected", "/brands/brd_1": "Connected"}
    page.expired = True
    assert shown("Not permitted. (403)") == {"/pages": "Not connected", "/brands/brd_1": "Not connected"}
    page.expired, page.missing_permissions = False, ["publish"]
    assert set(shown("Not permitted. (403)").values()) == {"Missing permission"}
