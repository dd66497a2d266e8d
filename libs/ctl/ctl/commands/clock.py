"""`clock`: the shared clock of a local stack, moved in every service's database and in the simulator."""

import math
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import datetime
from typing import Any

import click

from chassis.db import clock as chassis_clock
from chassis.db.database import Database
from contracts.errors import ApiError, ErrorRow
from contracts.record import Record
from ctl import simulator
from ctl.config import CtlConfig
from ctl.session import Session, pass_session

CLOCK_SHIFT_NOT_ALLOWED = ErrorRow(
    code="CLOCK_SHIFT_NOT_ALLOWED",
    http_status=403,
    category="permission",
    message="CLOCK_SHIFT_ALLOWED is not true, so the clock cannot be shifted.",
    recommended_fix="Use the local stack (./dev ctl clock). Never shift the clock of a production system.",
)
#: A century: later than any expiry, and far below PostgreSQL's limit for timestamps.
MAX_SHIFT_SECONDS = 100 * 366 * 86_400


class ClockState(Record):
    """The services' time, and how far it is shifted from real time. `databases`: service → shift of its database, in
    seconds.
    """

    shift_seconds: float
    now: datetime
    databases: dict[str, float]


class Seconds(click.ParamType[float]):
    """The type of a command's argument: a finite number of seconds, which may be negative."""

    name = "seconds"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> float:
        try:
            seconds = float(value)
        except ValueError:
            seconds = math.nan
        if not abs(seconds) <= MAX_SHIFT_SECONDS:
            self.fail(
                f"{value!r} is not a number of seconds between -{MAX_SHIFT_SECONDS} and {MAX_SHIFT_SECONDS}",
                param,
                ctx,
            )
        return seconds


@click.group()
def clock() -> None:
    """The shared clock of the local stack.

    It governs schedules, retries, rate windows, month ends and expiries. Timeouts and leases use real time.
    """


@clock.command()
@pass_session
def show(session: Session) -> None:
    """Show the services' time and its shift."""
    with _databases(session.config) as connections:
        session.show(_state(connections))


@clock.command(context_settings={"ignore_unknown_options": True})
@click.argument("seconds", type=Seconds())
@pass_session
def shift(session: Session, seconds: float) -> None:
    """Move the clock by SECONDS, which may be negative. Shifts add up: twice 3600 is two hours."""
    _move(session, by_seconds=seconds)


@clock.command()
@pass_session
def reset(session: Session) -> None:
    """Set the clock back to real time."""
    _move(session, by_seconds=None)


def _move(session: Session, *, by_seconds: float | None) -> None:
    """Sets the same clock shift in every service's database and in the simulator, and prints it.

    `by_seconds` is added to the present shift; None means real time. Raises ApiError CLOCK_SHIFT_NOT_ALLOWED unless the
    setting CLOCK_SHIFT_ALLOWED is true.
    """
    if not session.config.clock_shift_allowed:
        raise ApiError(CLOCK_SHIFT_NOT_ALLOWED)
    with _databases(session.config) as connections:
        target = 0.0
        if by_seconds is not None:
            present = max(map(chassis_clock.shift_seconds, connections.values()), key=abs)
            target = max(-MAX_SHIFT_SECONDS, min(present + by_seconds, MAX_SHIFT_SECONDS))
        for connection in connections.values():
            chassis_clock.set_shift(connection, target)
        simulator.set_clock(session.config, target)
        state = _state(connections)
    session.show(state)


@contextmanager
def _databases(config: CtlConfig) -> Iterator[dict[str, Any]]:
    """Yields service → connection to its database, each in a transaction. At the end commits the transactions one after
    another.
    """
    with ExitStack() as stack:
        connections = {}
        for service, url in config.database_urls.items():
            database = Database(url, pool_size=1)
            stack.callback(database.close)
            connections[service] = stack.enter_context(database.transaction())
        yield connections


def _state(connections: dict[str, Any]) -> ClockState:
    shifts = {service: chassis_clock.shift_seconds(connection) for service, connection in connections.items()}
    return ClockState(
        shift_seconds=max(shifts.values(), key=abs),
        now=chassis_clock.now(next(iter(connections.values()))),
        databases=shifts,
    )
