"""The state of one request while the pipeline handles it."""

import re
import time
from collections.abc import Callable, Mapping
from typing import Any, TypeVar, cast

import msgspec

from chassis.bus.clients import remote
from chassis.bus.pending import ServiceAway
from chassis.ids import new_id
from contracts.accounts import Authenticated
from contracts.caller import Caller
from contracts.errors import ERRORS, SERVICE_UNAVAILABLE, ApiError
from contracts.quota import Admitted
from gateway.admission.batcher import PendingAdmission
from gateway.endpoint import Endpoint
from gateway.http.client_address import Address, client_address
from gateway.idempotency.keys import leaves_outcome_open
from gateway.idempotency.store import Claim
from gateway.services import Services

#: decisions "X-Request-Id of a caller"; anything else is replaced.
_REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{1,128}", re.ASCII)

#: A failed request with less time left than this returns its unit and its key in the background. Our choice: as long as
#: a refund may take.
_TIME_TO_GIVE_UP_SECONDS = 2.0
#: `ask_until_free` asks a busy service this often: rarely beside the seconds that a video takes.
_BUSY_PAUSE_SECONDS = 1.0

Request = TypeVar("Request")
Result = TypeVar("Result")


class Exchange:
    """The state of one request: its input, its caller, the claim on its idempotency key, the verdict of the service
    `quota`, and the headers of the answer.

    The pipeline's steps fill it in; handlers use `caller`, `services`, `ask` and `relay`.
    """

    __slots__ = (
        "_deadline", "_started", "admission", "admitted", "authenticated", "body", "caller", "claim", "endpoint",
        "environ", "error_code", "handled", "headers", "meter", "path_values", "request_id", "services",
    )  # fmt: skip

    def __init__(
        self,
        services: Services,
        endpoint: Endpoint,
        environ: Mapping[str, Any],
        path_values: Mapping[str, str],
    ) -> None:
        self.services = services
        self.endpoint = endpoint
        self.environ = environ
        self.path_values = path_values
        self.request_id = request_id_of(environ)
        self.body = b""
        #: Headers of the answer, of errors too; kept with the answer for repetitions.
        self.headers: dict[str, str] = {}
        self.authenticated: Authenticated | None = None
        self.caller = Caller(account_id="", user_id="", request_id=self.request_id)
        self.claim: Claim | None = None
        #: The pending admission, until its verdict has been taken.
        self.admission: PendingAdmission | None = None
        self.admitted: Admitted | None = None
        #: The monthly bucket that admission took a unit of; "" for none.
        self.meter = ""
        #: Whether the handler was entered: after that an error may hide an effect.
        self.handled = False
        #: The code of the error that the request is answered with.
        self.error_code: str | None = None
        self._started = time.monotonic()
        self.restart_deadline()

    def restart_deadline(self) -> None:
        """Gives the request the whole time limit of its endpoint again, from now on."""
        self._deadline = time.monotonic() + self.endpoint.deadline_seconds

    @property
    def remaining_seconds(self) -> float:
        """Seconds until the deadline, never zero."""
        return max(self._deadline - time.monotonic(), 0.001)

    @property
    def duration_seconds(self) -> float:
        """Seconds since the request's head arrived."""
        return time.monotonic() - self._started

    @property
    def has_time(self) -> bool:
        """Whether enough time is left to refund the request's unit and to release its idempotency key before the answer
        is sent."""
        return self.remaining_seconds > _TIME_TO_GIVE_UP_SECONDS

    @property
    def is_write(self) -> bool:
        return self.endpoint.method not in ("GET", "HEAD")

    @property
    def was_tried(self) -> bool:
        """Whether an earlier try of the same operation may have taken effect."""
        return self.claim is not None and self.claim.taken_over

    @property
    def holds_scope(self) -> bool:
        scope = self.endpoint.scope
        return scope is None or self.caller.has_scope(scope)

    @property
    def identity(self) -> Authenticated:
        """The data of the request's token, and its caller. Only for endpoints that require a token."""
        assert self.authenticated is not None
        return self.authenticated

    @property
    def client_address(self) -> Address | None:
        environ = self.environ
        return client_address(
            environ.get("REMOTE_ADDR", ""),
            environ.get("HTTP_X_FORWARDED_FOR", ""),
            self.services.config.trusted_proxy_hops,
        )

    def act_as(self, caller: Caller, operation_id: str | None, try_number: int = 1) -> None:
        """Sets the caller that all further calls to services carry, with an operation id and the number of this try."""
        self.caller = msgspec.structs.replace(
            caller, request_id=self.request_id, operation_id=operation_id, try_number=try_number
        )

    def await_admission(self) -> None:
        """Waits for the verdict of the service `quota`, if it has not come yet. Raises ApiError if a limit was hit.

        The handler of a read starts before the verdict. A handler that calls a platform or reads the counters calls
        this method first.
        """
        if self.admission is None:
            return
        admission, self.admission = self.admission, None
        self.admitted = admitted = admission.result()
        if admitted.refused_code is not None:
            self.meter = ""
            self.services.limited_tokens.note(self.identity.token.id, admitted.window.resets_at)
            extras: dict[str, Any] = admitted.refused_extras
            raise ApiError(ERRORS[admitted.refused_code], **extras)

    def made_nothing(self, error: ApiError) -> bool:
        """Whether `error` proves that the operation had no effect, so that its unit can be refunded.

        Without proof (an unknown outcome, or an earlier try that may have had an effect) the service `quota` later asks
        the service `publishing` about the operation.
        """
        is_open = self.handled and leaves_outcome_open(error, sends=True)
        return not (is_open or self.was_tried)

    def ask(
        self,
        method: Callable[[Caller, Request], Result],
        request: Request,
        *,
        timeout_seconds: float | None = None,
    ) -> Result:
        """Calls a method of a service. Raises ApiError if the call fails. By default the time limit is the time left
        until the deadline.
        """
        timeout_seconds = self.remaining_seconds if timeout_seconds is None else timeout_seconds
        return remote(method)(self.caller, request, timeout_seconds=timeout_seconds)

    def ask_until_free(
        self, method: Callable[[Caller, Request], Result], request: Request, *, timeout_seconds: float
    ) -> Result:
        """Calls a method of a service again and again while the service is busy, within `timeout_seconds`.

        Only for calls that may be repeated. Between the calls, the request occupies no worker of the service. Raises
        SERVICE_UNAVAILABLE if the service is still busy when the time runs out; if the service does not run, raises it
        at once. Any other error of the call is raised too.
        """
        end = time.monotonic() + timeout_seconds
        while True:
            try:
                return self.ask(method, request, timeout_seconds=max(end - time.monotonic(), 0.001))
            except ServiceAway:
                raise
            except ApiError as error:
                if error.row is not SERVICE_UNAVAILABLE or time.monotonic() + _BUSY_PAUSE_SECONDS > end:
                    raise
            time.sleep(_BUSY_PAUSE_SECONDS)

    def relay(self, method: Callable[[Caller, Request], Result], request: Request) -> Result:
        """Calls a method of a service and returns its JSON without decoding it. Raises ApiError if the call fails.

        The result is annotated as the record although it is JSON, so that a handler declared to return the record can
        return it.
        """
        call = remote(method).start(self.caller, request, timeout_seconds=self.remaining_seconds)
        return cast("Result", call.json())


def request_id_of(environ: Mapping[str, Any]) -> str:
    """Returns the request id that the client has sent, or a new id if that one is missing or malformed."""
    offered = environ.get("HTTP_X_REQUEST_ID", "")
    return offered if _REQUEST_ID.fullmatch(offered) else new_id("req")
