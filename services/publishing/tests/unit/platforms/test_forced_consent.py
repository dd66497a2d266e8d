"""The address of a platform's consent page forces the platform to show the page, where it has a parameter for that.

Otherwise a person who has allowed the app before would give access by only opening a link. The sources for the
parameters are in docs/platforms; the tests call no platform.
"""

from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

import pytest

from contracts.platforms import PLATFORMS
from publishing.platforms.linkedin.settings import LinkedInSettings
from publishing.platforms.meta.settings import MetaSettings
from publishing.platforms.oauth.base import App, Login
from publishing.platforms.registry import logins
from publishing.platforms.tiktok.settings import TikTokSettings
from publishing.platforms.x.settings import XSettings
from publishing.platforms.youtube.settings import YouTubeSettings

GUIDES = Path(__file__).parents[5] / "docs/platforms"
APP = App("an-app", "its secret")
LOGINS = logins(
    {
        "FB": MetaSettings(app_id="1"),
        "IG": MetaSettings(app_id="1"),
        "LN": LinkedInSettings(member_app=APP, pages_app=APP),
        "TT": TikTokSettings(app=APP),
        "TW": XSettings(app=APP),
        "YT": YouTubeSettings(app=APP),
    }
)
#: What forces the page. X and LinkedIn have no such parameter.
FORCED = {
    "FB": {"auth_type": "reauthenticate"},
    "IG": {"auth_type": "reauthenticate"},
    "LN": {},
    "TT": {"disable_auto_auth": "1"},
    "TW": {},
    "YT": {"prompt": "consent select_account"},
}
#: The parameters that decide nothing about the page: OAuth 2.0's, PKCE's, and Google's for a refresh token.
ORDINARY = {
    "client_id", "client_key", "response_type", "redirect_uri", "scope", "state",
    "code_challenge", "code_challenge_method", "access_type",
}  # fmt: skip


def forced_by(login: Login) -> dict[str, str]:
    url = login.authorize_url("state", "https://app.test/back", "v" * 64)
    query = dict(parse_qsl(urlsplit(url).query, keep_blank_values=True))
    assert {"response_type", "redirect_uri", "scope", "state"} <= query.keys()
    return {name: value for name, value in query.items() if name not in ORDINARY}


def test_every_platform_is_here() -> None:
    assert LOGINS.keys() == FORCED.keys() == PLATFORMS.keys()


@pytest.mark.parametrize("platform", FORCED)
def test_the_consent_page_is_forced_and_nothing_skips_it(platform: str) -> None:
    assert forced_by(LOGINS[platform]) == FORCED[platform]


@pytest.mark.parametrize("account_type", ["member", "organization"])
def test_neither_of_linkedins_apps_lets_it_skip_the_page(account_type: str) -> None:
    login = LOGINS["LN"].of_app(account_type)
    assert login is not None
    assert forced_by(login) == {}


@pytest.mark.parametrize("platform", FORCED)
def test_the_guide_gives_the_source_of_it(platform: str) -> None:
    page = {"TW": "x"}.get(platform, PLATFORMS[platform].name)
    lines = (GUIDES / f"{page}.md").read_text().splitlines()
    [row] = [line for line in lines if line.startswith("| What forces the consent page")]
    said = [f"`{name}={value}`" for name, value in FORCED[platform].items()] or ["nothing"]
    assert [words for words in said if words not in row] == []
    _, _, source, read, sure, _ = row.split("|")
    assert "." in source
    assert "2026" in read
    assert sure.strip().startswith(("yes", "**guess**"))
