"""LinkedIn: comments, counts and the page itself. What makes a post is in `connector`."""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime

from contracts.platforms import PLATFORMS
from publishing.platforms.base import (
    Account,
    CommentPage,
    Connector,
    Counts,
    PlatformRefusal,
    Profile,
    Refusal,
    RemoteComment,
    RemoteReply,
)
from publishing.platforms.likeness import same_text, window_start
from publishing.platforms.linkedin.calls import Answer, Calls, from_milliseconds, in_path, rows_of
from publishing.platforms.linkedin.settings import LinkedInSettings
from publishing.platforms.lists import listing_ends, threads_read

_ORGANIZATION = "urn:li:organization:"
#: What a comment stands under, and its number there.
_COMMENT = re.compile(r"urn:li:comment:\((urn:li:\w+:\d+),(\d+)\)")
#: Whom LinkedIn does not name to us: members' names need a permission of their own.
_SOMEBODY = "LinkedIn member"
_ROWS = 100
#: Start and size of LinkedIn's page; the order of the last comment shown of it.
_CURSOR = re.compile(r"(\d{1,6})/(\d{1,3})(?:/(\d{1,15})/(.+))?")


class LinkedInReading(Connector):
    """The half of the connector that deals with posts which are out."""

    def __init__(self, settings: LinkedInSettings) -> None:
        self._settings = settings
        self._calls = Calls(settings)

    def comment(self, account: Account, remote_id: str, text: str) -> RemoteReply:
        return self._say(account, remote_id, remote_id, None, remote_id, text)

    def reply(self, account: Account, comment_id: str, text: str) -> RemoteReply:
        thread = self._thread_of(account, comment_id)
        return self._say(account, thread, _object_of(thread), thread, comment_id, text)

    def find_comment(
        self,
        account: Account,
        remote_id: str,
        text: str,
        *,
        began_at: datetime,
        known_ids: Collection[str] = (),
    ) -> RemoteReply | None:
        rows = self._calls.rows(account, f"socialActions/{in_path(remote_id)}/comments")
        return _own(account, remote_id, rows, text, began_at, known_ids)

    def find_reply(
        self,
        account: Account,
        comment_id: str,
        text: str,
        *,
        began_at: datetime,
        known_ids: Collection[str] = (),
    ) -> RemoteReply | None:
        thread = self._thread_of(account, comment_id)
        rows = self._calls.rows(account, f"socialActions/{in_path(thread)}/comments")
        return _own(account, comment_id, rows, text, began_at, known_ids)

    def list_comments(
        self,
        account: Account,
        remote_id: str,
        *,
        since: datetime | None = None,
        limit: int = 50,
        cursor: str | None = None,
    ) -> CommentPage:
        """LinkedIn counts first comments alone, and has no `since`: both are mended here.

        A page of LinkedIn's that holds more, replies included, is read again from where the last answer ended.
        """
        until, usual = listing_ends(), min(limit, _ROWS)
        start, size, shown = _place(cursor) if cursor else (0, usual, ())
        path = f"socialActions/{in_path(remote_id)}/comments"
        rows = rows_of(self._calls.read(account, path, start=start, count=size))
        threads = threads_read(rows, lambda row: self._replies(account, row, until))
        goes_on = len(rows) == size
        if len(threads) < len(rows):
            size, goes_on = len(threads), True
        said: list[tuple[Answer, str | None]] = [(row, None) for row, _ in threads]
        said += [(reply, _urn_of(row)) for row, replies in threads for reply in replies]
        names = self._names(account, {str(row.get("actor")) for row, _ in said})
        comments = sorted((_comment(row, parent, names) for row, parent in said), key=_order, reverse=True)
        wanted = [
            one
            for one in comments
            if (since is None or one.created_at > since) and (not shown or _order(one) < shown)
        ]
        if len(wanted) > limit:
            return CommentPage(tuple(wanted[:limit]), _cursor(start, size, _order(wanted[limit - 1])))
        return CommentPage(tuple(wanted), _cursor(start + size, usual, None) if goes_on else None)

    def _replies(self, account: Account, row: Answer, until: float) -> Iterable[Answer]:
        if not _reply_count(row):
            return ()
        return self._calls.rows(account, f"socialActions/{in_path(_urn_of(row))}/comments", until=until)

    def engagement(self, account: Account, remote_id: str) -> Counts:
        told = self._calls.read(account, f"socialMetadata/{in_path(remote_id)}")
        reactions = told.get("reactionSummaries") or {}
        return Counts(
            likes=sum(int(row.get("count", 0)) for row in reactions.values()),
            comments=int((told.get("commentSummary") or {}).get("count", 0)),
            shares=None,
        )

    def profile(self, account: Account) -> Profile:
        if not account.remote_account_id.startswith(_ORGANIZATION):
            member = self._calls.read(account, "v2/userinfo")
            return Profile(str(member.get("name") or ""), None, 0, member.get("picture"))
        number = account.remote_account_id.removeprefix(_ORGANIZATION)
        page = self._calls.read(account, f"organizations/{number}")
        followers: Answer = {}
        with suppress(PlatformRefusal):
            path = f"networkSizes/{in_path(account.remote_account_id)}"
            followers = self._calls.read(account, path, edgeType="COMPANY_FOLLOWED_BY_MEMBER")
        return Profile(
            name=str(page.get("localizedName") or ""),
            username=page.get("vanityName"),
            followers=int(followers.get("firstDegreeSize") or 0),
            # `logoV2` names an asset; its address is not told with this permission.
            picture=None,
        )

    def _own_posts(self, account: Account, start: datetime) -> Iterator[Answer]:
        """The account's posts made since then, newest first."""
        rows = self._calls.rows(
            account, "posts", method="FINDER", q="author", author=account.remote_account_id, sortBy="CREATED"
        )
        for row in rows:
            made_at = from_milliseconds(row.get("createdAt") or row.get("publishedAt"))
            if made_at is not None and made_at < start:
                return
            yield row

    def _say(
        self, account: Account, path: str, about: str, thread: str | None, parent_id: str, text: str
    ) -> RemoteReply:
        """A comment under `path`, part of a thread or not. Raises OutcomeUnknown."""
        limit = PLATFORMS["LN"].comment_limit
        if len(text) > limit:
            raise PlatformRefusal(
                Refusal.REJECTED,
                "TOO_LONG",
                f"LinkedIn takes at most {limit} characters, these are {len(text)}.",
            )
        data: Answer = {"actor": account.remote_account_id, "object": about, "message": {"text": text}}
        if thread is not None:
            data["parentComment"] = thread
        made_id, made = self._calls.create(account, f"socialActions/{in_path(path)}/comments", data)
        urn = made.get("commentUrn") or f"urn:li:comment:({about},{made_id})"
        return RemoteReply(str(urn), parent_id, _made_at(made))

    def _thread_of(self, account: Account, comment_id: str) -> str:
        """The first comment of a thread: LinkedIn takes replies to that alone."""
        match = _COMMENT.fullmatch(comment_id)
        if match is None:
            raise PlatformRefusal(Refusal.REJECTED, "INVALID_URN", "This is no comment of LinkedIn's.")
        row = self._calls.read(account, f"socialActions/{in_path(match[1])}/comments/{match[2]}")
        return str(row.get("parentComment") or comment_id)

    def _names(self, account: Account, actors: set[str]) -> dict[str, str]:
        """Organizations by name; that one cannot be had fails no list."""
        numbers = sorted(urn.removeprefix(_ORGANIZATION) for urn in actors if urn.startswith(_ORGANIZATION))
        if not numbers:
            return {}
        try:
            # The list is Rest.li's: its own signs are not encoded.
            answer = self._calls.read(account, f"organizationsLookup?ids=List({','.join(numbers)})")
        except PlatformRefusal:
            return {}
        results = answer.get("results") or {}
        return {
            f"{_ORGANIZATION}{number}": str(row.get("localizedName") or "") for number, row in results.items()
        }


def _own(
    account: Account,
    parent_id: str,
    rows: Iterable[Answer],
    text: str,
    began_at: datetime,
    known_ids: Collection[str],
) -> RemoteReply | None:
    """The first comment of our own that fits."""
    start = window_start(began_at)
    for row in rows:
        made_at = _made_at(row)
        is_ours = row.get("actor") == account.remote_account_id and _urn_of(row) not in known_ids
        if is_ours and (made_at is None or made_at >= start) and same_text(text, _text_of(row)):
            return RemoteReply(_urn_of(row), parent_id, made_at)
    return None


def _comment(row: Answer, parent_id: str | None, names: Mapping[str, str]) -> RemoteComment:
    actor = str(row.get("actor") or "")
    return RemoteComment(
        id=_urn_of(row),
        text=_text_of(row),
        author_id=actor,
        author_name=names.get(actor) or _SOMEBODY,
        created_at=_made_at(row) or datetime.now(UTC),
        reply_count=_reply_count(row),
        parent_id=parent_id,
    )


def _urn_of(row: Answer) -> str:
    return str(
        row.get("commentUrn") or row.get("$URN") or f"urn:li:comment:({row.get('object')},{row.get('id')})"
    )


def _object_of(comment_urn: str) -> str:
    match = _COMMENT.fullmatch(comment_urn)
    return match[1] if match else comment_urn


def _text_of(row: Answer) -> str:
    return str((row.get("message") or {}).get("text") or "")


def _made_at(row: Answer) -> datetime | None:
    return from_milliseconds((row.get("created") or {}).get("time"))


def _reply_count(row: Answer) -> int:
    summary = row.get("commentsSummary") or {}
    return int(summary.get("totalFirstLevelComments") or summary.get("aggregatedTotalComments") or 0)


def _order(comment: RemoteComment) -> tuple[int, str]:
    return int(comment.created_at.timestamp() * 1000), comment.id


def _cursor(start: int, size: int, shown: tuple[int, str] | None) -> str:
    return f"{start}/{size}" + (f"/{shown[0]}/{shown[1]}" if shown else "")


def _place(cursor: str) -> tuple[int, int, tuple[int, str] | tuple[()]]:
    """Where a list goes on. Raises PlatformRefusal for what is no cursor of ours."""
    match = _CURSOR.fullmatch(cursor)
    if match is None or not 0 < int(match[2]) <= _ROWS:
        raise PlatformRefusal(Refusal.REJECTED, "INVALID_CURSOR", "This is no place in the list.")
    return int(match[1]), int(match[2]), (int(match[3]), match[4]) if match[3] else ()
