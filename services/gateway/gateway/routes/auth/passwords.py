"""Routes for passwords and for confirming an e-mail address, all of them outside the API's base path.

A reset link opens a web page of this module. The web page that confirms an e-mail address is in `sign_up.py`.
"""

from typing import Annotated

from msgspec import Meta

from contracts.accounts import ConfirmVerification, Verification, VerificationLink, sign_in
from contracts.errors import INVALID_LINK, NOT_FOUND, ApiError
from contracts.record import Record
from gateway.browser import reset_page
from gateway.endpoint import endpoint
from gateway.exchange import Exchange
from gateway.http.answers import Answer
from gateway.http.body import form_of
from gateway.http.client_address import customer_of
from gateway.routes.auth.sessions import SCOPE

#: The longest password that is passed on: more than the service `accounts` accepts.
_MAX_CHARACTERS = 300
#: The same limits as in the service `accounts`.
NewPassword = Annotated[str, Meta(min_length=8, max_length=256)]
Password = Annotated[str, Meta(max_length=256)]
Code = Annotated[str, Meta(max_length=100)]


class ForgottenPassword(Record):
    email: Annotated[str, Meta(max_length=254)]


class ResetRequested(Record):
    """The answer to every request for a reset link, whether or not the address has an account."""

    success: bool


class ResetPassword(Record):
    """A request to set a new password. `reset_id` and `code` are in the link: /auth/reset/{reset_id}/{code}."""

    reset_id: Code
    code: Code
    password: NewPassword


class ChangePassword(Record):
    current_password: Password
    new_password: NewPassword


class OpenVerification(Record):
    """`user_id` and `code` are in the link of a verification mail: /auth/verify/{user_id}/{code}."""

    user_id: Code
    code: Code


class OpenedVerification(Record):
    """What the link of a verification mail confirms."""

    #: Null once it is confirmed: the account may have another address since, which the reader of this mailbox must not
    #: learn.
    email: str | None
    verified: bool


class VerifyEmail(Record):
    """A request to confirm an address. `user_id` and `code` are in the link: /auth/verify/{user_id}/{code}."""

    user_id: Code
    code: Code
    password: Password


@endpoint(
    "POST",
    "/auth/password/forgot",
    scope=None,
    meter="",
    status=202,
    token=False,
    idempotent=False,
    outside=True,
)
def forgot_password(exchange: Exchange, request: ForgottenPassword) -> ResetRequested:
    """Mail a link that resets the password, if the address has an account."""
    asked = sign_in.RequestReset(email=request.email, asker=str(customer_of(exchange.client_address)))
    exchange.ask(exchange.services.accounts.request_reset, asked)
    return ResetRequested(success=True)


@endpoint(
    "POST", "/auth/password/reset", scope=None, meter="", errors=(INVALID_LINK,), token=False, idempotent=False,
    outside=True,
)  # fmt: skip
def reset_password(exchange: Exchange, request: ResetPassword) -> sign_in.PasswordReset:
    """Set a new password with a reset link, which works once. Every session ends."""
    return exchange.ask(
        exchange.services.accounts.reset_password,
        sign_in.ResetPassword(reset_id=request.reset_id, code=request.code, password=request.password),
    )


@endpoint("POST", "/auth/password/change", scope=SCOPE, meter="writes", outside=True)
def change_password(exchange: Exchange, request: ChangePassword) -> sign_in.PasswordChanged:
    """Change the password. Every other session ends."""
    changed = sign_in.ChangePassword(
        current_password=request.current_password, new_password=request.new_password
    )
    return exchange.ask(exchange.services.accounts.change_password, changed)


@endpoint(
    "POST", "/auth/email/verify", scope=None, meter="", errors=(NOT_FOUND,), token=False, idempotent=False,
    outside=True,
)  # fmt: skip
def verify_email(exchange: Exchange, request: VerifyEmail) -> Verification:
    """Confirm an e-mail address with the link of the mail and the password of the sign-up."""
    confirmed = ConfirmVerification(user_id=request.user_id, code=request.code, password=request.password)
    return exchange.ask(exchange.services.accounts.confirm_verification, confirmed)


@endpoint(
    "POST", "/auth/email/verify/open", scope=None, meter="", errors=(NOT_FOUND,), token=False, idempotent=False,
    outside=True,
)  # fmt: skip
def open_verification(exchange: Exchange, request: OpenVerification) -> OpenedVerification:
    """Get the e-mail address that the link of a verification mail confirms, without confirming it."""
    link = VerificationLink(user_id=request.user_id, code=request.code)
    found = exchange.ask(exchange.services.accounts.view_verification, link)
    return OpenedVerification(email=None if found.verified else found.email, verified=found.verified)


@endpoint("GET", "/auth/reset/{reset_id}/{code}", scope=None, meter="", result=str, token=False, outside=True)
def view_reset(exchange: Exchange, request: sign_in.ResetLink) -> Answer:
    """Show the web page that a reset link opens. Changes nothing, because mail scanners follow links."""
    try:
        return reset_page.of(exchange.ask(exchange.services.accounts.view_reset, request))
    except ApiError as error:
        return reset_page.of_error(error)


@endpoint(
    "POST", "/auth/reset/{reset_id}/{code}", scope=None, meter="", result=str, idempotent=False, token=False,
    outside=True,
)  # fmt: skip
def reset_by_form(exchange: Exchange, request: sign_in.ResetLink) -> Answer:
    """Set a new password; sent by the form of the web page that a reset link opens."""
    password = form_of(exchange.body).get("password", "")[:_MAX_CHARACTERS]
    reset = sign_in.ResetPassword(reset_id=request.reset_id, code=request.code, password=password)
    try:
        return reset_page.of_reset(exchange.ask(exchange.services.accounts.reset_password, reset))
    except ApiError as error:
        return reset_page.of_error(error)
