"""The checks before every call to X: token, query parameters, the app's credits, planned faults, rate limits."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

from flask import Response, g, jsonify, request

from simulator.accounts import Account
from simulator.simulation import Simulation
from simulator.x import errors, fields
from simulator.x.posts import Posts

Answer = dict[str, Any]
Act = Callable[[Account], Answer]
#: After how long a `rate_limit` fault lets the limit end, for the header `x-rate-limit-reset`.
_FAULT_WAIT = timedelta(seconds=60)


class Gate:
    """Checks every call to X in one simulator. `left` is the number of calls that the app may still make; with None
    there is no limit.
    """

    def __init__(self, sim: Simulation, posts: Posts) -> None:
        self._sim = sim
        self._posts = posts
        self.left: int | None = None
        #: The only parameter name for a post's fields that X accepts; None: both.
        self.fields_name: str | None = None

    def open(self) -> None:
        """Removes the limit of the app's calls, and accepts both `tweet.fields` and `post.fields` again."""
        self.left = self.fields_name = None

    def run(
        self,
        operation: str,
        act: Act,
        window: str | None = None,
        on_reject: Act | None = None,
        status: int = 200,
    ) -> Response:
        """Checks the call. Then runs `act` and returns its result as JSON. `window` is the kind of rate limit against
        which the call counts. Raises XError if a check fails, or if a planned fault answers the call with an error.

        If `on_reject` is given, a fault of the mode `reject` does not raise an error. It only makes `on_reject` run in
        place of `act`.
        """
        account = self._caller()
        fields.check(self._sim.told("x_fields", self.fields_name))
        if self.left is not None and self.left <= 0:
            raise errors.out_of_credits()
        mode = self._sim.faults.take("TW", operation, account.account_id)
        if mode == "reject" and on_reject:
            return jsonify(on_reject(account))
        if mode == "rate_limit":
            ends_at = int((self._sim.clock.now() + _FAULT_WAIT).timestamp())
            g.limits = {"x-rate-limit-limit": "100", "x-rate-limit-remaining": "0"} | {
                "x-rate-limit-reset": str(ends_at)
            }
        response = jsonify(
            self._sim.faults.play(
                mode,
                lambda refused: errors.refusal(refused, operation),
                lambda: self._within(account, window, act),
            )
        )
        if self.left is not None:
            self.left -= 1
        response.status_code = status
        return response

    def _within(self, account: Account, kind: str | None, act: Act) -> Answer:
        if kind is not None:
            window, now = self._posts.window(account.account_id, kind), self._sim.clock.now()
            try:
                window.take(now)
            finally:
                g.limits = window.headers(now)
        return act(account)

    def _caller(self) -> Account:
        scheme, _, token = request.headers.get("Authorization", "").partition(" ")
        account = self._sim.accounts.holder(token) if scheme == "Bearer" else None
        if account is None or account.platform != "TW" or self._sim.accounts.is_expired(account.account_id):
            raise errors.unauthorized()
        # A token that the control API made has no list of scopes: it may do everything.
        granted = self._sim.accounts.facts(token).get("scopes")
        if granted is not None and not _needed() <= set(granted):
            raise errors.forbidden("Forbidden")
        return account


def _needed() -> set[str]:
    """Returns the scopes that this call needs (`security` in X's OpenAPI description)."""
    if request.path.startswith("/2/media/"):
        return {"media.write"}
    reads = {"tweet.read", "users.read"}
    return reads if request.method == "GET" else reads | {"tweet.write"}
