"""Every command in the documentation exists, with the arguments and options that are written there."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from ctl.cli import cli
from posthaste.cli.main import main as client

ROOT = Path(__file__).parents[3]
PAGES = sorted(
    path for folder in ("", "docs/**/", "libs/*/", "services/*/") for path in ROOT.glob(f"{folder}*.md")
)
#: How a page calls the command line: installed, also in Kubernetes, on the local stack, and with compose.
CALL = re.compile(
    r"(?:(?<![\w./=-])(?<!-n )(?<!-d )(?<!-U )posthaste|\./dev ctl|docker compose run (?:--?[\w-]+ )*ctl)"
    r" +(?=[a-z-])(?!https:)"
)
#: Where another command, a comment or the end of a sentence begins.
END = re.compile(r" +#| \\?\| | >[ \w]| && |;|\)")
#: Values of the guides' variables, where a command takes only certain ones.
VARIABLES = {"$PLATFORM": "facebook"}


def commands(page: Path) -> Iterator[tuple[str, bool]]:
    """Yields the arguments of each command on a page, and whether the command is in a code block, which readers paste
    as a whole.
    """
    for number, part in enumerate(re.split(r"^```\w*\n", page.read_text(), flags=re.MULTILINE)):
        is_block = number % 2 == 1
        lines = part.replace("\\\n", " ").splitlines() if is_block else re.findall(r"`([^`\n]+)`", part)
        for line in lines:
            found = CALL.search(line)
            if found:
                yield END.split(line[found.end() :])[0].strip(), is_block


def parse(arguments: list[str]) -> None:
    """Parses a command of the operator or of the Python client, without running it. Raises click.UsageError."""
    first = arguments[0] if arguments else ""
    is_client = " ".join(arguments[:2]) in CLIENT or (first in client.commands and first not in cli.commands)
    command: click.Command | None = client if is_client else cli
    name: str | None = "posthaste"
    context: click.Context | None = None
    while isinstance(command, click.Group):
        context = command.make_context(name, arguments, parent=context)
        name, command, arguments = command.resolve_command(context, [*context._protected_args, *context.args])
    assert command is not None
    command.make_context(name, arguments, parent=context)


#: The Python client's command line and package have the same name. Both command lines have `webhooks`.
CLIENT = {"webhooks listen"}
PYTHON = {"import webhooks", "import Posthaste"}
FOUND = [
    pytest.param(text, is_block, id=f"{page.relative_to(ROOT)}: {text}")
    for page in PAGES
    for text, is_block in dict.fromkeys(commands(page))
    if text not in PYTHON
]


def test_the_commands_of_the_guides_are_found() -> None:
    assert len(FOUND) > 60
    assert sum(param.values[1] for param in FOUND) >= 20


@pytest.mark.parametrize(("text", "is_block"), FOUND)
def test_a_documented_command_exists_as_it_is_written(text: str, is_block: bool) -> None:
    arguments = [VARIABLES.get(word, word) for word in shlex.split(text)]
    try:
        parse([word for word in arguments if word != "--help"])
    except (click.MissingParameter, click.exceptions.NoArgsIsHelpError):
        assert not is_block or "--help" in arguments, "a command to paste is complete"
