"""The service that stages events, built with chassis as the product's services are."""

import time

from source.api import SourceApi, Staged, StageEvents
from source.staging import stage

from chassis import config
from chassis.service import DatabaseProvider, rpc
from chassis.signatures import Signatures
from contracts.caller import Caller


class PublishingDatabase(DatabaseProvider):
    """The service's database, which is publishing's. Its events are signed with publishing's keys."""

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
