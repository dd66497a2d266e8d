"""Checks what LinkedIn says about our app and about a member or company page."""

from collections.abc import Iterator

from publishing.platforms.base import Account
from publishing.platforms.facts import Fact, ask
from publishing.platforms.linkedin.calls import Calls, in_path
from publishing.platforms.linkedin.reading import ORGANIZATION, POSTING_ROLES
from publishing.platforms.linkedin.settings import LinkedInSettings

_GUIDE = "docs/platforms/linkedin.md"


def facts(settings: LinkedInSettings, account: Account) -> Iterator[Fact]:
    calls = Calls(settings)
    urns: list[str] = []

    def upload() -> tuple[bool, str]:
        # Reserves an address for a picture that is never sent: the only call that a member's token may make as well.
        value = calls.act(account, "images", "initializeUpload", owner=account.remote_account_id)
        urns.append(str(value.get("image") or ""))
        return bool(urns[0]), f"accepted, reserved {urns[0]}" if urns[0] else "an answer without an image"

    def role() -> tuple[bool, str]:
        rows = calls.rows(account, "organizationAcls", q="roleAssignee", state="APPROVED")
        pages = ((row.get("organization") or row.get("organizationTarget"), row.get("role")) for row in rows)
        roles = sorted({str(name) for urn, name in pages if urn == account.remote_account_id})
        return not POSTING_ROLES.isdisjoint(roles), ", ".join(roles) or "none"

    def state() -> tuple[bool, str]:
        return True, str(
            calls.read(account, f"images/{in_path(urns[0])}").get("status") or "an answer without it"
        )

    yield ask(
        "version of the API, and permission to post",
        f"{settings.version} is accepted",
        "If LinkedIn no longer serves the version, read its migration guide and set LINKEDIN_VERSION. If it denies the"
        f" access, connect the page again and check the products of the app ({_GUIDE}).",
        upload,
    )
    if not account.remote_account_id.startswith(ORGANIZATION) or not any(urns):
        return
    yield ask(
        "role on the page",
        "one that may post",
        f"If LinkedIn lets this role post, tell us its name, which is not among those that we know ({_GUIDE}).",
        role,
    )
    yield ask(
        "state of a file",
        "it can be read",
        "LinkedIn does not say when a file is ready: posts with files are sent some seconds later.",
        state,
    )
