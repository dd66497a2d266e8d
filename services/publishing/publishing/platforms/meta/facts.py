"""Checks of `posthaste platform check`: which version of the Graph API serves our calls, and whether Facebook takes
videos in pieces."""

from collections.abc import Iterator

from publishing.platforms.base import Account
from publishing.platforms.facts import Fact, ask
from publishing.platforms.meta.graph import Graph
from publishing.platforms.meta.settings import MetaSettings


def version(base_url: str, settings: MetaSettings, account: Account) -> Fact:
    """Asks which version of the Graph API answers our calls; a header of its answers names it.

    Meta answers calls to a version that has ended with the oldest version that still exists
    (developers.facebook.com/docs/apps/versions, read November 2026).
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

    def upload() -> tuple[bool, str]:
        # Begins an upload that is never finished: nothing becomes visible.
        answer = Graph(settings.upload_url, settings).ask(
            account, account.remote_account_id, "videos", upload_phase="start", file_size=1_000_000
        )
        begun = bool(answer.get("upload_session_id") and answer.get("video_id"))
        return begun, "an upload was begun" if begun else "an answer without an upload"

    yield ask(
        "videos in pieces",
        f"{settings.upload_url} begins an upload",
        "Videos are given to Facebook by their addresses instead if it refuses pieces. If the host does not answer, set"
        " FACEBOOK_UPLOAD_URL to https://graph.facebook.com.",
        upload,
    )
