"""A mail server on the loopback."""

import base64
import queue
import socketserver
import ssl
import threading
from email import message_from_bytes, policy
from email.message import EmailMessage
from pathlib import Path


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
