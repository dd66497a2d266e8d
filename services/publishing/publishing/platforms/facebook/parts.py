"""Facebook, for the registry."""

from publishing.platforms.facebook.connector import FacebookConnector
from publishing.platforms.facebook.login import FacebookLogin
from publishing.platforms.facebook.settings import check_settings
from publishing.platforms.meta.hooks import hooks_of
from publishing.platforms.meta.settings import MetaSettings
from publishing.platforms.parts import Parts

PARTS = Parts(
    settings=MetaSettings,
    connector=FacebookConnector,
    login=FacebookLogin,
    check_settings=check_settings,
    hooks=hooks_of("FB", lambda at: (at.app_secret,)),
)
