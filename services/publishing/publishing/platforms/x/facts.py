"""What X tells about an account's access."""

from collections.abc import Iterator

from publishing.platforms.base import Account
from publishing.platforms.facts import Fact, ask
from publishing.platforms.x.calls import Calls
from publishing.platforms.x.settings import XSettings


def facts(settings: XSettings, account: Account) -> Iterator[Fact]:
    def search() -> tuple[bool, str]:
        # No conversation has this id: the answer is empty, and costs no post of a plan that is paid by posts.
        answer = Calls(settings).read(
            account, "tweets/search/recent", "created_at,author_id", query="conversation_id:1", max_results=10
        )
        return True, f"{(answer.get('meta') or {}).get('result_count', 0)} posts"

    yield ask(
        "recent search, which finds comments",
        "allowed",
        "Comments cannot be read with this app: check its plan and credits (docs/platforms/x.md).",
        search,
    )
