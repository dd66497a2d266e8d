"""The second factor: the sign-in asks for a code while it is on, accepts each code once, and turning it off takes the
password and a code.
"""

from typing import Any

import pyotp
import pytest
from msgspec.structs import replace

from accounts import invitations
from accounts.users import limits, sessions, totp
from chassis.db import clock
from contracts.accounts import (
    AcceptInvitation,
    BeginTotp,
    BegunTotp,
    ConfirmTotp,
    DisableTotp,
    InvitePerson,
    LogIn,
    Totp,
    TotpEnabled,
    User,
    UserId,
)
from contracts.caller import Caller, operator
from contracts.errors import ApiError
from contracts.record import Nothing

PASSWORD = "correct horse"
STEP = 30


class Person:
    """A person with an authenticator app."""

    def __init__(self, accounts: Any) -> None:
        self.accounts = accounts
        self.user: User = accounts.create_user(operator(), password=PASSWORD).user
        self.secret = ""

    def caller(self, operation_id: str | None = None) -> Caller:
        return replace(operator(), account_id=self.user.id, user_id=self.user.id, scopes=("manage:*",),
                       token_id="ses_1", operation_id=operation_id)  # fmt: skip

    def begin(self, password: str = PASSWORD, operation_id: str | None = None) -> BegunTotp:
        request = BeginTotp(password=password)
        made = totp.begin_totp(
            self.accounts.database, self.accounts.config, self.caller(operation_id), request
        )
        self.secret = made.secret
        return made

    def code(self, steps: int = 0) -> str:
        """Returns the code that the app shows. With `steps`, the code of that many steps later, or earlier if
        negative.
        """
        moment = self.accounts.call(clock.now)
        return pyotp.TOTP(self.secret).generate_otp(int(moment.timestamp()) // STEP + steps)

    def confirm(self, code: str | None = None, operation_id: str | None = None) -> TotpEnabled:
        request = ConfirmTotp(totp_code=code or self.code())
        return totp.confirm_totp(
            self.accounts.database, self.accounts.config, self.caller(operation_id), request
        )

    def disable(self, password: str = PASSWORD, code: str = "", operation_id: str | None = None) -> None:
        request = DisableTotp(password=password, totp_code=code)
        totp.disable_totp(self.accounts.database, self.accounts.config, self.caller(operation_id), request)

    def state(self) -> Totp:
        return self.accounts.call(totp.get_totp, self.caller(), Nothing())

    def log_in(self, code: str | None = None, password: str = PASSWORD) -> str:
        request = LogIn(email=self.user.email, password=password, asker="192.0.2.1", totp_code=code)
        return sessions.log_in(self.accounts.database, self.accounts.config, request).session_token

    def enabled(self) -> TotpEnabled:
        self.begin()
        return self.confirm()

    def wait(self, steps: int = 2) -> None:
        self.shifted = getattr(self, "shifted", 0) + steps * STEP
        self.accounts.shift_clock(self.shifted)


@pytest.fixture
def ann(accounts: Any) -> Person:
    return Person(accounts)


def refusal(function: Any, *args: Any, **values: Any) -> str:
    with pytest.raises(ApiError) as caught:
        function(*args, **values)
    return caught.value.code


def test_a_code_is_asked_for_only_after_it_was_confirmed(ann: Person) -> None:
    assert ann.log_in()
    ann.begin()
    assert ann.log_in()
    assert not ann.state().enabled
    assert len(ann.confirm().recovery_codes) == 10
    assert (ann.state().enabled, ann.state().recovery_codes_left) == (True, 10)
    assert refusal(ann.log_in) == "TOTP_REQUIRED"
    ann.wait()
    assert ann.log_in(ann.code())


def test_only_the_right_password_is_told_that_a_code_is_needed(ann: Person) -> None:
    ann.enabled()
    ann.wait()
    assert refusal(ann.log_in, password="a guess of mine") == "INVALID_CREDENTIALS"
    assert refusal(ann.log_in, ann.code(), password="a guess of mine") == "INVALID_CREDENTIALS"
    assert ann.log_in(ann.code()), "a wrong password uses up no code"


def test_a_code_works_once_and_so_do_no_earlier_ones(ann: Person) -> None:
    ann.enabled()
    assert refusal(ann.log_in, ann.code()) == "INVALID_TOTP", "the code of the confirmation"
    ann.wait()
    code, earlier = ann.code(), ann.code(-1)
    assert ann.log_in(code)
    assert refusal(ann.log_in, code) == "INVALID_TOTP"
    assert refusal(ann.log_in, earlier) == "INVALID_TOTP"
    assert ann.log_in(ann.code(1))


def test_a_recovery_code_works_once_however_it_is_typed(ann: Person) -> None:
    first, second, *_ = ann.enabled().recovery_codes
    assert ann.log_in(first)
    assert refusal(ann.log_in, first) == "INVALID_TOTP"
    assert ann.log_in(second.upper().replace("-", " "))
    assert ann.state().recovery_codes_left == 8


def test_recovery_codes_are_stored_as_hashes_and_the_secret_not_at_all(ann: Person) -> None:
    codes = ann.enabled().recovery_codes
    rows = ann.accounts.call(
        lambda c: [
            *c.exec_driver_sql("SELECT * FROM recovery_codes"),
            *c.exec_driver_sql("SELECT * FROM totps"),
        ]
    )
    stored = str([tuple(row) for row in rows])
    assert ann.secret not in stored
    assert not any(code in stored or code.replace("-", "") in stored for code in codes)


def test_codes_cannot_be_guessed_with_the_right_password(ann: Person) -> None:
    ann.enabled()
    ann.wait()
    wrong = f"{(int(ann.code()) + 7) % 1_000_000:06}"
    codes = [refusal(ann.log_in, wrong) for _ in range(limits.FAILURES_PER_NETWORK + 1)]
    assert codes == ["INVALID_TOTP"] * limits.FAILURES_PER_NETWORK + ["RATE_LIMITED"]
    assert refusal(ann.log_in, ann.code()) == "RATE_LIMITED"


def test_asking_for_the_code_counts_as_no_failure(ann: Person) -> None:
    ann.enabled()
    for _ in range(limits.FAILURES_PER_NETWORK + 5):
        assert refusal(ann.log_in) == "TOTP_REQUIRED"
    ann.wait()
    assert ann.log_in(ann.code())


def test_the_secret_needs_the_password_and_a_second_app_the_end_of_the_first(ann: Person) -> None:
    assert refusal(ann.begin, "a guess of mine") == "VALIDATION_ERROR"
    assert ann.begin(operation_id="op_1") == ann.begin(operation_id="op_1")
    first = ann.secret
    assert ann.begin().secret != first
    ann.confirm()
    assert refusal(ann.begin) == "TOTP_ALREADY_ON"
    assert refusal(ann.confirm) == "TOTP_ALREADY_ON"


def test_a_wrong_first_code_turns_nothing_on_and_guesses_are_counted(ann: Person) -> None:
    assert refusal(ann.confirm, "123456") == "VALIDATION_ERROR", "no secret yet"
    ann.begin()
    wrong = f"{(int(ann.code()) + 7) % 1_000_000:06}"
    codes = [refusal(ann.confirm, wrong) for _ in range(limits.FAILURES_PER_NETWORK)]
    assert codes[-1] == "RATE_LIMITED"
    assert not ann.state().enabled
    assert ann.log_in()


def test_a_repeated_confirmation_shows_the_same_recovery_codes(ann: Person) -> None:
    ann.begin()
    code = ann.code()
    made = ann.confirm(code, operation_id="op_1")
    assert ann.confirm(code, operation_id="op_1") == made
    assert ann.log_in(made.recovery_codes[0])


def test_it_is_turned_off_with_the_password_and_a_code(ann: Person) -> None:
    recovery = ann.enabled().recovery_codes[0]
    assert refusal(ann.disable, "a guess of mine", recovery) == "VALIDATION_ERROR"
    assert refusal(ann.disable, PASSWORD, "000000000") == "VALIDATION_ERROR"
    assert refusal(ann.log_in) == "TOTP_REQUIRED"
    ann.disable(code=recovery, operation_id="op_1")
    ann.disable(code=recovery, operation_id="op_1")
    assert ann.log_in()
    assert ann.state() == Totp(enabled=False, enabled_at=None, recovery_codes_left=0)
    ann.begin()
    ann.confirm()
    assert refusal(ann.log_in, recovery) == "INVALID_TOTP", "of the app before"


def test_the_operator_turns_it_off_for_somebody_who_lost_everything(ann: Person) -> None:
    ann.enabled()
    brand = ann.accounts.brand(ann.user)
    assert refusal(
        ann.accounts.call, totp.turn_off_totp, ann.caller(), UserId(user_id=ann.user.id)
    ) == "MISSING_SCOPE"  # fmt: skip
    ann.accounts.call(totp.turn_off_totp, operator(), UserId(user_id=ann.user.id))
    assert ann.log_in()
    assert ann.accounts.actions(brand) == ["totp.disabled"]


def test_turning_it_on_and_off_is_in_the_audit_log(ann: Person) -> None:
    brand = ann.accounts.brand(ann.user)
    ann.disable(code=ann.enabled().recovery_codes[0])
    entries = ann.accounts.audit_log(brand)
    assert [(entry.action, entry.actor_id, entry.subject_id) for entry in entries] == [
        ("totp.disabled", ann.user.id, ann.user.id), ("totp.enabled", ann.user.id, ann.user.id),
    ]  # fmt: skip


def test_with_another_token_secret_recovery_codes_still_work(ann: Person) -> None:
    recovery = ann.enabled().recovery_codes[0]
    ann.accounts.config = replace(ann.accounts.config, token_secret="another secret, just as long as it was")
    assert ann.log_in(recovery)


def test_an_invitation_is_accepted_only_with_a_code(ann: Person) -> None:
    recovery = ann.enabled().recovery_codes[0]
    owner = ann.accounts.user()
    brand = ann.accounts.brand(owner)
    caller = replace(ann.caller(), account_id=owner.id, user_id=owner.id)
    made = ann.accounts.call(
        invitations.invite_person,
        ann.accounts.config,
        caller,
        InvitePerson(brand_id=brand.id, email=ann.user.email, role="full"),
    )
    code = invitations.derived_secrets.invitation_code(ann.accounts.config, made.id)
    request = AcceptInvitation(invitation_id=made.id, code=code, password=PASSWORD, asker="192.0.2.1")

    def accept(totp_code: str | None) -> str:
        given = replace(request, totp_code=totp_code)
        return invitations.accept_invitation(
            ann.accounts.database, ann.accounts.config, Caller("", ""), given
        ).user_id

    assert refusal(accept, None) == "TOTP_REQUIRED"
    assert accept(recovery) == ann.user.id
