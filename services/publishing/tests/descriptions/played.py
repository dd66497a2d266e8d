"""Plays a platform in this process: it answers as the test says, and records every request."""

import json
import re
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, nullcontext, suppress
from datetime import UTC, datetime, timedelta
from typing import Any, Literal, get_args, get_origin
from unittest.mock import patch

import msgspec
import pytest
import urllib3

from contracts.record import Record
from publishing.platforms.base import (
    Account,
    Checkpoint,
    CommentQuery,
    Connector,
    Content,
    MediaSource,
    OpenAttempt,
    OpenComment,
    OutcomeUnknown,
    PlatformRefusal,
)
from publishing.platforms.oauth.base import Login, Tokens
from publishing.platforms.trial import Trial

from .description import Request

#: JSON, or a status with JSON and headers.
Answer = dict[str, Any] | tuple[int, dict[str, Any]] | tuple[int, dict[str, Any], dict[str, str]]
#: When everything in these tests happens; platforms show their posts with this time.
NOW = datetime.now(UTC).replace(microsecond=0)
ISO = NOW.strftime("%Y-%m-%dT%H:%M:%S+0000")


class Played:
    """A platform. It fails the test at a request for which it has no answer."""

    def __init__(self) -> None:
        self.requests: list[Request] = []
        #: The scopes of the token that is used now.
        self.granted: Collection[str] = ()
        self._answers: list[tuple[str, str, list[Answer]]] = []

    def on(self, method: str, address: str, *answers: Answer) -> None:
        """Sets the answers to requests whose address without query matches the pattern, in order. The last answer is
        repeated. Later rules take precedence.
        """
        self._answers.insert(0, (method, address, list(answers)))

    def urlopen(
        self, method: str, url: str, *, body: Any = None, headers: dict[str, str]
    ) -> urllib3.HTTPResponse:
        whole = body if isinstance(body, bytes) else b"".join(map(bytes, body or ()))
        named = {name.lower(): value for name, value in headers.items()}
        self.requests.append(Request(method, url, named, whole, self.granted))
        status, answer, more = self._answer(self.requests[-1])
        return urllib3.HTTPResponse(json.dumps(answer).encode(), more, status)

    def _answer(self, request: Request) -> tuple[int, dict[str, Any], dict[str, str]]:
        for method, address, answers in self._answers:
            if method == request.method and re.search(address, request.address):
                found = answers.pop(0) if len(answers) > 1 else answers[0]
                return (
                    (*found, {})
                    if isinstance(found, tuple) and len(found) == 2
                    else (found if isinstance(found, tuple) else (200, found, {}))
                )
        raise AssertionError(f"no answer to {request.method} {request.url} {request.body[:200]!r}")


@contextmanager
def playing(monkeypatch: pytest.MonkeyPatch) -> Iterator[Played]:
    """Plays the platform for the connectors and logins that the block makes. Nothing sleeps in it."""
    played = Played()
    with monkeypatch.context() as patch:
        patch.setattr("publishing.platforms.http_client.Outbound", lambda *given, **named: played)
        patch.setattr("time.sleep", lambda seconds: None)
        yield played


class Drive:
    """Calls a connector as the service does. Ignores refusals and unknown outcomes."""

    def __init__(self, played: Played, connector: Connector, login: Login, account: Account) -> None:
        self.played, self.connector, self.login, self.account = played, connector, login, account
        self.played.granted = login.scopes

    def publish(self, content: Content, /, **stored: Any) -> dict[str, Any]:
        """Publishes with this checkpoint. Returns the checkpoint that the connector has stored."""
        checkpoint = Checkpoint(stored)
        self.attempt(lambda: self.connector.publish(self.account, content, checkpoint))
        return checkpoint.values

    def look_up(self, content: Content, /, **stored: Any) -> None:
        attempt = OpenAttempt(self.account, content, Checkpoint(stored), NOW)
        self.attempt(lambda: self.connector.outcome(attempt))

    def search(self, content: Content) -> None:
        attempt = OpenAttempt(self.account, content, Checkpoint(), NOW)
        self.attempt(lambda: self.connector.search(attempt))

    def comments(self, remote_id: str, comment_id: str, cursor: str | None = None) -> None:
        """Makes every call about comments."""
        account, connector = self.account, self.connector
        self.attempt(lambda: connector.comment(account, remote_id, "Thanks, see example.org"))
        self.attempt(lambda: connector.reply(account, comment_id, "Thanks, see example.org"))
        self.attempt(lambda: connector.find_comment(OpenComment(account, remote_id, "Thanks", NOW)))
        self.attempt(lambda: connector.find_reply(OpenComment(account, comment_id, "Thanks", NOW)))
        for query in (
            CommentQuery(remote_id, NOW - timedelta(hours=1), 1),
            CommentQuery(remote_id, None, 100),
            CommentQuery(remote_id, None, 100, cursor),
        ):
            self.attempt(lambda query=query: connector.list_comments(account, query))
        with patch("publishing.platforms.lists.LISTING_SECONDS", -1.0):  # no time for replies
            self.attempt(lambda: connector.list_comments(account, CommentQuery(remote_id)))

    def read(self, *remote_ids: str) -> None:
        for remote_id in remote_ids:
            self.attempt(lambda remote_id=remote_id: self.connector.engagement(self.account, remote_id))
        self.attempt(lambda: self.connector.profile(self.account))

    def log_in(self, scopes: tuple[str, ...] | None = None) -> None:
        """Links an account: the login page, the code, the accounts that were found, renewal and revocation."""
        login, redirect = self.login, "https://posthaste.example/connect/callback"
        verifier = "v" * 43
        self.played.requests.append(Request("GET", login.authorize_url("state", redirect, verifier), {}))
        self.attempt(lambda: login.exchange("code", redirect, verifier))
        tokens = Tokens("token", "refresh", scopes=login.scopes if scopes is None else scopes)
        self.attempt(lambda: login.accounts(tokens))
        self.attempt(lambda: login.granted(tokens))
        self.attempt(lambda: login.refresh("refresh"))
        self.attempt(lambda: login.revoke(tokens))

    def stage(self, trial: Trial, settings: Any) -> None:
        """Stages a test post."""
        stage = trial.stage
        assert stage is not None
        self.attempt(lambda: stage(settings, self.account, "Test", "https://a.example/a.jpg"))

    def remove(self, trial: Trial, settings: Any, made_id: str) -> None:
        """Removes a test post."""
        assert trial.remove is not None
        trial.remove(settings, self.account, made_id)

    def attempt(self, call: Callable[[], Any]) -> None:
        """Makes a call and ignores refusals and unknown outcomes, which other tests check."""
        with suppress(PlatformRefusal, OutcomeUnknown, NotImplementedError):
            call()


def photo(number: int = 1, content_type: str = "image/jpeg", **known: Any) -> MediaSource:
    """Returns a photo with bytes and an address."""
    return MediaSource(
        "photo",
        f"https://files.example/{number}.jpg",
        body=b"\xff\xd8\xff" * 10,
        content_type=content_type,
        **known,
    )


def video(size_bytes: int = 100_000, **known: Any) -> MediaSource:
    """Returns a video with bytes, an address and a length that all platforms take."""
    return MediaSource(
        "video", "https://files.example/a.mp4", content_type="video/mp4", size_bytes=size_bytes,
        duration_seconds=10.0, opener=lambda: nullcontext(iter((bytes(size_bytes),))), **known,
    )  # fmt: skip


def each_setting(kind: type[Record]) -> list[dict[str, Any]]:
    """Returns a post's settings, one at a time, with each value that the record's types allow."""
    return [{row.encode_name: value} for row in msgspec.structs.fields(kind) for value in _values(row.type)]


def _values(kind: Any) -> list[Any]:
    """Returns every value of a type that has few values, or one that the platforms take."""
    members = [one for one in get_args(kind) if one is not type(None)]
    if hasattr(kind, "__metadata__"):
        return _values(kind.__origin__)
    if get_origin(kind) is Literal:
        return members
    if type(None) in get_args(kind):
        return [value for one in members for value in _values(one)]
    if isinstance(kind, type) and issubclass(kind, Record):
        return [{row.encode_name: _values(row.type)[0] for row in msgspec.structs.fields(kind)}]
    if get_origin(kind) is tuple:
        return [_values(members[0])]
    return {bool: [True, False], int: [0], str: ["22"]}[kind]
