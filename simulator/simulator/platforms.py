"""The platforms the simulator plays: one row each. What a platform says over HTTP is in its own module.

A new platform is one module with `blueprint(sim) -> flask.Blueprint` and its name in the row's `module`.
"""

import secrets
from collections.abc import Callable
from dataclasses import dataclass


def _digits(count: int) -> str:
    return str(secrets.randbelow(9 * 10 ** (count - 1)) + 10 ** (count - 1))


@dataclass(frozen=True, slots=True)
class Platform:
    """One platform or provider of local-stack.md, "Simulator control"."""

    code: str
    name: str
    #: How its access tokens begin.
    token_prefix: str
    #: Makes a native account id; None for what has no accounts to link.
    new_account_id: Callable[[], str] | None
    #: How the id of a comment on a post begins.
    comment_prefix: Callable[[str], str] = lambda post_id: ""
    #: Module whose `blueprint` answers for it; rows that share one are served once; None: accounts only.
    module: str | None = None


PLATFORMS = {
    row.code: row
    for row in (
        # A page and its Instagram account share their last 11 digits, as linked accounts (meta/callers.py).
        Platform(
            "FB", "Facebook", "EAA", lambda: "1000" + _digits(11),
            comment_prefix=lambda post_id: post_id.rpartition("_")[2] + "_", module="simulator.meta",
        ),
        Platform(
            "IG", "Instagram", "EAA", lambda: "178414" + _digits(11),
            comment_prefix=lambda post_id: "178", module="simulator.meta",
        ),
        Platform(
            "LN", "LinkedIn", "AQX", lambda: "urn:li:organization:" + _digits(8), lambda post_id: "7",
            module="simulator.linkedin",
        ),
        Platform(
            "TT", "TikTok", "act.", lambda: "-000" + secrets.token_urlsafe(24), module="simulator.tiktok"
        ),
        Platform("TW", "X", "XAT", lambda: "1" + _digits(18), lambda post_id: "19", module="simulator.x"),
        Platform(
            "YT", "YouTube", "ya29.", lambda: "UC" + secrets.token_urlsafe(16), lambda post_id: "Ugx",
            module="simulator.youtube",
        ),
        Platform("gemini", "Gemini", "", None, module="simulator.gemini"),
        Platform("openai", "OpenAI", "", None, module="simulator.openai"),
        Platform("stripe", "Stripe", "", None, module="simulator.stripe"),
    )
}  # fmt: skip
