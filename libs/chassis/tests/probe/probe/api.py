"""The probe's RPC surface."""

from typing import Protocol

from contracts.caller import Caller
from contracts.record import Nothing, Record
from contracts.senders import called_by


class Words(Record):
    text: str = ""
    seconds: float = 0.0


class Count(Record):
    count: int


@called_by(
    gateway=(
        "echo",
        "pass_on",
        "wait",
        "query_slowly",
        "refuse",
        "break_down",
        "garble",
        "write",
        "count",
        "tell",
        "end_nap",
    ),
    ctl=("echo", "write", "count"),
    probe=("echo", "wait"),
)
class ProbeApi(Protocol):
    def echo(self, caller: Caller, request: Words) -> Words: ...
    def pass_on(self, caller: Caller, request: Words) -> Words: ...
    def wait(self, caller: Caller, request: Words) -> Words: ...
    def query_slowly(self, caller: Caller, request: Words) -> Words: ...
    def refuse(self, caller: Caller, request: Words) -> Nothing: ...
    def break_down(self, caller: Caller, request: Words) -> Nothing: ...
    def garble(self, caller: Caller, request: Words) -> Words: ...
    def write(self, caller: Caller, request: Words) -> Nothing: ...
    def count(self, caller: Caller, request: Words) -> Count: ...
    def tell(self, caller: Caller, request: Words) -> Nothing: ...
    def end_nap(self, caller: Caller, request: Nothing) -> Nothing: ...
