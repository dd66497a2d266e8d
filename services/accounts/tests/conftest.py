"""A migrated database with the use cases bound to it as in service.py, and a mail server."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from sqlalchemy import text

from accounts import audit, brands, collaborators
from accounts.config import AccountsConfig
from accounts.tokens import authentication, tokens
from accounts.users import sign_up, users
from chassis.db import clock
from chassis.db.database import Database
from chassis.ids import new_id
from chassis.tokens import hash_token
from contracts.accounts import (
    AuditEntry,
    Authenticate,
    Authenticated,
    Brand,
    CreateBrand,
    CreatedToken,
    CreatedUser,
    CreateToken,
    CreateUser,
    ListAudit,
    RevokeToken,
    SetCollaborator,
    SignUp,
    Token,
    TokenId,
    User,
)
from contracts.caller import Caller, operator
from testkit.mail_server import MailServer

CONFIG = AccountsConfig(
    token_secret="a secret for tests, and a long one", legacy_token_prefix="sk_live_", signups="open"
)


class Accounts:
    """Calls each use case in its own transaction, by default as the operator."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self.config = CONFIG
        self.serial = 0

    def call(self, use_case: Callable[..., Any], *args: Any) -> Any:
        with self.database.transaction() as connection:
            return use_case(connection, *args)

    def user(self, *, tier: str = "free") -> User:
        self.serial += 1
        return self.create_user(operator(), email=f"user{self.serial}@example.com", tier=tier).user

    def create_user(self, caller: Caller, **values: Any) -> CreatedUser:
        request = CreateUser(**{"email": "ann@example.com", **values})
        return users.create_user(self.database, self.config, caller, request)

    def sign_up(self, caller: Caller, **values: Any) -> CreatedUser:
        given = {"email": "ann@example.com", "password": "correct horse", "asker": new_id("net"), **values}
        return sign_up.sign_up(self.database, self.config, caller, SignUp(**given))

    def brand(self, owner: User, name: str = "Acme") -> Brand:
        return self.call(brands.create_brand, operator(), CreateBrand(user_id=owner.id, name=name))

    def collaborator(self, brand: Brand, user: User, role: str = "full") -> None:
        request = SetCollaborator(brand_id=brand.id, user_id=user.id, role=role)
        self.call(collaborators.set_collaborator, operator(), request)

    def token(self, owner: User, *, operation_id: str | None = None, **values: Any) -> CreatedToken:
        request = CreateToken(**{"user_id": owner.id, "scopes": ("read:brands",), **values})
        return self.call(tokens.create_token, CONFIG, replace(operator(), operation_id=operation_id), request)

    def rotate(self, made: CreatedToken) -> CreatedToken:
        return self.call(tokens.rotate_token, CONFIG, operator(), TokenId(token_id=made.token.id))

    def revoke(self, made: CreatedToken, *, keep: bool = False) -> Token:
        return self.call(tokens.revoke_token, operator(), RevokeToken(token_id=made.token.id, keep=keep))

    def authenticate(self, plain_token: str) -> Authenticated:
        return self.call(authentication.authenticate, Authenticate(token_sha256=hash_token(plain_token)))

    def actions(self, brand: Brand) -> list[str]:
        return [entry.action for entry in self.audit_log(brand)]

    def audit_log(self, brand: Brand) -> tuple[AuditEntry, ...]:
        return self.call(audit.list_audit, operator(), ListAudit(brand_id=brand.id)).entries

    def staged(self, event: str = "caller.changed") -> list[dict[str, Any]]:
        """Returns the data of the staged events of this name, oldest first."""
        query = text(
            "SELECT convert_from(body, 'UTF8')::json -> 'data' FROM outbox WHERE event = :event ORDER BY position"
        )
        return list(self.call(lambda connection: connection.execute(query, {"event": event}).scalars().all()))

    def shift_clock(self, seconds: float) -> None:
        self.call(clock.set_shift, seconds)


@pytest.fixture
def accounts(open_database: Callable[[str], Database]) -> Accounts:
    return Accounts(open_database("accounts"))


@pytest.fixture
def mail_server() -> Iterator[Callable[..., MailServer]]:
    """`mail_server("take", certificate, implicit=False, password="")` → a running MailServer."""
    servers: list[MailServer] = []

    def start(
        behaviour: str = "take",
        certificate: Path | None = None,
        *,
        implicit: bool = False,
        password: str = "",
    ) -> MailServer:
        server = MailServer(behaviour, certificate, implicit=implicit, password=password)
        servers.append(server)
        server.start()
        return server

    yield start
    for server in servers:
        server.stop()
