"""Invitations by mail: only the invited address gets the role, and only once. The owner does not learn whether the
address has an account.
"""

from typing import Any
from urllib.parse import urlsplit

import pytest
from msgspec.structs import replace

from accounts import collaborators, invitations
from accounts.config import SmtpConfig
from accounts.store.users import UserStore
from accounts.users import limits, mails, passwords, sessions
from contracts.accounts import (
    AcceptedInvitation,
    AcceptInvitation,
    Brand,
    Invitation,
    InvitationLink,
    InvitePerson,
    ListCollaborators,
    ListInvitations,
    LogIn,
    MakeInvitationLink,
    RemoveCollaborator,
    User,
    WithdrawInvitation,
)
from contracts.caller import Caller, operator
from contracts.errors import ApiError

SMTP = SmtpConfig(
    host="mail.example", port=25, security="none", username="", password="", sender="p@example.com"
)
WEEK = 7 * 86_400.0
SAM = "sam@example.com"
PASSWORD = "correct horse"


class Inviting:
    """An owner with a brand, and the mails that the service has sent."""

    def __init__(self, accounts: Any) -> None:
        self.accounts = accounts
        self.owner: User = accounts.user()
        self.brand: Brand = accounts.brand(self.owner)

    def caller(self, user: User | None = None, operation_id: str | None = None) -> Caller:
        user_id = (user or self.owner).id
        return replace(operator(), account_id=user_id, user_id=user_id, scopes=("manage:*",), token_id="tok_1",
                       operation_id=operation_id)  # fmt: skip

    def invite(self, email: str = SAM, role: str = "full", **by: Any) -> Invitation:
        request = InvitePerson(brand_id=self.brand.id, email=email, role=role)
        return self.accounts.call(invitations.invite_person, self.accounts.config, self.caller(**by), request)

    def listed(self) -> tuple[Invitation, ...]:
        request = ListInvitations(brand_id=self.brand.id)
        return self.accounts.call(invitations.list_invitations, self.caller(), request).invitations

    def withdraw(self, invitation_id: str, **by: Any) -> None:
        request = WithdrawInvitation(brand_id=self.brand.id, id=invitation_id)
        self.accounts.call(invitations.withdraw_invitation, self.caller(**by), request)

    def mails(self) -> list[tuple[str, str]]:
        """Sends the due mails; returns the invitations as (recipient, link)."""
        sent: list[tuple[str, str]] = []

        def take(_: SmtpConfig, mail: Any) -> None:
            [link] = [line for line in mail.get_content().splitlines() if line.startswith("http")]
            sent.append((mail["To"], link))

        while mails.send_next(self.accounts.database, replace(self.accounts.config, smtp=SMTP), take):
            pass
        return [(to, link) for to, link in sent if "/invitations/" in link]

    def link(self) -> str:
        [(_, link)] = self.mails()
        return link

    def accept(self, link: str, password: str = PASSWORD) -> AcceptedInvitation:
        request = AcceptInvitation(**parts(link), password=password, asker="192.0.2.1")
        return invitations.accept_invitation(
            self.accounts.database, self.accounts.config, Caller("", ""), request
        )

    def people(self) -> list[tuple[str, str]]:
        request = ListCollaborators(brand_id=self.brand.id)
        found = self.accounts.call(collaborators.list_collaborators, self.caller(), request).collaborators
        return [(one.email, one.role) for one in found]


@pytest.fixture
def inviting(accounts: Any) -> Inviting:
    return Inviting(accounts)


def parts(link: str) -> dict[str, str]:
    *_, invitation_id, code = urlsplit(link).path.split("/")
    return {"invitation_id": invitation_id, "code": code}


def refusal(function: Any, *args: Any, **values: Any) -> str:
    with pytest.raises(ApiError) as caught:
        function(*args, **values)
    return caught.value.code


def log_in(accounts: Any, email: str, password: str) -> str:
    request = LogIn(email=email, password=password, asker="192.0.2.1")
    return sessions.log_in(accounts.database, accounts.config, request).session_token


def test_a_stranger_opens_an_account_with_the_link_and_works_on_the_brand(inviting: Inviting) -> None:
    made = inviting.invite("Sam@Example.com", "limited")
    assert (made.email, made.role, made.brand_id) == (SAM, "limited", inviting.brand.id)
    [(recipient, link)] = inviting.mails()
    assert recipient == SAM
    opened = inviting.accounts.call(
        invitations.view_invitation, inviting.accounts.config, InvitationLink(**parts(link))
    )
    assert (opened.brand_name, opened.invited_by, opened.email, opened.role, opened.has_account) == (
        "Acme", inviting.owner.email, SAM, "limited", False,
    )  # fmt: skip
    assert inviting.accept(link).role == "limited"
    assert inviting.people() == [(SAM, "limited")]
    assert inviting.listed() == ()
    assert log_in(inviting.accounts, SAM, PASSWORD)
    assert inviting.accounts.actions(inviting.brand)[:2] == ["collaborator.joined", "collaborator.invited"]


def test_somebody_with_an_account_accepts_with_its_password_alone(inviting: Inviting) -> None:
    sam = inviting.accounts.create_user(operator(), email=SAM, password=PASSWORD).user
    inviting.invite()
    link = inviting.link()
    assert refusal(inviting.accept, link, "a guess of mine") == "INVALID_CREDENTIALS"
    assert inviting.people() == []
    assert inviting.accept(link).user_id == sam.id
    assert inviting.people() == [(SAM, "full")]


def test_an_account_that_a_stranger_opened_at_the_address_is_replaced(inviting: Inviting) -> None:
    strangers = inviting.accounts.sign_up(
        Caller("", "", operation_id="op_1"), email=SAM, password="a stranger's"
    ).user
    inviting.invite()
    accepted = inviting.accept(inviting.link())
    assert accepted.user_id != strangers.id
    assert refusal(log_in, inviting.accounts, SAM, "a stranger's") == "INVALID_CREDENTIALS"


@pytest.mark.parametrize("with_account", [False, True])
def test_a_link_works_once(inviting: Inviting, with_account: bool) -> None:
    if with_account:
        inviting.accounts.create_user(operator(), email=SAM, password=PASSWORD)
    inviting.invite()
    link = inviting.link()
    accepted = inviting.accept(link)
    inviting.accounts.call(
        collaborators.remove_collaborator,
        inviting.caller(),
        RemoveCollaborator(brand_id=inviting.brand.id, user_id=accepted.user_id),
    )
    assert refusal(inviting.accept, link) == "INVALID_LINK"
    assert inviting.people() == []


@pytest.mark.parametrize("spoilt", ["code", "id"])
def test_a_changed_link_is_refused(inviting: Inviting, spoilt: str) -> None:
    inviting.invite()
    inviting.invite("other@example.com")
    links = {email: parts(link) for email, link in inviting.mails()}
    mine, other = links[SAM], links["other@example.com"]
    mixed = (
        {**mine, "code": other["code"]}
        if spoilt == "code"
        else {**mine, "invitation_id": other["invitation_id"]}
    )
    link = f"http://x/auth/invitations/{mixed['invitation_id']}/{mixed['code']}"
    assert refusal(inviting.accept, link) == "INVALID_LINK"


def test_a_withdrawn_invitation_is_void_and_its_mail_is_not_sent(inviting: Inviting) -> None:
    first = inviting.invite()
    link = inviting.link()
    inviting.withdraw(first.id)
    assert refusal(inviting.accept, link) == "INVALID_LINK"
    assert refusal(inviting.withdraw, first.id) == "NOT_FOUND"
    inviting.withdraw(inviting.invite().id)
    assert inviting.mails() == []
    assert inviting.listed() == ()


def test_invitations_are_listed_page_by_page(inviting: Inviting) -> None:
    made = [inviting.invite(f"sam{number}@example.com").id for number in range(5)]

    def page(**more: Any) -> Any:
        request = ListInvitations(brand_id=inviting.brand.id, limit=2, **more)
        return inviting.accounts.call(invitations.list_invitations, inviting.caller(), request)

    first = page()
    second = page(cursor=first.next_cursor)
    third = page(cursor=second.next_cursor)
    found = [[one.id for one in it.invitations] for it in (first, second, third)]
    assert found == [made[4:2:-1], made[2:0:-1], made[:1]]
    assert third.next_cursor is None


def test_a_newer_invitation_replaces_the_one_before(inviting: Inviting) -> None:
    inviting.invite(role="full")
    old = inviting.link()
    inviting.invite(role="limited")
    assert [one.role for one in inviting.listed()] == ["limited"]
    assert refusal(inviting.accept, old) == "INVALID_LINK"
    assert inviting.accept(inviting.link()).role == "limited"


def test_an_invitation_expires_after_a_week(inviting: Inviting) -> None:
    inviting.invite()
    link = inviting.link()
    inviting.accounts.shift_clock(WEEK + 1)
    assert refusal(inviting.accept, link) == "INVALID_LINK"
    assert inviting.listed() == ()
    inviting.accounts.call(invitations.forget)
    inviting.accounts.shift_clock(0)
    assert inviting.listed() == ()


def test_a_repeated_operation_gets_the_same_answer_also_after_the_acceptance(inviting: Inviting) -> None:
    made = inviting.invite(operation_id="op_1")
    assert inviting.invite(operation_id="op_1") == made
    link = inviting.link()
    inviting.accept(link)
    assert inviting.invite(operation_id="op_1") == made
    assert inviting.listed() == ()
    assert inviting.mails() == []


def test_the_answer_is_the_same_whether_the_address_has_an_account_or_not(inviting: Inviting) -> None:
    inviting.accounts.create_user(operator(), email=SAM, password=PASSWORD)
    known, unknown = inviting.invite(SAM), inviting.invite("nobody@example.com")
    assert (known.role, known.brand_id) == (unknown.role, unknown.brand_id)
    assert len(inviting.mails()) == 2


def test_the_owner_a_collaborator_a_bad_address_and_a_bad_role_are_refused(inviting: Inviting) -> None:
    sam = inviting.accounts.create_user(operator(), email=SAM).user
    inviting.accounts.collaborator(inviting.brand, sam)
    for email, role in (
        (inviting.owner.email, "full"),
        (SAM, "full"),
        ("nobody", "full"),
        ("a@b.example", "owner"),
    ):
        assert refusal(inviting.invite, email, role) == "VALIDATION_ERROR"
    assert inviting.mails() == []


def test_only_the_owner_of_the_brand_invites_lists_and_withdraws(inviting: Inviting) -> None:
    made, stranger = inviting.invite(), inviting.accounts.user()
    assert refusal(inviting.invite, "x@example.com", user=stranger) == "NOT_FOUND"
    assert refusal(inviting.withdraw, made.id, user=stranger) == "NOT_FOUND"
    other = inviting.accounts.brand(inviting.owner, "Other")
    request = WithdrawInvitation(brand_id=other.id, id=made.id)
    assert (
        refusal(inviting.accounts.call, invitations.withdraw_invitation, inviting.caller(), request)
        == "NOT_FOUND"
    )
    assert inviting.listed() == (made,)


def test_adding_or_removing_somebody_ends_their_open_invitation(inviting: Inviting) -> None:
    sam = inviting.accounts.create_user(operator(), email=SAM, password=PASSWORD).user
    inviting.invite(role="full")
    link = inviting.link()
    inviting.accounts.collaborator(inviting.brand, sam, "limited")
    assert refusal(inviting.accept, link) == "INVALID_LINK"
    assert inviting.people() == [(SAM, "limited")]


def test_an_owner_who_takes_the_invited_address_does_not_join_their_own_brand(inviting: Inviting) -> None:
    inviting.invite()
    link, owner = inviting.link(), inviting.owner
    password_hash = passwords.hash_password(PASSWORD)
    inviting.accounts.call(lambda c: UserStore(c).set_password(owner.id, password_hash))
    inviting.accounts.call(lambda c: UserStore(c).set_email(owner.id, SAM))
    assert refusal(inviting.accept, link) == "INVALID_LINK"
    assert inviting.people() == []


def test_invitations_are_limited_per_address_and_per_account(inviting: Inviting) -> None:
    for _ in range(limits.INVITATIONS_PER_ADDRESS):
        inviting.invite()
    assert refusal(inviting.invite) == "RATE_LIMITED"
    for number in range(limits.INVITATIONS_PER_ACCOUNT - limits.INVITATIONS_PER_ADDRESS):
        inviting.invite(f"person{number}@example.com")
    assert refusal(inviting.invite, "one.more@example.com") == "RATE_LIMITED"


def test_passwords_of_an_account_cannot_be_guessed_with_a_link(inviting: Inviting) -> None:
    inviting.accounts.create_user(operator(), email=SAM, password=PASSWORD)
    inviting.invite()
    link = inviting.link()
    codes = [
        refusal(inviting.accept, link, "a guess of mine") for _ in range(limits.FAILURES_PER_NETWORK + 1)
    ]
    assert codes[-1] == "RATE_LIMITED"
    assert refusal(inviting.accept, link) == "RATE_LIMITED"


def test_where_nobody_may_sign_up_an_invitation_opens_no_account(inviting: Inviting) -> None:
    inviting.invite()
    link = inviting.link()
    inviting.accounts.config = replace(inviting.accounts.config, signups="off")
    assert refusal(inviting.accept, link) == "SIGNUPS_CLOSED"
    inviting.accounts.create_user(operator(), email=SAM, password=PASSWORD)
    assert inviting.accept(link).role == "full"


@pytest.mark.parametrize(
    ("dashboard", "prefix"),
    [("", "http://localhost:8000/auth"), ("https://posts.example.com", "https://posts.example.com")],
)
def test_the_link_leads_to_the_dashboard_where_there_is_one(
    inviting: Inviting, dashboard: str, prefix: str
) -> None:
    inviting.accounts.config = replace(
        inviting.accounts.config, public_url="http://localhost:8000", dashboard_url=dashboard
    )
    made = inviting.invite()
    link = inviting.link()
    assert link.startswith(f"{prefix}/invitations/{made.id}/")
    assert inviting.accept(link).email == SAM


def test_the_operator_gets_the_link_of_the_mail(inviting: Inviting) -> None:
    inviting.invite()
    request = MakeInvitationLink(brand_id=inviting.brand.id, email=SAM)
    made = inviting.accounts.call(
        invitations.make_invitation_link, inviting.accounts.config, operator(), request
    )
    assert made.link == inviting.link()
    missing = replace(request, email="nobody@example.com")
    assert refusal(
        inviting.accounts.call, invitations.make_invitation_link, inviting.accounts.config, operator(), missing
    ) == "NOT_FOUND"  # fmt: skip
