"""X, for the registry."""

from publishing.platforms.parts import Parts
from publishing.platforms.typed import complaints
from publishing.platforms.x.connector import XConnector
from publishing.platforms.x.login import XLogin
from publishing.platforms.x.settings import XPostSettings, XSettings
from publishing.platforms.x.text import weighted_length

PARTS = Parts(
    settings=XSettings,
    connector=XConnector,
    login=XLogin,
    length=weighted_length,
    # A reply is a post.
    comment_length=weighted_length,
    check_settings=lambda settings, has_media: complaints("x_settings", XPostSettings, settings),
    # X takes money for what it shows, and shows seven days (platforms.md). Our choice.
    polls="86400=300,604800=3600",
)
