"""An RPC call that waits for its answer, and the errors with which it may end."""

import threading
import time
from collections.abc import Callable
from typing import Any

import msgspec
import structlog
from msgspec import Raw

from chassis.bus.frames import REFUSED, Call, Failure, Method, error_of
from chassis.telemetry import tracing
from contracts.errors import SERVICE_UNAVAILABLE, ApiError

log = structlog.get_logger()


class ServiceAway(ApiError):
    """Raised as SERVICE_UNAVAILABLE when no process of the service runs, or when the broker is away.

    A call that is repeated soon after this error will be refused too.
    """


class PendingCall:
    """An RPC call that has no answer yet; `result()` waits for it."""

    __slots__ = (
        *("_done", "_error", "_method", "_raw"),
        *("call", "deadline", "forget", "frame_id", "has_ended", "sent_at", "service", "span", "then"),
    )

    def __init__(self, service: str, method: Method, call: Call, deadline: float) -> None:
        self.service = service
        self.call = call
        self.deadline = deadline
        #: When the call was sent (monotonic); 0 before that.
        self.sent_at = 0.0
        self.has_ended = False
        self.frame_id = 0
        self.forget: Callable[[int], None] = lambda _id: None
        self.span: Any = None
        #: Called in the I/O thread once the call has ended. Must be quick; may start further calls.
        self.then: Callable[[PendingCall], None] | None = None
        self._method = method
        self._done = threading.Lock()
        self._done.acquire()
        self._raw = Raw(b"null")
        self._error: ApiError | None = None

    def is_over(self, now: float) -> bool:
        """Whether the call has been answered, has failed, or has passed its deadline."""
        return self.has_ended or self.deadline <= now

    def finish(self, raw: Raw, error: ApiError | None) -> None:
        self._raw, self._error, self.has_ended = raw, error, True
        self._done.release()
        if self.span is not None:
            tracing.called(self.span, error)
        if self.then is not None:
            self.then(self)

    def result(self) -> Any:
        """Waits for the answer, and returns it as the contract's record. Raises ApiError if the call fails."""
        return msgspec.json.decode(self.json(), type=self._method.result)

    def json(self) -> Raw:
        """Waits for the answer, and returns the service's JSON. Raises ApiError if the call fails."""
        if not self._done.acquire(timeout=max(self.deadline - time.monotonic(), 0)):
            self.forget(self.call.id)
            late = unavailable(f"{self.service} did not answer in time")
            if self.span is not None:
                tracing.called(self.span, late)
            raise late
        if self._error is not None:
            raise self._error
        return self._raw


def unavailable(reason: str, error_type: type[ApiError] = ApiError) -> ApiError:
    """Builds the error SERVICE_UNAVAILABLE and logs it. Adds `reason` as a note of the exception, for the operator;
    clients do not see it.
    """
    log.warning("service_unavailable", reason=reason)
    error = error_type(SERVICE_UNAVAILABLE, retry_after_seconds=1)
    error.add_note(reason)
    return error


def failed(service: str, failure: Failure | None) -> ApiError | None:
    """Returns the error that a reply's failure stands for, or None if the call succeeded."""
    if failure is None:
        return None
    if why := failure.extras.get(REFUSED):
        return unavailable(f"{service} refused the call: {why}")
    return error_of(failure)


def reason_of(error: ApiError) -> str:
    """Returns the reason why a call failed, for the operator: the note that `unavailable` added, or the service's
    message.
    """
    return next(iter(getattr(error, "__notes__", ())), error.message)
