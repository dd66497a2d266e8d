"""Functions that all calls to YouTube share: they find the token's channel, apply planned faults and format answers."""

import json
from collections.abc import Callable
from typing import Any, TypeVar

from flask import Response, g, request

from simulator.simulation import Simulation
from simulator.youtube import description, errors

T = TypeVar("T")
Answer = dict[str, Any]


def let_in(sim: Simulation, method: str) -> None:
    """Sets `g.channel` to the channel of the token. Raises YouTubeError if the token is invalid. Also raises it if the
    token's scopes or the call's parameters are not allowed for this method of the API.
    """
    token = request.headers.get("Authorization", "").partition(" ")[2]
    account = sim.accounts.holder(token)
    if account is None or account.platform != "YT" or sim.accounts.is_expired(account.account_id):
        raise errors.unauthorized()
    g.channel = account
    # A token that the control API made has no list of scopes: it may do everything.
    description.check(method, sim.accounts.facts(token).get("scopes"))


def faulted(
    sim: Simulation, operation: str, act: Callable[[], T], on_reject: Callable[[], None] | None = None
) -> T:
    """Runs `act` and returns its result, with the delay or failure of the fault that a test has planned for this call.
    Raises YouTubeError if the fault answers the call with an error.

    If `on_reject` is given, a fault of the mode `reject` does not raise an error. It only makes `on_reject` run before
    `act`.
    """
    mode = sim.faults.take("YT", operation, g.channel.account_id)
    if mode == "reject" and on_reject:
        on_reject()
        mode = None
    return sim.faults.play(mode, lambda refused: errors.refusal(refused, operation), act)


def json_answer(body: Answer, status: int = 200) -> Response:
    return Response(json.dumps(body), status, content_type="application/json; charset=UTF-8")
