"""The contract of the echo service: its Protocol, and the record that it receives and returns."""

from typing import Protocol

from contracts.caller import Caller
from contracts.record import Record
from contracts.senders import called_by


class Words(Record):
    text: str


@called_by(gateway="echo")
class EchoApi(Protocol):
    def echo(self, caller: Caller, request: Words) -> Words: ...
