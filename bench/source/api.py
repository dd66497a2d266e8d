"""The contract of the service that stages events: its Protocol and records."""

from typing import Protocol

from contracts.caller import Caller
from contracts.record import Record
from contracts.senders import called_by


class StageEvents(Record):
    """A request to stage `count` events for each account, in one transaction."""

    account_ids: tuple[str, ...]
    count: int = 1


class Staged(Record):
    """The ids of the staged events, and the time of the commit in Unix seconds."""

    event_ids: tuple[str, ...]
    committed_at: float


@called_by(ctl="stage_events")
class SourceApi(Protocol):
    def stage_events(self, caller: Caller, request: StageEvents) -> Staged: ...
