"""One request on its way through the pipeline: what is known of it so far."""

import re
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar, cast

import msgspec

from chassis.ids import new_id
from contracts.accounts import Authenticated
from contracts.caller import Caller
from contracts.quota import Admitted
from gateway.admission.batcher import PendingAdmission
from gateway.endpoint import Endpoint
from gateway.http.client_address import Address, client_address
from gateway.idempotency.keys import Claim

if TYPE_CHECKING:
    from gateway.services import Services

#: decisions "X-Request-Id of a caller"; anything else is replaced.
_REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{1,128}", re.ASCII)

#: With less of its time left a request has its unit and key given up in the background. Our choice.
_TIME_TO_GIVE_UP_SECONDS = 2.0

Result = TypeVar("Result")


class Exchange:
    """Created per request; steps fill it in, handlers use `caller`, `services` and `ask`."""

    __slots__ = (
        "_deadline",
        "admission",
        "admitted",
        "authenticated",
        "body",
        "caller",
        "claim",
        "endpoint",
        "environ",
        "handled",
        "headers",
        "meter",
        "path_values",
        "request_id",
        "services",
    )  # fmt: skip

    def __init__(
        self,
        services: "Services",
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
        #: Of the answer, whether it goes well or not; kept with it for repetitions.
        self.headers: dict[str, str] = {}
        self.authenticated: Authenticated | None = None
        self.caller = Caller(account_id="", user_id="", request_id=self.request_id)
        self.claim: Claim | None = None
        #: Quota's verdict on its way.
        self.admission: PendingAdmission | None = None
        self.admitted: Admitted | None = None
        #: The month bucket admission took a unit of; "" for none.
        self.meter = ""
        #: The handler was entered: from here on an error may hide an effect.
        self.handled = False
        self.restart_deadline()

    def restart_deadline(self) -> None:
        self._deadline = time.monotonic() + self.endpoint.deadline_seconds

    @property
    def remaining_seconds(self) -> float:
        return max(self._deadline - time.monotonic(), 0.001)

    @property
    def has_time(self) -> bool:
        """Whether it may wait for the unit and the key of a failed call to be given up, and still answer in time."""
        return self.remaining_seconds > _TIME_TO_GIVE_UP_SECONDS

    @property
    def is_write(self) -> bool:
        return self.endpoint.method not in ("GET", "HEAD")

    @property
    def was_tried(self) -> bool:
        """Whether an earlier try of the operation may have taken effect."""
        return self.claim is not None and self.claim.taken_over

    @property
    def holds_scope(self) -> bool:
        scope = self.endpoint.scope
        return scope is None or self.caller.has_scope(scope)

    @property
    def identity(self) -> Authenticated:
        """The token's owner; only where a token was asked for."""
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
        """Sets who calls the services, and as which try of which operation."""
        self.caller = msgspec.structs.replace(
            caller, request_id=self.request_id, operation_id=operation_id, try_number=try_number
        )

    def relay(self, method: Callable[..., Result], request: object) -> Result:
        """Calls like `ask` for an answer that only goes on: JSON as the service wrote it, not looked into."""
        call: Any = method  # a proxy's: its type tells of the plain call alone
        encoded = call.start(self.caller, request, timeout_seconds=self.remaining_seconds).json()
        return cast(Result, encoded)

    def ask(self, method: Callable[..., Result], request: object) -> Result:
        """Calls a service within what is left of the deadline. Raises ApiError."""
        return method(self.caller, request, timeout_seconds=self.remaining_seconds)


def request_id_of(environ: Mapping[str, Any]) -> str:
    """The caller's own request id when it is well-formed, else a new one."""
    offered = environ.get("HTTP_X_REQUEST_ID", "")
    return offered if _REQUEST_ID.fullmatch(offered) else new_id("req")
