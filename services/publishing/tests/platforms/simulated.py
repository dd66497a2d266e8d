"""The simulator's control API, and accounts of its platforms. Tests publish on them as the service does."""

import time
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
import requests
import urllib3

from publishing.platforms.base import (
    Account,
    Checkpoint,
    CommentQuery,
    Connector,
    Content,
    NotPublished,
    OpenAttempt,
    OpenComment,
    Outcome,
    OutcomeUnknown,
    PlatformRefusal,
    Published,
    RemoteComment,
)
from publishing.platforms.registry import PLUGINS


class Simulator:
    """The simulator's control API."""

    def __init__(self, url: str) -> None:
        self.url = url
        self._session = requests.Session()

    def at(self, host: str) -> str:
        """Returns the simulator's base address for a platform's host."""
        return f"{self.url}/{host}"

    def call(self, method: str, path: str, **body: Any) -> Any:
        response = self._session.request(method, f"{self.url}/_sim/{path}", json=body or None, timeout=10)
        response.raise_for_status()
        return response.json()

    def media(self, name: str) -> tuple[bytes, str]:
        """Returns the bytes and the type of a sample file."""
        answer = self._session.get(f"{self.url}/media/{name}", timeout=10)
        return answer.content, answer.headers["Content-Type"]

    def account(self, platform: str) -> Account:
        made = self.call("POST", "accounts", platform=platform)
        return Account(made["account_id"], made["access_token"], made["username"])

    def shown(self, account: Account) -> dict[str, Any]:
        """Returns an account as the simulator knows it."""
        [row] = [
            one
            for one in self.call("GET", "accounts")["accounts"]
            if one["account_id"] == account.remote_account_id
        ]
        return dict(row)

    def posts(self, account: Account) -> list[dict[str, Any]]:
        return self.call("GET", f"posts?account_id={account.remote_account_id}")["posts"]  # type: ignore[no-any-return]


class Page:
    """An account with one post, whose checkpoint is kept between attempts, as the service does."""

    def __init__(
        self, simulator: Simulator, platform: str, settings: Any, account: Account | None = None
    ) -> None:
        self.simulator, self.platform, self.settings = simulator, platform, settings
        self.account = account or simulator.account(platform)
        self.connector: Any = self._connector()
        self.began_at = datetime.now(UTC)
        self.stored: dict[str, Any] = {}

    def _connector(self) -> Connector:
        return PLUGINS[self.platform].connector(self.settings)

    def change(self, **settings: Any) -> None:
        """Replaces the connector by one with these settings changed."""
        self.settings = replace(self.settings, **settings)
        self.connector = self._connector()

    def other(self) -> "Page":
        """Returns a Page for another post of the same account."""
        return Page(self.simulator, self.platform, self.settings, self.account)

    def publish(self, content: Content) -> Published:
        return self.connector.publish(self.account, content, Checkpoint(self.stored, self._store))  # type: ignore[no-any-return]

    def look_up(self, content: Content, *known: str) -> Any:
        return self.connector.outcome(
            OpenAttempt(self.account, content, Checkpoint(self.stored), self.began_at, known)
        )

    def _store(self, values: dict[str, Any]) -> None:
        self.stored = values

    def fault(self, operation: str, mode: str, times: int = 1) -> None:
        self.simulator.call(
            "POST", "faults", platform=self.platform, operation=operation, mode=mode, times=times,
            account_id=self.account.remote_account_id,
        )  # fmt: skip

    @property
    def posts(self) -> list[dict[str, Any]]:
        """The account's posts as the platform has them."""
        return self.simulator.posts(self.account)

    def visit(self, remote_id: str, text: str, parent_id: str | None = None, *, named: bool = True) -> str:
        """Comments on a post as a visitor, of whom Facebook tells nothing if not `named`. Returns the comment's id."""
        body = {"platform": self.platform, "post_id": remote_id, "from": "Ann Ade", "text": text}
        made = self.simulator.call("POST", "comments", **body, parent_id=parent_id, named=named)
        return str(made["id"])

    def comments(self, remote_id: str, **query: Any) -> tuple[RemoteComment, ...]:
        found: tuple[RemoteComment, ...] = self.connector.list_comments(
            self.account, CommentQuery(remote_id, **query)
        ).comments
        return found

    def comment_pages(self, remote_id: str, limit: int) -> list[list[str]]:
        """Returns the ids of a post's comments, one list for each page of results."""
        pages: list[list[str]] = []
        cursor: str | None = ""
        while cursor is not None:
            query = CommentQuery(remote_id, limit=limit, cursor=cursor or None)
            page = self.connector.list_comments(self.account, query)
            pages.append([one.id for one in page.comments])
            assert len(pages[-1]) <= limit
            cursor = page.next_cursor
        return pages

    def find(self, operation: str, parent_id: str, text: str, *known: str) -> str | None:
        """Looks a comment or reply up by its text. Returns its id, or None."""
        found: str | None = getattr(self.connector, f"find_{operation}")(
            OpenComment(self.account, parent_id, text, self.began_at, known)
        )
        return found


class Killed(BaseException):
    """Raised where the process dies. No code catches it."""


class Killer:
    """Kills a publish before or after any of its calls, and continues it as the service does after a restart."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._left = -1
        self._when = ""
        real = urllib3.PoolManager.urlopen

        def urlopen(pool: urllib3.PoolManager, *given: Any, **named: Any) -> Any:
            self._left -= 1
            if self._left == 0 and self._when == "before":
                raise Killed
            answer = real(pool, *given, **named)
            if self._left == 0:
                raise Killed
            return answer

        monkeypatch.setattr(urllib3.PoolManager, "urlopen", urlopen)

    def publish(self, page: Page, content: Content, number: int, when: str) -> tuple[Published, bool]:
        """Kills a publish at its call with this number, and then settles it. Returns the post, and whether the publish
        was killed.
        """
        published = self.kill(page, content, number, when)
        return (self.settle(page, content), True) if published is None else (published, False)

    def kill(self, page: Page, content: Content, number: int, when: str) -> Published | None:
        """Kills a publish at its call with this number. Returns None if the publish did not come to its end."""
        self._left, self._when = number, when
        try:
            return page.publish(content)
        except (Killed, OutcomeUnknown):
            return None
        finally:
            self._left = -1

    def settle(self, page: Page, content: Content, seconds: float = 30.0) -> Published:
        """Looks the post up, and publishes it again when it was not published, until it is out."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            outcome: Outcome = page.look_up(content)
            if isinstance(outcome, Published):
                return outcome
            if isinstance(outcome, NotPublished):
                try:
                    return page.publish(content)
                except (OutcomeUnknown, PlatformRefusal):
                    pass
            time.sleep(0.05)
        raise AssertionError("it never settled")
