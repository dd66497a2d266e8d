"""The interface of all connectors: the calls that the publishing service makes to a platform, and their results.

Nothing here depends on one platform, uses HTTP or stores anything. A connector saves in `Checkpoint` what must survive
a crash. If a call makes something visible, it is repeated only if the first call surely failed, or if the platform
makes one post of all repetitions. Otherwise the connector raises OutcomeUnknown, and its caller first finds out the
outcome.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from typing import Any

from msgspec import structs

from contracts.renditions import FileFacts

#: How long to wait for a 24-hour limit that does not say when it ends. A post has three such waits, 23.25 hours in all,
#: and must not be sent more than a day late.
DAYS_LIMIT_SECONDS = 7.75 * 3_600


class Refusal(StrEnum):
    """Why a platform refused a call. In every case nothing became visible."""

    #: The credentials are expired, revoked or invalid: the page must be connected again.
    EXPIRED = "expired"
    #: The credentials are valid but do not allow this call.
    PERMISSION = "permission"
    #: Too many calls or posts; `wait_seconds` where the platform says how long.
    RATE_LIMITED = "rate_limited"
    #: The content or the request is refused for good.
    REJECTED = "rejected"
    #: A temporary failure: the platform was unreachable or failed before anything irreversible was sent.
    TRANSIENT = "transient"


class PlatformRefusal(Exception):
    """Raised when the platform definitely did not do what the call asked for."""

    def __init__(self, kind: Refusal, code: str, message: str, wait_seconds: float | None = None) -> None:
        super().__init__(kind, code, message)
        self.kind = kind
        #: The platform's own code ("190", "9004/2207052"), or one of ours in capitals (UNREACHABLE, NOT_READY).
        self.code = code
        self.message = message
        self.wait_seconds = wait_seconds

    @property
    def retryable(self) -> bool:
        return self.kind in (Refusal.RATE_LIMITED, Refusal.TRANSIENT)


class OutcomeUnknown(Exception):
    """Raised when an irreversible call may have worked. Its outcome must be looked up before anything more is sent."""


class NotConnected(Exception):
    """Raised when there is no connector for this platform; a client gets UNSUPPORTED_PLATFORM."""

    def __init__(self, platform_code: str, platform_name: str) -> None:
        super().__init__(f"Posting to {platform_name} is not available on this server yet.")
        self.platform_code = platform_code


@dataclass(frozen=True, slots=True)
class Account:
    """A page's account on the platform, with its credentials decrypted for one call. Never logged."""

    remote_account_id: str
    access_token: str = field(repr=False)
    #: The name in the page's public address; None where it has none.
    username: str | None = None


#: Opens a file at its beginning and yields its bytes, exactly as many as announced. Raises PlatformRefusal.
Opener = Callable[[], AbstractContextManager[Iterator[bytes]]]


@dataclass(frozen=True, slots=True)
class MediaSource:
    """A photo or video to publish: a public URL that the platform fetches and, where we have them, bytes that we
    send."""

    #: photo or video
    type: str
    #: Also identifies the file from one attempt to the next.
    url: str | None = None
    body: bytes | None = field(default=None, repr=False)
    content_type: str | None = None
    size_bytes: int | None = None
    #: Pixels; None if unknown.
    width: int | None = None
    height: int | None = None
    duration_seconds: float | None = None
    #: Frames a second.
    frame_rate: float | None = None
    video_codec: str | None = None
    audio_codec: str | None = None
    #: Whether our AI made it. False for files that came from elsewhere, however they were made.
    is_ai_made: bool = False
    #: Opens a file that is never in memory as a whole. Set instead of `body`, together with `size_bytes`.
    opener: Opener | None = field(default=None, repr=False)

    @property
    def facts(self) -> FileFacts:
        """The properties of the file that platforms limit."""
        return FileFacts.made_from(self, mime_type=self.content_type)

    @classmethod
    def of(cls, file: FileFacts, **given: Any) -> "MediaSource":
        """Returns a source with the properties of `file`. `given`: the other fields, such as `url` or `body`."""
        facts = structs.asdict(file)
        return cls(content_type=facts.pop("mime_type"), **facts, **given)

    @property
    def has_bytes(self) -> bool:
        return self.body is not None or (self.opener is not None and self.size_bytes is not None)

    @property
    def length_bytes(self) -> int:
        """How many bytes the file has; `open` yields as many."""
        return len(self.body) if self.body is not None else self.size_bytes or 0

    def open(self) -> AbstractContextManager[Iterator[bytes]]:
        """Opens the file at its beginning. Allowed only if the source `has_bytes`."""
        if self.body is not None:
            return nullcontext(iter((self.body,)))
        assert self.opener is not None
        return self.opener()


@dataclass(frozen=True, slots=True)
class Content:
    """Text and media of a post. `settings` are those for its platform, as the client sent them."""

    message: str = ""
    media: tuple[MediaSource, ...] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)

    @property
    def is_ai_made(self) -> bool:
        """Whether our AI made one of the files. If the platform has a label for that, the post always gets it."""
        return any(source.is_ai_made for source in self.media)


@dataclass(slots=True)
class Checkpoint:
    """The progress of publishing one post. `save` stores it before it returns: the next call may be irreversible.

    The next attempt or look-up starts with the values of the last attempt. It reuses objects that were staged on the
    platform for the same content, and ignores all others. If one call publishes the post, nothing need be saved: the
    attempt is stored already. If publishing may take long, save right before the last call: if the claim was lost,
    `save` raises an error, and the call is not sent. Saving None deletes a value.
    """

    #: Written by deploy/backup/after-restore.sql; the first save of another attempt deletes it.
    _RESTORED = "restored"
    #: Written with an unknown outcome (`store.sending`); the first save of another attempt deletes it.
    _ANSWERED = "answered"

    values: Mapping[str, Any] = field(default_factory=dict)
    store: Callable[[dict[str, Any]], None] = lambda values: None

    @property
    def restored_at(self) -> datetime | None:
        """The real time at which a restored backup replaced this checkpoint; None if no backup was restored. Steps that
        were stored after the backup was made are missing."""
        restored_at = self.get(self._RESTORED)
        return datetime.fromisoformat(restored_at) if restored_at else None

    @property
    def answered(self) -> str | None:
        """The remote id in the platform's answer, if another post of ours has that id already; otherwise None."""
        return self.get(self._ANSWERED)  # type: ignore[no-any-return]

    def get(self, name: str) -> Any:
        return self.values.get(name)

    def save(self, **values: Any) -> None:
        """Changes these values and stores all values. If storing them raises an error, nothing more may be sent."""
        values = {**self.values, self._RESTORED: None, self._ANSWERED: None, **values}
        self.values = {name: value for name, value in values.items() if value is not None}
        self.store(dict(self.values))


@dataclass(frozen=True, slots=True)
class Published:
    """A published post. Permalink and time are None if the platform does not tell them yet."""

    remote_id: str
    permalink: str | None = None
    published_at: datetime | None = None
    #: Whether `remote_id` is provisional: `Connector.named` returns the post's own id later.
    is_named_later: bool = False
    #: Set by a look-up that recognised the post only by its content; None if an id of the attempt proves it.
    guess: "Guess | None" = None


@dataclass(frozen=True, slots=True)
class Guess:
    """Posts on the platform that look like the attempt's. It may have made one of them, but no id proves it."""

    #: Oldest first, including the post that the look-up returns.
    candidates: tuple[Published, ...]
    #: Whether the texts agree. False: only the kind of post agrees.
    by_text: bool = True


def guessed(candidates: Iterable[Published], *, by_text: bool = True) -> Published:
    """Returns the first of `candidates`, the posts that an attempt may have made, with all of them as its `guess`.
    `by_text`: their texts equal the attempt's. If False, only the kind of post agrees."""
    guess = Guess(tuple(candidates), by_text)
    return replace(guess.candidates[0], guess=guess)


@dataclass(frozen=True, slots=True)
class NotPublished:
    """A look-up did not find the post.

    `settled`: the post cannot appear any more. If it is False, the look-up is believed only once the outcome has been
    unknown for the settle time (`RECONCILE_SETTLE_SECONDS`). `refusal`: the platform's reason, if it gives one.
    """

    settled: bool
    refusal: PlatformRefusal | None = None


@dataclass(frozen=True, slots=True)
class StillUnknown:
    """The outcome is not known yet: the platform may be processing the post. Look again after `wait_seconds`."""

    wait_seconds: float = 0.0


Outcome = Published | NotPublished | StillUnknown


@dataclass(frozen=True, slots=True)
class OpenAttempt:
    """An attempt with an unknown outcome: the platform may have published the post or not."""

    account: Account
    content: Content
    checkpoint: Checkpoint
    #: When the attempt was stored, in real time (SQL clock_timestamp(), never the shifted clock).
    began_at: datetime
    #: The page's posts that belong to other attempts, so that two posts with equal texts are not confused.
    known_remote_ids: Collection[str] = ()


@dataclass(frozen=True, slots=True)
class OpenComment:
    """A comment or reply that we sent and whose outcome is unknown."""

    account: Account
    #: The post for a comment, the answered comment for a reply.
    parent_id: str
    text: str
    #: When the call was stored, in real time, as in `OpenAttempt`.
    began_at: datetime
    #: Our comments that belong to other calls.
    known_ids: Collection[str] = ()


@dataclass(frozen=True, slots=True)
class RemoteComment:
    """A comment as the platform shows it. Without an author, `author_id` is empty and `author_name` a placeholder."""

    id: str
    text: str
    author_id: str
    author_name: str
    created_at: datetime
    reply_count: int = 0
    parent_id: str | None = None


@dataclass(frozen=True, slots=True)
class CommentQuery:
    """The request for one page of a post's list of comments."""

    remote_id: str
    #: Only comments made after this.
    since: datetime | None = None
    limit: int = 50
    #: `CommentPage.next_cursor` of the page before.
    cursor: str | None = None


@dataclass(frozen=True, slots=True)
class CommentPage:
    """Comments, newest first. `next_cursor` is None at the end of the list."""

    comments: tuple[RemoteComment, ...]
    next_cursor: str | None = None


@dataclass(frozen=True, slots=True)
class Counts:
    """Counts of likes, comments and shares now. `shares` is None where the platform does not tell."""

    likes: int
    comments: int
    shares: int | None
    permalink: str | None = None
    published_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Profile:
    name: str
    username: str | None
    followers: int
    picture: str | None
    #: Longest message of this account, in the platform's unit; None: the platform does not tell, so what it told before
    #: still counts.
    message_limit: int | None = None


class Connector(ABC):
    """The calls to one platform. Thread-safe: one object serves all pages.

    Every method may raise PlatformRefusal; OutcomeUnknown only where its docstring says so.
    """

    @abstractmethod
    def publish(self, account: Account, content: Content, checkpoint: Checkpoint) -> Published:
        """Publishes the post at most once, and returns it. Waits a limited time (`poll_limit_seconds`) while the
        platform processes a file. Raises OutcomeUnknown if it is not known whether the post was published."""

    @abstractmethod
    def look_up(self, attempt: OpenAttempt) -> Outcome:
        """Finds the outcome of an attempt by the ids in its checkpoint. Only reads. Callers use `outcome`, which calls
        this.

        If only the content shows that a post is the attempt's, returns the post with a `Guess`, which the caller must
        compare with the page's other open posts. A PlatformRefusal says nothing about the attempt: look it up again.
        """

    def search(self, attempt: OpenAttempt) -> Outcome:
        """Finds the post of an attempt in the platform's list of posts, without ids from the checkpoint. Only reads.

        Compares text and number of files, because the types of the files may be unknown. Used after a backup was
        restored: if the post was sent, it was between `began_at` and the checkpoint's `restored_at`. On a platform that
        cannot list posts, the outcome is StillUnknown, and the post is never sent again.
        """
        return StillUnknown()

    def outcome(self, attempt: OpenAttempt) -> Outcome:
        """Returns the result of `look_up`. If `look_up` finds nothing and a backup was restored, returns the result of
        `search` instead, because the checkpoint may lack ids."""
        found = self.look_up(attempt)
        if attempt.checkpoint.restored_at is None or not isinstance(found, NotPublished):
            return found
        return self.search(attempt)

    @abstractmethod
    def comment(self, account: Account, remote_id: str, text: str) -> str:
        """Makes the first comment on our post and returns its id. Raises OutcomeUnknown if no usable answer comes."""

    @abstractmethod
    def reply(self, account: Account, comment_id: str, text: str) -> str:
        """Replies to a comment and returns the reply's id. Raises OutcomeUnknown if no usable answer comes."""

    @abstractmethod
    def find_comment(self, comment: OpenComment) -> str | None:
        """Returns the id of our comment if the platform shows it now. Called if `comment` raised OutcomeUnknown."""

    @abstractmethod
    def find_reply(self, reply: OpenComment) -> str | None:
        """Returns the id of our reply if the platform shows it now. Called if `reply` raised OutcomeUnknown."""

    @abstractmethod
    def list_comments(self, account: Account, query: CommentQuery) -> CommentPage:
        """Reads one page of the list of a post's comments, including replies and comments of our own."""

    def read_comment(self, account: Account, comment_id: str) -> RemoteComment:
        """Reads one comment. Only for platforms with comment webhooks."""
        raise NotImplementedError

    def subscribe(self, account: Account) -> None:
        """Subscribes to webhooks about the page's comments; may be repeated. Only for platforms with such webhooks."""
        raise NotImplementedError

    def named(self, account: Account, remote_id: str) -> Published | None:
        """Returns the post that has the provisional id `remote_id`, with its final id. Returns None if the platform has
        not given the final id yet."""
        raise NotImplementedError

    @abstractmethod
    def engagement(self, account: Account, remote_id: str) -> Counts:
        """Reads how many likes, comments and shares a post has."""

    @abstractmethod
    def profile(self, account: Account) -> Profile:
        """Reads the page's name and picture as the platform shows them."""
