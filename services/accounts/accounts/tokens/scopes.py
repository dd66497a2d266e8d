"""The scopes of tokens (docs/spec.md, "Authentication", item 4, and docs/decisions.md, "Managing the account")."""

from collections.abc import Collection, Sequence

from contracts.caller import ACCOUNT_SCOPES, EVERY_MANAGE_SCOPE, EVERY_SCOPE
from contracts.errors import invalid

SCOPES = (
    "read:account",
    "read:brands",
    "read:pages",
    "write:pages",  # decisions: /pages/connect…
    "read:posts",
    "write:posts",
    "read:comments",
    "write:comments",
    "read:media",
    "write:media",
    "manage:webhooks",
    "write:ai",
    *ACCOUNT_SCOPES,
)
#: Stand for several scopes.
WILDCARDS = (EVERY_SCOPE, EVERY_MANAGE_SCOPE)

#: Spec "Authentication" 7.
SANDBOX_SCOPES = ("read:account", "read:brands", "read:pages", "read:posts", "read:comments", "read:media")

#: Role of a collaborator → the scopes of a session on the brand (decisions "Working on somebody else's brand"). Full
#: access permits what a token may that the person can issue for the brand. Limited access reads and writes content: it
#: spends none of the owner's credits, and changes nothing that works on without the person.
ROLE_SCOPES = {
    "full": (EVERY_SCOPE,),
    "limited": (
        "read:brands", "read:pages", "read:posts", "write:posts", "read:comments", "write:comments",
        "read:media", "write:media",
    ),
}  # fmt: skip


def check_scopes(scopes: Sequence[str], *, brand_ids: Collection[str]) -> tuple[str, ...]:
    """Checks the scopes for a token and returns them without repetitions.

    `brand_ids` are the brands that the token is limited to, if any. Raises VALIDATION_ERROR for an empty list, an
    unknown scope and, if the token is limited, for a scope that manages the account: it could create a token without
    limits.
    """
    if not scopes:
        raise invalid("scopes", "must name at least one scope")
    for scope in scopes:
        if scope not in WILDCARDS and scope not in SCOPES:
            raise invalid(
                "scopes",
                f"has an unknown scope {scope[:40]!r}; choose from {', '.join((*SCOPES, EVERY_MANAGE_SCOPE))} or *",
            )
        if brand_ids and scope in (*ACCOUNT_SCOPES, EVERY_MANAGE_SCOPE):
            raise invalid("scopes", f"{scope} cannot be given to a token that is limited to brands")
    return tuple(dict.fromkeys(scopes))
