"""Brand sessions: what a collaborator can reach with one, and when it ends."""

from typing import Any

import pytest
from msgspec.structs import replace

from accounts import brands, collaborators
from accounts.tokens import own_tokens, tokens
from accounts.users import brand_sessions, password_changes, sessions
from contracts.accounts import (
    Brand,
    BrandEntered,
    ChangePassword,
    CreateToken,
    EditBrand,
    EnterBrand,
    ListSessions,
    ListSharedBrands,
    ListTokens,
    LoggedIn,
    LogIn,
    RemoveCollaborator,
    SessionId,
    TokenId,
    User,
)
from contracts.caller import Caller, operator
from contracts.errors import ApiError
from contracts.record import Nothing

PASSWORD = "correct horse"


class Guest:
    """Bob, who is signed in and works on Ann's first brand. Ann has a second brand."""

    def __init__(self, accounts: Any) -> None:
        self.accounts = accounts
        self.ann: User = accounts.create_user(operator(), password=PASSWORD).user
        self.bob: User = accounts.create_user(operator(), email="bob@example.com", password=PASSWORD).user
        self.brand: Brand = accounts.brand(self.ann, "Shared")
        self.other: Brand = accounts.brand(self.ann, "Hidden")
        accounts.collaborator(self.brand, self.bob)
        self.own = self.log_in()

    def log_in(self, email: str = "bob@example.com") -> LoggedIn:
        request = LogIn(email=email, password=PASSWORD, asker="192.0.2.1", user_agent="curl/8")
        return sessions.log_in(self.accounts.database, self.accounts.config, request)

    def caller(self, token: str | None = None) -> Caller:
        return self.accounts.authenticate(token or self.own.session_token).caller

    def enter(self, brand: Brand | None = None, own: LoggedIn | None = None) -> BrandEntered:
        caller = self.caller((own or self.own).session_token)
        request = EnterBrand(brand_id=(brand or self.brand).id)
        return self.accounts.call(brand_sessions.enter_brand, caller, request)

    def shared(self) -> list[Any]:
        return list(
            self.accounts.call(brand_sessions.list_shared_brands, self.caller(), ListSharedBrands()).brands
        )

    def remove(self) -> None:
        request = RemoveCollaborator(brand_id=self.brand.id, user_id=self.bob.id)
        self.accounts.call(collaborators.remove_collaborator, operator(), request)


@pytest.fixture
def guest(accounts: Any) -> Guest:
    return Guest(accounts)


def refusal(function: Any, *args: Any) -> str:
    with pytest.raises(ApiError) as caught:
        function(*args)
    return caught.value.code


def test_it_acts_on_the_owners_account_for_this_brand_alone(guest: Guest) -> None:
    caller = guest.caller(guest.enter().session_token)
    assert (caller.account_id, caller.user_id, caller.brand_ids) == (
        guest.ann.id, guest.bob.id, (guest.brand.id,),
    )  # fmt: skip
    assert caller.token_id.startswith("ses_")
    assert not any(caller.has_scope(scope) for scope in ("manage:account", "manage:tokens", "manage:brands"))


@pytest.mark.parametrize(
    ("role", "scopes"),
    [
        ("full", ("read:posts", "write:posts", "write:pages", "write:ai", "manage:webhooks", "read:account")),
        ("limited", ("read:posts", "write:posts", "write:comments", "write:media", "read:pages")),
    ],
)
def test_it_has_the_scopes_of_the_role(guest: Guest, role: str, scopes: tuple[str, ...]) -> None:
    guest.accounts.collaborator(guest.brand, guest.bob, role)
    made = guest.enter()
    caller = guest.caller(made.session_token)
    assert (made.role, made.scopes) == (role, caller.scopes)
    assert all(caller.has_scope(scope) for scope in scopes)
    expensive = ("write:pages", "write:ai", "manage:webhooks", "read:account")
    assert all(caller.has_scope(scope) == (role == "full") for scope in expensive)


def test_a_change_of_role_changes_what_a_running_session_may_do(guest: Guest) -> None:
    made = guest.enter()
    guest.accounts.collaborator(guest.brand, guest.bob, "limited")
    assert not guest.caller(made.session_token).has_scope("write:ai")
    assert [made.session.id] in [event["token_ids"] for event in guest.accounts.staged()]
    guest.accounts.collaborator(guest.brand, guest.bob, "full")
    assert guest.caller(made.session_token).has_scope("write:ai")


def test_a_brand_of_others_an_own_one_and_an_unknown_one_are_not_found_alike(guest: Guest) -> None:
    own = guest.accounts.brand(guest.bob)
    unknown = replace(own, id="brd_01arz3ndektsv4rrffq69g5fav")
    for brand in (guest.other, own, unknown):
        assert refusal(guest.enter, brand) == "NOT_FOUND"


def test_an_api_token_and_a_session_on_a_brand_enter_no_brand(guest: Guest) -> None:
    request = EnterBrand(brand_id=guest.brand.id)
    token = guest.accounts.token(guest.bob, scopes=("*", "manage:*"))
    by_token = guest.caller(token.api_token)
    assert refusal(guest.accounts.call, brand_sessions.enter_brand, by_token, request) == "VALIDATION_ERROR"
    inside = guest.caller(guest.enter().session_token)
    for call, asked in (
        (brand_sessions.enter_brand, request),
        (brand_sessions.list_shared_brands, ListSharedBrands()),
        (sessions.list_sessions, ListSessions()),
        (sessions.end_session, SessionId(id=guest.own.session.id)),
        (tokens.list_tokens, ListTokens()),
        (tokens.get_token, TokenId(token_id=token.token.id)),
    ):
        assert refusal(guest.accounts.call, call, inside, asked) == "COLLABORATOR_INSUFFICIENT"
    new = CreateToken(user_id=guest.bob.id, scopes=("*",), brand_ids=(guest.brand.id,))
    assert (
        refusal(guest.accounts.call, own_tokens.issue_token, guest.accounts.config, inside, new)
        == "COLLABORATOR_INSUFFICIENT"
    )


def test_the_brands_are_listed_with_their_owners_newest_first_without_archived_ones(guest: Guest) -> None:
    guest.accounts.collaborator(guest.other, guest.bob, "limited")
    found = guest.shared()
    assert {(it.name, it.role, it.owner_email) for it in found} == {
        ("Shared", "full", guest.ann.email),
        ("Hidden", "limited", guest.ann.email),
    }
    archived = EditBrand(brand_id=guest.other.id, archived=True)
    brands.edit_brand(
        guest.accounts.database, guest.caller(guest.log_in(guest.ann.email).session_token), archived
    )
    assert [it.name for it in guest.shared()] == ["Shared"]
    guest.remove()
    assert guest.shared() == []


def test_the_list_has_pages(guest: Guest) -> None:
    guest.accounts.collaborator(guest.other, guest.bob)
    names, cursor = [], None
    for _ in range(2):
        query = ListSharedBrands(limit=1, cursor=cursor)
        page = guest.accounts.call(brand_sessions.list_shared_brands, guest.caller(), query)
        names += [it.name for it in page.brands]
        cursor = page.next_cursor
    assert (sorted(names), cursor) == (["Hidden", "Shared"], None)


def test_removing_the_person_ends_it_and_stops_what_was_made_with_it(guest: Guest) -> None:
    made = guest.enter()
    guest.remove()
    assert refusal(guest.caller, made.session_token) == "TOKEN_REVOKED"
    [revoked] = guest.accounts.staged("access.revoked")
    assert (revoked["reason"], revoked["token_ids"]) == ("collaborator_removed", [made.session.id])
    guest.accounts.collaborator(guest.brand, guest.bob)
    assert refusal(guest.caller, made.session_token) == "TOKEN_REVOKED"
    assert guest.enter().session.id != made.session.id


def test_what_was_made_with_an_ended_session_is_stopped_too_a_year_later(guest: Guest) -> None:
    made = guest.enter()
    guest.accounts.call(sessions.log_out, guest.caller(), Nothing())
    guest.accounts.shift_clock(365 * 86_400.0)
    guest.accounts.call(sessions.forget)
    guest.remove()
    assert guest.accounts.staged("access.revoked")[0]["token_ids"] == [made.session.id]


def test_a_session_that_begins_a_day_after_the_end_of_another_uses_its_row_again(guest: Guest) -> None:
    first = guest.enter()
    guest.accounts.call(sessions.log_out, guest.caller(first.session_token), Nothing())
    second = guest.enter()
    assert second.session.id != first.session.id, "what ended just now answers TOKEN_REVOKED for a day"
    guest.accounts.shift_clock(2 * 86_400)
    third = guest.enter(own=guest.log_in())
    assert third.session.id == first.session.id
    assert third.session.last_used_at is None
    assert guest.accounts.authenticate(third.session_token).token.brand_ids == (guest.brand.id,)
    assert refusal(guest.accounts.authenticate, first.session_token) == "INVALID_TOKEN"
    assert guest.accounts.authenticate(second.session_token)
    other = guest.accounts.brand(guest.ann, "Third")
    guest.accounts.collaborator(other, guest.bob)
    assert guest.enter(other).session.id not in {it.session.id for it in (first, second, third)}


def test_a_row_from_before_a_removal_is_not_used_again(guest: Guest) -> None:
    first = guest.enter()
    guest.remove()
    guest.accounts.shift_clock(2 * 86_400)
    guest.accounts.collaborator(guest.brand, guest.bob)
    second = guest.enter(own=guest.log_in())
    assert second.session.id != first.session.id
    assert guest.accounts.authenticate(second.session_token)


def test_it_ends_with_the_session_that_it_was_opened_from(guest: Guest) -> None:
    lost, kept = guest.log_in(), guest.log_in()
    made, other = guest.enter(own=lost), guest.enter(own=kept)
    guest.accounts.call(sessions.end_session, guest.caller(), SessionId(id=lost.session.id))
    assert refusal(guest.caller, made.session_token) == "TOKEN_REVOKED"
    assert guest.caller(other.session_token)
    assert {lost.session.id, made.session.id} == set(guest.accounts.staged()[-1]["token_ids"])


def test_it_ends_when_the_session_that_it_was_opened_from_expires(guest: Guest) -> None:
    made = guest.enter()
    guest.accounts.call(
        lambda c: c.exec_driver_sql(
            "UPDATE tokens SET expires_at = clock_now() WHERE id = %s", (guest.own.session.id,)
        )
    )
    assert refusal(guest.caller, made.session_token) == "TOKEN_REVOKED"


def test_a_new_password_ends_it_and_the_owners_new_password_does_not(guest: Guest) -> None:
    elsewhere = guest.log_in()
    made, mine = guest.enter(own=elsewhere), guest.enter()

    def change(token: str) -> Any:
        request = ChangePassword(current_password=PASSWORD, new_password="another one")
        return password_changes.change_password(guest.accounts.database, guest.caller(token), request)

    assert change(guest.log_in(guest.ann.email).session_token).ended_sessions == 0
    assert guest.caller(made.session_token)
    assert change(guest.own.session_token).ended_sessions == 1
    assert refusal(guest.caller, made.session_token) == "TOKEN_REVOKED"
    assert guest.caller(mine.session_token)


def test_it_is_in_nobodys_list_of_sessions_and_its_own_logout_ends_it_alone(guest: Guest) -> None:
    made = guest.enter()
    owner = guest.log_in(guest.ann.email)
    for own in (owner, guest.own):
        found = guest.accounts.call(sessions.list_sessions, guest.caller(own.session_token), ListSessions())
        assert [it.id for it in found.sessions] == [own.session.id]
    for own in (owner, guest.own):
        ending = SessionId(id=made.session.id)
        caller = guest.caller(own.session_token)
        assert refusal(guest.accounts.call, sessions.end_session, caller, ending) == "NOT_FOUND"
    guest.accounts.call(sessions.log_out, guest.caller(made.session_token), Nothing())
    assert refusal(guest.caller, made.session_token) == "TOKEN_REVOKED"
    assert guest.caller()


def test_entering_again_gives_the_same_session_another_token(guest: Guest) -> None:
    first, second = guest.enter(), guest.enter()
    assert first.session.id == second.session.id
    assert refusal(guest.caller, first.session_token) == "INVALID_TOKEN"
    assert guest.caller(second.session_token)
    assert guest.enter(own=guest.log_in()).session.id != first.session.id


def test_the_brands_audit_log_says_who_began_to_work_on_it(guest: Guest) -> None:
    made = guest.enter()
    guest.enter()
    entered = [it for it in guest.accounts.audit_log(guest.brand) if it.action == "collaborator.entered"]
    assert [(it.actor_id, it.subject_id, it.details) for it in entered] == [
        (guest.bob.id, made.session.id, {"role": "full"})
    ]
    guest.remove()
    assert "token.revoked" not in guest.accounts.actions(guest.brand)
