"""Defines LinkedIn for the registry: its connector, login, checks and limits."""

from publishing.platforms.linkedin.connector import LinkedInConnector
from publishing.platforms.linkedin.facts import facts
from publishing.platforms.linkedin.login import COMMENT_SCOPES, login
from publishing.platforms.linkedin.settings import LinkedInSettings, check_settings
from publishing.platforms.linkedin.text import little_text
from publishing.platforms.linkedin.trial import TRIAL
from publishing.platforms.plugin import PlatformPlugin

PLUGIN = PlatformPlugin(
    settings=LinkedInSettings,
    connector=LinkedInConnector,
    login=login,
    # platforms.md 4: escapes count. Comments are plain text.
    length=lambda text: len(little_text(text)),
    check_settings=check_settings,
    # Every poll counts against daily limits that are not published (platforms.md 4). Our choice: rarer than elsewhere.
    polls="86400=600,259200=3600,2592000=86400",
    reply_calls=2,
    comment_scopes=COMMENT_SCOPES,
    facts=facts,
    trial=TRIAL,
)
