"""Shows a person the sandbox token of their account again (docs/spec.md, "Authentication", item 7)."""

from accounts import access, derived_secrets, fields
from accounts.config import AccountsConfig
from accounts.store import Connection
from accounts.store.tokens import TokenStore
from accounts.users import sessions
from chassis.tokens import hash_token
from contracts.accounts import SandboxToken
from contracts.caller import Caller
from contracts.errors import invalid
from contracts.record import Nothing


def get_sandbox_token(
    connection: Connection, config: AccountsConfig, caller: Caller, request: Nothing
) -> SandboxToken:
    """Returns the value of the sandbox token, derived anew, to the account's own session.

    Raises COLLABORATOR_INSUFFICIENT for a collaborator and VALIDATION_ERROR for an API token. Raises NOT_FOUND if the
    token was revoked, and if TOKEN_SECRET has changed since it was issued: its value can then no longer be derived.
    """
    access.check_owner(caller)
    if not sessions.is_session(caller):
        raise invalid("token", "is an API token: only a person who is signed in is shown the sandbox token")
    plain = derived_secrets.sandbox_token(config, caller.account_id)
    if not TokenStore(connection).is_unrevoked(caller.account_id, hash_token(plain)):
        raise fields.not_found()
    return SandboxToken(sandbox_api_token=plain)
