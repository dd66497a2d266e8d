"""How LinkedIn is reached, and what `linkedin_settings` of a post may say."""

from dataclasses import dataclass
from typing import Annotated, Literal

from msgspec import Meta

from contracts.record import Record


@dataclass(frozen=True, slots=True)
class LinkedInSettings:
    """Times in seconds."""

    api_url: str = "https://api.linkedin.com"
    #: YYYYMM. Each is served for about a year, then every call answers 426: the deployment has to move on in time.
    version: str = "202607"
    #: Where upload addresses may lead besides `api_url`; tokens and files are sent nowhere else.
    upload_hosts: tuple[str, ...] = (".linkedin.com",)
    connect_timeout_seconds: float = 5.0
    read_timeout_seconds: float = 30.0
    #: First wait between two looks at a file, or two tries to post it; doubles up to 5 s. Our choice.
    poll_seconds: float = 0.5
    #: Longest one attempt waits for processing: a publish at once has to answer within the gateway's 60 s. The next
    #: attempt of a scheduled post goes on with the same files. Our choice.
    poll_limit_seconds: float = 25.0
    #: A new token may be called revoked for some seconds (platforms.md 4): how long to wait before asking once more.
    revoked_wait_seconds: float = 2.0


class Article(Record):
    """A link with what is shown of it; LinkedIn reads nothing from the page itself."""

    source: Annotated[str, Meta(max_length=2_000)]
    title: Annotated[str, Meta(min_length=1, max_length=400)]
    description: Annotated[str, Meta(max_length=4_000)] = ""


class LinkedInPostSettings(Record):
    """`linkedin_settings` of a post. What is not named here is ignored."""

    visibility: Literal["PUBLIC", "CONNECTIONS", "LOGGED_IN"] = "PUBLIC"
    #: Shown with a video.
    title: Annotated[str, Meta(max_length=400)] = ""
    #: What the photos show, in their order, for those who cannot see them. Length: our choice, Instagram's.
    alt_texts: Annotated[tuple[Annotated[str, Meta(max_length=1_000)], ...], Meta(max_length=20)] = ()
    #: Of a post without media.
    article: Article | None = None
    is_reshare_disabled: bool = False
