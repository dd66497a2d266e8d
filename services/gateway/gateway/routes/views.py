"""Bodies of answers that differ from the records of the services (docs/spec.md, "Resources" and "Endpoints")."""

from datetime import datetime

from msgspec import field

from contracts.accounts import Brand, User
from contracts.ai import AutoRefill, Credits, Pack
from contracts.media import Storage
from contracts.publishing import FullPost, Page, Reply, ScheduledPost
from contracts.quota import Usage
from contracts.record import Record


class ScheduledPostView(Record):
    scheduled_post: ScheduledPost


class PostView(Record):
    post: FullPost


class PageView(Record):
    page: Page


class ReplyView(Record):
    reply: Reply


class BrandInList(Brand, kw_only=True):
    pages_count: int


class BrandListView(Record):
    brands: tuple[BrandInList, ...]
    next_cursor: str | None = None


class BrandWithPages(Brand, kw_only=True):
    pages: tuple[Page, ...]


class BrandView(Record):
    brand: BrandWithPages


class SignedUp(Record):
    """The new user, and the sandbox token, which GET /account/sandbox-token shows to the person again."""

    user: User
    sandbox_api_token: str


class AuthenticatedAs(Record):
    user_id: str
    email: str
    firstname: str
    lastname: str


class KeyInMe(Record):
    id: str
    name: str
    prefix: str
    scopes: tuple[str, ...]
    expires_at: datetime | None


class Me(Record):
    authenticated_as: AuthenticatedAs
    api_key: KeyInMe


class UserInAccount(Record):
    id: str
    email: str
    firstname: str
    lastname: str
    #: The IANA zone and the BCP 47 language in which the person reads times; null: not chosen.
    timezone: str | None = None
    language: str | None = None


class CreditsInAccount(Record):
    remaining: int
    plan: str


class Billing(Record):
    """The account's plan, and how it gets more AI credits."""

    tier: str
    credits: Credits
    packs: tuple[Pack, ...]
    auto_refill: AutoRefill
    billing_url: str


class KeyInAccount(KeyInMe, kw_only=True):
    brand_ids: tuple[str, ...]
    last_used_at: datetime | None
    request_count: int
    #: The brand for which a collaborator issued the token (spec "Token metadata"); null for tokens of the owner.
    on_behalf_of_brand_id: str | None
    issued_by_collaborator_id: str | None


class StorageInAccount(Storage, kw_only=True):
    max_file_bytes: int


class RateLimit(Record):
    per_minute: int
    per_day: int


class PageGuardrail(Record):
    per_hour: int = field(name="perHour")
    per_24h: int = field(name="per24h")


class PublishGuardrails(Record):
    per_page: dict[str, PageGuardrail] = field(name="perPage")
    min_gap_milliseconds: int = field(name="minGapBetweenSchedulesMs")
    brand_per_24h: int = field(name="perBrandPer24hSafetyNet")


class AccountQuota(Record):
    storage: StorageInAccount
    rate_limit: RateLimit
    monthly: Usage
    publish_guardrails: PublishGuardrails


class Account(Record):
    user: UserInAccount
    credits: CreditsInAccount
    tier: str
    api_key: KeyInAccount
    quota: AccountQuota


class Probe(Record):
    service: str
    version: str
    status: str
    documentation_url: str
