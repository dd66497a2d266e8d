"""The echo's RPC surface."""

from typing import Protocol

from contracts.caller import Caller
from contracts.record import Record


class Words(Record):
    text: str


class EchoApi(Protocol):
    def echo(self, caller: Caller, request: Words) -> Words: ...
