"""Defines Instagram for the registry: its connector, login, checks and limits."""

from publishing.platforms.instagram.connector import InstagramConnector
from publishing.platforms.instagram.facts import facts
from publishing.platforms.instagram.login import InstagramLogin
from publishing.platforms.instagram.settings import check_settings, check_text
from publishing.platforms.instagram.trial import TRIAL
from publishing.platforms.meta.hooks import hooks_of
from publishing.platforms.meta.settings import MetaSettings
from publishing.platforms.plugin import PlatformPlugin

PLUGIN = PlatformPlugin(
    settings=MetaSettings,
    connector=InstagramConnector,
    login=InstagramLogin,
    check_text=check_text,
    check_settings=check_settings,
    comment_scopes=("instagram_manage_comments",),
    hooks=hooks_of("IG", lambda at: (at.app_secret, at.instagram_app_secret)),
    # Ids may be missing, or differ between the two logins.
    has_unique_names=True,
    facts=facts,
    trial=TRIAL,
)
