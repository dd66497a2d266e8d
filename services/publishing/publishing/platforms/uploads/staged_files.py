"""Uploads files to LinkedIn and X, which take them before the post is made. A later attempt resumes the uploads."""

import time
from abc import ABC, abstractmethod
from typing import Any

from publishing.platforms.base import Account, Checkpoint, Content, MediaSource, PlatformRefusal
from publishing.platforms.uploads.sources import check_bytes

#: The state of one upload, as JSON: `state` and `until` (until when it may be resumed, in seconds since 1970), and what
#: its platform needs.
Upload = dict[str, Any]

#: An upload that expires within this time is not resumed: the rest of the file and the post still have to be sent.
_SPARE_SECONDS = 300.0
#: How long an upload is resumed if the platform's answer does not say how long it is kept. Our choice: short.
KEPT_SECONDS = 3_600.0


class StagedFiles(ABC):
    """Uploads a post's files before the post is made.

    Checkpoint value `media`: one `Upload` for each file, in the order of the files.
    """

    def stage(self, account: Account, content: Content, checkpoint: Checkpoint) -> list[Upload]:
        """Uploads every file to the platform and returns the uploads. Raises PlatformRefusal if the platform refuses
        one.
        """
        for number, source in enumerate(content.media):
            check_bytes(source)
            known = uploads_in(checkpoint)[number:]
            if known and known[0]["until"] - time.time() > _SPARE_SECONDS:
                try:
                    self.finish(account, source, checkpoint, number)
                    continue
                except PlatformRefusal as refusal:
                    if not self.may_be_stale(refusal, known[0]):
                        raise
            upload = self.begin(account, source)
            checkpoint.save(media=[*uploads_in(checkpoint)[:number], upload])
            self.finish(account, source, checkpoint, number)
        return uploads_in(checkpoint)

    @abstractmethod
    def begin(self, account: Account, source: MediaSource) -> Upload:
        """Begins the upload of a file at the platform and returns its state."""

    @abstractmethod
    def finish(self, account: Account, source: MediaSource, checkpoint: Checkpoint, number: int) -> None:
        """Sends the missing parts of a file's upload. `number` is the position of the file in the post, from 0."""

    @abstractmethod
    def may_be_stale(self, refusal: PlatformRefusal, upload: Upload) -> bool:
        """Whether the platform may have refused a resumed upload because the upload has expired.

        If so, the caller uploads the file once more from the beginning. If the platform refuses that too, the refusal
        is about the file.
        """


def uploads_in(checkpoint: Checkpoint) -> list[Upload]:
    return list(checkpoint.get("media") or ())


def save_upload(checkpoint: Checkpoint, number: int, **changes: Any) -> None:
    uploads = uploads_in(checkpoint)
    uploads[number] = uploads[number] | changes
    checkpoint.save(media=uploads)
