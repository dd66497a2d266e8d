"""What all commands share: the client of the chosen server, and how a result is printed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import click

from posthaste import Posthaste, PosthasteError, RetryPolicy, records
from posthaste.cli import credentials, output
from posthaste.exchange import root_of

#: A person waits: 10 s of pauses in all, and at most as long as a rate limit's minute.
RETRIES = RetryPolicy(max_retries=5)


class NotSignedIn(PosthasteError):
    """Raised when there is no token for the server, or no server is known."""


@dataclass
class Session:
    """One run of the command line: the server's address, the token, and whether results are printed as JSON."""

    url: str | None
    token: str | None
    as_json: bool

    @cached_property
    def client(self) -> Posthaste:
        """The client of the chosen server. Raises NotSignedIn without a token or a server."""
        stored = credentials.load()
        url = self.url or (stored.url if stored else None)
        # A stored token belongs to its own server: it is not sent to another one.
        is_own = stored and url and root_of(url) == root_of(stored.url)
        token = self.token or (stored.token if stored and is_own else None)
        if not url or not token:
            raise NotSignedIn(
                "You are not signed in. Run posthaste login, or set POSTHASTE_URL and POSTHASTE_TOKEN."
            )
        return self.connect(url, token)

    def connect(self, url: str, token: str | None) -> Posthaste:
        client = Posthaste(token, base_url=url, retries=RETRIES)
        click.get_current_context().call_on_close(client.close)
        return client

    def show(self, result: Any, text: str) -> None:
        """Prints `result` as JSON if --json was given, otherwise `text`."""
        if self.as_json:
            output.print_json(result)
        elif text:
            click.echo(text)

    def find_pages(self, wanted: Iterable[str]) -> list[records.Page]:
        """Returns one page for each word of `wanted`. A word is the id, the name, the user name or the platform of a
        page. Raises click.UsageError for a word that fits no page, or more than one.
        """
        pages = list(self.client.iterate_pages(limit=100))
        return [_one_page(word, pages) for word in wanted]


def _one_page(word: str, pages: list[records.Page]) -> records.Page:
    by_id = [page for page in pages if page.id == word]
    folded = word.casefold().removeprefix("@")
    matches = by_id or [
        page
        for page in pages
        if folded in (page.name.casefold(), (page.username or "").casefold(), page.platform.casefold())
    ]
    if len(matches) == 1:
        return matches[0]
    if not matches:
        raise click.UsageError(f"There is no page {word!r}: posthaste pages lists them.")
    found = ", ".join(f"{page.id} ({page.platform} {page.name})" for page in matches)
    raise click.UsageError(f"{word!r} is more than one page: {found}. Name it by its id.")


pass_session = click.make_pass_decorator(Session)
