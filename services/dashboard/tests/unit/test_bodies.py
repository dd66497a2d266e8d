"""Request bodies that arrive slowly, or many at once, must not occupy all threads of the dashboard."""

import socket
import threading
from collections.abc import Callable, Iterator
from io import RawIOBase
from types import SimpleNamespace
from typing import Any

import pytest
from flask import Flask, Request
from werkzeug.exceptions import BadRequest
from werkzeug.test import TestResponse

from dashboard import api, kept
from dashboard.app import create_app
from dashboard.bodies import LARGE_BYTES, BodyReader
from dashboard.config import Config
from posthaste.errors import AuthenticationError, LimitReached, ServerError

ONE, SAME_CUSTOMER, OTHER = "2001:db8::1", "2001:db8::2", "2001:db8:0:1::1"


class Slow(RawIOBase):
    """A body that arrives only when the test says so."""

    def __init__(self) -> None:
        self.is_read, self.may_end = threading.Event(), threading.Event()

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        self.is_read.set()
        assert self.may_end.wait(10)
        buffer[:3] = b"a=1"
        return 3


class BrokenOff(RawIOBase):
    """A body that ends before its first byte."""

    is_read = False

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        self.is_read = True
        return 0


def asked(stream: Any, address: str, length: int = 3, **more: Any) -> Request:
    environ = {
        "REQUEST_METHOD": "POST", "CONTENT_TYPE": "application/x-www-form-urlencoded", "REMOTE_ADDR": address,
        "CONTENT_LENGTH": str(length), "wsgi.input": stream, **more,
    }  # fmt: skip
    with Flask(__name__).app_context():
        return Request(environ)


@pytest.fixture
def held() -> Iterator[tuple[BodyReader, Slow]]:
    """A body reader and a slow client. The client occupies the only slot for forms from the network of address ONE."""
    reader, slow = BodyReader(threads=2), Slow()
    thread = threading.Thread(target=reader.read, args=[asked(slow, ONE)])
    thread.start()
    assert slow.is_read.wait(10)
    yield reader, slow
    slow.may_end.set()
    thread.join(10)


def ready() -> Slow:
    body = Slow()
    body.may_end.set()
    return body


def test_a_network_with_slow_bodies_takes_no_thread_from_others(held: tuple[BodyReader, Slow]) -> None:
    reader, _ = held
    untouched = ready()
    assert not reader.read(asked(untouched, SAME_CUSTOMER))
    assert not untouched.is_read.is_set()
    assert reader.read(asked(ready(), OTHER))


def test_the_place_is_free_again_once_the_body_is_there(held: tuple[BodyReader, Slow]) -> None:
    reader, slow = held
    slow.may_end.set()
    [thread] = [it for it in threading.enumerate() if getattr(it, "_target", None) == reader.read]
    thread.join(10)
    request = asked(ready(), ONE)
    assert reader.read(request)
    assert request.form["a"] == "1"


def test_a_body_that_does_not_arrive_in_time_is_cut_off() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs, ours.makefile("rb") as stream:
        theirs.sendall(b"a=")
        reader = BodyReader(threads=2, form_seconds=0.05)
        with pytest.raises(BadRequest):
            reader.read(asked(stream, ONE, length=100, **{"gunicorn.socket": ours}))
        assert reader.read(asked(ready(), ONE))


def test_files_have_places_of_their_own(held: tuple[BodyReader, Slow]) -> None:
    reader, _ = held
    files = asked(ready(), ONE, length=LARGE_BYTES + 1, CONTENT_TYPE="multipart/form-data")
    assert reader.read(files)


@pytest.mark.parametrize("is_part", [False, True])
def test_a_form_too_many_is_refused_with_the_next_step(
    monkeypatch: pytest.MonkeyPatch, is_part: bool
) -> None:
    monkeypatch.setattr(BodyReader, "read", lambda *_: False)
    app = create_app(Config(api_url="http://127.0.0.1:9", public_url="http://localhost"))
    headers = {"HX-Request": "true"} if is_part else {}
    answer = app.test_client().post("/sign-in", data={"email": "ann@example.com"}, headers=headers)
    assert (answer.status_code, answer.headers["Retry-After"]) == (503, "5")
    assert answer.headers["Connection"] == "close"  # what is left of the body is no request
    assert "Too much is on its way" in answer.text
    assert "Send it again in a few seconds" in answer.text
    assert ("<html" in answer.text) != is_part


class TestBeforeABodyIsRead:
    """Requests with a body of 300 MiB: one whose sender may not send it is refused before any of the body is read."""

    @pytest.fixture
    def answered(self, monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[TestResponse, bool]]:
        """Sends the request. Returns the answer, and whether any of the body was read."""
        monkeypatch.setattr(kept, "_values", {})
        app = create_app(Config(api_url="http://127.0.0.1:9", public_url="http://localhost"))

        def send(path: str, session: str = "", error: Exception | None = None, **headers: str) -> Any:
            def get_me() -> None:
                if error is not None:
                    raise error

            monkeypatch.setattr(api, "reader", lambda: SimpleNamespace(get_me=get_me))
            client, body = app.test_client(), BrokenOff()
            if session:
                client.set_cookie("posthaste_session", session)
            sent = {"wsgi.input": body, "CONTENT_LENGTH": str(300 * 2**20)}
            sent["CONTENT_TYPE"] = "multipart/form-data; boundary=x"
            answer = client.post(path, environ_overrides=sent, headers=headers)
            return answer, body.is_read

        return send

    @pytest.mark.parametrize(
        "path", ["/library", "/library/files", "/compose", "/compose/files", "/sign-out"]
    )
    def test_who_has_no_session_is_sent_to_the_sign_in(self, answered: Any, path: str) -> None:
        answer, is_read = answered(path)
        assert (answer.status_code, answer.location, is_read) == (303, "/sign-in", False)
        assert answer.headers["Connection"] == "close"

    @pytest.mark.parametrize("session", ["", "svc_session_over"])
    def test_a_script_gets_the_reason_in_words(self, answered: Any, session: str) -> None:
        answer, is_read = answered(
            "/library/files", session, AuthenticationError(401, {}), **{"X-Form-Token": "0" * 64}
        )
        assert (answer.status_code, answer.text, is_read) == (
            401, "You were signed out. Load the page again.", False,
        )  # fmt: skip

    def test_a_session_that_has_ended_is_none(self, answered: Any) -> None:
        answer, is_read = answered("/library", "svc_session_over", AuthenticationError(401, {}))
        assert (answer.status_code, answer.location, is_read) == (303, "/sign-in?ended=1", False)
        assert "posthaste_session=;" in str(answer.headers)

    @pytest.mark.parametrize("path", ["/sign-in", "/sign-up", "/verify/x/x", "/invitations/x/x"])
    def test_forms_for_everybody_take_no_large_body(self, answered: Any, path: str) -> None:
        answer, is_read = answered(path)
        assert (answer.status_code, is_read) == (413, False)

    def test_nothing_is_read_of_what_is_sent_nowhere(self, answered: Any) -> None:
        answer, is_read = answered("/nowhere", "svc_session_x")
        assert (answer.status_code, is_read) == (404, False)

    @pytest.mark.parametrize("error", [None, ServerError(503, {}), LimitReached(429, {})])
    def test_the_body_of_a_session_that_may_be_valid_is_read(
        self, answered: Any, error: Exception | None
    ) -> None:
        answer, is_read = answered("/library", "svc_session_x", error)
        assert (answer.status_code, is_read) == (400, True)  # it breaks off
