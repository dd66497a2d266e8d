"""The service that stages events, built with chassis like the product's services."""

import time

from source.api import SourceApi, Staged, StageEvents
from source.staging import stage

from chassis import config
from chassis.service import DatabaseProvider, rpc
from chassis.signatures import Signatures
from contracts.caller import Caller


class PublishingDatabase(DatabaseProvider):
    """Connects the service to publishing's database. Its events are signed with publishing's keys."""

    @property
    def signatures(self) -> Signatures:
        return config.signatures("publishing")


class SourceService:
    name = "source"
    api = SourceApi
    database = PublishingDatabase()

    @rpc
    def stage_events(self, caller: Caller, request: StageEvents) -> Staged:
        event_ids = stage(self.database, request.account_ids, request.count)
        return Staged(event_ids=event_ids, committed_at=time.time())
