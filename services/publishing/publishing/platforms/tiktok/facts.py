"""Checks what TikTok says about an account."""

from collections.abc import Iterator

from contracts.platforms import PLATFORMS
from publishing.platforms.base import Account
from publishing.platforms.facts import Fact, ask
from publishing.platforms.http_client import Answer
from publishing.platforms.tiktok.calls import PostingApi
from publishing.platforms.tiktok.settings import TikTokSettings

_PUBLIC = "PUBLIC_TO_EVERYONE"


def facts(settings: TikTokSettings, account: Account) -> Iterator[Fact]:
    answers: list[Answer] = []

    def creator() -> Answer:
        if not answers:
            answers.append(PostingApi(settings).creator(account))
        return answers[0]

    def audience() -> tuple[bool, str]:
        options = [str(option) for option in creator().get("privacy_level_options") or ()]
        return _PUBLIC in options, ", ".join(options) or "none"

    def length() -> tuple[bool, str]:
        seconds = creator().get("max_video_post_duration_sec")
        return seconds is not None and int(seconds) >= longest, f"{seconds} s"

    yield ask(
        "who may see posts",
        f"{_PUBLIC} among the options",
        "The account is private, or TikTok has not audited the app: posts are seen by their author alone"
        " (docs/platforms/tiktok.md).",
        audience,
    )
    limits = PLATFORMS["TT"].files["video"].seconds
    longest = limits[1] if limits else 0.0
    yield ask(
        "longest video",
        f"at least {longest:.0f} s",
        "TikTok takes only shorter videos from this account and refuses others when they are published.",
        length,
    )
