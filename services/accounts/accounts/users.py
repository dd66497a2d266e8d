"""Users: sign-up with the sandbox token of every new account, and the plan of an account."""

from accounts import access, fields, minting, passwords
from accounts.config import AccountsConfig
from accounts.scopes import SANDBOX_SCOPES
from accounts.store import Connection
from accounts.store.tokens import TokenStore
from accounts.store.users import UserStore
from chassis.database import Database
from chassis.ids import new_id
from chassis.tokens import SHOWN_LENGTH, hash_token
from contracts.accounts import ChangeTier, CreatedUser, CreateUser, GetUser, User
from contracts.caller import Caller
from contracts.errors import EMAIL_TAKEN, IDEMPOTENCY_KEY_MISMATCH, MISSING_FIELD, ApiError


def sign_up(database: Database, config: AccountsConfig, caller: Caller, request: CreateUser) -> CreatedUser:
    """Anybody's own account: with a password, on the free tier. Raises EMAIL_TAKEN."""
    if request.password is None:
        raise ApiError(MISSING_FIELD, field="password")
    return _create(database, config, caller, request, tier="free")


def create_user(
    database: Database, config: AccountsConfig, caller: Caller, request: CreateUser
) -> CreatedUser:
    """The operator's: of any tier, and perhaps without a password. Raises EMAIL_TAKEN."""
    caller.check_operator()
    return _create(database, config, caller, request, tier=fields.tier(request.tier))


def _create(
    database: Database, config: AccountsConfig, caller: Caller, request: CreateUser, *, tier: str
) -> CreatedUser:
    profile = {
        "email": fields.email(request.email),
        "firstname": fields.text("firstname", request.firstname.strip(), max_length=fields.MAX_NAME_LENGTH),
        "lastname": fields.text("lastname", request.lastname.strip(), max_length=fields.MAX_NAME_LENGTH),
    }
    password = None if request.password is None else fields.password(request.password)
    with database.reading() as connection:  # before the costly hash; decided for good by the insert below
        user = _repeated(UserStore(connection), caller, profile["email"])
    if user is None:
        password_hash = None if password is None else passwords.hash_password(password)
        with database.transaction() as connection:
            user = _add(connection, config, caller, {**profile, "tier": tier, "password_hash": password_hash})
    return CreatedUser(user=user, sandbox_api_token=minting.sandbox_token(config, user.id))


def _repeated(store: UserStore, caller: Caller, email: str) -> User | None:
    """The user this very operation has made already; None when there is neither that nor the address."""
    taken = store.find_by_email(email) is not None  # first: else a twin that commits in between takes it
    made = store.find_by_operation(caller.operation_id) if caller.operation_id else None
    if made is None and taken:
        raise ApiError(EMAIL_TAKEN)
    if made is not None and made.email != email:
        raise ApiError(IDEMPOTENCY_KEY_MISMATCH)
    return made


def _add(
    connection: Connection, config: AccountsConfig, caller: Caller, values: dict[str, str | None]
) -> User:
    store = UserStore(connection)
    user = store.add(id=new_id("usr"), operation_id=caller.operation_id, **values)
    if user is None:  # another call was first, with the same address or operation
        repeated = _repeated(store, caller, str(values["email"]))
        assert repeated is not None, "users are never deleted"
        return repeated
    plain = minting.sandbox_token(config, user.id)
    TokenStore(connection).add(
        id=new_id("tok"),
        account_id=user.id,
        token_sha256=hash_token(plain),
        name="Sandbox",
        prefix=plain[:SHOWN_LENGTH],
        scopes=list(SANDBOX_SCOPES),
        brand_ids=[],
        ip_allowlist=[],
        sandbox=True,
    )
    return user


def get_user(connection: Connection, caller: Caller, request: GetUser) -> User:
    """The caller himself or the account he acts on; anyone for the operator. Raises NOT_FOUND."""
    if not caller.is_operator and request.user_id not in (caller.user_id, caller.account_id):
        raise fields.not_found()
    user = UserStore(connection).find(fields.known_id(request.user_id))
    if user is None:
        raise fields.not_found()
    return user


def change_tier(connection: Connection, caller: Caller, request: ChangeTier) -> User:
    """Holds from the next request on. Active keys above a lower tier's limit live on; no new one is made."""
    caller.check_operator()
    tier = fields.tier(request.tier)
    access.lock_account(connection, request.user_id)
    user = UserStore(connection).set_tier(request.user_id, tier)
    assert user is not None, "locked above"
    access.tell_caller_changed(connection, user.id)
    access.tell_account_changed(connection, user)
    return user
