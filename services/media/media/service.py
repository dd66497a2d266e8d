"""The media service on the bus: its RPC methods, events and worker loops. No rules."""

import msgspec

from chassis.service import DatabaseProvider, loop, on_event, rpc
from contracts import media as contract
from contracts.caller import Caller
from contracts.events import Event, PostMedia
from contracts.record import Nothing
from media.cleanup import removals, sweeps
from media.config import Settings
from media.context import AppContext, context_of
from media.files import attachments, downloads, library, multipart_uploads, uploads
from media.inspection import decoder_sandbox
from media.store import Connection


class MediaService:
    name = "media"
    api = contract.MediaApi
    database = DatabaseProvider()

    @classmethod
    def before_start(cls) -> None:
        decoder_sandbox.check(Settings.from_env())

    @property
    def context(self) -> AppContext:
        return context_of(self.database)

    @rpc
    def begin_upload(self, caller: Caller, request: contract.BeginUpload) -> contract.UploadTicket:
        return uploads.begin(self.context, caller, request)

    @rpc
    def commit_upload(self, caller: Caller, request: contract.CommitUpload) -> contract.UploadedMedia:
        return uploads.commit(self.context, caller, request)

    @rpc
    def abort_upload(self, caller: Caller, request: contract.UploadId) -> Nothing:
        return uploads.abort(self.context, caller, request)

    @rpc
    def begin_parts(self, caller: Caller, request: contract.BeginParts) -> contract.UploadParts:
        return multipart_uploads.begin(self.context, caller, request)

    @rpc
    def complete_parts(self, caller: Caller, request: contract.CompleteParts) -> contract.UploadedMedia:
        return multipart_uploads.complete(self.context, caller, request)

    @rpc
    def list_media(self, caller: Caller, request: contract.ListMedia) -> contract.MediaList:
        return library.show_list(self.context, caller, request)

    @rpc
    def get_media(self, caller: Caller, request: contract.MediaId) -> contract.Media:
        return library.show(self.context, caller, request)

    @rpc
    def delete_media(self, caller: Caller, request: contract.MediaId) -> contract.MediaDeleted:
        return library.delete(self.context, caller, request)

    @rpc
    def get_storage(self, caller: Caller, request: Nothing) -> contract.StorageView:
        return library.show_storage(self.context, caller)

    @rpc
    def attach_media(self, caller: Caller, request: contract.AttachMedia) -> contract.AttachedMedia:
        return attachments.attach(self.context, caller, request)

    @rpc
    def detach_media(self, caller: Caller, request: contract.DetachMedia) -> Nothing:
        return attachments.detach(self.context, request)

    @rpc
    def get_files(self, caller: Caller, request: contract.GetFiles) -> contract.MediaFiles:
        return downloads.get_files(self.context, caller, request)

    @rpc
    def locate_file(self, caller: Caller, request: contract.LocateFile) -> contract.LocatedFile:
        return library.locate(self.context, request)

    @rpc
    def get_sandbox(self, caller: Caller, request: Nothing) -> contract.SandboxReport:
        return decoder_sandbox.report(self.context, caller)

    @on_event("post.media")
    def on_post_media(self, connection: Connection, event: Event) -> None:
        word = msgspec.convert(event.data, PostMedia)
        attachments.on_post_media(connection, event.account_id, word)

    @loop(interval_seconds=5.0, woken_by=removals.REMOVALS_DUE)
    def remove_objects(self) -> int:
        return removals.remove_due(self.context)

    @loop(interval_seconds=5.0)
    def end_expired_uploads(self) -> int:
        return sweeps.end_expired_uploads(self.context)

    @loop(interval_seconds=10.0)
    def drop_unconfirmed(self) -> int:
        return sweeps.drop_unconfirmed(self.context)

    @loop(interval_seconds=10.0)
    def remove_unused(self) -> int:
        return sweeps.remove_unused(self.context)

    @loop(interval_seconds=60.0)
    def remove_orphans(self) -> int:
        return sweeps.remove_orphans(self.context)
