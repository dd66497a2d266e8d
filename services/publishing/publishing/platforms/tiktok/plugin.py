"""Defines TikTok for the registry: its connector, login, checks and limits."""

from publishing.platforms.plugin import PlatformPlugin
from publishing.platforms.tiktok.connector import TikTokConnector
from publishing.platforms.tiktok.facts import facts
from publishing.platforms.tiktok.login import TikTokLogin
from publishing.platforms.tiktok.settings import TikTokSettings

PLUGIN = PlatformPlugin(
    settings=TikTokSettings,
    connector=TikTokConnector,
    login=TikTokLogin,
    facts=facts,
)
