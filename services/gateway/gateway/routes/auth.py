"""POST /auth/signup: outside the base path, without a token."""

from typing import Annotated

from msgspec import Meta

from contracts.accounts import CreateUser
from contracts.errors import EMAIL_TAKEN
from contracts.record import Record
from gateway.addresses import customer_of
from gateway.endpoint import endpoint
from gateway.exchange import Exchange
from gateway.views import SignedUp

#: As accounts has them.
Name = Annotated[str, Meta(max_length=100)]


class SignUp(Record):
    """What a newcomer gives; anything else of an account (its tier) is not theirs to choose."""

    email: Annotated[str, Meta(max_length=254)]
    password: Annotated[str, Meta(min_length=8, max_length=256)]
    firstname: Name = ""
    lastname: Name = ""


@endpoint(
    "POST", "/auth/signup", scope=None, meter="", request=SignUp, result=SignedUp, status=201,
    errors=(EMAIL_TAKEN,), token=False, idempotent=False, outside=True,
)  # fmt: skip
def sign_up(exchange: Exchange, request: SignUp) -> SignedUp:
    """Create an account; its sandbox token is shown this once."""
    exchange.house.signups.take(customer_of(exchange.client_address))
    created = exchange.ask(
        exchange.house.accounts.sign_up,
        CreateUser(
            email=request.email,
            password=request.password,
            firstname=request.firstname,
            lastname=request.lastname,
        ),
    )
    return SignedUp(user=created.user, sandbox_api_token=created.sandbox_api_token)
