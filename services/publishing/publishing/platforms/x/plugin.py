"""Defines X for the registry: its connector, login, checks and limits."""

from publishing.platforms.plugin import PlatformPlugin
from publishing.platforms.x.connector import XConnector
from publishing.platforms.x.facts import facts
from publishing.platforms.x.login import XLogin
from publishing.platforms.x.settings import XSettings, message_limit
from publishing.platforms.x.text import weighted_length
from publishing.platforms.x.trial import TRIAL

PLUGIN = PlatformPlugin(
    settings=XSettings,
    connector=XConnector,
    login=XLogin,
    length=weighted_length,
    message_limit=message_limit,
    # A reply is a post.
    comment_length=weighted_length,
    # X charges for every post read, and its search covers seven days (platforms.md 6). Our choice: rarer than
    # elsewhere.
    polls="86400=300,604800=3600",
    facts=facts,
    trial=TRIAL,
)
