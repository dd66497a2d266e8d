"""The second factor of a sign-in: codes of an authenticator app. Outside the base path."""

from typing import Annotated

from msgspec import Meta

from contracts.accounts import sign_in
from contracts.errors import TOTP_ALREADY_ON
from contracts.record import Nothing, Record
from gateway.endpoint import endpoint
from gateway.exchange import Exchange
from gateway.routes.auth.passwords import Password
from gateway.routes.auth.sessions import SCOPE, TotpCode


class BeginTotp(Record):
    password: Password


class ConfirmTotp(Record):
    #: A code that the authenticator app shows.
    totp_code: Annotated[TotpCode, Meta(min_length=1)]


class DisableTotp(Record):
    password: Password
    #: A code of the authenticator app or a recovery code.
    totp_code: Annotated[TotpCode, Meta(min_length=1)]


@endpoint("GET", "/auth/totp", scope=SCOPE, meter="reads", outside=True)
def get_totp(exchange: Exchange, _request: Nothing) -> sign_in.Totp:
    """Get whether signing in needs a code of an authenticator app."""
    return exchange.relay(exchange.services.accounts.get_totp, Nothing())


@endpoint(
    "POST", "/auth/totp", scope=SCOPE, meter="writes", status=201, errors=(TOTP_ALREADY_ON,), outside=True,
    shows_secret=True,
)  # fmt: skip
def begin_totp(exchange: Exchange, request: BeginTotp) -> sign_in.BegunTotp:
    """Make the secret of an authenticator app. Signing in stays as it is until a code is confirmed."""
    return exchange.relay(exchange.services.accounts.begin_totp, sign_in.BeginTotp(password=request.password))


@endpoint(
    "POST", "/auth/totp/confirm", scope=SCOPE, meter="writes", errors=(TOTP_ALREADY_ON,), outside=True,
    shows_secret=True,
)  # fmt: skip
def confirm_totp(exchange: Exchange, request: ConfirmTotp) -> sign_in.TotpEnabled:
    """Turn the second factor on with a code of the app; the recovery codes are shown only in this answer."""
    confirmed = sign_in.ConfirmTotp(totp_code=request.totp_code)
    return exchange.relay(exchange.services.accounts.confirm_totp, confirmed)


@endpoint("POST", "/auth/totp/disable", scope=SCOPE, meter="writes", outside=True)
def disable_totp(exchange: Exchange, request: DisableTotp) -> sign_in.TotpDisabled:
    """Turn the second factor off: signing in needs no code any more."""
    disabled = sign_in.DisableTotp(password=request.password, totp_code=request.totp_code)
    return exchange.relay(exchange.services.accounts.disable_totp, disabled)
