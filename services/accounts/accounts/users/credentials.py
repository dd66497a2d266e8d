"""Checks the password of an account, and the code of its second factor if its owner has turned that on.

Nobody can tell from an answer, or from the time it takes, whether an address has an account.
"""

from accounts.config import AccountsConfig
from accounts.store import Connection
from accounts.store.sign_up_tries import TryStore
from accounts.store.users import UserStore
from accounts.users import limits, passwords, totp
from chassis.db.database import Database
from contracts.errors import INVALID_CREDENTIALS, TOTP_REQUIRED, ApiError
from contracts.record import Record


class Proof(Record):
    """Shows that a person knows the password of an account: the account's id, and its password hash at the time of the
    check.
    """

    user_id: str
    password_hash: str


def check(
    database: Database,
    config: AccountsConfig,
    *,
    email: str,
    password: str,
    totp_code: str | None,
    asker: str,
) -> Proof:
    """Checks the password of the account with this address, and the code of its second factor. Returns the account's id
    and password hash.

    The attempt is counted first, for the client's network (`asker`) and for the address. After a success the counts for
    the address are taken back, so only failures count there.

    Raises INVALID_CREDENTIALS or RATE_LIMITED, which reveal nothing about the address. If the password is right, it may
    raise TOTP_REQUIRED, which does not count as a failed attempt, or INVALID_TOTP, which does.
    """
    with database.reading() as connection:
        counted = limits.count_login(connection, config, asker, email)
        user_id, password_hash = UserStore(connection).password_of(email)
    is_right = passwords.matches_somebodys(password_hash, password)
    if user_id is None or password_hash is None or not is_right:
        raise ApiError(INVALID_CREDENTIALS)
    try:
        with database.transaction() as connection:
            totp.check(connection, config, user_id, totp_code)
            TryStore(connection).give_back(counted)
    except ApiError as error:
        if error.row is TOTP_REQUIRED:
            with database.reading() as connection:
                TryStore(connection).give_back(counted)
        raise
    return Proof(user_id=user_id, password_hash=password_hash)


def check_unchanged(connection: Connection, proof: Proof) -> None:
    """Checks that the account still has the password for which `proof` was made. Call it in the transaction that relies
    on the proof. Raises INVALID_CREDENTIALS if the password was changed meanwhile.
    """
    if UserStore(connection).password_hash(proof.user_id) != proof.password_hash:
        raise ApiError(INVALID_CREDENTIALS)
