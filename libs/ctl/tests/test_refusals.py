"""Exit codes: 0 done, 1 refused with the API's error, 2 wrong usage."""

from typing import Any

import click
import pytest

from contracts import errors
from contracts.errors import ApiError
from ctl.cli import cli
from ctl.output import table

WORDS = ["--email", "a@example.com", "--tier", "free"]


def test_a_refusal_is_the_apis_error_with_its_fix_and_exit_1(line: Any) -> None:
    line.bus.answers["create_user"] = ApiError(errors.EMAIL_TAKEN)
    answer = line.json("user", "create", *WORDS, exit_code=1)
    assert answer["code"] == "EMAIL_TAKEN"
    assert answer["error"] == errors.EMAIL_TAKEN.message
    assert answer["recommended_fix"] == errors.EMAIL_TAKEN.recommended_fix


def test_people_read_refusals_on_standard_error(line: Any) -> None:
    line.bus.answers["create_user"] = errors.invalid("email", "is not an e-mail address")
    result = line.run("user", "create", *WORDS)
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.startswith("VALIDATION_ERROR: email: is not an e-mail address\n")
    assert errors.VALIDATION_ERROR.recommended_fix in result.stderr


def test_extra_fields_of_a_refusal_are_shown(line: Any) -> None:
    line.bus.answers["create_user"] = ApiError(errors.LIMIT_REACHED, limit=10)
    assert line.json("user", "create", *WORDS, exit_code=1)["limit"] == 10
    assert "  limit: 10\n" in line.run("user", "create", *WORDS).stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ("user", "create", "--email", "a@example.com"),
        ("user", "create", "--email", "a@example.com", "--tier", "gold"),
        ("user", "plan", "usr_1"),
        ("token", "set-used", "tok_1", "many"),
        ("page", "link", "--brand", "brd_1", "--platform", "myspace"),
        ("collaborator", "add", "--brand", "b", "--user", "u", "--role", "owner"),
        ("clock", "shift", "nan"),
        ("clock", "shift", "1e300"),
        ("credits", "grant", "--user", "usr_1", "--amount", "0"),
        ("credits", "auto-refill", "--user", "usr_1", "--threshold", "10"),
        ("credits", "auto-refill", "--user", "usr_1", "--threshold", "10", "--amount", "500", "--off"),
        ("nonsense",),
        (),
    ],
)
def test_wrong_usage_is_exit_2_and_calls_nobody(line: Any, arguments: tuple[str, ...]) -> None:
    assert line.run("--json", *arguments).exit_code == 2
    assert line.bus.calls == []


def test_a_missing_address_is_told_by_name(line: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AMQP_URL")
    result = line.run("user", "create", *WORDS)
    assert result.exit_code == 2
    assert "AMQP_URL" in result.stderr


def test_an_expiry_that_is_no_date_is_the_apis_error(line: Any) -> None:
    arguments = ("token", "create", "--user", "usr_1", "--scopes", "*", "--expires", "tomorrow")
    answer = line.json(*arguments, exit_code=1)
    assert (answer["code"], answer["field"]) == ("INVALID_DATE", "expires_at")


def test_a_subscription_that_is_not_there_cannot_be_enabled(line: Any) -> None:
    line.bus.answers["enable_subscription"] = ApiError(errors.NOT_FOUND)
    assert line.json("webhook", "enable", "whk_1", exit_code=1)["code"] == "NOT_FOUND"


@pytest.mark.parametrize("command", [("clock", "shift", "60"), ("clock", "reset")])
def test_the_clock_is_not_moved_where_that_is_not_allowed(line: Any, command: tuple[str, ...]) -> None:
    assert line.json(*command, exit_code=1)["code"] == "CLOCK_SHIFT_NOT_ALLOWED"


def test_the_connection_is_closed_after_a_refusal_too(line: Any) -> None:
    line.bus.answers["create_user"] = ApiError(errors.EMAIL_TAKEN)
    line.run("user", "create", *WORDS)
    assert line.bus.closed


def test_the_commands_are_exactly_these_each_with_help_for_itself_and_its_options(line: Any) -> None:
    found = []
    for name, entry in cli.commands.items():
        commands: dict[tuple[str, ...], click.Command] = {(name,): entry}
        if isinstance(entry, click.Group):
            commands = {(name, word): entry.commands[word] for word in sorted(entry.commands)}
        found.append(" ".join((name, *(words[-1] for words in commands if len(words) > 1))))
        for words, command in commands.items():
            assert command.help, words
            assert all(option.help for option in command.params if isinstance(option, click.Option)), words
            assert line.run(*words, "--help").exit_code == 0
    assert sorted(found) == [
        "audit list",
        "brand create list",
        "clock reset shift show",
        "collaborator add invitation-link remove",
        "credits auto-refill grant show",
        "doctor",
        "keys rotate",
        "page expire link list",
        "platform check",
        "post due",
        "quarantine list replay",
        "service list",
        "token create list revoke rotate set-used",
        "user create email-link invite list plan reset-link totp-off unverified verification-link verify",
        "webhook enable",
    ]


def test_control_characters_of_stored_names_do_not_reach_the_terminal() -> None:
    assert "\x1b" not in table([{"name": "\x1b[2Jgone"}], ["name"])
