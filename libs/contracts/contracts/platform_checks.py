"""Messages of the operator's command `platform check`, which the service `publishing` carries out."""

from typing import Literal

from contracts.record import Record


class CheckPlatform(Record):
    """A request to check whether a platform still behaves in the ways on which Posthaste relies.

    `page_id`: the page whose credentials are used. Without it, only the parts that need no credentials are checked.
    """

    platform: str
    page_id: str | None = None
    #: Also make a test post on the page and delete it: private or unpublished where the platform has such posts.
    has_post: bool = False
    #: Allow a test post that everybody sees until it is deleted.
    is_public: bool = False
    #: The public address of a JPEG for the test post on Instagram; None: the page's own picture.
    photo_url: str | None = None


class PlatformCheck(Record):
    """The result of one check of how our app is set up at a platform. Contains no token."""

    check: str
    #: ok; failed: the platform says otherwise; unknown: the platform gave no answer; skipped: it could not be asked.
    state: Literal["ok", "failed", "unknown", "skipped"]
    expected: str
    found: str
    #: What to do; empty if nothing.
    advice: str = ""


class PlatformReport(Record):
    platform: str
    checks: tuple[PlatformCheck, ...]
