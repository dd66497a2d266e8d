"""The tables of linked pages, link sessions and brand names. `models` has the service's other tables."""

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    DateTime,
    Index,
    Integer,
    MetaData,
    Table,
    Text,
    UniqueConstraint,
    text,
)
from sqlalchemy.dialects.postgresql import ARRAY

metadata = MetaData()
_TIME = DateTime(timezone=True)
_LINKED = text("unlinked_at IS NULL")
_NEWEST_FIRST = text("created_at DESC"), text("id DESC")

pages = Table(
    "pages",
    metadata,
    Column("id", Text, primary_key=True),
    Column("account_id", Text, nullable=False),
    Column("brand_id", Text, nullable=False),
    #: As in `brand_names`.
    Column("brand_name", Text, nullable=False),
    Column("platform", Text, nullable=False),
    Column("remote_account_id", Text, nullable=False),
    #: The page's credentials, encrypted (`records.Credentials`).
    Column("access_token", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("username", Text),
    Column("followers", BigInteger, nullable=False),
    Column("picture", Text),
    #: Longest message of this account, as the platform told when the profile was read. Null: the limit of all accounts.
    Column("message_limit", Integer),
    Column("expired", Boolean, nullable=False, server_default=text("false")),
    Column("created_at", _TIME, nullable=False),
    #: What the last check of the connection found (`pages.health`); null: none since the page was linked.
    Column("checked_at", _TIME),
    #: Null: not known.
    Column("missing_permissions", ARRAY(Text)),
    #: Null: not known, or the token does not expire.
    Column("token_expires_at", _TIME),
    #: Real time: the platform takes no calls before; comments are not polled until then.
    Column("rest_until", _TIME),
    #: Whether the page is subscribed to webhooks about comments, and when the next try is due; real time.
    Column("subscribed", Boolean, nullable=False, server_default=text("false")),
    Column("subscribe_at", _TIME),
    Column("subscribe_tries", Integer, nullable=False, server_default=text("0")),
    #: Unlinked pages are hidden and kept for their posts. A page that is linked again keeps its row.
    Column("unlinked_at", _TIME),
    #: The platform's id of the permission: pages with the same one were granted by the same person.
    Column("grant_id", Text),
    #: When the credentials are renewed (of an unlinked page: revoked), by `clock_now()`. Null: never.
    Column("renew_at", _TIME),
    #: Real time: until then the renewal is claimed, or waits after a failure.
    Column("renew_lease_until", _TIME),
    Column("renew_fence", BigInteger, nullable=False, server_default=text("0")),
    Column("renew_tries", Integer, nullable=False, server_default=text("0")),
    UniqueConstraint("brand_id", "platform", "remote_account_id"),
    Index("pages_of_account", "account_id", *_NEWEST_FIRST),
    Index("pages_listed_of_account", "account_id", "platform", *_NEWEST_FIRST, postgresql_where=_LINKED),
    Index("pages_listed_of_brand", "brand_id", "platform", *_NEWEST_FIRST, postgresql_where=_LINKED),
    Index("pages_remote", "remote_account_id", "platform"),
    Index("pages_to_renew", "renew_at", postgresql_where=text("renew_at IS NOT NULL")),
    Index("pages_of_grant", "grant_id", postgresql_where=text("grant_id IS NOT NULL")),
    Index("pages_to_subscribe", "subscribe_at", postgresql_where=text("subscribe_at IS NOT NULL")),
)

#: Link sessions.
links = Table(
    "links",
    metadata,
    Column("id", Text, primary_key=True),
    Column("account_id", Text, nullable=False),
    Column("brand_id", Text, nullable=False),
    Column("brand_name", Text, nullable=False),
    Column("platform", Text, nullable=False),
    #: The PKCE verifier, encrypted.
    Column("verifier", Text, nullable=False),
    #: pending, exchanging (a browser came back and no other may), found (the person has agreed), refused (by the
    #: person), failed.
    Column("state", Text, nullable=False),
    #: SHA-256 of the key of the browser that came back (`pages/browser.py`); only that browser may agree.
    Column("browser", Text),
    #: The later content of `found`, until the person agrees; encrypted with the browser's key and then with ours. The
    #: state is still `exchanging`.
    Column("unconfirmed", Text),
    #: The account's name when the session began.
    Column("account_name", Text),
    #: The app's address to which the person returns with the result.
    Column("return_url", Text),
    #: Chooses the login where the platform has several; null: the server's choice.
    Column("account_type", Text),
    #: When the event page.connect.refused was staged, because another browser came back.
    Column("refused_at", _TIME),
    #: The accounts found, with their credentials (`found_accounts.FoundAccounts`); encrypted.
    Column("found", Text),
    Column("error_code", Text),
    Column("error_message", Text),
    Column("created_at", _TIME, nullable=False),
    #: After this time the session has expired and its row is removed.
    Column("expires_at", _TIME, nullable=False),
    Index("links_expire", "expires_at"),
)

#: The name of each brand that has, or had, a page.
brand_names = Table(
    "brand_names",
    metadata,
    Column("brand_id", Text, primary_key=True),
    Column("name", Text, nullable=False),
    #: When the brand got this name, according to the event brand.renamed. Null before the first such event: the name
    #: is that of the last linking.
    Column("renamed_at", _TIME),
)
