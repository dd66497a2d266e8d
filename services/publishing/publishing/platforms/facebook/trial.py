"""The test post that `posthaste platform check --post` makes on Facebook: created unpublished, then removed."""

from publishing.platforms.base import Account, PlatformRefusal
from publishing.platforms.meta.errors import MISSING
from publishing.platforms.meta.graph import Graph
from publishing.platforms.meta.settings import MetaSettings
from publishing.platforms.trial import Trial


def _stage(settings: MetaSettings, account: Account, text: str, photo: str) -> str:
    data = {"message": text, "published": "false"}
    return Graph(settings.facebook_url, settings).stage(account, account.remote_account_id, "feed", data)


def _remove(settings: MetaSettings, account: Account, post_id: str) -> None:
    try:
        Graph(settings.facebook_url, settings).remove(account, post_id)
    except PlatformRefusal as refusal:
        if refusal.code != MISSING:
            raise


TRIAL = Trial(what="an unpublished post", stage=_stage, remove=_remove)
