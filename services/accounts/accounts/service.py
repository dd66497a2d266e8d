"""The RPC methods, loops and event handlers of the accounts service: each opens a transaction and delegates."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import wraps
from typing import Any

from nameko.extensions import DependencyProvider

from accounts import audit, brands, collaborators, invitations
from accounts.config import AccountsConfig
from accounts.store import Connection
from accounts.store.mails import QUEUED
from accounts.tokens import authentication, own_tokens, tokens
from accounts.users import (
    brand_sessions,
    email_changes,
    invites,
    mails,
    password_changes,
    sessions,
    sign_up,
    totp,
    users,
    verification,
)
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


class AccountsDatabase(DatabaseProvider):
    """Provides `self.database`. A commit that queued a mail wakes the loop that sends it."""

    def setup(self) -> None:
        super().setup()
        assert self.database is not None
        self.database.on_commit(QUEUED, mails.DUE.wake)


UseCase = Callable[[Connection, Caller, Any], Any]
Entrypoint = Callable[..., Any]


def _within(
    begin: Callable[[Database], AbstractContextManager[Connection]],
) -> Callable[[UseCase], Entrypoint]:
    """Makes decorators of use cases `(connection, caller, request)`: each becomes an RPC method.

    `begin` opens the connection.
    """

    def entrypoint(use_case: UseCase) -> Entrypoint:
        @wraps(use_case)
        def method(self: "AccountsService", caller: Caller, request: Any) -> Any:
            with begin(self.database) as connection:
                return use_case(connection, caller, request)

        return rpc(method)

    return entrypoint


writing, reading = _within(Database.transaction), _within(Database.reading)


def configured(use_case: Callable[[Connection, AccountsConfig, Caller, Any], Any]) -> Entrypoint:
    """Makes the RPC method that answers calls with `use_case(connection, config, caller, request)`."""

    @wraps(use_case)
    def method(self: "AccountsService", caller: Caller, request: Any) -> Any:
        with self.database.transaction() as connection:
            return use_case(connection, self.config, caller, request)

    return rpc(method)


class AccountsService:
    name = "accounts"
    api = AccountsApi
    database = AccountsDatabase()
    config = Settings()

    @rpc
    def sign_up(self, caller: Caller, request: contract.SignUp) -> contract.CreatedUser:
        return sign_up.sign_up(self.database, self.config, caller, request)

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

    make_verification_link = configured(verification.make_verification_link)

    @rpc
    def create_user(self, caller: Caller, request: contract.CreateUser) -> contract.CreatedUser:
        return users.create_user(self.database, self.config, caller, request)

    verify_user = writing(verification.verify_user)

    @rpc
    def list_unverified(self, caller: Caller, request: Nothing) -> contract.UserList:
        with self.database.reading() as connection:
            return verification.list_unverified(connection, caller)

    invite_user = configured(invites.invite_user)

    @rpc
    def log_in(self, caller: Caller, request: contract.LogIn) -> contract.LoggedIn:
        return sessions.log_in(self.database, self.config, request)

    log_out = writing(sessions.log_out)
    list_sessions = reading(sessions.list_sessions)
    end_session = writing(sessions.end_session)
    list_shared_brands = reading(brand_sessions.list_shared_brands)
    enter_brand = writing(brand_sessions.enter_brand)

    get_totp = reading(totp.get_totp)

    @rpc
    def begin_totp(self, caller: Caller, request: contract.BeginTotp) -> contract.BegunTotp:
        return totp.begin_totp(self.database, self.config, caller, request)

    @rpc
    def confirm_totp(self, caller: Caller, request: contract.ConfirmTotp) -> contract.TotpEnabled:
        return totp.confirm_totp(self.database, self.config, caller, request)

    @rpc
    def disable_totp(self, caller: Caller, request: contract.DisableTotp) -> contract.TotpDisabled:
        return totp.disable_totp(self.database, self.config, caller, request)

    turn_off_totp = writing(totp.turn_off_totp)

    @rpc
    def request_reset(self, caller: Caller, request: contract.RequestReset) -> Nothing:
        return password_changes.request_reset(self.database, self.config, request)

    make_reset_link = configured(password_changes.make_reset_link)

    @rpc
    def view_reset(self, caller: Caller, request: contract.ResetLink) -> contract.PasswordReset:
        with self.database.reading() as connection:
            return password_changes.view_reset(connection, self.config, request)

    @rpc
    def reset_password(self, caller: Caller, request: contract.ResetPassword) -> contract.PasswordReset:
        return password_changes.reset_password(self.database, self.config, request)

    @rpc
    def change_password(self, caller: Caller, request: contract.ChangePassword) -> contract.PasswordChanged:
        return password_changes.change_password(self.database, caller, request)

    @rpc
    def change_email(self, caller: Caller, request: contract.ChangeEmail) -> contract.EmailChangeRequested:
        return email_changes.change_email(self.database, self.config, caller, request)

    get_email_change = reading(email_changes.get_email_change)
    cancel_email_change = writing(email_changes.cancel_email_change)

    @rpc
    def view_email_change(self, caller: Caller, request: contract.EmailChangeLink) -> contract.EmailChange:
        with self.database.reading() as connection:
            return email_changes.view_email_change(connection, self.config, request)

    @rpc
    def confirm_email_change(
        self, caller: Caller, request: contract.ConfirmEmailChange
    ) -> contract.EmailChange:
        return email_changes.confirm_email_change(self.database, self.config, request)

    make_email_link = configured(email_changes.make_email_link)

    get_user = reading(users.get_user)
    list_users = reading(users.list_users)
    edit_profile = writing(users.edit_profile)
    change_tier = writing(users.change_tier)

    @rpc
    def authenticate(self, caller: Caller, request: contract.Authenticate) -> contract.Authenticated:
        with self.database.reading() as connection:
            return authentication.authenticate(connection, request)

    @rpc
    def record_use(self, caller: Caller, request: contract.RecordUse) -> Nothing:
        with self.database.transaction() as connection:
            return authentication.record_use(connection, request)

    create_token = configured(tokens.create_token)

    @rpc
    def edit_token(self, caller: Caller, request: contract.EditToken) -> contract.Token:
        return own_tokens.edit_token(self.database, caller, request)

    issue_token = configured(own_tokens.issue_token)

    replace_token = configured(own_tokens.replace_token)

    revoke_token = writing(tokens.revoke_token)

    rotate_token = configured(tokens.rotate_token)

    get_token = reading(tokens.get_token)
    list_tokens = reading(tokens.list_tokens)
    set_token_use = writing(tokens.set_token_use)
    create_brand = writing(brands.create_brand)

    @rpc
    def edit_brand(self, caller: Caller, request: contract.EditBrand) -> contract.Brand:
        return brands.edit_brand(self.database, caller, request)

    list_brands = reading(brands.list_brands)
    get_brand = reading(brands.get_brand)
    get_brand_owner = reading(brands.get_brand_owner)
    list_collaborators = reading(collaborators.list_collaborators)
    set_collaborator = writing(collaborators.set_collaborator)
    remove_collaborator = writing(collaborators.remove_collaborator)

    invite_person = configured(invitations.invite_person)
    list_invitations = reading(invitations.list_invitations)
    withdraw_invitation = writing(invitations.withdraw_invitation)

    @rpc
    def view_invitation(self, caller: Caller, request: contract.InvitationLink) -> contract.OpenedInvitation:
        with self.database.reading() as connection:
            return invitations.view_invitation(connection, self.config, request)

    @rpc
    def accept_invitation(
        self, caller: Caller, request: contract.AcceptInvitation
    ) -> contract.AcceptedInvitation:
        return invitations.accept_invitation(self.database, self.config, caller, request)

    make_invitation_link = configured(invitations.make_invitation_link)
    list_audit = reading(audit.list_audit)
    record_audit = writing(audit.record_audit)

    @loop(interval_seconds=5.0, deadline_seconds=mails.ATTEMPT_SECONDS, woken_by=mails.DUE)
    def send_mails(self) -> int:
        return mails.send_next(self.database, self.config)

    @loop(interval_seconds=60.0)
    def forget_operations(self) -> int:
        return forget_old(self.database)

    @loop(interval_seconds=600.0)
    def forget_unverified(self) -> int:
        with self.database.transaction() as connection:
            return verification.forget(connection)

    @loop(interval_seconds=600.0)
    def forget_sessions(self) -> int:
        with self.database.transaction() as connection:
            password_changes.forget(connection)
            mails.forget(connection)
            invitations.forget(connection)
            email_changes.forget(connection)
            return sessions.forget(connection)

    @on_event("page.connect.refused")
    def on_connect_refused(self, connection: Connection, event: Event) -> None:
        mails.queue_connect_refused(connection, event)

    @on_event("posts.held")
    def on_posts_held(self, connection: Connection, event: Event) -> None:
        audit.note_posts_held(connection, event)

    @on_event("posts.hold.ended")
    def on_posts_hold_ended(self, connection: Any, event: Event) -> None:
        audit.note_hold_ended(connection, event)

    @on_event("webhooks.disabled")
    def on_webhooks_disabled(self, connection: Connection, event: Event) -> None:
        audit.note_webhooks_disabled(connection, event)
