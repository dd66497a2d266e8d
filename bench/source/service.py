"""The source, through chassis like any other service."""

import time

from source.api import SourceApi, Staged, StageEvents
from source.staging import stage

from chassis.service import DatabaseProvider, rpc
from contracts.caller import Caller


class SourceService:
    name = "source"
    api = SourceApi
    database = DatabaseProvider()

    @rpc
    def stage_events(self, caller: Caller, request: StageEvents) -> Staged:
        event_ids = stage(self.database, request.account_ids, request.count)
        return Staged(event_ids=event_ids, committed_at=time.time())
