"""A post on X that is deleted at once: X has public posts alone, and charges for each."""

from publishing.platforms.base import Account, Content
from publishing.platforms.trial import Trial
from publishing.platforms.x.calls import Calls
from publishing.platforms.x.settings import XSettings


def _remove(settings: XSettings, account: Account, post_id: str) -> None:
    Calls(settings).delete(account, post_id)


TRIAL = Trial(what="a public post, for which X charges", is_public=True, content=Content, remove=_remove)
