"""A real process sends verification mails: no call waits for the mail server, and a kill loses no mail."""

import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from msgspec.structs import replace
from sqlalchemy import create_engine, text

from contracts.accounts import ConfirmVerification, CreateBrand, SignUp, UserId, VerificationLink
from contracts.caller import Caller, operator

STRANGER = Caller(account_id="", user_id="")
ANN = SignUp(email="ann@example.com", password="correct horse", asker="192.0.2.1")
LINK = re.compile(r"https://api\.posthaste\.test/auth/verify/(usr_\w+)/(\w+)")
#: What a call may take while the mail server is silent; each of its own waits is longer.
PROMPT_SECONDS = 5.0


def environment(server: Any, **more: str) -> dict[str, str]:
    return {
        "TOKEN_SECRET": "a secret for tests, and a long one",
        "SIGNUPS": "open",
        "PUBLIC_BASE_URL": "https://api.posthaste.test",
        "SMTP_HOST": "localhost",
        "SMTP_PORT": str(server.port),
        "SMTP_SECURITY": "none",
        "MAIL_FROM": "no-reply@posthaste.test",
        **more,
    }


def link_in(mail: Any) -> tuple[str, str]:
    found = LINK.search(mail.get_content())
    assert found
    return found[1], found[2]


def test_from_sign_up_by_mail_and_password_to_the_first_brand(
    running_service: Callable[..., Any],
    mail_server: Callable[..., Any],
    certificate_for: Callable[[str], Path],
) -> None:
    certificate = certificate_for("localhost")
    server = mail_server("take", certificate, password="secret")
    login = {"SMTP_SECURITY": "starttls", "SMTP_USERNAME": "posthaste", "SMTP_PASSWORD": "secret"}
    service = running_service("accounts", environment(server, SSL_CERT_FILE=str(certificate), **login))
    created = service.sign_up(STRANGER, ANN)
    _, recipients, mail = server.mails.get(timeout=20)
    user_id, code = link_in(mail)
    assert (recipients, user_id) == (["ann@example.com"], created.user.id)
    assert not service.view_verification(STRANGER, VerificationLink(user_id=user_id, code=code)).verified
    confirmed = ConfirmVerification(user_id=user_id, code=code, password=ANN.password)
    assert service.confirm_verification(STRANGER, confirmed).verified
    assert service.create_brand(operator(), CreateBrand(user_id=user_id, name="Acme"))


def test_a_silent_mail_server_holds_up_nothing_and_a_kill_meanwhile_loses_no_mail(
    running_service: Callable[..., Any], mail_server: Callable[..., Any]
) -> None:
    silent, server = mail_server("silent"), mail_server()
    service = running_service("accounts", environment(silent))
    begin = time.monotonic()
    created = service.sign_up(STRANGER, ANN)
    assert silent.spoken_to.wait(20)
    service.sign_up(STRANGER, replace(ANN, email="bob@example.com"))
    service.verify_user(operator(), UserId(user_id=created.user.id))
    assert time.monotonic() - begin < PROMPT_SECONDS
    assert silent.mails.empty()
    service.kill()
    with create_engine(service.env["DATABASE_URL"]).begin() as connection:  # the wait is over
        connection.execute(text("UPDATE mails SET next_attempt_at = clock_timestamp()"))
    service.env["SMTP_PORT"] = str(server.port)
    service.restart()
    _, recipients, _ = server.mails.get(timeout=20)
    assert recipients == ["bob@example.com"]  # Ann's address was confirmed meanwhile
