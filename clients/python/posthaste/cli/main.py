"""The group of all commands, and how exceptions become exit codes."""

from __future__ import annotations

import sys
from typing import Any

try:
    import click
except ImportError:  # installed without the extra
    sys.exit("The command line needs click: pip install 'posthaste-social[cli]'")

from posthaste import ApiError, AuthenticationError, NoAnswer, PosthasteError, __version__
from posthaste.cli import accounts, listen, logs, media, output, posts
from posthaste.cli.session import NotSignedIn, Session

EXIT_CODES = "Exit codes: 0 done, 1 refused, 2 wrong usage, 3 not signed in or a wrong token, 4 no answer."


class Commands(click.Group):
    """The group of all commands. If a command raises an exception of the library, prints it as one sentence, or as JSON
    with --json. Then exits with the exit code for this kind of exception.
    """

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except PosthasteError as error:
            _print_refusal(error, as_json=bool(ctx.params.get("as_json")))
            ctx.exit(_code_of(error))
        except ValueError as error:
            raise click.UsageError(str(error)) from None


def _code_of(error: PosthasteError) -> int:
    if isinstance(error, (NotSignedIn, AuthenticationError)):
        return 3
    return 4 if isinstance(error, NoAnswer) else 1


def _print_refusal(error: PosthasteError, *, as_json: bool) -> None:
    body = error.body if isinstance(error, ApiError) else {"error": str(error)}
    if isinstance(error, ApiError) and not error.code:
        body = {"error": error.message}
    key = getattr(error, "idempotency_key", None)
    if as_json:
        output.print_json({**body, **({"idempotency_key": key} if key else {})})
        return
    click.echo(f"Error: {error}", err=True)
    if isinstance(error, ApiError):
        for field in error.fields:
            click.echo(f"  {field.field}: {field.message}", err=True)
    if isinstance(error, NoAnswer) and key:
        click.echo(f"To make sure that it happens once, repeat the command with --key {key}", err=True)


@click.group(
    cls=Commands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
    epilog=EXIT_CODES,
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON, errors included.")
@click.option("--url", envvar="POSTHASTE_URL", help="Address of the server. [env: POSTHASTE_URL]")
@click.option(
    "--token",
    envvar="POSTHASTE_TOKEN",
    help="API token. [env: POSTHASTE_TOKEN]",
)
@click.version_option(__version__, prog_name="posthaste")
@click.pass_context
def main(ctx: click.Context, as_json: bool, url: str | None, token: str | None) -> None:
    """Publish and schedule posts on social platforms with Posthaste."""
    ctx.obj = Session(url=url, token=token, as_json=as_json)


@main.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print the script that completes commands in a shell.

    For bash, put this into ~/.bashrc: eval "$(posthaste completion bash)"
    """
    from click.shell_completion import get_completion_class

    kind = get_completion_class(shell)
    assert kind is not None
    source = kind(main, {}, "posthaste", "_POSTHASTE_COMPLETE").source_vars()
    click.echo(kind.source_template % source)


for command in (*accounts.COMMANDS, *posts.COMMANDS, *media.COMMANDS, *logs.COMMANDS, *listen.COMMANDS):
    main.add_command(command)
