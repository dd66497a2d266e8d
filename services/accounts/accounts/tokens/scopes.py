"""The scopes of tokens (spec "Authentication" 4)."""

from collections.abc import Sequence

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
)
EVERY_SCOPE = "*"

#: Spec "Authentication" 7.
SANDBOX_SCOPES = ("read:account", "read:brands", "read:pages", "read:posts", "read:comments", "read:media")


def check_scopes(scopes: Sequence[str]) -> tuple[str, ...]:
    """Returns the distinct scopes. Raises VALIDATION_ERROR for an empty list or an unknown scope."""
    if not scopes:
        raise invalid("scopes", "must name at least one scope")
    for scope in scopes:
        if scope != EVERY_SCOPE and scope not in SCOPES:
            raise invalid(
                "scopes", f"has an unknown scope {scope[:40]!r}; choose from {', '.join(SCOPES)} or *"
            )
    return tuple(dict.fromkeys(scopes))
