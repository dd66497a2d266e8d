"""What LinkedIn tells about itself and about a member or company page."""

from collections.abc import Iterator

from publishing.platforms.base import Account
from publishing.platforms.facts import Fact, ask
from publishing.platforms.linkedin.calls import Calls
from publishing.platforms.linkedin.settings import LinkedInSettings


def facts(settings: LinkedInSettings, account: Account) -> Iterator[Fact]:
    def upload() -> tuple[bool, str]:
        # Reserves an address for a picture that is never sent: the only call that a member's token may make as well.
        value = Calls(settings).act(account, "images", "initializeUpload", owner=account.remote_account_id)
        found = str(value.get("image") or "")
        return bool(found), f"accepted, reserved {found}" if found else "an answer without an image"

    yield ask(
        "version of the API, and permission to post",
        f"{settings.version} is accepted",
        "If LinkedIn no longer serves the version, read its migration guide and set LINKEDIN_VERSION. If it denies the"
        " access, connect the page again and check the products of the app (docs/platforms/linkedin.md).",
        upload,
    )
