"""The RPC methods, loops and event handlers of the accounts service: each delegates to a use case, most of them in a
transaction.
"""

from collections.abc import Callable
from functools import partial, wraps
from inspect import signature
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
    sandbox_tokens,
    sessions,
    sign_up,
    totp,
    users,
    verification,
)
from chassis.service import DatabaseProvider, forget_old_operations, loop, on_event, rpc
from contracts.accounts import AccountsApi
from contracts.caller import Caller
from contracts.events import Event


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


def call(use_case: Callable[..., Any], *, is_read: bool = False) -> Callable[..., Any]:
    """Returns an RPC method that calls the function `use_case` and answers with its result.

    Each parameter of `use_case` gets the value that its name stands for: `caller`, `request`, `config`, `database` or
    `connection`. The connection is in one transaction for the whole call. With `is_read` each of its statements is a
    transaction of its own.
    """
    names = tuple(signature(use_case).parameters)
    assert {"caller", "config", "connection", "database", "request"}.issuperset(names), use_case

    @wraps(use_case)
    def method(self: "AccountsService", caller: Caller, request: Any) -> Any:
        given = {"caller": caller, "config": self.config, "database": self.database, "request": request}
        if "connection" not in names:
            return use_case(**{name: given[name] for name in names})
        with self.database.reading() if is_read else self.database.transaction() as connection:
            given["connection"] = connection
            return use_case(**{name: given[name] for name in names})

    return rpc(method)


read = partial(call, is_read=True)


class AccountsService:
    name = "accounts"
    api = AccountsApi
    database = AccountsDatabase()
    config = Settings()

    sign_up = call(sign_up.sign_up)
    view_verification = read(verification.view)
    confirm_verification = call(verification.confirm)
    refuse_verification = call(verification.refuse)
    make_verification_link = call(verification.make_verification_link)
    create_user = call(users.create_user)
    verify_user = call(verification.verify_user)
    list_unverified = read(verification.list_unverified)
    invite_user = call(invites.invite_user)

    log_in = call(sessions.log_in)
    log_out = call(sessions.log_out)
    list_sessions = read(sessions.list_sessions)
    end_session = call(sessions.end_session)
    list_shared_brands = read(brand_sessions.list_shared_brands)
    enter_brand = call(brand_sessions.enter_brand)
    get_sandbox_token = read(sandbox_tokens.get_sandbox_token)

    get_totp = read(totp.get_totp)
    begin_totp = call(totp.begin_totp)
    confirm_totp = call(totp.confirm_totp)
    disable_totp = call(totp.disable_totp)
    turn_off_totp = call(totp.turn_off_totp)

    request_reset = call(password_changes.request_reset)
    make_reset_link = call(password_changes.make_reset_link)
    view_reset = read(password_changes.view_reset)
    reset_password = call(password_changes.reset_password)
    change_password = call(password_changes.change_password)

    change_email = call(email_changes.change_email)
    get_email_change = read(email_changes.get_email_change)
    cancel_email_change = call(email_changes.cancel_email_change)
    view_email_change = read(email_changes.view_email_change)
    confirm_email_change = call(email_changes.confirm_email_change)
    make_email_link = call(email_changes.make_email_link)

    get_user = read(users.get_user)
    list_users = read(users.list_users)
    edit_profile = call(users.edit_profile)
    change_tier = call(users.change_tier)

    authenticate = read(authentication.authenticate)
    record_use = call(authentication.record_use)

    create_token = call(tokens.create_token)
    edit_token = call(own_tokens.edit_token)
    issue_token = call(own_tokens.issue_token)
    replace_token = call(own_tokens.replace_token)
    revoke_token = call(tokens.revoke_token)
    rotate_token = call(tokens.rotate_token)
    get_token = read(tokens.get_token)
    list_tokens = read(tokens.list_tokens)
    set_token_use = call(tokens.set_token_use)

    create_brand = call(brands.create_brand)
    edit_brand = call(brands.edit_brand)
    list_brands = read(brands.list_brands)
    get_brand = read(brands.get_brand)
    get_brand_owner = read(brands.get_brand_owner)

    list_collaborators = read(collaborators.list_collaborators)
    set_collaborator = call(collaborators.set_collaborator)
    remove_collaborator = call(collaborators.remove_collaborator)
    invite_person = call(invitations.invite_person)
    list_invitations = read(invitations.list_invitations)
    withdraw_invitation = call(invitations.withdraw_invitation)
    view_invitation = read(invitations.view_invitation)
    accept_invitation = call(invitations.accept_invitation)
    make_invitation_link = call(invitations.make_invitation_link)

    list_audit = read(audit.list_audit)
    record_audit = call(audit.record_audit)

    @loop(interval_seconds=5.0, deadline_seconds=mails.ATTEMPT_SECONDS, woken_by=mails.DUE)
    def send_mails(self) -> int:
        return mails.send_next(self.database, self.config)

    forget_operations = forget_old_operations

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
