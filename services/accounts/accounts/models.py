"""The tables of the accounts database. A test checks that they match migrations/."""

from datetime import UTC, datetime
from typing import Any

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    DateTime,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    Table,
    Text,
    TypeDecorator,
    UniqueConstraint,
    text,
)  # fmt: skip
from sqlalchemy.dialects.postgresql import ARRAY, JSONB

from chassis.db import operations as chassis_operations

metadata = MetaData()


class Moment(TypeDecorator[datetime]):
    """A column type for points in time, returned in UTC whatever the time zone of the database connection."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_result_value(self, value: datetime | None, dialect: Any) -> datetime | None:
        return None if value is None else value.astimezone(UTC)


users = Table(
    "users",
    metadata,
    Column("id", Text, primary_key=True),
    #: In lower case.
    Column("email", Text, nullable=False, unique=True),
    #: The password's hash; null for a user whom the operator created without a password.
    Column("password_hash", Text),
    Column("firstname", Text, nullable=False),
    Column("lastname", Text, nullable=False),
    Column("tier", Text, nullable=False),
    Column("created_at", Moment, nullable=False),
    Column("operation_id", Text, unique=True),
    #: Whether the e-mail address is verified. The default is for rows stored before 1.4.0.
    Column("verified", Boolean, nullable=False, server_default=text("true")),
    #: IANA zone and BCP 47 language in which the person reads times.
    Column("timezone", Text),
    Column("language", Text),
    Index("users_unverified", "created_at", postgresql_where=text("NOT verified")),
)

#: The second factor of a sign-in, for users who began to turn it on.
totps = Table(
    "totps",
    metadata,
    Column("user_id", Text, ForeignKey("users.id", ondelete="CASCADE"), primary_key=True),
    #: The app's secret is derived from it (`derived_secrets.py`).
    Column("id", Text, nullable=False),
    #: Null: not confirmed with a code yet, and not asked for.
    Column("enabled_at", Moment),
    #: The step (30 s since 1970) of the last accepted code: codes of it and of earlier ones are refused.
    Column("last_step", BigInteger, nullable=False, server_default=text("0")),
)

#: Unused codes that replace one of the app each.
recovery_codes = Table(
    "recovery_codes",
    metadata,
    Column("user_id", Text, ForeignKey("users.id", ondelete="CASCADE"), primary_key=True),
    Column("code_sha256", Text, primary_key=True),
)

#: Mails that the mail server has not accepted yet.
mails = Table(
    "mails",
    metadata,
    Column("id", Text, primary_key=True),
    #: What it is about: `users.mails.KINDS`.
    Column("kind", Text, nullable=False),
    Column("email", Text, nullable=False),
    #: What its text needs.
    Column("details", JSONB, nullable=False),
    #: When no further attempt is worth while.
    Column("expires_at", Moment, nullable=False),
    Column("attempts", Integer, nullable=False, server_default=text("0")),
    #: Real time. Set before an attempt begins, so that another process retries if this one is killed.
    Column("next_attempt_at", Moment, nullable=False),
)

#: One per address; deleted by the sign-up that uses it.
invites = Table(
    "invites",
    metadata,
    Column("email", Text, primary_key=True),
    #: The code is derived from it (`derived_secrets.py`).
    Column("id", Text, nullable=False),
    Column("expires_at", Moment, nullable=False),
    Column("operation_id", Text),
)

#: Links that reset a password, at most one per address. Also stored for addresses without an account, so that the time
#: of the answer does not reveal whether there is one.
password_resets = Table(
    "password_resets",
    metadata,
    Column("email", Text, primary_key=True),
    #: The code is derived from it (`derived_secrets.py`).
    Column("id", Text, nullable=False),
    Column("expires_at", Moment, nullable=False),
)

#: Addresses that wait for their confirmation, at most one for each account.
email_changes = Table(
    "email_changes",
    metadata,
    Column("user_id", Text, ForeignKey("users.id", ondelete="CASCADE"), primary_key=True),
    #: The code of the link is derived from it (`derived_secrets.py`).
    Column("id", Text, nullable=False, unique=True),
    #: In lower case. It may have an account.
    Column("email", Text, nullable=False),
    Column("expires_at", Moment, nullable=False),
)

#: Attempts per time window, such as sign-ins (`users.limits`). Networks and e-mail addresses are stored as pseudonyms.
sign_up_tries = Table(
    "sign_up_tries",
    metadata,
    Column("subject", Text, primary_key=True),
    #: The end of the window.
    Column("ends_at", Moment, primary_key=True),
    Column("tries", Integer, nullable=False),
)

brands = Table(
    "brands",
    metadata,
    Column("id", Text, primary_key=True),
    #: The owner.
    Column("account_id", Text, ForeignKey("users.id"), nullable=False),
    Column("name", Text, nullable=False),
    Column("description", Text),
    Column("logo", Text),
    Column("timezone", Text, nullable=False),
    Column("image_guidelines", Text),
    Column("caption_guidelines", Text),
    Column("created_at", Moment, nullable=False),
    Column("operation_id", Text, unique=True),
    Column("archived_at", Moment),
    Index("brands_of_account", "account_id", "created_at", "id"),
)

#: The people who work on a brand, except its owner.
collaborators = Table(
    "collaborators",
    metadata,
    Column("brand_id", Text, ForeignKey("brands.id"), primary_key=True),
    Column("user_id", Text, ForeignKey("users.id"), primary_key=True),
    #: full or limited
    Column("role", Text, nullable=False),
    Column("created_at", Moment, nullable=False),
    Index("collaborators_of_user", "user_id", "created_at", "brand_id"),
)

#: Invitations to work on a brand, at most one per brand and address; deleted when accepted or withdrawn.
invitations = Table(
    "invitations",
    metadata,
    #: The code of the link is derived from it (`derived_secrets.py`).
    Column("id", Text, primary_key=True),
    Column("brand_id", Text, ForeignKey("brands.id"), nullable=False),
    #: In lower case. It may have no account.
    Column("email", Text, nullable=False),
    #: full or limited
    Column("role", Text, nullable=False),
    Column("created_at", Moment, nullable=False),
    Column("expires_at", Moment, nullable=False),
    UniqueConstraint("brand_id", "email"),
)

tokens = Table(
    "tokens",
    metadata,
    Column("id", Text, primary_key=True),
    #: The account whose data and limits the token uses: the brand owner's for a collaborator's token.
    Column("account_id", Text, ForeignKey("users.id"), nullable=False),
    Column("token_sha256", Text, nullable=False, unique=True),
    Column("name", Text, nullable=False),
    #: The first characters of the plain token.
    Column("prefix", Text, nullable=False),
    Column("scopes", ARRAY(Text), nullable=False),
    #: Empty: every brand of the account.
    Column("brand_ids", ARRAY(Text), nullable=False),
    Column("ip_allowlist", ARRAY(Text), nullable=False),
    Column("expires_at", Moment),
    Column("last_used_at", Moment),
    Column("request_count", BigInteger, nullable=False, server_default=text("0")),
    Column("revoked_at", Moment),
    Column("created_at", Moment, nullable=False),
    Column("sandbox", Boolean, nullable=False),
    Column("on_behalf_of_brand_id", Text, ForeignKey("brands.id")),
    #: The user id of the collaborator who issued it.
    Column("issued_by_collaborator_id", Text, ForeignKey("users.id")),
    Column("operation_id", Text, unique=True),
    #: For a token made by rotation: the first token of the chain.
    Column("first_token_id", Text),
    #: The token of a person who signed in. Its `name` is the client's User-Agent.
    Column("session", Boolean, nullable=False, server_default=text("false")),
    #: Where the person signed in from; null for API tokens.
    Column("client_address", Text),
    #: For a session that a collaborator works on a brand with: the person's own session, with which it ends.
    Column("parent_id", Text),
    Index("tokens_of_account", "account_id", "created_at", "id"),
    Index(
        "tokens_of_collaborator",
        "on_behalf_of_brand_id",
        "issued_by_collaborator_id",
        postgresql_where=text("issued_by_collaborator_id IS NOT NULL"),
    ),
    Index("tokens_sessions", "expires_at", postgresql_where=text("session")),
    Index("tokens_of_parent", "parent_id", postgresql_where=text("parent_id IS NOT NULL")),
)

audit_entries = Table(
    "audit_entries",
    metadata,
    Column("id", Text, primary_key=True),
    Column("brand_id", Text, ForeignKey("brands.id"), nullable=False),
    #: A user id, `operator`, or `system` for automatic consequences.
    Column("actor_id", Text, nullable=False),
    Column("action", Text, nullable=False),
    Column("subject_id", Text, nullable=False),
    Column("created_at", Moment, nullable=False),
    Column("details", JSONB, nullable=False),
    #: The operation that wrote it; one operation may write several entries.
    Column("operation_id", Text),
    Index("audit_of_brand", "brand_id", "created_at", "id"),
)

#: Operations of calls that set a value and make no row of their own.
operations = chassis_operations.operations.to_metadata(metadata)
