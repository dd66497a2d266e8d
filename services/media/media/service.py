"""Connects the media service to the bus: RPC methods, events and worker loops. Contains no rules."""

import msgspec

from chassis.service import DatabaseProvider, call, on_event, repeat
from contracts import media as contract
from contracts.events import Event, PostMedia
from media import cleanup
from media.config import Settings
from media.context import AppContext, context_of
from media.files import attachments, downloads, library, multipart_uploads, renditions, thumbnails, uploads
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
    def app(self) -> AppContext:
        return context_of(self.database)

    begin_upload = call(uploads.begin)
    commit_upload = call(uploads.commit)
    abort_upload = call(uploads.abort)
    begin_parts = call(multipart_uploads.begin)
    complete_parts = call(multipart_uploads.complete)
    list_media = call(library.show_list)
    get_media = call(library.show)
    get_made = call(library.made)
    delete_media = call(library.delete)
    get_storage = call(library.show_storage)
    attach_media = call(attachments.attach)
    detach_media = call(attachments.detach)
    get_files = call(downloads.get_files)
    locate_file = call(downloads.locate)
    get_sandbox = call(decoder_sandbox.report)

    @on_event("post.media")
    def on_post_media(self, connection: Connection, event: Event) -> None:
        word = msgspec.convert(event.data, PostMedia)
        attachments.on_post_media(connection, event.account_id, word)

    remove_objects = repeat(cleanup.remove_due, 5.0, woken_by=cleanup.REMOVALS_DUE)
    end_expired_uploads = repeat(cleanup.end_expired_uploads, 5.0)
    drop_unconfirmed = repeat(cleanup.drop_unconfirmed, 10.0)
    remove_unused = repeat(cleanup.remove_unused, 10.0)
    remove_orphans = repeat(cleanup.remove_orphans, 60.0)
    make_thumbnails = repeat(thumbnails.make_due, 5.0, woken_by=thumbnails.THUMBNAILS_DUE)
    make_renditions = repeat(renditions.make_due, 5.0, woken_by=renditions.RENDITIONS_DUE)
    renew_renditions = repeat(renditions.renew_claims, 5.0, until_the_end=True)
    forget_renditions = repeat(renditions.forget_unneeded, 60.0)
