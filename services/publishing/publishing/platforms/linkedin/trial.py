"""The test post that `posthaste platform check --post` makes on LinkedIn: public, and deleted at once. LinkedIn has no
posts that only their author sees."""

from publishing.platforms.base import Account, Content
from publishing.platforms.linkedin.calls import Calls, in_path
from publishing.platforms.linkedin.settings import LinkedInSettings
from publishing.platforms.trial import Trial


def _remove(settings: LinkedInSettings, account: Account, urn: str) -> None:
    Calls(settings).delete(account, f"posts/{in_path(urn)}")


TRIAL = Trial(what="a public post", is_public=True, content=Content, remove=_remove)
