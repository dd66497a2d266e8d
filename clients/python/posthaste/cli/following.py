"""Calls a function again and again until it returns True, also after outages of the server."""

from __future__ import annotations

import time
from collections.abc import Callable

import click

from posthaste import LimitReached, NoAnswer, ServerError


def follow(look: Callable[[], bool], every: float, reassurance: str) -> None:
    """Calls `look` until it returns True. Pauses for `every` seconds between two calls.

    If a call of the API in `look` gets no answer, or is refused for a failure of the server or a limit, prints one line
    with `reassurance` and continues. Raises all other errors.
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
