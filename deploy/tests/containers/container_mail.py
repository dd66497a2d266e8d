"""A mail server on this machine that demands a login, and the settings with which the containers use it."""

import json
from collections.abc import Iterator
from contextlib import contextmanager

from local.containers.compose import Composed
from testkit.fixtures import certificate_of
from testkit.mail_server import MailServer

NAME = "mail.bakery.test"


@contextmanager
def mail_server(stack: Composed) -> Iterator[MailServer]:
    """Runs a mail server and sets it as that of the accounts service, until the block ends. It refuses every login
    until its `password` is set. The containers get changed settings when they are renewed.
    """
    folder = stack.run / "mail"
    folder.mkdir(exist_ok=True)
    certificate = certificate_of(folder, NAME)
    authority, override = folder / "authority.pem", folder / "mail.yml"
    authority.write_text(
        "-----BEGIN CERTIFICATE" + certificate.read_text().split("-----BEGIN CERTIFICATE")[1]
    )
    told = {
        "environment": {"SSL_CERT_FILE": "/mail-authority.pem"},
        "extra_hosts": [f"{NAME}:{stack.receiver_host()}"],
        "volumes": [f"{authority}:/mail-authority.pem:ro"],
    }
    override.write_text(json.dumps({"services": {"accounts": told}}))  # JSON is YAML
    server = MailServer("take", certificate, implicit=False, password="?", host=stack.receiver_host())
    server.start()
    stack.set(
        {
            "COMPOSE_FILE": f"docker-compose.yml:{override}",
            "SMTP_HOST": NAME,
            "SMTP_PORT": str(server.port),
            "SMTP_USERNAME": "posthaste",
            "MAIL_FROM": f"no-reply@{NAME}",
        }
    )
    try:
        yield server
    finally:
        server.stop()
        stack.set({"COMPOSE_FILE": "docker-compose.yml", "SMTP_HOST": ""})
