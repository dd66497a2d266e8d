"""The groups of operations in `/openapi.json`: one per module of routes, and one for web pages. Pure."""

from collections.abc import Iterable
from typing import Any

from gateway.endpoint import Endpoint

_BROWSER = ("Browser", "HTML pages for a person in a browser; a program has no use for them.")
#: Module of `gateway.routes` → tag and its description. Another module's tag is the module's name.
_TAGS = {
    "introspection": (
        "Account",
        "The token, its account, audit log and quotas, and this description.",
    ),
    "logs": ("Requests", "The requests of the account: a log, and numbers by day."),
    "brands": ("Brands", "Brands, which hold pages."),
    "collaborators": ("Collaborators", "People who work on a brand besides its owner."),
    "invitations": ("Invitations", "Inviting people to work on a brand, by e-mail."),
    "pages": ("Pages", "Pages: the accounts on social platforms that posts go to."),
    "connect": ("Linking", "Linking pages through each platform's own login."),
    "posts": ("Posts", "Publish, schedule, validate and follow posts."),
    "comments": ("Comments", "Comments on posts, and replies."),
    "media": ("Media", "Images and videos for posts."),
    "ai": ("AI", "Images, videos and captions by AI, paid with credits."),
    "billing": ("Billing", "The plan, packs of AI credits, and auto-refill."),
    "webhooks": ("Webhooks", "Subscriptions to events, their secrets and deliveries."),
    "tokens": ("Tokens", "API tokens: create, change, rotate and revoke them."),
    "sign_up": ("Sign-up", "Creating an account."),
    "sessions": ("Signing in", "Sessions of people who signed in with a password."),
    "totp": ("Second factor", "Codes of an authenticator app, asked for when somebody signs in."),
    "passwords": ("Passwords", "Forgotten and changed passwords, and verification of an e-mail address."),
    "email_changes": ("Email address", "Another e-mail address for an account."),
    "hooks": ("Callbacks", "Calls that platforms and Stripe make to this service."),
}


def tag_of(row: Endpoint) -> str:
    return _described(row)[0]


def described_tags(rows: Iterable[Endpoint]) -> list[dict[str, Any]]:
    """Returns the tags of these operations with their descriptions, in the order of the operations."""
    return [
        {"name": name, **({"description": text} if text else {})}
        for name, text in dict.fromkeys(map(_described, rows))
    ]


def _described(row: Endpoint) -> tuple[str, str]:
    if row.result is str:
        return _BROWSER
    module = row.handler.__module__.rpartition(".")[2]
    return _TAGS.get(module, (module.replace("_", " ").capitalize(), ""))
