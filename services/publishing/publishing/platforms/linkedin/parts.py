"""LinkedIn, for the registry."""

from publishing.platforms.linkedin.connector import LinkedInConnector
from publishing.platforms.linkedin.login import LinkedInLogin
from publishing.platforms.linkedin.settings import LinkedInSettings, check_settings
from publishing.platforms.linkedin.text import little_text
from publishing.platforms.parts import Parts

PARTS = Parts(
    settings=LinkedInSettings,
    connector=LinkedInConnector,
    login=LinkedInLogin,
    # platforms.md 4: escapes count. Comments are plain text.
    length=lambda text: len(little_text(text)),
    check_settings=check_settings,
    # Every look counts (platforms.md), against daily ceilings that are not published. Our choice.
    polls="86400=600,259200=3600,2592000=86400",
    reply_calls=2,
)
