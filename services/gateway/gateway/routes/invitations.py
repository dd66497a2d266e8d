"""Invitations to work on a brand, and the web page that the link in their mail opens where there is no dashboard
(outside the base path)."""

from typing import Annotated, Literal

from msgspec import Meta

from chassis.ids import new_id
from contracts.accounts import invitations as api
from contracts.errors import (
    INVALID_CREDENTIALS,
    INVALID_LINK,
    INVALID_TOTP,
    NOT_FOUND,
    SIGNUPS_CLOSED,
    TOTP_REQUIRED,
    ApiError,
)
from contracts.publishing import Limit
from contracts.record import Record
from gateway.browser import invitation_page
from gateway.endpoint import endpoint
from gateway.exchange import Exchange
from gateway.http.answers import Answer
from gateway.http.body import form_of
from gateway.http.client_address import customer_of
from gateway.routes.auth.passwords import Code, NewPassword
from gateway.routes.auth.sessions import TotpCode
from gateway.routes.auth.sign_up import Name

_SCOPE = "manage:brands"
#: The longest field of the form that is passed on: more than the service `accounts` accepts.
_MAX_CHARACTERS = 300


class BrandPath(Record):
    id: str


class BrandInvitations(BrandPath):
    limit: Limit = 100
    cursor: str | None = None


class InvitePerson(BrandPath):
    email: Annotated[str, Meta(max_length=254)]
    #: `limited`: posts, comments and files. `full`: also connects pages, spends AI credits and issues tokens.
    role: Literal["full", "limited"]


class InvitationPath(BrandPath):
    invitation_id: str


class OpenInvitation(Record):
    """A request for the details of an invitation.

    `invitation_id` and `code` are the last two parts of the link in its mail.
    """

    invitation_id: Code
    code: Code


class AcceptInvitation(OpenInvitation):
    """A request to accept an invitation.

    `invitation_id` and `code` are the last two parts of the link in its mail.
    """

    #: The password of the account with the invited address, or of the account that is made now.
    password: NewPassword
    #: Only for an account that is made now.
    firstname: Name = ""
    lastname: Name = ""
    #: A code of the authenticator app or a recovery code, if the account asks for one (TOTP_REQUIRED).
    totp_code: TotpCode | None = None


@endpoint("POST", "/brands/{id}/invitations", scope=_SCOPE, meter="writes", status=201, errors=(NOT_FOUND,))
def invite_person(exchange: Exchange, request: InvitePerson) -> api.Invitation:
    """Invite somebody to work on a brand: a link is mailed to the address, valid once and for a week."""
    invited = api.InvitePerson(brand_id=request.id, email=request.email, role=request.role)
    return exchange.relay(exchange.services.accounts.invite_person, invited)


@endpoint("GET", "/brands/{id}/invitations", scope=_SCOPE, meter="reads", errors=(NOT_FOUND,))
def list_invitations(exchange: Exchange, request: BrandInvitations) -> api.InvitationList:
    """List the invitations to a brand that wait for an answer, newest first."""
    query = api.ListInvitations(brand_id=request.id, limit=request.limit, cursor=request.cursor)
    return exchange.relay(exchange.services.accounts.list_invitations, query)


@endpoint(
    "DELETE", "/brands/{id}/invitations/{invitation_id}", scope=_SCOPE, meter="writes", errors=(NOT_FOUND,)
)
def withdraw_invitation(exchange: Exchange, request: InvitationPath) -> api.InvitationWithdrawn:
    """Withdraw an invitation: its link stops working."""
    withdrawn = api.WithdrawInvitation(brand_id=request.id, id=request.invitation_id)
    return exchange.relay(exchange.services.accounts.withdraw_invitation, withdrawn)


@endpoint(
    "POST", "/auth/invitations/open", scope=None, meter="", token=False, idempotent=False, outside=True,
    errors=(INVALID_LINK,),
)  # fmt: skip
def open_invitation(exchange: Exchange, request: OpenInvitation) -> api.OpenedInvitation:
    """Get the details of an invitation by its link, without accepting it."""
    link = api.InvitationLink(invitation_id=request.invitation_id, code=request.code)
    return exchange.relay(exchange.services.accounts.view_invitation, link)


@endpoint(
    "POST", "/auth/invitations/accept", scope=None, meter="", token=False, idempotent=False, outside=True,
    errors=(INVALID_LINK, INVALID_CREDENTIALS, SIGNUPS_CLOSED, TOTP_REQUIRED, INVALID_TOTP),
)  # fmt: skip
def accept_invitation(exchange: Exchange, request: AcceptInvitation) -> api.AcceptedInvitation:
    """Accept an invitation: with the password of the invited address's account, or with that of a new account."""
    return _accept(exchange, request)


@endpoint(
    "GET", "/auth/invitations/{invitation_id}/{code}", scope=None, meter="", result=str, token=False,
    outside=True,
)  # fmt: skip
def view_invitation(exchange: Exchange, request: api.InvitationLink) -> Answer:
    """Show the web page that the link of an invitation opens. Changes nothing, because mail scanners follow links."""
    try:
        return invitation_page.of(exchange.ask(exchange.services.accounts.view_invitation, request))
    except ApiError as error:
        return invitation_page.of_error(error)


@endpoint(
    "POST", "/auth/invitations/{invitation_id}/{code}", scope=None, meter="", result=str, idempotent=False,
    token=False, outside=True,
)  # fmt: skip
def accept_by_form(exchange: Exchange, request: api.InvitationLink) -> Answer:
    """Accept an invitation; sent by the form of the web page that its link opens."""
    form = {name: value[:_MAX_CHARACTERS] for name, value in form_of(exchange.body).items()}
    accepting = AcceptInvitation(
        invitation_id=request.invitation_id,
        code=request.code,
        password=form.get("password", ""),
        totp_code=form.get("totp_code"),
    )
    try:
        return invitation_page.of_accepted(_accept(exchange, accepting))
    except ApiError as error:
        return invitation_page.of_error(error)


def _accept(exchange: Exchange, request: AcceptInvitation) -> api.AcceptedInvitation:
    exchange.act_as(exchange.caller, new_id("op"))  # if the call is delivered twice, one account is opened
    accepting = api.AcceptInvitation.made_from(request, asker=str(customer_of(exchange.client_address)))
    return exchange.ask(exchange.services.accounts.accept_invitation, accepting)
