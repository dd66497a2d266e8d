"""A fake bus that records calls and returns the answers that a test sets."""

from collections.abc import Callable
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import msgspec

from chassis.bus.pending import unavailable
from chassis.tokens import LIVE_PREFIX, make_token
from contracts import accounts, publishing, quota
from contracts.caller import Caller
from contracts.errors import ApiError
from contracts.record import Nothing

NOW = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
TOKEN = make_token(LIVE_PREFIX, b"\x01" * 32)
USER = accounts.User(
    id="usr_1", email="ada@example.com", firstname="Ada", lastname="L", tier="pro", created_at=NOW
)
POST = publishing.ScheduledPost(
    id="pst_1",
    page_id="pag_1",
    brand_id="brd_1",
    platform="FB",
    message="Hello",
    media=(),
    scheduled_at=NOW,
    status="queued",
    created_at=NOW,
)
PAGE = publishing.Page(
    id="pag_1",
    platform="FB",
    name="Page",
    username=None,
    account_id="1",
    brand_id="brd_1",
    brand_name="Brand",
    followers=1,
    picture=None,
    expired=False,
    created_at=NOW,
)
RESULT = publishing.PublishResult(
    post_id="pst_1",
    platform="FB",
    page_id="pag_1",
    brand_id="brd_1",
    message="Hello",
    media=(),
    status="published",
    was_published=True,
    platform_post_id="1_1",
    published_at=NOW,
    permalink=None,
)


def identity(**changes: Any) -> accounts.Authenticated:
    """Returns the answer of the service accounts to a token. `changes` replace fields of the token or the caller."""
    token = accounts.Token(id="tok_1", name="t", prefix="svc_live_abc", scopes=("*",))
    caller = Caller(account_id="usr_1", user_id="usr_1", token_id="tok_1", tier="pro")
    for name, value in changes.items():
        if name in token.__struct_fields__:
            token = msgspec.structs.replace(token, **{name: value})
        if name in caller.__struct_fields__:
            caller = msgspec.structs.replace(caller, **{name: value})
    return accounts.Authenticated(
        caller=msgspec.structs.replace(caller, scopes=token.scopes), user=USER, token=token
    )


def admitted(**changes: Any) -> quota.Admitted:
    window = quota.RateWindow(limit=60, remaining=59, resets_at=NOW)
    return msgspec.structs.replace(quota.Admitted(window=window, year_month="2026-11"), **changes)


class FakeBus:
    """A bus that takes its answers from `answers`: method → a record, an error to raise, or a function of caller and
    request.
    """

    def __init__(self) -> None:
        self.calls: list[tuple[str, Caller, Any]] = []
        #: The timeout of each method's last call.
        self.timeouts: dict[str, float] = {}
        self.answers: dict[str, Any] = {
            "authenticate": identity(),
            "record_use": Nothing(),
            "admit": admitted(),
            "refund": Nothing(),
            "list_pages": publishing.PageList(pages=(PAGE,)),
            "get_page": PAGE,
            "schedule_post": POST,
            "edit_post": POST,
            "get_scheduled_post": POST,
            "publish_post": RESULT,
            "cancel_post": publishing.Cancelled(success=True, id="pst_1"),
        }
        #: The pinged services. Those in `silent` never answer; those in `away` fail with the given reason.
        self.pings: list[str] = []
        self.silent: set[str] = set()
        self.away: dict[str, str] = {}
        self.on_event: Callable[[Any], None] = lambda event: None
        self.on_reset: Callable[[], None] = lambda: None

    def service(self, name: str, api: type | None = None) -> Any:
        return _Proxy(self)

    def subscribe(self, on_event: Callable[[Any], None], on_reset: Callable[[], None]) -> None:
        self.on_event, self.on_reset = on_event, on_reset

    def start_ping(self, service: str, timeout_seconds: float, then: Callable[[Any], None]) -> None:
        self.pings.append(service)
        if service in self.silent:
            return

        def result() -> Nothing:
            if service in self.away:
                raise unavailable(self.away[service])
            return Nothing()

        then(SimpleNamespace(result=result))

    def close(self) -> None:
        self.calls.append(("close", Caller(account_id="", user_id=""), None))

    def asked(self, method: str) -> list[tuple[Caller, Any]]:
        return [(caller, request) for name, caller, request in self.calls if name == method]

    def call(self, method: str, caller: Caller, request: Any) -> Any:
        if method == "admit_all":
            return quota.Verdicts(
                verdicts=tuple(self.call("admit", one.caller, one) for one in request.arrivals)
            )
        self.calls.append((method, caller, request))
        answer = self.answers[method]
        if isinstance(answer, Exception):
            raise answer
        return answer(caller, request) if callable(answer) else answer


class _Proxy:
    def __init__(self, bus: FakeBus) -> None:
        self._bus = bus

    def __getattr__(self, method: str) -> Any:
        def call(caller: Caller, request: Any, *, timeout_seconds: float = 10.0) -> Any:
            assert timeout_seconds > 0
            self._bus.timeouts[method] = timeout_seconds
            return self._bus.call(method, caller, request)

        def start(caller: Caller, request: Any, *, timeout_seconds: float = 10.0, then: Any = None) -> Any:
            answer: Any = None
            error: ApiError | None = None
            try:
                answer = call(caller, request, timeout_seconds=timeout_seconds)
            except ApiError as raised:
                error = raised

            def result() -> Any:
                if error is not None:
                    raise error
                return answer

            pending = SimpleNamespace(result=result, json=lambda: msgspec.Raw(msgspec.json.encode(result())))
            if then is not None:
                then(pending)
            return pending

        call.start = start  # type: ignore[attr-defined]
        return call
