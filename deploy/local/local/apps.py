"""Our apps at the platforms, through which pages are linked: in the local stack, those that the simulator knows."""

from collections.abc import Mapping

IDS = {
    "META_APP_ID": "100200300400500",
    "LINKEDIN_CLIENT_ID": "local-linkedin",
    "TIKTOK_CLIENT_ID": "local-tiktok",
    "X_CLIENT_ID": "local-x",
    "YOUTUBE_CLIENT_ID": "local-youtube",
}
#: Meta's secret signs its hooks as well: it is among the house's own.
SECRETS = ("LINKEDIN_CLIENT_SECRET", "TIKTOK_CLIENT_SECRET", "X_CLIENT_SECRET", "YOUTUBE_CLIENT_SECRET")
_ADDRESSES = (
    *("FACEBOOK_AUTHORIZE_URL", "LINKEDIN_OAUTH_URL", "TIKTOK_AUTHORIZE_URL", "X_AUTHORIZE_URL"),
    *("YOUTUBE_AUTHORIZE_URL", "YOUTUBE_TOKEN_URL"),
)
#: What publishing is told, secrets included.
NAMES = (*IDS, *SECRETS, *_ADDRESSES, "LINKEDIN_COMPANY_PAGES")


def settings(simulator: str) -> dict[str, str]:
    """All but the secrets."""
    return {**IDS, **dict.fromkeys(_ADDRESSES, simulator), "LINKEDIN_COMPANY_PAGES": "true"}


def of_simulator(told: Mapping[str, str]) -> dict[str, str]:
    """The apps as the platforms know them; LinkedIn has approved ours for refresh tokens."""
    return {name: told[name] for name in (*IDS, *SECRETS)} | {"SIMULATOR_LINKEDIN_REFRESH": "true"}
