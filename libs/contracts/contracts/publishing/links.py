"""Linking pages: the sessions in which a person logs in at a platform and chooses accounts."""

from datetime import datetime
from typing import Annotated

from msgspec import Meta

from contracts.platforms import PlatformCode
from contracts.publishing.pages import Page, PostError
from contracts.record import Record

# Described, not enforced: another release may know more values.
LinkStatus = Annotated[
    str, Meta(extra_json_schema={"enum": ["pending", "choose", "linked", "refused", "failed"]})
]


class BeginLink(Record):
    """A request to begin to link pages. `platform` is a code; the gateway adds the names of brand and account."""

    platform: str
    brand_id: str
    brand_name: str = ""
    account_name: str = ""
    #: Where the person is sent at the end: one of the URLs that the operator allows for the account.
    return_url: str | None = None
    #: One of the platform's `account_types`; None: the first that the server has an app for.
    account_type: str | None = None


class LinkBegun(Record):
    """A link session that has begun. A person continues it at `authorize_url` (a web page of this server) until
    `expires_at`."""

    session_id: str
    authorize_url: str
    expires_at: datetime


class FinishLink(Record):
    """The parameters with which a platform's login sent the browser back to us. `platform` is its full lowercase name.

    `browser`: the secret key of the browser that came back, as in `ViewLink`; empty if it sent no cookie.
    """

    platform: str
    state: str = ""
    code: str = ""
    error: str = ""
    error_description: str = ""
    browser: str = ""


class ViewLink(Record):
    """A request for the progress of linking, for the person in the browser who does it.

    `browser`: a secret key of 64 hex digits by which the service `publishing` recognizes the browser. The gateway
    derives it from the browser's cookie; only its hash is stored.
    """

    session_id: str
    browser: str


class DecideLink(Record):
    """The person's decision whether the brand gets access to the pages found.

    `browser`: the secret key of the person's browser, as in `ViewLink`. The decision counts only if it comes from the
    browser that logged in at the platform.
    """

    session_id: str
    browser: str
    is_given: bool


class GetLink(Record):
    session_id: str


class LinkableAccount(Record):
    """A page, profile or channel that can be linked. `page_id` is set if it is linked to this brand already."""

    account_id: str
    name: str
    username: str | None
    followers: int
    picture: str | None
    page_id: str | None = None
    #: Whether the platform lets it write comments: first comments and replies. None: not known.
    can_comment: bool | None = None


class LinkSession(Record):
    """The progress of linking pages, for the client that began it."""

    session_id: str
    platform: PlatformCode
    brand_id: str
    #: `pending` (no login yet), `choose`, `linked` (all accounts found), `refused` (by the person) or `failed`
    status: LinkStatus
    accounts: tuple[LinkableAccount, ...]
    error: PostError | None
    expires_at: datetime
    brand_name: str | None = None


class LinkPageView(Record):
    """The progress of linking pages, for the person in the browser who does it."""

    session_id: str
    platform: str
    brand_name: str
    account_name: str
    #: start (go to `authorize_url`), wait (the platform's answer is being read), confirm (`accounts` were found,
    #: nothing is linked yet), or as in `LinkSession`: choose, linked, refused, failed
    status: str
    accounts: tuple[LinkableAccount, ...] = ()
    error: PostError | None = None
    #: The platform's login, only for this browser.
    authorize_url: str | None = None
    #: The app's URL with session and outcome, once there is an outcome.
    return_url: str | None = None


class ChooseAccounts(Record):
    session_id: str
    account_ids: Annotated[tuple[str, ...], Meta(min_length=1, max_length=100)]


class PagesLinked(Record):
    pages: tuple[Page, ...]
