"""Gives a migrated database with the use cases bound to it as in service.py, and a mail server."""

import base64
import queue
import socketserver
import ssl
import threading
from collections.abc import Callable, Iterator
from email import message_from_bytes, policy
from email.message import EmailMessage
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
        request = SignUp(**{"email": "ann@example.com", "password": "correct horse", **values})
        return sign_up.sign_up(self.database, self.config, caller, request)

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


class MailServer(socketserver.ThreadingTCPServer):
    """A mail server on the loopback, with the commands that smtplib sends. `mails` are the accepted ones.

    `behaviour`: take, silent (it never answers), refuse or defer (each recipient). With a certificate it offers
    STARTTLS, or speaks TLS from the beginning (`implicit`).
    """

    daemon_threads = True

    def __init__(self, behaviour: str, certificate: Path | None, *, implicit: bool, password: str) -> None:
        super().__init__(("127.0.0.1", 0), _MailHandler)
        self.port = int(self.server_address[1])
        self.behaviour, self.password, self.implicit = behaviour, password, implicit
        self.tls: ssl.SSLContext | None = None
        if certificate is not None:
            self.tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            self.tls.load_cert_chain(certificate)
        self.mails: queue.Queue[tuple[str, list[str], EmailMessage]] = queue.Queue()
        self.spoken_to, self.closing = threading.Event(), threading.Event()

    def handle_error(self, *_: object) -> None:
        """Ignores that the client disconnected; tests check that themselves."""


class _MailHandler(socketserver.StreamRequestHandler):
    server: MailServer

    def handle(self) -> None:
        self.server.spoken_to.set()
        if self.server.behaviour == "silent":
            self.server.closing.wait()
            return
        self.sender, self.recipients, self.has_logged_in = "", list[str](), False
        if self.server.implicit:
            self.secure()
        self.say("220 ready")
        while line := self.rfile.readline().decode().strip():
            verb = line.split()[0].lower()
            getattr(self, f"on_{verb}", lambda _: self.say("502 unknown"))(line)
            if verb == "quit":
                return

    def say(self, *lines: str) -> None:
        self.wfile.write("".join(f"{line}\r\n" for line in lines).encode())

    def secure(self) -> None:
        assert self.server.tls is not None
        self.request = self.connection = self.server.tls.wrap_socket(self.request, server_side=True)
        self.setup()

    def finish(self) -> None:
        super().finish()
        self.request.close()  # the server does not know the socket over TLS

    def on_ehlo(self, _: str) -> None:
        can_secure = self.server.tls and not isinstance(self.request, ssl.SSLSocket)
        self.say(
            "250-mail.example", *(["250-STARTTLS"] if can_secure else []), "250-AUTH PLAIN", "250 SMTPUTF8"
        )

    def on_starttls(self, _: str) -> None:
        self.say("220 go on")
        self.secure()

    def on_auth(self, line: str) -> None:
        _, user, password = base64.b64decode(line.split()[2]).decode().split("\0")
        self.has_logged_in = (user, password) == ("posthaste", self.server.password)
        self.say("235 welcome" if self.has_logged_in else "535 wrong")

    def on_mail(self, line: str) -> None:
        self.sender = line
        self.say("250 ok" if self.has_logged_in or not self.server.password else "530 log in")

    def on_rcpt(self, line: str) -> None:
        answers = {"take": "250 ok", "refuse": "550 no such mailbox", "defer": "451 later"}
        self.recipients.append(line.partition("<")[2].partition(">")[0])
        self.say(answers[self.server.behaviour])

    def on_quit(self, _: str) -> None:
        self.say("221 bye")

    def on_rset(self, _: str) -> None:
        self.say("250 ok")

    def on_data(self, _: str) -> None:
        self.say("354 go on")
        lines = []
        while (line := self.rfile.readline()) != b".\r\n":
            lines.append(line.removeprefix(b"."))
        mail = message_from_bytes(b"".join(lines), policy=policy.default)
        self.server.mails.put((self.sender, self.recipients, mail))
        self.say("250 taken")


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
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        return server

    yield start
    for server in servers:
        server.closing.set()
        server.shutdown()
        server.server_close()
