"""The RPC methods, loops and event handlers of the accounts service: each opens a transaction and delegates."""

from typing import Any

from nameko.extensions import DependencyProvider

from accounts import audit, brands, collaborators
from accounts.config import AccountsConfig
from accounts.store import Connection
from accounts.tokens import authentication, tokens
from accounts.users import invites, sign_up, users, verification, verification_mails
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

    @rpc
    def verify_user(self, caller: Caller, request: contract.UserId) -> contract.User:
        with self.database.transaction() as connection:
            return verification.verify_user(connection, caller, request)

    @rpc
    def list_unverified(self, caller: Caller, request: Nothing) -> contract.UserList:
        with self.database.reading() as connection:
            return verification.list_unverified(connection, caller)

    @rpc
    def invite_user(self, caller: Caller, request: contract.InviteUser) -> contract.Invite:
        with self.database.transaction() as connection:
            return invites.invite_user(connection, self.config, caller, request)

    @rpc
    def get_user(self, caller: Caller, request: contract.GetUser) -> contract.User:
        with self.database.reading() as connection:
            return users.get_user(connection, caller, request)

    @rpc
    def change_tier(self, caller: Caller, request: contract.ChangeTier) -> contract.User:
        with self.database.transaction() as connection:
            return users.change_tier(connection, caller, request)

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

    @rpc
    def revoke_token(self, caller: Caller, request: contract.RevokeToken) -> contract.Token:
        with self.database.transaction() as connection:
            return tokens.revoke_token(connection, caller, request)

    @rpc
    def rotate_token(self, caller: Caller, request: contract.TokenId) -> contract.CreatedToken:
        with self.database.transaction() as connection:
            return tokens.rotate_token(connection, self.config, caller, request)

    @rpc
    def get_token(self, caller: Caller, request: contract.TokenId) -> contract.Token:
        with self.database.reading() as connection:
            return tokens.get_token(connection, caller, request)

    @rpc
    def list_tokens(self, caller: Caller, request: contract.ListTokens) -> contract.TokenList:
        with self.database.reading() as connection:
            return tokens.list_tokens(connection, caller, request)

    @rpc
    def set_token_use(self, caller: Caller, request: contract.SetTokenUse) -> contract.Token:
        with self.database.transaction() as connection:
            return tokens.set_token_use(connection, caller, request)

    @rpc
    def create_brand(self, caller: Caller, request: contract.CreateBrand) -> contract.Brand:
        with self.database.transaction() as connection:
            return brands.create_brand(connection, caller, request)

    @rpc
    def list_brands(self, caller: Caller, request: contract.ListBrands) -> contract.BrandList:
        with self.database.reading() as connection:
            return brands.list_brands(connection, caller, request)

    @rpc
    def get_brand(self, caller: Caller, request: contract.GetBrand) -> contract.Brand:
        with self.database.reading() as connection:
            return brands.get_brand(connection, caller, request)

    @rpc
    def get_brand_owner(self, caller: Caller, request: contract.GetBrand) -> contract.BrandOwner:
        with self.database.reading() as connection:
            return brands.get_brand_owner(connection, caller, request)

    @rpc
    def set_collaborator(self, caller: Caller, request: contract.SetCollaborator) -> contract.Collaborator:
        with self.database.transaction() as connection:
            return collaborators.set_collaborator(connection, caller, request)

    @rpc
    def remove_collaborator(self, caller: Caller, request: contract.RemoveCollaborator) -> Nothing:
        with self.database.transaction() as connection:
            return collaborators.remove_collaborator(connection, caller, request)

    @rpc
    def list_audit(self, caller: Caller, request: contract.ListAudit) -> contract.AuditLog:
        with self.database.reading() as connection:
            return audit.list_audit(connection, caller, request)

    @rpc
    def record_audit(self, caller: Caller, request: contract.RecordAudit) -> contract.AuditEntry:
        with self.database.transaction() as connection:
            return audit.record_audit(connection, caller, request)

    @loop(
        interval_seconds=5.0,
        deadline_seconds=verification_mails.ATTEMPT_SECONDS,
        woken_by=verification_mails.DUE,
    )
    def send_verification_mails(self) -> int:
        return verification_mails.send_next(self.database, self.config)

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
