"""The test post that `posthaste platform check --post` makes on X: public, and deleted at once. X has no private posts,
and charges for each post."""

from publishing.platforms.base import Account, Content, PlatformRefusal, Refusal
from publishing.platforms.trial import Trial
from publishing.platforms.x.calls import Calls
from publishing.platforms.x.connector import XConnector
from publishing.platforms.x.settings import XSettings


def _remove(settings: XSettings, account: Account, post_id: str) -> None:
    """Deletes the test post. If X answers that it deleted nothing, checks that the post no longer exists."""
    if Calls(settings).delete(account, post_id):
        return
    try:
        XConnector(settings).engagement(account, post_id)
    except PlatformRefusal as refusal:
        if refusal.code == "resource-not-found":
            return
        raise
    raise PlatformRefusal(Refusal.TRANSIENT, "NOT_DELETED", "X has not deleted the post.")


TRIAL = Trial(what="a public post, for which X charges", is_public=True, content=Content, remove=_remove)
