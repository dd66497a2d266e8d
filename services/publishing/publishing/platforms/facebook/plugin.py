"""Defines Facebook for the registry of platforms: its connector, login, checks and limits."""

from publishing.platforms.facebook.connector import FacebookConnector
from publishing.platforms.facebook.login import FacebookLogin
from publishing.platforms.facebook.settings import check_settings
from publishing.platforms.facebook.trial import TRIAL
from publishing.platforms.meta import facts
from publishing.platforms.meta.hooks import hooks_of
from publishing.platforms.meta.settings import MetaSettings
from publishing.platforms.plugin import PlatformPlugin

PLUGIN = PlatformPlugin(
    settings=MetaSettings,
    connector=FacebookConnector,
    login=FacebookLogin,
    check_settings=check_settings,
    comment_scopes=("pages_manage_engagement",),
    hooks=hooks_of("FB", lambda at: (at.app_secret,)),
    facts=facts.facebook,
    trial=TRIAL,
)
