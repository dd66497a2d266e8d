"""Sign-up, and the web page that the link in a verification mail opens: outside the base path, without a token."""

from typing import Annotated

from msgspec import Meta

from chassis.ids import new_id
from contracts.accounts import ConfirmVerification, VerificationLink
from contracts.accounts import SignUp as OpenAccount
from contracts.errors import EMAIL_TAKEN, INVITE_REQUIRED, SIGNUPS_CLOSED, ApiError
from contracts.record import Record
from gateway.browser import verification_page
from gateway.endpoint import endpoint
from gateway.exchange import Exchange
from gateway.http.answers import Answer
from gateway.http.body import form_of
from gateway.http.client_address import customer_of
from gateway.routes.views import SignedUp

#: The longest password that is passed on: more than the service `accounts` accepts.
_MAX_CHARACTERS = 300
#: The same limit as in the service `accounts`.
Name = Annotated[str, Meta(max_length=100)]


class SignUp(Record):
    """A request to open an account, with the fields that a new user chooses. The operator sets the others, such as the
    tier."""

    email: Annotated[str, Meta(max_length=254)]
    password: Annotated[str, Meta(min_length=8, max_length=256)]
    firstname: Name = ""
    lastname: Name = ""
    #: The operator's invite code, where sign-up needs one.
    invite_code: Annotated[str, Meta(max_length=100)] | None = None


@endpoint(
    "POST", "/auth/signup", scope=None, meter="", status=201, errors=(EMAIL_TAKEN, INVITE_REQUIRED, SIGNUPS_CLOSED),
    token=False, idempotent=False, outside=True,
)  # fmt: skip
def sign_up(exchange: Exchange, request: SignUp) -> SignedUp:
    """Create an account. An invite code verifies the address at once; without one, a link is mailed to verify it. The
    dashboard shows the sandbox token again.
    """
    exchange.act_as(exchange.caller, new_id("op"))  # if the call is delivered twice, one account is opened
    created = exchange.ask(
        exchange.services.accounts.sign_up,
        OpenAccount.made_from(request, asker=str(customer_of(exchange.client_address))),
    )
    return SignedUp(user=created.user, sandbox_api_token=created.sandbox_api_token)


@endpoint("GET", "/auth/verify/{user_id}/{code}", scope=None, meter="", result=str, token=False, outside=True)
def view_verification(exchange: Exchange, request: VerificationLink) -> Answer:
    """Show the web page that the link in a verification mail opens. Changes nothing: mail scanners follow links."""
    try:
        return verification_page.of(exchange.ask(exchange.services.accounts.view_verification, request))
    except ApiError as error:
        return verification_page.of_error(error)


@endpoint(
    "POST", "/auth/verify/{user_id}/{code}", scope=None, meter="", result=str, idempotent=False, token=False,
    outside=True,
)  # fmt: skip
def decide_verification(exchange: Exchange, request: VerificationLink) -> Answer:
    """Confirm an address with the sign-up's password, or delete the account; sent by the form of the link's page."""
    form = form_of(exchange.body)
    accounts = exchange.services.accounts
    try:
        if form.get("decision") == "delete":
            return verification_page.of_refused(exchange.ask(accounts.refuse_verification, request))
        password = form.get("password", "")[:_MAX_CHARACTERS]
        confirmed = ConfirmVerification(user_id=request.user_id, code=request.code, password=password)
        return verification_page.of(exchange.ask(accounts.confirm_verification, confirmed))
    except ApiError as error:
        return verification_page.of_error(error)
