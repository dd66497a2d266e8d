"""Reads and writes the rows of `tokens`, and has the statement that authenticates every request."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    Row,
    Select,
    Update,
    and_,
    bindparam,
    delete,
    func,
    insert,
    select,
    text,
    tuple_,
    update,
)

from accounts.models import collaborators, tokens, users
from chassis.db.clock import clock_now
from contracts.accounts import Token, TokenUse, User
from contracts.record import Record

_COLUMNS = [tokens.c[field] for field in Token.__struct_fields__]
_OWNED = [*_COLUMNS, tokens.c.account_id, tokens.c.first_token_id]
_LIVE = and_(
    ~tokens.c.sandbox,
    ~tokens.c.session,
    tokens.c.revoked_at.is_(None),
    tokens.c.expires_at.is_(None) | (tokens.c.expires_at > clock_now()),
)

#: Locks rows in the order of their ids, so that batches of several gateways cannot deadlock. A session that is used is
#: extended, once a day.
_RECORD_USE = text("""
    UPDATE tokens SET request_count = request_count + batch.uses,
                      last_used_at = greatest(last_used_at, batch.used_at),
                      expires_at = CASE
                          WHEN session AND expires_at > clock_now() AND expires_at < clock_now() + interval '29 days'
                          THEN date_trunc('milliseconds', clock_now() + interval '30 days') ELSE expires_at END
    FROM (SELECT tokens.id, use.uses, use.used_at
          FROM tokens JOIN (SELECT id, sum(uses)::bigint AS uses, max(used_at) AS used_at
                            FROM unnest(:ids ::text[], :uses ::bigint[], :used_at ::timestamptz[])
                                 AS one_use (id, uses, used_at)
                            GROUP BY id) AS use ON use.id = tokens.id
          ORDER BY tokens.id FOR NO KEY UPDATE OF tokens) AS batch
    WHERE tokens.id = batch.id
""")


class OwnedToken(Record):
    """A token with the account to which it belongs and the first token of its chain of rotations."""

    account_id: str
    token: Token
    #: The first token of its rotation chain: the token itself if it replaced none.
    first_id: str


class Credential(Record):
    """A token with all that authentication needs to know of it. `role`: the role of the collaborator who issued it, if
    any.
    """

    account_id: str
    tier: str
    #: Whether the account's e-mail address is verified.
    verified: bool
    token: Token
    user: User
    role: str | None
    now: datetime
    #: Whether the session that this one was opened from goes on.
    parent_lives: bool = False


class TokenStore:
    def __init__(self, connection: Connection) -> None:
        self.connection = connection

    def add(self, **values: object) -> Token:
        statement = insert(tokens).values(created_at=clock_now(), **values).returning(*_COLUMNS)
        return _token(self.connection.execute(statement).one())

    def edit(self, token_id: str, **values: object) -> Token:
        """Changes the columns of a token, which must exist."""
        token = self._updated(update(tokens).where(tokens.c.id == token_id).values(**values))
        assert token is not None
        return token

    def find(self, token_id: str) -> OwnedToken | None:
        """Returns an API token by id, with its account. Returns None for the id of a session, and for an unknown id."""
        return self._one_owned((tokens.c.id == token_id) & ~tokens.c.session)

    def find_presented(self, token_id: str) -> OwnedToken | None:
        """Returns the token with which a request was sent, by its id: an API token or a session. None if it does not
        exist."""
        return self._one_owned(tokens.c.id == token_id)

    def find_by_operation(self, operation_id: str) -> OwnedToken | None:
        return self._one_owned(tokens.c.operation_id == operation_id)

    def list_newest_first(self, account_id: str) -> list[Token]:
        """Returns all API tokens of an account, newest first, without sessions."""
        statement = select(*_COLUMNS).where(tokens.c.account_id == account_id, ~tokens.c.session)
        rows = self.connection.execute(statement.order_by(tokens.c.created_at.desc(), tokens.c.id.desc()))
        return [_token(row) for row in rows]

    def page_of(self, user_id: str, *, limit: int, before: tuple[datetime, str] | None) -> list[Token]:
        """Returns one page of a user's API tokens, newest first: the tokens of the user's account, and the tokens that
        the user issued for other people's brands.

        `before`: time and id of the previous page's last token.
        """
        theirs = (tokens.c.account_id == user_id) | (tokens.c.issued_by_collaborator_id == user_id)
        statement = select(*_COLUMNS).where(theirs, ~tokens.c.session)
        if before is not None:
            statement = statement.where(tuple_(tokens.c.created_at, tokens.c.id) < tuple_(*before))
        statement = statement.order_by(tokens.c.created_at.desc(), tokens.c.id.desc()).limit(limit)
        return [_token(row) for row in self.connection.execute(statement)]

    def count_active(self, account_id: str) -> int:
        """Counts an account's active API tokens: those that are neither revoked nor expired, without the sandbox token
        (docs/decisions.md, "Who sees and pays what").
        """
        statement = select(func.count()).select_from(tokens).where(tokens.c.account_id == account_id, _LIVE)
        return self.connection.execute(statement).scalar_one()

    def revoke(self, token_id: str) -> Token | None:
        """Revokes a token. Returns None if it was revoked before."""
        statement = update(tokens).where(tokens.c.id == token_id, tokens.c.revoked_at.is_(None))
        return self._updated(statement.values(revoked_at=clock_now()))

    def delete_of(self, account_id: str) -> None:
        """Deletes all tokens of an account, which is about to be deleted itself."""
        self.connection.execute(delete(tokens).where(tokens.c.account_id == account_id))

    def rotations_of(self, owned: OwnedToken) -> tuple[str, ...]:
        """Returns the ids of all tokens in this token's chain of rotations, oldest first; each has replaced the one
        before."""
        statement = select(tokens.c.id).where(
            tokens.c.account_id == owned.account_id,
            (tokens.c.id == owned.first_id) | (tokens.c.first_token_id == owned.first_id),
        )
        return tuple(self.connection.execute(statement.order_by(tokens.c.id)).scalars())

    def ids_of_collaborator(self, brand_id: str, user_id: str) -> tuple[str, ...]:
        """Returns the ids of all API tokens and brand sessions of a collaborator on a brand, also of revoked ones,
        oldest first.
        """
        statement = select(tokens.c.id).where(
            tokens.c.on_behalf_of_brand_id == brand_id, tokens.c.issued_by_collaborator_id == user_id
        )
        return tuple(self.connection.execute(statement.order_by(tokens.c.id)).scalars())

    def unrevoked_of_collaborator(self, brand_id: str, user_id: str) -> list[OwnedToken]:
        """Returns a collaborator's unrevoked API tokens and brand sessions on a brand, in the order of their ids."""
        statement = select(*_OWNED).where(
            tokens.c.on_behalf_of_brand_id == brand_id,
            tokens.c.issued_by_collaborator_id == user_id,
            tokens.c.revoked_at.is_(None),
        )
        return [_owned(row) for row in self.connection.execute(statement.order_by(tokens.c.id))]

    def set_request_count(self, token_id: str, count: int) -> Token | None:
        statement = update(tokens).where(tokens.c.id == token_id).values(request_count=count)
        return self._updated(statement)

    def record_use(self, uses: Sequence[TokenUse]) -> None:
        """Adds a batch of counts to the tokens' use. Sessions among the tokens expire later. Ignores unknown tokens."""
        self.connection.execute(
            _RECORD_USE,
            {
                "ids": [use.token_id for use in uses],
                "uses": [use.count for use in uses],
                "used_at": [use.last_used_at for use in uses],
            },
        )

    def is_unrevoked(self, account_id: str, token_sha256: str) -> bool:
        """Whether the account has a token with this hash that was not revoked."""
        statement = select(tokens.c.id).where(
            tokens.c.token_sha256 == token_sha256,
            tokens.c.account_id == account_id,
            tokens.c.revoked_at.is_(None),
        )
        return self.connection.execute(statement).one_or_none() is not None

    def credential(self, token_sha256: str) -> Credential | None:
        """Returns all that authentication needs of the token with this hash, in one round trip. None if there is
        none."""
        row = self.connection.execute(_CREDENTIAL, {"token_sha256": token_sha256}).one_or_none()
        return None if row is None else _credential(row)

    def _one_owned(self, condition: ColumnElement[bool]) -> OwnedToken | None:
        row = self.connection.execute(select(*_OWNED).where(condition)).one_or_none()
        return None if row is None else _owned(row)

    def _updated(self, statement: Update) -> Token | None:
        row = self.connection.execute(statement.returning(*_COLUMNS)).one_or_none()
        return None if row is None else _token(row)


def _credential_statement() -> Select[Any]:
    """Builds the statement that selects a token with its user, its account, the collaborator's role, and the time. For
    a brand session it also selects whether the session from which it was opened goes on.
    """
    owner, actor, parent = users.alias("owner"), users.alias("actor"), tokens.alias("parent")
    issued_by = tokens.c.issued_by_collaborator_id
    brand_id = tokens.c.on_behalf_of_brand_id
    lives = and_(
        parent.c.id == tokens.c.parent_id, parent.c.revoked_at.is_(None), parent.c.expires_at > clock_now()
    )
    role_of = and_(collaborators.c.brand_id == brand_id, collaborators.c.user_id == issued_by)
    return (
        select(
            *_OWNED,
            owner.c.tier.label("account_tier"),
            owner.c.verified.label("account_verified"),
            *(actor.c[field].label(f"user_{field}") for field in User.__struct_fields__),
            collaborators.c.role,
            parent.c.id.is_not(None).label("parent_lives"),
            clock_now().label("now"),
        )
        .join(owner, owner.c.id == tokens.c.account_id)
        .join(actor, actor.c.id == func.coalesce(issued_by, tokens.c.account_id))
        .outerjoin(collaborators, role_of)
        .outerjoin(parent, lives)
        .where(tokens.c.token_sha256 == bindparam("token_sha256"))
    )


_CREDENTIAL = _credential_statement()


def _owned(row: Row[Any]) -> OwnedToken:
    token = _token(row)
    return OwnedToken(account_id=row.account_id, token=token, first_id=row.first_token_id or token.id)


def _token(row: Row[Any]) -> Token:
    values = {field: row._mapping[field] for field in Token.__struct_fields__}
    lists = {field: tuple(values[field]) for field in ("scopes", "brand_ids", "ip_allowlist")}
    return Token(**(values | lists))


def _credential(row: Row[Any]) -> Credential:
    return Credential(
        account_id=row.account_id,
        tier=row.account_tier,
        verified=row.account_verified,
        token=_token(row),
        user=User(**{field: row._mapping[f"user_{field}"] for field in User.__struct_fields__}),
        role=row.role,
        parent_lives=row.parent_lives,
        now=row.now.astimezone(UTC),
    )
