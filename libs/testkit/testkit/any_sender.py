"""An RPC client for tests. It sends each call in the name of some process that may make the call, and needs every
service's secret.
"""

from collections.abc import Callable, Mapping

from chassis.bus.clients import Clients
from chassis.bus.frames import Method
from chassis.bus.pending import PendingCall
from chassis.bus.rpc import Bus, connect
from chassis.message_keys import message_keys
from chassis.signatures import Signatures
from contracts.caller import Caller
from contracts.events import Event
from contracts.record import Record
from contracts.senders import CTL, GATEWAY


class AnySender(Clients):
    """Sends each call in the name of a process that may make it.

    A call by the operator is sent as ctl or, if ctl may not make it, as the gateway. Any other call is sent as the
    gateway or, if the gateway may not make it, as ctl. A call that neither may make is sent as the first process, in
    alphabetical order, that may. Each of these senders has its own connection to the broker.
    """

    def __init__(self, amqp_url: str, secrets: Mapping[str, str]) -> None:
        """`secrets`: service → its secret, for every service that is called."""
        self._amqp_url, self._secrets = amqp_url, secrets
        self._buses: dict[str, Bus] = {}
        self.bus_of(GATEWAY)

    def bus_of(self, sender: str) -> Bus:
        bus = self._buses.get(sender)
        if bus is None:
            signatures = Signatures.read(sender, message_keys(sender, self._secrets, self._secrets))
            bus = self._buses[sender] = connect(self._amqp_url, signatures, f"{sender} (test)")
        return bus

    def start(
        self,
        service: str,
        method: Method,
        caller: Caller,
        request: Record,
        timeout_seconds: float,
        then: Callable[[PendingCall], None] | None = None,
    ) -> PendingCall:
        wanted = (CTL, GATEWAY) if caller.is_operator else (GATEWAY, CTL)
        sender = next((sender for sender in wanted if sender in method.callers), min(method.callers))
        return self.bus_of(sender).start(service, method, caller, request, timeout_seconds, then)

    def ping(self, service: str, timeout_seconds: float = 2.0) -> None:
        self.bus_of(GATEWAY).ping(service, timeout_seconds)

    def subscribe(self, on_event: Callable[[Event], None], on_reset: Callable[[], None]) -> None:
        self.bus_of(GATEWAY).subscribe(on_event, on_reset)

    def close(self) -> None:
        for bus in self._buses.values():
            bus.close()
