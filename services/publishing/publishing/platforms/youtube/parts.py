"""YouTube, for the registry."""

from publishing.platforms.parts import Parts
from publishing.platforms.youtube.connector import YouTubeConnector
from publishing.platforms.youtube.login import YouTubeLogin
from publishing.platforms.youtube.settings import YouTubeSettings
from publishing.platforms.youtube.texts import problems

PARTS = Parts(
    settings=YouTubeSettings,
    connector=YouTubeConnector,
    login=YouTubeLogin,
    # A title comes of either: texts and settings are judged together.
    check_text=problems,
    # An app has 10,000 units a day for all its channels (platforms.md). Our choice.
    polls="86400=1800,259200=7200,2592000=86400",
    reply_calls=2,
)
