"""Sending one mail to the operator's mail server."""

from collections.abc import Callable
from email.message import EmailMessage
from pathlib import Path
from typing import Any

import pytest

from accounts.config import SmtpConfig
from accounts.users import smtp


def config(server: Any, **changes: Any) -> SmtpConfig:
    values: dict[str, Any] = {
        "host": "localhost",
        "port": server.port,
        "security": "none",
        "username": "",
        "password": "",
        "sender": "Posthaste <no-reply@posthaste.test>",
    }
    return SmtpConfig(**values | changes)


def mail(to: str = "ann@example.com") -> EmailMessage:
    made = EmailMessage()
    made["From"], made["To"], made["Subject"] = "Posthaste <no-reply@posthaste.test>", to, "Confirm"
    made.set_content("hello\n")
    return made


@pytest.mark.parametrize("to", ["ann@example.com", "änn@example.com"])
def test_a_mail_is_taken_by_the_server(mail_server: Callable[..., Any], to: str) -> None:
    server = mail_server()
    smtp.send(config(server), mail(to))
    sender, recipients, taken = server.mails.get(timeout=30)
    assert (sender, recipients, taken.get_content()) == ("no-reply@posthaste.test", [to], "hello\r\n")


@pytest.mark.parametrize("security", ["starttls", "tls"])
def test_over_tls_it_logs_in(
    mail_server: Callable[..., Any],
    certificate_for: Callable[[str], Path],
    monkeypatch: pytest.MonkeyPatch,
    security: str,
) -> None:
    certificate = certificate_for("localhost")
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    server = mail_server("take", certificate, implicit=security == "tls", password="secret")
    smtp.send(config(server, security=security, username="posthaste", password="secret"), mail())
    assert server.mails.get(timeout=30)[1] == ["ann@example.com"]


def test_a_renewed_authority_is_trusted_without_a_restart(
    mail_server: Callable[..., Any],
    certificate_for: Callable[[str], Path],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    trusted = tmp_path / "authority.pem"
    trusted.write_bytes(certificate_for("localhost").read_bytes())
    monkeypatch.setenv("SSL_CERT_FILE", str(trusted))
    renewed = certificate_for("localhost")
    server = mail_server("take", renewed)
    with pytest.raises(smtp.MailDelayed):
        smtp.send(config(server, security="starttls"), mail())
    fresh = tmp_path / "renewed.pem"
    fresh.write_bytes(renewed.read_bytes())
    fresh.replace(trusted)
    smtp.send(config(server, security="starttls"), mail())
    assert server.mails.get(timeout=30)[1] == ["ann@example.com"]


@pytest.mark.parametrize("security", ["starttls", "tls"])
def test_a_server_that_cannot_prove_its_name_gets_neither_password_nor_mail(
    mail_server: Callable[..., Any], certificate_for: Callable[[str], Path], security: str
) -> None:
    server = mail_server("take", certificate_for("localhost"), implicit=security == "tls", password="secret")
    with pytest.raises(smtp.MailDelayed):
        smtp.send(config(server, security=security, username="posthaste", password="secret"), mail())
    assert server.mails.empty()


def test_a_server_without_starttls_gets_no_mail_in_clear(mail_server: Callable[..., Any]) -> None:
    server = mail_server()
    with pytest.raises(smtp.MailDelayed):
        smtp.send(config(server, security="starttls"), mail())
    assert server.mails.empty()


def test_a_recipient_refused_for_good_is_told_from_one_that_may_be_taken_later(
    mail_server: Callable[..., Any],
) -> None:
    with pytest.raises(smtp.MailRefused):
        smtp.send(config(mail_server("refuse")), mail())
    with pytest.raises(smtp.MailDelayed):
        smtp.send(config(mail_server("defer")), mail())


def test_a_server_that_never_answers_or_is_not_there_delays_the_mail(
    mail_server: Callable[..., Any], free_port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(smtp, "_WAIT_SECONDS", 0.2)
    silent = mail_server("silent")
    with pytest.raises(smtp.MailDelayed):
        smtp.send(config(silent), mail())
    with pytest.raises(smtp.MailDelayed):
        smtp.send(config(silent, port=free_port), mail())
