"""A mail server (aiosmtpd) that behaves as the test says."""

import asyncio
import queue
import socket
import ssl
import threading
from email import message_from_bytes, policy
from email.message import EmailMessage
from pathlib import Path
from typing import Any

from aiosmtpd.controller import Controller
from aiosmtpd.smtp import SMTP, AuthResult, LoginPassword


class MailServer(Controller):
    """A running mail server. `mails` holds the accepted mails, each with its sender and recipients.

    `behaviour` is take (accepts mails), silent (never answers EHLO), refuse or defer (each recipient). With a
    certificate the server offers STARTTLS or, if `implicit` is set, speaks TLS from the beginning. With a password it
    demands a login.
    """

    def __init__(
        self,
        behaviour: str,
        certificate: Path | None,
        *,
        implicit: bool,
        password: str,
        host: str = "127.0.0.1",
    ) -> None:
        self.behaviour, self.password = behaviour, password
        self.mails: queue.Queue[tuple[str, list[str], EmailMessage]] = queue.Queue()
        self.spoken_to = threading.Event()
        self._connections: list[SMTP] = []
        tls: ssl.SSLContext | None = None
        if certificate is not None:
            tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            tls.load_cert_chain(certificate)
        with socket.socket() as probe:
            probe.bind((host, 0))
            port = int(probe.getsockname()[1])
        super().__init__(
            self,
            host,
            port,
            ssl_context=tls if implicit else None,
            server_hostname="mail.example",
            tls_context=None if implicit else tls,
            auth_require_tls=not implicit,  # aiosmtpd counts STARTTLS alone
            authenticator=self._authenticate,
        )

    def factory(self) -> SMTP:
        made: SMTP = super().factory()  # type: ignore[no-untyped-call]
        self._connections.append(made)
        return made

    def cancel_tasks(self, stop_loop: bool = True) -> None:
        """Closes the open connections too, which aiosmtpd leaves to the garbage collector.

        Stops the loop first: closing may raise, and `stop` would then wait for the loop for ever.
        """
        super().cancel_tasks(stop_loop)
        for connection in self._connections:
            if isinstance(connection.transport, asyncio.WriteTransport):
                connection.transport.abort()

    async def handle_EHLO(self, _: Any, session: Any, __: Any, name: str, lines: list[str]) -> list[str]:
        self.spoken_to.set()
        if self.behaviour == "silent":
            await asyncio.Event().wait()
        session.host_name = name
        return lines

    async def handle_MAIL(self, _: Any, session: Any, envelope: Any, address: str, __: Any) -> str:
        envelope.mail_from = address
        return "250 ok" if session.authenticated or not self.password else "530 log in"

    async def handle_RCPT(self, _: Any, __: Any, envelope: Any, address: str, ___: Any) -> str:
        envelope.rcpt_tos.append(address)
        return {"refuse": "550 no such mailbox", "defer": "451 later"}.get(self.behaviour, "250 ok")

    async def handle_DATA(self, _server: Any, _session: Any, envelope: Any) -> str:
        mail = message_from_bytes(envelope.content, policy=policy.default)
        self.mails.put((envelope.mail_from, envelope.rcpt_tos, mail))
        return "250 taken"

    def _authenticate(self, *asked: Any) -> AuthResult:
        given = asked[-1]
        is_right = given == LoginPassword(b"posthaste", self.password.encode())
        return AuthResult(success=is_right, handled=False)
