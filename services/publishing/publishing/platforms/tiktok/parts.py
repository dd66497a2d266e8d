"""TikTok, for the registry."""

from publishing.platforms.parts import Parts
from publishing.platforms.tiktok.connector import TikTokConnector
from publishing.platforms.tiktok.login import TikTokLogin
from publishing.platforms.tiktok.settings import TikTokPostSettings, TikTokSettings
from publishing.platforms.typed import complaints

PARTS = Parts(
    settings=TikTokSettings,
    connector=TikTokConnector,
    login=TikTokLogin,
    check_settings=lambda settings, has_media: complaints("tiktok_settings", TikTokPostSettings, settings),
)
