"""Working on somebody else's brand: what the cookie for it may hold, and what the pages then offer."""

import base64
import json
import threading
from types import SimpleNamespace
from typing import Any

import pytest
from flask.testing import FlaskClient

from dashboard import api
from dashboard.app import create_app
from dashboard.config import Config
from dashboard.cookies import SharedWork, form_token

LIMITED = SharedWork("svc_sess_b", "brd_1", "<b>Bakery</b>", "Dana", "limited", ["read:posts", "write:posts"])
FULL = SharedWork("svc_sess_b", "brd_1", "Bakery", "Dana", "full", ["*"])


def browser(work: SharedWork | str) -> FlaskClient:
    """A signed-in browser of a dashboard whose API does not answer."""
    found = create_app(Config(api_url="http://127.0.0.1:9", public_url="http://localhost")).test_client()
    for name, value in (
        ("form", "k" * 43),
        ("session", "svc_sess_a"),
        ("brand", work if isinstance(work, str) else work.packed()),
    ):
        found.set_cookie(f"posthaste_{name}", value)
    return found


def test_a_cookie_is_read_as_it_was_written() -> None:
    assert SharedWork.read(FULL.packed()) == FULL


@pytest.mark.parametrize(
    "forged", [b"", b"{}", b"[]", b'["", "", "", "", "", []]', b"[1, 2, 3, 4, 5, 6]",
               b'["a", "b", "c", "d", "e", "f"]', b'["a", "b", "c", "d", "e", [1]]', b"\xff\xfe",
               b'["a\\n", "b", "c", "d", "e", []]', b"[" * 3000],
)  # fmt: skip
def test_another_cookie_is_as_good_as_none(forged: bytes) -> None:
    packed = base64.urlsafe_b64encode(forged).decode()
    assert SharedWork.read(packed) is None
    assert SharedWork.read(forged.decode("latin-1")) is None
    assert "You are working on" not in browser(packed).get("/calendar").text


def test_nobody_but_the_owner_manages_the_account_whatever_the_cookie_says() -> None:
    everything = SharedWork(**(vars(FULL) | {"scopes": ["*", "manage:brands", "manage:*"]}))
    assert not any(everything.may(it) for it in ("manage:brands", "manage:tokens", "manage:account"))
    assert FULL.may("write:ai")
    assert not LIMITED.may("write:ai")


def test_every_page_names_the_brand_and_offers_what_the_role_permits() -> None:
    full, limited = (browser(it).get("/calendar").text for it in (FULL, LIMITED))
    assert "You are working on" in full
    assert "&lt;b&gt;Bakery" in limited
    menu = ("Developers", "Usage and billing", "Activity")
    assert [tuple(name in it for name in menu) for it in (full, limited)] == [
        (True, True, False),
        (False, False, False),
    ]


def test_a_brand_without_a_session_of_ones_own_is_no_sign_in() -> None:
    visitor = create_app(Config(api_url="http://127.0.0.1:9", public_url="http://localhost")).test_client()
    visitor.set_cookie("posthaste_brand", FULL.packed())
    assert visitor.get("/posts").location.startswith("/sign-in")


def test_going_back_forgets_the_brand_and_signing_out_both() -> None:
    data = {"form_token": form_token("k" * 43, "svc_sess_a")}
    back = browser(FULL).post("/work/own", data=data)
    assert [it.partition("=")[0] for it in back.headers.getlist("Set-Cookie")] == ["posthaste_brand"]
    assert back.location == "/"


def test_a_cookie_is_small() -> None:
    large = SharedWork(**(vars(LIMITED) | {"brand_name": "ß" * 100, "owner": "ß" * 200}))
    assert len(large.packed()) < 3_500
    assert json.loads(base64.urlsafe_b64decode(large.packed()))[2] == "ß" * 100


class Barrier:
    """An API each of whose calls waits until `together` calls run at the same time."""

    def __init__(self, together: int) -> None:
        self._barrier = threading.Barrier(together, timeout=10)
        self.calls: list[str] = []

    def __getattr__(self, name: str) -> Any:
        def call(*_: Any, **__: Any) -> SimpleNamespace:
            self.calls.append(name)
            self._barrier.wait()
            return SimpleNamespace(
                brand=SimpleNamespace(id="brd_1", name="Bakery", timezone="UTC", pages=[], archived_at=None),
                collaborators=[],
                invitations=[],
                next_cursor=None,
            )

        return call


@pytest.mark.parametrize(
    ("work", "calls"),
    [("", ["get_brand", "list_collaborators", "list_invitations"]), (FULL, ["get_brand"])],
    ids=["owner", "collaborator"],
)
def test_a_brand_asks_all_at_once_and_only_for_what_the_person_may_see(
    monkeypatch: pytest.MonkeyPatch, work: SharedWork | str, calls: list[str]
) -> None:
    client = Barrier(len(calls))
    monkeypatch.setattr(api, "reader", lambda: client)
    page = browser(work).get("/brands/brd_1")
    assert page.status_code == 200
    assert sorted(client.calls) == calls
    assert ("Invite people" in page.text) == (work == "")
    assert ("Only Dana can manage people." in page.text) == (work == FULL)
