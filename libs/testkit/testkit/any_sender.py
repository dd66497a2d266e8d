"""Calls services as any sender that may make the call. Needs every service's secret."""

from collections.abc import Callable, Mapping
from typing import Any

from chassis.bus.frames import Method, methods_of
from chassis.bus.pending import PendingCall
from chassis.bus.rpc import DEFAULT_TIMEOUT_SECONDS, Bus, connect
from chassis.message_keys import message_keys
from chassis.signatures import Signatures
from contracts.caller import Caller
from contracts.events import Event
from contracts.senders import CTL, GATEWAY
from contracts.services import SERVICES


class AnySender:
    """Stands where a `Bus` stands, over a bus of each sender that is needed: the operator's calls go out as ctl's, the
    others as the gateway's where that may make them.
    """

    def __init__(self, amqp_url: str, secrets: Mapping[str, str], *, unsigned_allowed: bool = False) -> None:
        """`secrets`: of every service that is called. `unsigned_allowed`: replies of a release that signs none."""
        self._amqp_url, self._secrets, self._unsigned_allowed = amqp_url, secrets, unsigned_allowed
        self._buses: dict[str, Bus] = {}
        self.bus_of(GATEWAY)

    def bus_of(self, sender: str) -> Bus:
        bus = self._buses.get(sender)
        if bus is None:
            keys = message_keys(sender, self._secrets, self._secrets)
            signatures = Signatures.read(sender, keys, unsigned_allowed=self._unsigned_allowed)
            bus = self._buses[sender] = connect(self._amqp_url, signatures, f"{sender} (test)")
        return bus

    def service(self, name: str, api: type | None = None) -> Any:
        return _Proxy(self, name, methods_of(api or SERVICES[name]))

    def ping(self, service: str, timeout_seconds: float = 2.0) -> None:
        self.bus_of(GATEWAY).ping(service, timeout_seconds)

    def subscribe(self, on_event: Callable[[Event], None], on_reset: Callable[[], None]) -> None:
        self.bus_of(GATEWAY).subscribe(on_event, on_reset)

    def close(self) -> None:
        for bus in self._buses.values():
            bus.close()


class _Proxy:
    def __init__(self, senders: AnySender, service: str, methods: Mapping[str, Method]) -> None:
        for name, method in methods.items():
            setattr(self, name, _BoundMethod(senders, service, method))


class _BoundMethod:
    def __init__(self, senders: AnySender, service: str, method: Method) -> None:
        self._senders, self._service, self._method = senders, service, method

    def __call__(
        self, caller: Caller, request: Any, *, timeout_seconds: float = DEFAULT_TIMEOUT_SECONDS
    ) -> Any:
        return self.start(caller, request, timeout_seconds=timeout_seconds).result()

    def start(
        self, caller: Caller, request: Any, *, timeout_seconds: float = DEFAULT_TIMEOUT_SECONDS
    ) -> PendingCall:
        bus = self._senders.bus_of(self._sender_for(caller))
        return bus.start(self._service, self._method, caller, request, timeout_seconds)

    def _sender_for(self, caller: Caller) -> str:
        wanted = (CTL, GATEWAY) if caller.is_operator else (GATEWAY, CTL)
        callers = self._method.callers
        return next((sender for sender in wanted if sender in callers), min(callers))
