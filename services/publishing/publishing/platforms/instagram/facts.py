"""Checks what Instagram says about our app and about an account."""

from collections.abc import Iterator

from contracts.platforms import PLATFORMS
from publishing.platforms.base import Account
from publishing.platforms.facts import Fact, ask
from publishing.platforms.meta.facts import version
from publishing.platforms.meta.graph import Graph, rows_of
from publishing.platforms.meta.settings import MetaSettings


def facts(settings: MetaSettings, account: Account) -> Iterator[Fact]:
    yield version(settings.instagram_url, settings, account)
    ours = PLATFORMS["IG"].per_24h or 0

    def quota() -> tuple[bool, str]:
        graph = Graph(settings.instagram_url, settings)
        answer = graph.read(
            account, account.remote_account_id, "content_publishing_limit", fields="config,quota_usage"
        )
        row = next(iter(rows_of(answer)), {})
        total = (row.get("config") or {}).get("quota_total")
        if total is None:
            return False, "not told"
        return int(total) >= ours, f"{total}, of which {row.get('quota_usage', 0)} are used"

    yield ask(
        "posts in 24 hours",
        f"at least {ours}",
        "Instagram allows this account fewer posts than Posthaste's own limit: space the posts out.",
        quota,
    )
