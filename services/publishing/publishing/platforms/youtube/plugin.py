"""Defines YouTube for the registry: its connector, login, checks and limits."""

from publishing.platforms.plugin import PlatformPlugin
from publishing.platforms.youtube.connector import YouTubeConnector
from publishing.platforms.youtube.facts import facts
from publishing.platforms.youtube.login import YouTubeLogin
from publishing.platforms.youtube.settings import YouTubeSettings
from publishing.platforms.youtube.texts import check_settings, check_text
from publishing.platforms.youtube.trial import TRIAL

PLUGIN = PlatformPlugin(
    settings=YouTubeSettings,
    connector=YouTubeConnector,
    login=YouTubeLogin,
    check_text=check_text,
    check_settings=check_settings,
    # An app has 10,000 units a day for all its channels (platforms.md 7). Our choice: rarer than elsewhere.
    polls="86400=1800,259200=7200,2592000=86400",
    reply_calls=2,
    comment_scopes=("https://www.googleapis.com/auth/youtube.force-ssl",),
    facts=facts,
    trial=TRIAL,
)
