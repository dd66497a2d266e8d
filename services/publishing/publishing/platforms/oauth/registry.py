"""Which platform is linked by which login: one table. Without our app's id at a platform nobody links there."""

from collections.abc import Callable, Mapping

from contracts.record import Record
from publishing.platforms.oauth.base import Login
from publishing.platforms.oauth.linkedin import LinkedInApp, LinkedInLogin
from publishing.platforms.oauth.meta import FacebookLogin, InstagramLogin, MetaApp
from publishing.platforms.oauth.tiktok import TikTokApp, TikTokLogin
from publishing.platforms.oauth.x import XApp, XLogin
from publishing.platforms.oauth.youtube import YouTubeApp, YouTubeLogin
from publishing.platforms.registry import PlatformSettings


class Apps(Record):
    """Our apps at the platforms; `config.py` reads them."""

    meta: MetaApp = MetaApp()
    linkedin: LinkedInApp = LinkedInApp()
    tiktok: TikTokApp = TikTokApp()
    x: XApp = XApp()
    youtube: YouTubeApp = YouTubeApp()


#: The app's id, and what makes the login.
_LOGINS: Mapping[str, tuple[Callable[[Apps], str], Callable[[Apps, PlatformSettings], Login]]] = {
    "FB": (lambda apps: apps.meta.app_id, lambda apps, at: FacebookLogin(apps.meta, at.meta)),
    "IG": (lambda apps: apps.meta.app_id, lambda apps, at: InstagramLogin(apps.meta, at.meta)),
    "LN": (
        lambda apps: apps.linkedin.app.client_id,
        lambda apps, at: LinkedInLogin(apps.linkedin, at.linkedin),
    ),
    "TT": (lambda apps: apps.tiktok.app.client_id, lambda apps, at: TikTokLogin(apps.tiktok, at.tiktok)),
    "TW": (lambda apps: apps.x.app.client_id, lambda apps, at: XLogin(apps.x, at.x)),
    "YT": (lambda apps: apps.youtube.app.client_id, lambda apps, at: YouTubeLogin(apps.youtube, at.youtube)),
}


def logins(apps: Apps, settings: PlatformSettings) -> dict[str, Login]:
    """By platform code, those that are configured."""
    return {code: make(apps, settings) for code, (app_id, make) in _LOGINS.items() if app_id(apps)}
