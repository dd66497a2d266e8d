"""Reads from LinkedIn: comments, counts and the page's profile."""

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime

from contracts.platforms import PLATFORMS
from publishing.platforms.base import (
    Account,
    CommentPage,
    CommentQuery,
    Connector,
    Counts,
    OpenComment,
    PlatformRefusal,
    Profile,
    Refusal,
    RemoteComment,
)
from publishing.platforms.comment_threads import Place, ThreadList, Threads, comment_page, invalid_cursor
from publishing.platforms.http_client import Answer, epoch_time, objects, required
from publishing.platforms.linkedin.calls import Calls, in_path
from publishing.platforms.linkedin.settings import LinkedInSettings
from publishing.platforms.post_matching import own_comment

ORGANIZATION = "urn:li:organization:"
#: A comment's URN: the post or comment that it belongs to, and its number there.
_COMMENT = re.compile(r"urn:li:comment:\((urn:li:\w+:\d+),(\d+)\)")
#: Roles that may post for a company page (Comments API, read 23 November 2026); the content administrator's name is a
#: guess: one of these two spellings.
POSTING_ROLES = frozenset(
    (
        "ADMINISTRATOR",
        "CONTENT_ADMINISTRATOR",
        "CONTENT_ADMIN",
        "DIRECT_SPONSORED_CONTENT_POSTER",
        "RECRUITING_POSTER",
    )
)
#: The member's own fields, and the addresses of the picture.
_MEMBER_FIELDS = (
    "(id,localizedFirstName,localizedLastName,vanityName,profilePicture(displayImage~:playableStreams))"
)
_NO_COMMENTS = (
    "LinkedIn lets this page write no comments: the app needs LinkedIn's approval for Community Management, and the "
    "page must be connected again after it."
)
#: The name of authors whom LinkedIn does not name: members' names need a permission of their own.
_UNNAMED = "LinkedIn member"
_ROWS = 100
#: The number of the first row of a page.
_START = re.compile(r"\d{0,6}")
#: A cursor of releases before 1.4.0: number of the first row, size of the page, then time (milliseconds) and id of the
#: last comment shown.
_OLD_CURSOR = re.compile(r"(\d{1,6})/(\d{1,3})(?:/(\d{1,13})/(.+))?")


class LinkedInReading(Connector):
    """The half of LinkedIn's connector that works on published posts."""

    def __init__(self, settings: LinkedInSettings) -> None:
        self._settings = settings
        self._calls = Calls(settings)

    def comment(self, account: Account, remote_id: str, text: str) -> str:
        return self._write(account, remote_id, {"object": remote_id}, text)

    def reply(self, account: Account, comment_id: str, text: str) -> str:
        thread = self._thread_of(account, comment_id)
        match = _COMMENT.fullmatch(thread)
        return self._write(
            account, thread, {"object": match[1] if match else thread, "parentComment": thread}, text
        )

    def find_comment(self, comment: OpenComment) -> str | None:
        return self._find_own(comment, comment.parent_id)

    def find_reply(self, reply: OpenComment) -> str | None:
        return self._find_own(reply, self._thread_of(reply.account, reply.parent_id))

    def _find_own(self, sent: OpenComment, urn: str) -> str | None:
        rows = self._calls.rows(sent.account, _comments_path(urn))
        return own_comment(sent, (_comment(row, None, {}) for row in rows))

    def list_comments(self, account: Account, query: CommentQuery) -> CommentPage:
        def page(place: Place) -> tuple[list[Answer], str | None]:
            if not _START.fullmatch(place.token):
                raise invalid_cursor()
            answer = self._calls.read(
                account, _comments_path(query.remote_id), start=place.token or 0, count=place.size
            )
            rows = objects(answer.get("elements"))
            return rows, next_start(place) if len(rows) == place.size else None

        def next_start(place: Place) -> str:
            return str(int(place.token or 0) + place.size)

        def comments(threads: Threads) -> Iterable[RemoteComment]:
            rows: list[tuple[Answer, str | None]] = [(row, None) for row, _ in threads]
            rows += [(reply, _urn_of(row)) for row, replies in threads for reply in replies]
            names = self._names(account, {str(row.get("actor")) for row, _ in rows})
            return (_comment(row, parent, names) for row, parent in rows)

        threads = ThreadList(
            largest=_ROWS,
            page=page,
            next_token=next_start,
            replies=lambda row, until: self._replies(account, row, until),
            comments=comments,
        )
        return comment_page(with_current_cursor(query), threads)

    def _replies(self, account: Account, row: Answer, until: float) -> Iterable[Answer]:
        if not _reply_count(row):
            return ()
        return self._calls.rows(account, _comments_path(_urn_of(row)), until=until)

    def engagement(self, account: Account, remote_id: str) -> Counts:
        answer = self._calls.read(account, f"socialMetadata/{in_path(remote_id)}")
        reactions = answer.get("reactionSummaries") or {}
        return Counts(
            likes=sum(int(row.get("count", 0)) for row in reactions.values()),
            comments=int((answer.get("commentSummary") or {}).get("count", 0)),
            shares=None,
        )

    def member(self, account: Account) -> tuple[str, Profile]:
        """Reads the id and profile of the person to whom the token belongs.

        Tries the addresses of both LinkedIn products, because the page may have been linked with either.
        """
        asks = [self._open_id_member, self._community_member]
        first, second = reversed(asks) if self._settings.pages_app.client_id else asks
        try:
            return first(account)
        except PlatformRefusal as refusal:
            if refusal.kind is not Refusal.PERMISSION:
                raise
            with suppress(PlatformRefusal):
                return second(account)
            raise

    def _open_id_member(self, account: Account) -> tuple[str, Profile]:
        row = self._calls.read(account, "v2/userinfo")
        return required(row, "sub"), Profile(str(row.get("name") or ""), None, 0, row.get("picture"))

    def _community_member(self, account: Account) -> tuple[str, Profile]:
        row = self._calls.read(account, f"v2/me?projection={_MEMBER_FIELDS}")
        names = (row.get("localizedFirstName"), row.get("localizedLastName"))
        name = " ".join(str(part) for part in names if part)
        return required(row, "id"), Profile(name, row.get("vanityName"), 0, _picture(row))

    def profile(self, account: Account) -> Profile:
        if not account.remote_account_id.startswith(ORGANIZATION):
            return self.member(account)[1]
        number = account.remote_account_id.removeprefix(ORGANIZATION)
        try:
            page = self._calls.read(account, f"organizations/{number}")
        except PlatformRefusal as refusal:
            # Only administrators may read all of it; other people may post too.
            name = self._names(account, {account.remote_account_id}).get(account.remote_account_id)
            if refusal.kind is not Refusal.PERMISSION or name is None:
                raise
            page = {"localizedName": name}
        followers: Answer = {}
        with suppress(PlatformRefusal):
            path = f"networkSizes/{in_path(account.remote_account_id)}"
            followers = self._calls.read(account, path, edgeType="COMPANY_FOLLOWED_BY_MEMBER")
        return Profile(
            name=str(page.get("localizedName") or ""),
            username=page.get("vanityName"),
            followers=int(followers.get("firstDegreeSize") or 0),
            # `logoV2` names an asset, whose address this permission does not give.
            picture=None,
        )

    def administered_pages(self, account: Account) -> list[str]:
        """Reads the URNs of the company pages for which the person may post."""
        rows = self._calls.rows(account, "organizationAcls", q="roleAssignee", state="APPROVED")
        return list(
            dict.fromkeys(
                str(row.get("organization") or row.get("organizationTarget"))
                for row in rows
                if row.get("role") in POSTING_ROLES
            )
        )

    def _own_posts(self, account: Account, start: datetime) -> Iterator[Answer]:
        """Yields the account's posts made since `start`, newest first."""
        rows = self._calls.rows(
            account, "posts", method="FINDER", q="author", author=account.remote_account_id, sortBy="CREATED"
        )
        for row in rows:
            made_at = epoch_time(row.get("createdAt") or row.get("publishedAt"), per_second=1000)
            if made_at is not None and made_at < start:
                return
            yield row

    def _write(self, account: Account, urn: str, place: Answer, text: str) -> str:
        """Writes a comment under the post or comment `urn`, and returns the new comment's URN. `place`: the request
        fields that say where it belongs. Raises OutcomeUnknown if no usable answer comes."""
        limit = PLATFORMS["LN"].comment_limit
        if len(text) > limit:
            message = f"LinkedIn takes at most {limit} characters, these are {len(text)}."
            raise PlatformRefusal(Refusal.REJECTED, "TOO_LONG", message)
        data = {"actor": account.remote_account_id, **place, "message": {"text": text}}
        try:
            made_id, made = self._calls.create(account, _comments_path(urn), data)
        except PlatformRefusal as refusal:
            if refusal.kind is Refusal.PERMISSION and refusal.code == "ACCESS_DENIED":
                message = f"{_NO_COMMENTS} ({refusal.message})"
                raise PlatformRefusal(refusal.kind, refusal.code, message) from refusal
            raise
        return str(made.get("commentUrn") or f"urn:li:comment:({place['object']},{made_id})")

    def _thread_of(self, account: Account, comment_id: str) -> str:
        """Returns `comment_id` if the comment is top-level, else the id of the top-level comment above it: LinkedIn
        takes replies to top-level comments only."""
        match = _COMMENT.fullmatch(comment_id)
        if match is None:
            raise PlatformRefusal(Refusal.REJECTED, "INVALID_URN", "This is not a comment on LinkedIn.")
        row = self._calls.read(account, f"{_comments_path(match[1])}/{match[2]}")
        return str(row.get("parentComment") or comment_id)

    def _names(self, account: Account, actors: set[str]) -> dict[str, str]:
        """Returns the names of organizations by their URNs. Organizations that cannot be read are left out."""
        numbers = sorted(urn.removeprefix(ORGANIZATION) for urn in actors if urn.startswith(ORGANIZATION))
        if not numbers:
            return {}
        try:
            # A list of Rest.li, whose own signs are not encoded.
            answer = self._calls.read(account, f"organizationsLookup?ids=List({','.join(numbers)})")
        except PlatformRefusal:
            return {}
        results = answer.get("results") or {}
        return {
            f"{ORGANIZATION}{number}": str(row.get("localizedName") or "") for number, row in results.items()
        }


def _picture(member: Answer) -> str | None:
    """Returns the address of a member's largest picture, the last in LinkedIn's list; None without one."""
    sizes = ((member.get("profilePicture") or {}).get("displayImage~") or {}).get("elements") or [{}]
    addresses = sizes[-1].get("identifiers") or [{}]
    address: str | None = addresses[0].get("identifier")
    return address


def _comments_path(urn: str) -> str:
    return f"socialActions/{in_path(urn)}/comments"


def with_current_cursor(query: CommentQuery) -> CommentQuery:
    """Translates a cursor of a release before 1.4.0, which clients and stored polls may still hold, into today's
    form."""
    match = _OLD_CURSOR.fullmatch(query.cursor or "")
    if match is None:
        return query
    shown: tuple[str, ...] = ()
    if match[3]:
        time = datetime.fromtimestamp(int(match[3]) / 1000, UTC)
        shown = (time.isoformat(timespec="milliseconds"), match[4])
    return replace(query, cursor=Place(match[1], int(match[2]), shown).cursor)


def _comment(row: Answer, parent_id: str | None, names: Mapping[str, str]) -> RemoteComment:
    actor = str(row.get("actor") or "")
    made_at = epoch_time((row.get("created") or {}).get("time"), per_second=1000)
    return RemoteComment(
        id=_urn_of(row),
        text=str((row.get("message") or {}).get("text") or ""),
        author_id=actor,
        author_name=names.get(actor) or _UNNAMED,
        created_at=made_at or datetime.now(UTC),
        reply_count=_reply_count(row),
        parent_id=parent_id,
    )


def _urn_of(row: Answer) -> str:
    return str(
        row.get("commentUrn") or row.get("$URN") or f"urn:li:comment:({row.get('object')},{row.get('id')})"
    )


def _reply_count(row: Answer) -> int:
    summary = row.get("commentsSummary") or {}
    return int(summary.get("totalFirstLevelComments") or summary.get("aggregatedTotalComments") or 0)
