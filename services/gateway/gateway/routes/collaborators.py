"""The people who work on a brand besides its owner. Only the owner manages them."""

from typing import Literal

from contracts import accounts as api
from contracts.errors import NOT_FOUND
from contracts.publishing import Limit
from contracts.record import Record
from gateway.endpoint import endpoint
from gateway.exchange import Exchange

_SCOPE = "manage:brands"


class BrandCollaborators(Record):
    id: str
    limit: Limit = 50
    cursor: str | None = None


class CollaboratorPath(Record):
    id: str
    user_id: str


class EditedCollaborator(CollaboratorPath, kw_only=True):
    """A request to change a role. With `limited`, requests with the person's tokens fail with
    COLLABORATOR_INSUFFICIENT."""

    role: Literal["full", "limited"]


class RemovedCollaborator(CollaboratorPath, kw_only=True):
    """A request to remove a collaborator. With `keep`, their subscriptions stay active, and their posts stay queued."""

    keep: bool = False


class CollaboratorRemoved(Record):
    success: bool
    user_id: str


@endpoint("GET", "/brands/{id}/collaborators", scope=_SCOPE, meter="reads", errors=(NOT_FOUND,))
def list_collaborators(exchange: Exchange, request: BrandCollaborators) -> api.CollaboratorList:
    """List the people who work on a brand, newest first."""
    query = api.ListCollaborators(brand_id=request.id, limit=request.limit, cursor=request.cursor)
    return exchange.relay(exchange.services.accounts.list_collaborators, query)


@endpoint("PATCH", "/brands/{id}/collaborators/{user_id}", scope=_SCOPE, meter="writes", errors=(NOT_FOUND,))
def edit_collaborator(exchange: Exchange, request: EditedCollaborator) -> api.Collaborator:
    """Change the role of a collaborator."""
    edited = api.SetCollaborator(brand_id=request.id, user_id=request.user_id, role=request.role)
    return exchange.relay(exchange.services.accounts.set_collaborator, edited)


@endpoint("DELETE", "/brands/{id}/collaborators/{user_id}", scope=_SCOPE, meter="writes", errors=(NOT_FOUND,))
def remove_collaborator(exchange: Exchange, request: RemovedCollaborator) -> CollaboratorRemoved:
    """Remove a collaborator and revoke the tokens they issued. Their queued posts are held, unless `keep` is true."""
    removed = api.RemoveCollaborator(brand_id=request.id, user_id=request.user_id, keep=request.keep)
    exchange.ask(exchange.services.accounts.remove_collaborator, removed)
    return CollaboratorRemoved(success=True, user_id=request.user_id)
