"""Calls a function again and again until it returns True, also after outages of the server."""

from __future__ import annotations

import time
from collections.abc import Callable

import click

from posthaste import LimitReached, NoAnswer, ServerError


def follow(look: Callable[[], bool], every: float, reassurance: str) -> None:
    """Calls `look` again and again, `every` seconds after it has returned, until it returns True.

    An outage, a restart of the server or a rate limit does not end this: the function prints one line with
    `reassurance` and continues. Other errors are raised.
    """
    is_cut = False
    while True:
        try:
            if look():
                return
        except (NoAnswer, ServerError, LimitReached) as error:
            if not is_cut:
                click.echo(f"{error}. {reassurance}", err=True)
            is_cut = True
        else:
            is_cut = False
        time.sleep(every)
