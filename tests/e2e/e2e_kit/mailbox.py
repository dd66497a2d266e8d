"""A mail server on the loopback that takes every mail, and the links in them."""

import queue
import re
import socketserver
from email import message_from_bytes, policy
from email.message import EmailMessage


class Mailbox(socketserver.ThreadingTCPServer):
    """Speaks the part of SMTP that accounts uses with SMTP_SECURITY=none. `with` closes it."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.mails: queue.Queue[EmailMessage] = queue.Queue()

    @property
    def settings(self) -> dict[str, str]:
        """The environment of a stack that sends its mails here."""
        return {
            "SMTP_HOST": "127.0.0.1",
            "SMTP_PORT": str(self.server_address[1]),
            "SMTP_SECURITY": "none",
            "MAIL_FROM": "no-reply@posthaste.test",
        }

    def link(self, to: str, seconds: float = 30.0) -> str:
        """Returns the link in the next mail to `to`."""
        while (mail := self.mails.get(timeout=seconds))["To"] != to:
            continue
        [link] = re.findall(r"^https?://\S+", mail.get_content(), re.MULTILINE)
        return str(link)


class _Handler(socketserver.StreamRequestHandler):
    server: Mailbox

    def handle(self) -> None:
        self._say("220 ready")
        while line := self.rfile.readline().decode().strip().lower():
            if line.startswith("data"):
                self._say("354 go on")
                lines = list(iter(self.rfile.readline, b".\r\n"))
                content = b"".join(one.removeprefix(b".") for one in lines)
                self.server.mails.put(message_from_bytes(content, policy=policy.default))  # type: ignore[arg-type]
            self._say("250 SMTPUTF8" if line.startswith("ehlo") else "250 ok")
            if line.startswith("quit"):
                return

    def _say(self, line: str) -> None:
        self.wfile.write(f"{line}\r\n".encode())
