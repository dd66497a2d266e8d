"""The checks of `posthaste platform check` for X: whether X accepts the parameter in X_FIELDS_PARAMETER, and allows
recent search."""

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

    def names() -> tuple[bool, str]:
        # Finds out only whether X refuses the parameter: reading our own account costs nothing. Whether X ignores the
        # parameter shows only in an answer with posts (`Calls.read`).
        parameter = settings.fields_parameter.replace(".", "__")
        Calls(settings).read(account, "users/me", **{parameter: "created_at"})
        return True, "not refused"

    yield ask(
        "names of a post's fields",
        f"{settings.fields_parameter} is not refused",
        "Set X_FIELDS_PARAMETER to the other name: until then each process tries both.",
        names,
    )
    yield ask(
        "recent search, which finds comments",
        "allowed",
        "Comments cannot be read with this app: check its plan and credits (docs/platforms/x.md).",
        search,
    )
