"""Instagram, for the registry."""

from publishing.platforms.instagram.connector import InstagramConnector
from publishing.platforms.instagram.login import InstagramLogin
from publishing.platforms.instagram.settings import check_settings, check_text
from publishing.platforms.meta.hooks import hooks_of
from publishing.platforms.meta.settings import MetaSettings
from publishing.platforms.parts import Parts

PARTS = Parts(
    settings=MetaSettings,
    connector=InstagramConnector,
    login=InstagramLogin,
    check_text=check_text,
    check_settings=check_settings,
    hooks=hooks_of("IG", lambda at: (at.app_secret, at.instagram_app_secret)),
    # An id may be another login's, or left out.
    has_unique_names=True,
)
