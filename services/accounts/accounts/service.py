"""The RPC methods, loops and event handlers of the accounts service: each opens a transaction and delegates."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import wraps
from typing import Any

from nameko.extensions import DependencyProvider

from accounts import audit, brands, collaborators
from accounts.config import AccountsConfig
from accounts.store import Connection
from accounts.tokens import authentication, tokens
from accounts.users import invites, sign_up, users, verification, verification_mails
from chassis.db.database import Database
from chassis.db.operations import forget_old
from chassis.service import DatabaseProvider, loop, on_event, rpc
from contracts import accounts as contract
from contracts.accounts import AccountsApi
from contracts.caller import Caller
from contracts.events import Event
from contracts.record import Nothing


class Settings(DependencyProvider):
    """Provides `self.config`; the service does not start when a setting is missing."""

    def setup(self) -> None:
        self.config = AccountsConfig.from_env()

    def get_dependency(self, _context: Any) -> AccountsConfig:
        return self.config


UseCase = Callable[[Connection, Caller, Any], Any]
Entrypoint = Callable[..., Any]


def _within(
    begin: Callable[[Database], AbstractContextManager[Connection]],
) -> Callable[[UseCase], Entrypoint]:
    """Makes entrypoints of calls that are answered by `use_case(connection, caller, request)`."""

    def entrypoint(use_case: UseCase) -> Entrypoint:
        @wraps(use_case)
        def method(self: "AccountsService", caller: Caller, request: Any) -> Any:
            with begin(self.database) as connection:
                return use_case(connection, caller, request)

        return rpc(method)

    return entrypoint


writing, reading = _within(Database.transaction), _within(Database.reading)


class AccountsService:
    name = "accounts"
    api = AccountsApi
    database = DatabaseProvider()
    config = Settings()

    @rpc
    def sign_up(self, caller: Caller, request: contract.SignUp) -> contract.CreatedUser:
        created = sign_up.sign_up(self.database, self.config, caller, request)
        verification_mails.DUE.wake()
        return created

    @rpc
    def view_verification(self, caller: Caller, request: contract.VerificationLink) -> contract.Verification:
        with self.database.reading() as connection:
            return verification.view(connection, self.config, request)

    @rpc
    def confirm_verification(
        self, caller: Caller, request: contract.ConfirmVerification
    ) -> contract.Verification:
        return verification.confirm(self.database, self.config, request)

    @rpc
    def refuse_verification(
        self, caller: Caller, request: contract.VerificationLink
    ) -> contract.Verification:
        with self.database.transaction() as connection:
            return verification.refuse(connection, self.config, request)

    @rpc
    def create_user(self, caller: Caller, request: contract.CreateUser) -> contract.CreatedUser:
        return users.create_user(self.database, self.config, caller, request)

    verify_user = writing(verification.verify_user)

    @rpc
    def list_unverified(self, caller: Caller, request: Nothing) -> contract.UserList:
        with self.database.reading() as connection:
            return verification.list_unverified(connection, caller)

    @rpc
    def invite_user(self, caller: Caller, request: contract.InviteUser) -> contract.Invite:
        with self.database.transaction() as connection:
            return invites.invite_user(connection, self.config, caller, request)

    get_user = reading(users.get_user)
    list_users = reading(users.list_users)
    change_tier = writing(users.change_tier)

    @rpc
    def authenticate(self, caller: Caller, request: contract.Authenticate) -> contract.Authenticated:
        with self.database.reading() as connection:
            return authentication.authenticate(connection, request)

    @rpc
    def record_use(self, caller: Caller, request: contract.RecordUse) -> Nothing:
        with self.database.transaction() as connection:
            return authentication.record_use(connection, request)

    @rpc
    def create_token(self, caller: Caller, request: contract.CreateToken) -> contract.CreatedToken:
        with self.database.transaction() as connection:
            return tokens.create_token(connection, self.config, caller, request)

    revoke_token = writing(tokens.revoke_token)

    @rpc
    def rotate_token(self, caller: Caller, request: contract.TokenId) -> contract.CreatedToken:
        with self.database.transaction() as connection:
            return tokens.rotate_token(connection, self.config, caller, request)

    get_token = reading(tokens.get_token)
    list_tokens = reading(tokens.list_tokens)
    set_token_use = writing(tokens.set_token_use)
    create_brand = writing(brands.create_brand)
    list_brands = reading(brands.list_brands)
    get_brand = reading(brands.get_brand)
    get_brand_owner = reading(brands.get_brand_owner)
    set_collaborator = writing(collaborators.set_collaborator)
    remove_collaborator = writing(collaborators.remove_collaborator)
    list_audit = reading(audit.list_audit)
    record_audit = writing(audit.record_audit)

    @loop(
        interval_seconds=5.0,
        deadline_seconds=verification_mails.ATTEMPT_SECONDS,
        woken_by=verification_mails.DUE,
    )
    def send_verification_mails(self) -> int:
        return verification_mails.send_next(self.database, self.config)

    @loop(interval_seconds=60.0)
    def forget_operations(self) -> int:
        return forget_old(self.database)

    @loop(interval_seconds=600.0)
    def forget_unverified(self) -> int:
        with self.database.transaction() as connection:
            return verification.forget(connection)

    @on_event("posts.held")
    def on_posts_held(self, connection: Connection, event: Event) -> None:
        audit.note_posts_held(connection, event)

    @on_event("posts.hold.ended")
    def on_posts_hold_ended(self, connection: Any, event: Event) -> None:
        audit.note_hold_ended(connection, event)

    @on_event("webhooks.disabled")
    def on_webhooks_disabled(self, connection: Connection, event: Event) -> None:
        audit.note_webhooks_disabled(connection, event)
