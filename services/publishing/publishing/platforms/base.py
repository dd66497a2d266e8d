"""What the service asks of a platform and what it may answer: the interface every connector has.

No platform's manners are here, no HTTP, and nothing is stored: what must outlive a crash goes through `Checkpoint`.
A connector never repeats a call that makes something visible: that is for its caller, who looks the outcome up first.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from typing import Any

#: The wait for a limit that rolls over 24 hours and does not say when it ends: the three of a post are nearly all of
#: them, and no later, as a post is not sent a day late. Our choice.
DAYS_LIMIT_SECONDS = 7.75 * 3_600


class Refusal(StrEnum):
    """Why a platform did not do what was asked; in every case nothing became visible."""

    #: The connection is over (token expired, revoked or invalid): the page must be connected again.
    EXPIRED = "expired"
    #: The connection is good but may not do this.
    PERMISSION = "permission"
    #: Too many calls or posts; `wait_seconds` when the platform says how long.
    RATE_LIMITED = "rate_limited"
    #: The content or the request is refused for good.
    REJECTED = "rejected"
    #: Not now: the platform could not be reached or failed before anything irreversible was sent.
    TRANSIENT = "transient"


class PlatformRefusal(Exception):
    """The platform definitely did not do it."""

    def __init__(self, kind: Refusal, code: str, message: str, wait_seconds: float | None = None) -> None:
        super().__init__(kind, code, message)
        self.kind = kind
        #: The platform's own code ("190", "9004/2207052"), or ours in capitals (UNREACHABLE, NOT_READY).
        self.code = code
        self.message = message
        self.wait_seconds = wait_seconds

    @property
    def retryable(self) -> bool:
        return self.kind in (Refusal.RATE_LIMITED, Refusal.TRANSIENT)


class OutcomeUnknown(Exception):
    """Something irreversible was sent and no usable answer came: look it up before anything else."""


class NotConnected(Exception):
    """There is no connector for this platform: UNSUPPORTED_PLATFORM to a client."""

    def __init__(self, platform_code: str, platform_name: str) -> None:
        super().__init__(f"Posting to {platform_name} is not available on this server yet.")
        self.platform_code = platform_code


@dataclass(frozen=True, slots=True)
class Account:
    """A page's credentials, decrypted for this one call. Never logged."""

    remote_account_id: str
    access_token: str = field(repr=False)
    #: The page's name in addresses, where it has one.
    username: str | None = None


#: Opens a file from its beginning: pieces that come to exactly its size, or PlatformRefusal on the way.
Opener = Callable[[], AbstractContextManager[Iterator[bytes]]]


@dataclass(frozen=True, slots=True)
class MediaSource:
    """A photo or video: a public URL the platform fetches, and where we have them, bytes we hand over."""

    #: photo or video
    type: str
    #: Also what the file is known by from one attempt to the next.
    url: str | None = None
    body: bytes | None = field(default=None, repr=False)
    content_type: str | None = None
    size_bytes: int | None = None
    #: Pixels; None where they are not known.
    width: int | None = None
    height: int | None = None
    duration_seconds: float | None = None
    #: Instead of `body`, with `size_bytes`: a file that is never in memory as a whole.
    opener: Opener | None = field(default=None, repr=False)

    @property
    def has_bytes(self) -> bool:
        return self.body is not None or (self.opener is not None and self.size_bytes is not None)

    @property
    def length_bytes(self) -> int:
        """Of what `open` gives."""
        return len(self.body) if self.body is not None else self.size_bytes or 0

    def open(self) -> AbstractContextManager[Iterator[bytes]]:
        """The bytes from their beginning; only where it `has_bytes`."""
        if self.body is not None:
            return nullcontext(iter((self.body,)))
        assert self.opener is not None
        return self.opener()


@dataclass(frozen=True, slots=True)
class Content:
    """What a post says and shows. `settings` are those of its own platform, as the client sent them."""

    message: str = ""
    media: tuple[MediaSource, ...] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)


class Checkpoint:
    """What a publish has done so far. `save` returns only when it is stored: the next call may be irreversible.

    Hand the values of the last attempt to the next one (retry or look-up): staged objects are used again, and what
    belongs to other content is ignored. A publish of one single call saves nothing before it: the stored attempt says
    enough. One that may take long saves before its end, if nothing else: a lost claim stops it there. Values are JSON;
    None takes one away.
    """

    #: Written by deploy/backup/after-restore.sql, and gone with the first word of another attempt.
    _RESTORED = "restored"
    #: Written with an unknown outcome (`store.sending`), and gone with the first word of another attempt.
    _ANSWERED = "answered"

    def __init__(
        self,
        values: Mapping[str, Any] | None = None,
        store: Callable[[dict[str, Any]], None] = lambda values: None,
    ) -> None:
        self.values: dict[str, Any] = dict(values or {})
        self._store = store

    @property
    def restored_at(self) -> datetime | None:
        """When a backup brought it back, real time: more may have been done by then than it says. None: it is whole."""
        restored_at = self.get(self._RESTORED)
        return datetime.fromisoformat(restored_at) if restored_at else None

    @property
    def answered(self) -> str | None:
        """The remote id in the platform's answer, where another post was recorded with it before the answer came."""
        return self.get(self._ANSWERED)  # type: ignore[no-any-return]

    def get(self, name: str) -> Any:
        return self.values.get(name)

    def save(self, **values: Any) -> None:
        """Store all values, these included. Raises what the store raises: then nothing further is sent."""
        values = {**self.values, self._RESTORED: None, self._ANSWERED: None, **values}
        self.values = {name: value for name, value in values.items() if value is not None}
        self._store(dict(self.values))


@dataclass(frozen=True, slots=True)
class Published:
    """It is out. Permalink and time are None when the platform would not tell them now."""

    remote_id: str
    permalink: str | None = None
    published_at: datetime | None = None
    #: `remote_id` is not the post's own yet: `Connector.named` will tell.
    is_named_later: bool = False
    #: None where an id of the attempt proves that the post is its own.
    guess: "Guess | None" = None


@dataclass(frozen=True, slots=True)
class Guess:
    """The posts among which a look-up found one that carries no id of the attempt (staged photo, video, container):
    they look like this content, and so may be other posts'."""

    #: Oldest first, the found one included.
    candidates: tuple[Published, ...]
    #: Whether the texts agree; False: only the kind of post does.
    by_text: bool = True


def guessed(candidates: Iterable[Published], *, by_text: bool = True) -> Published:
    """The first of these posts, oldest first, as a guess among them all; there is at least one."""
    guess = Guess(tuple(candidates), by_text)
    return replace(guess.candidates[0], guess=guess)


@dataclass(frozen=True, slots=True)
class NotPublished:
    """Looked up and not there. `settled`: the platform itself says so and it cannot appear any more;
    otherwise ask again until the attempt is two minutes old (local-stack.md) before believing it.
    `refusal`: the platform's reason, if it gives one."""

    settled: bool
    refusal: PlatformRefusal | None = None


@dataclass(frozen=True, slots=True)
class StillUnknown:
    """The platform is still working on it: ask again, however long it takes, but not sooner than after so long."""

    wait_seconds: float = 0.0


Outcome = Published | NotPublished | StillUnknown


@dataclass(frozen=True, slots=True)
class RemoteComment:
    """A comment as the platform holds it. `author_id` is empty and `author_name` a placeholder if it will not say."""

    id: str
    text: str
    author_id: str
    author_name: str
    created_at: datetime
    reply_count: int = 0
    parent_id: str | None = None


@dataclass(frozen=True, slots=True)
class CommentPage:
    """Newest first. `next_cursor` is the platform's, None at the end."""

    comments: tuple[RemoteComment, ...]
    next_cursor: str | None = None


@dataclass(frozen=True, slots=True)
class RemoteReply:
    """A comment or reply of our own."""

    id: str
    parent_id: str
    created_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Counts:
    """Engagement now. `shares` is None where the platform does not tell."""

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


class Connector(ABC):
    """One platform. Thread-safe: one object serves all pages.

    Every method raises PlatformRefusal; OutcomeUnknown only where it says so.
    """

    @abstractmethod
    def publish(self, account: Account, content: Content, checkpoint: Checkpoint) -> Published:
        """Make the post visible, once. Raises OutcomeUnknown. Waits for processing: up to minutes for video."""

    @abstractmethod
    def look_up(
        self,
        account: Account,
        content: Content,
        checkpoint: Checkpoint,
        *,
        began_at: datetime,
        known_remote_ids: Collection[str] = (),
    ) -> Outcome:
        """What became of an attempt whose outcome is unknown; `outcome` is for callers. Reads only.

        `began_at` is when the attempt was stored, in real time (SQL clock_timestamp(), never the shifted clock).
        `known_remote_ids` are the page's posts that belong to other attempts: two equal texts are not confused.
        What is found by its looks alone is a `Guess`; the caller weighs it against the page's other open posts.
        A PlatformRefusal says nothing about the attempt, only that looking did not work: ask again.
        """

    def search(
        self,
        account: Account,
        content: Content,
        *,
        began_at: datetime,
        ended_at: datetime,
        known_remote_ids: Collection[str] = (),
    ) -> Outcome:
        """`look_up` without a checkpoint: what can only be this post, by its words and the number of its files (their
        types may not be known). It was sent between the two times, if at all. Reads only.

        StillUnknown where a platform shows no posts: never sent again."""
        return StillUnknown()

    def outcome(
        self,
        account: Account,
        content: Content,
        checkpoint: Checkpoint,
        *,
        began_at: datetime,
        known_remote_ids: Collection[str] = (),
    ) -> Outcome:
        """What `look_up` says; a no that rests on a restored checkpoint is not believed before a `search`."""
        known, restored_at = known_remote_ids, checkpoint.restored_at
        found = self.look_up(account, content, checkpoint, began_at=began_at, known_remote_ids=known)
        if restored_at is None or not isinstance(found, NotPublished):
            return found
        return self.search(account, content, began_at=began_at, ended_at=restored_at, known_remote_ids=known)

    @abstractmethod
    def comment(self, account: Account, remote_id: str, text: str) -> RemoteReply:
        """Comment on a post of ours (the first comment). Raises OutcomeUnknown."""

    @abstractmethod
    def reply(self, account: Account, comment_id: str, text: str) -> RemoteReply:
        """Answer a comment. Raises OutcomeUnknown."""

    @abstractmethod
    def find_comment(
        self,
        account: Account,
        remote_id: str,
        text: str,
        *,
        began_at: datetime,
        known_ids: Collection[str] = (),
    ) -> RemoteReply | None:
        """What became of a `comment` that raised OutcomeUnknown: our own with this text, made since `began_at`
        (real time, as in `look_up`) and not among `known_ids`. None: not there now."""

    @abstractmethod
    def find_reply(
        self,
        account: Account,
        comment_id: str,
        text: str,
        *,
        began_at: datetime,
        known_ids: Collection[str] = (),
    ) -> RemoteReply | None:
        """The same for a `reply`."""

    @abstractmethod
    def list_comments(
        self,
        account: Account,
        remote_id: str,
        *,
        since: datetime | None = None,
        limit: int = 50,
        cursor: str | None = None,
    ) -> CommentPage:
        """One page of a post's comments, replies and our own included; those made after `since` alone."""

    def read_comment(self, account: Account, comment_id: str) -> RemoteComment:
        """One comment. For platforms that tell of comments by themselves (`subscribe`)."""
        raise NotImplementedError

    def subscribe(self, account: Account) -> None:
        """Ask the platform to tell us of the page's new comments; again does no harm. Where it offers that."""
        raise NotImplementedError

    def named(self, account: Account, remote_id: str) -> Published | None:
        """The name a post has got that was out before (`Published.is_named_later`); None: not yet. Reads only."""
        raise NotImplementedError

    @abstractmethod
    def engagement(self, account: Account, remote_id: str) -> Counts:
        """A post's counts now."""

    @abstractmethod
    def profile(self, account: Account) -> Profile:
        """The page's name and picture as the platform shows them."""
