"""Invites: single-use codes from the operator, each for one sign-up with one address.

The operator vouches for the invited person, as with `user verify`: the account is verified at once.
"""

from accounts import derived_secrets, fields
from accounts.config import AccountsConfig
from accounts.store import Connection
from accounts.store.invites import InviteRow, InviteStore
from accounts.store.users import UserStore
from chassis.ids import new_id
from contracts.accounts import Invite, InviteUser
from contracts.caller import Caller
from contracts.errors import EMAIL_TAKEN, INVITE_REQUIRED, ApiError

#: How long a code is valid: as long as an unverified account waits.
DAYS = 7


def invite_user(
    connection: Connection, config: AccountsConfig, caller: Caller, request: InviteUser
) -> Invite:
    """Makes a new code with which this address can sign up once. An earlier code of the address becomes invalid.

    Repeating the operation returns the same code. Raises EMAIL_TAKEN when a verified account has the address.
    """
    caller.check_operator()
    email = fields.email(request.email)
    holder = UserStore(connection).find_by_email(email)
    if holder is not None and holder.verified:
        raise ApiError(EMAIL_TAKEN)
    store = InviteStore(connection)
    put = store.put(email=email, id=new_id("inv"), days=DAYS, operation_id=caller.operation_id)
    made = put or store.find(email)
    assert made is not None, "an expired invite is replaced"
    return Invite(email=email, code=derived_secrets.invite_code(config, made.id), expires_at=made.expires_at)


def check(connection: Connection, config: AccountsConfig, email: str, code: str) -> InviteRow:
    """Returns the unexpired invite of an address. Raises INVITE_REQUIRED if there is none, or if `code` is not its
    code.
    """
    found = InviteStore(connection).find(email)
    if found is None or not derived_secrets.is_code(derived_secrets.invite_code(config, found.id), code):
        raise ApiError(INVITE_REQUIRED)
    return found


def use(connection: Connection, config: AccountsConfig, email: str, code: str) -> None:
    """Uses up the code in the transaction of the sign-up, so that it opens only one account. Raises INVITE_REQUIRED if
    it is not valid any more.
    """
    if not InviteStore(connection).use(email, check(connection, config, email, code).id):
        raise ApiError(INVITE_REQUIRED)
