"""What the Graph API tells about itself."""

from collections.abc import Iterator

from publishing.platforms.base import Account
from publishing.platforms.facts import Fact, ask
from publishing.platforms.meta.graph import Graph
from publishing.platforms.meta.settings import MetaSettings


def version(base_url: str, settings: MetaSettings, account: Account) -> Fact:
    """Asks which version serves our calls: Meta answers calls to a version that has ended with the oldest one that is
    left (developers.facebook.com/docs/apps/versions, read November 2026). A header of its answers names the version.
    """

    def question() -> tuple[bool, str]:
        served = Graph(base_url, settings).served_version(account)
        return served in (settings.graph_version, None), served or "not told"

    return ask(
        "version of the Graph API",
        settings.graph_version,
        "Read the changelog of the version that was found, and set META_GRAPH_VERSION.",
        question,
    )


def facebook(settings: MetaSettings, account: Account) -> Iterator[Fact]:
    yield version(settings.facebook_url, settings, account)
