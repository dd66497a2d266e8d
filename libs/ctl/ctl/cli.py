"""The command `posthaste`.

Exit status 0: done; 1: refused with the API's error; 2: wrong usage or a missing setting.
"""

import logging
from typing import Any

import click
import structlog

from chassis.config import ConfigError
from contracts.errors import ApiError
from ctl import output
from ctl.commands import (
    audit,
    brands,
    clock,
    collaborators,
    doctor,
    keys,
    pages,
    platforms,
    posts,
    quarantine,
    services,
    tokens,
    users,
    webhooks,
)
from ctl.commands.credits import credits_
from ctl.session import Session


class OperatorGroup(click.Group):
    """The command `posthaste`, which contains all other commands. Prints errors and turns them into exit codes."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except ApiError as error:
            _print_refusal(ctx.find_object(Session), error)
            ctx.exit(1)
        except ConfigError as error:
            raise click.UsageError(str(error)) from None
        except UnicodeEncodeError:
            raise click.UsageError("an argument is not valid Unicode") from None


def _print_refusal(session: Session | None, error: ApiError) -> None:
    if session is not None and session.as_json:
        click.echo(output.as_json(output.refusal(error)))
    else:
        click.echo(output.refusal_text(error), err=True)


@click.group(
    cls=OperatorGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
    epilog="Exit codes: 0 done, 1 refused with the API's error, 2 wrong usage or a missing setting.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object or array, errors included.")
@click.option(
    "--operation",
    metavar="ID",
    help="Repeat an earlier run that got no answer, by the id in its error. Nothing is done twice.",
)
@click.pass_context
def cli(ctx: click.Context, as_json: bool, operation: str | None) -> None:
    """Operate Posthaste: users, tokens, brands, pages, and the services themselves.

    Addresses come from environment variables (AMQP_URL and others). On the local stack, `./dev ctl` sets them.
    """
    session = ctx.obj or Session()
    session.as_json = as_json
    if operation is not None:
        if not operation:
            raise click.UsageError("--operation needs an id")
        session.act_as(operation)
    ctx.obj = session
    ctx.call_on_close(session.close)


for group in (
    users.user, tokens.token, brands.brand, collaborators.collaborator, audit.audit, pages.page,
    platforms.platform, posts.post, credits_, keys.keys, webhooks.webhook, clock.clock, quarantine.quarantine,
    services.service, doctor.doctor,
):  # fmt: skip
    cli.add_command(group)


def main(session: Session | None = None) -> None:
    """Runs the command that the process's arguments name. `session` replaces the usual connection and settings, for
    tests.
    """
    # Standard output holds only answers: log lines of libraries would make its JSON invalid.
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    logging.getLogger("pika").setLevel(logging.CRITICAL)
    cli(prog_name="posthaste", obj=session)
