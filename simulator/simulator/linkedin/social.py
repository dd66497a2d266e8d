"""The state of the simulated LinkedIn: posts, comments and replies. Refuses repeated posts and too many posts a day.

Fields, enums and lengths: LinkedIn's Posts API and Comments API at
learn.microsoft.com/linkedin/marketing/community-management/shares (views li-lms-2025-01 and later, read in November
2026). LinkedIn documents neither how many posts a day it accepts nor how long it refuses a repeated post; these two
figures are what other clients observed.
"""

import json
from collections import Counter
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from typing import Any

from simulator.accounts import Account
from simulator.linkedin import text as texts
from simulator.linkedin.assets import Asset, Assets
from simulator.linkedin.errors import LinkedInError, denied, duplicate, invalid, not_found, throttled
from simulator.simulation import Simulation
from simulator.world import Comment, Post

COMMENT_LIMIT = 1_250
IMAGES = (2, 20)
#: The stricter end of the observed "~100–150 posts a day".
POSTS_PER_DAY = 100
#: How long a repeated post is refused: the stricter end of the observed 24 to 48 hours.
DUPLICATES = timedelta(hours=48)
_FIELDS = {
    "author", "commentary", "visibility", "distribution", "content", "lifecycleState", "isReshareDisabledByAuthor",
    "reshareContext", "contentLandingPage", "contentCallToActionLabel", "container",
}  # fmt: skip
#: The values that these fields may have in a new post. Drafts are not simulated.
_ENUMS = {
    "lifecycleState": ("PUBLISHED",),
    "visibility": ("PUBLIC", "CONNECTIONS", "LOGGED_IN"),
    "distribution/feedDistribution": ("MAIN_FEED", "NONE"),
}
#: "Fields that can be updated" of the Posts API.
_CHANGEABLE = {
    "commentary", "contentCallToActionLabel", "contentLandingPage", "lifecycleState", "adContext",
}  # fmt: skip
_COMMENT = "urn:li:comment:"


def share_urn(number: str) -> str:
    return f"urn:li:share:{number}"


def activity_urn(post: Post) -> str:
    """Returns the URN of the post's activity, under which its comments are stored."""
    return f"urn:li:activity:{int(post.post_id.rpartition(':')[2]) + 1}"


def comment_urn(post: Post, comment_id: str) -> str:
    return f"{_COMMENT}({activity_urn(post)},{comment_id})"


@dataclass(slots=True)
class Social:
    """The posts and comments on LinkedIn in one simulator."""

    sim: Simulation
    assets: Assets
    #: Author and content of a recent post → its URN and time.
    _said: dict[str, tuple[str, datetime]] = field(default_factory=dict)
    _posted: Counter[tuple[str, date]] = field(default_factory=Counter)

    def clear(self) -> None:
        """Forgets the recent posts, whose repetition would be refused, and the number of posts of each day."""
        self._said.clear()
        self._posted.clear()

    def create(self, account: Account, body: dict[str, Any]) -> Post:
        """Creates a post (POST /rest/posts). Raises LinkedInError if LinkedIn would refuse it."""
        for key in body.keys() - _FIELDS:
            raise invalid(key, "unrecognized field found but not allowed", "ILLEGAL_ARGUMENT")
        commentary = body.get("commentary")
        if body.get("author") != account.account_id:
            raise denied("posts.CREATE")
        if not isinstance(commentary, str):
            raise _absent("commentary")
        distribution = body.get("distribution") or {}
        for name, value in (
            ("lifecycleState", body.get("lifecycleState")),
            ("visibility", body.get("visibility")),
            ("distribution/feedDistribution", distribution.get("feedDistribution")),
        ):
            if value is None:
                raise _absent(name)
            if value not in _ENUMS[name]:
                raise invalid(name, f"{value} is not an enum symbol")
        if len(commentary) > texts.LIMIT:
            raise invalid("commentary", f"exceeds {texts.LIMIT} characters", "FIELD_LENGTH_TOO_LONG")
        media = self._media(account, body.get("content"))
        if not commentary and body.get("content") is None:
            raise invalid("commentary", "a post needs a text or content", "MISSING_FIELD")
        with self.sim.world.lock:
            self._refuse_repeats(account, body)
            number = self.sim.world.new_id("7")
            settings = {key: body[key] for key in body.keys() - {"author", "distribution", "lifecycleState"}}
            post = Post(
                share_urn(number), account.account_id, "LN", account.name, texts.shown(commentary),
                [asset.medium(alt_text) for asset, alt_text in media], self.sim.clock.now(), settings=settings,
            )  # fmt: skip
            self._said[_mark(account, body)] = post.post_id, post.created_at
            self._posted[account.account_id, post.created_at.date()] += 1
            self.sim.world.add_post(post)
            return post

    def find(self, urn: str) -> tuple[Post, Comment | None]:
        """Finds a post or a comment by its URN. For the URN of a share or an activity, returns the post and None. For
        the URN of a comment, returns its post and the comment. Raises LinkedInError 404 if there is none.
        """
        if urn.startswith(f"{_COMMENT}(") and urn.endswith(")"):
            # The key in a comment's URN: the URN of the post or comment, and the comment's number.
            under, _, number = urn[len(_COMMENT) + 1 : -1].rpartition(",")
            post, _ = self.find(under)
            comment = self.sim.world.comments.get(number)
            if comment is None or comment.post_id != post.post_id:
                raise not_found(urn)
            return post, comment
        kind, _, number = urn.removeprefix("urn:li:").partition(":")
        if kind == "activity" and number.isdigit():
            number = str(int(number) - 1)
        post_or_none = self.sim.world.posts.get(share_urn(number)) if kind in ("share", "activity") else None
        if post_or_none is None:
            raise not_found(urn)
        return post_or_none, None

    def change(self, account: Account, urn: str, changes: dict[str, Any]) -> None:
        """Changes a post (PARTIAL_UPDATE). Raises LinkedInError if there is no such post of the account, or a change
        is invalid.
        """
        for key in changes.keys() - _CHANGEABLE:
            raise invalid(f"patch/$set/{key}", "cannot be changed", "ILLEGAL_ARGUMENT")
        post = self._own(account, urn, "posts.PARTIAL_UPDATE")
        commentary = changes.get("commentary", "")
        if not isinstance(commentary, str) or len(commentary) > texts.LIMIT:
            raise invalid("patch/$set/commentary", "is too long", "FIELD_LENGTH_TOO_LONG")
        post.settings |= changes
        if "commentary" in changes:
            post.text = texts.shown(commentary)

    def remove(self, account: Account, urn: str) -> None:
        """Deletes a post; does nothing if there is none with this URN. Raises LinkedInError 403 if it belongs to
        another account.
        """
        try:
            post = self._own(account, urn, "posts.DELETE")
        except LinkedInError as problem:
            if problem.status == 404:
                return
            raise
        self.sim.world.remove_post(post.post_id)

    def rewrite(self, account: Account, urn: str, changes: dict[str, Any]) -> None:
        """Changes the text of a comment (PARTIAL_UPDATE). Raises LinkedInError if the account may not change it, or if
        the text is empty or too long.
        """
        comment = self._own_comment(account, urn, "socialActions.comments.PARTIAL_UPDATE")
        text = changes.get("text")
        if not isinstance(text, str) or not 0 < len(text) <= COMMENT_LIMIT:
            raise invalid(
                "message/text", f"must have 1 to {COMMENT_LIMIT} characters", "FIELD_LENGTH_TOO_LONG"
            )
        comment.text = text

    def unsay(self, account: Account, urn: str, actor: str) -> None:
        """Deletes a comment that the account wrote, or that is on a post of the account. Raises LinkedInError if there
        is no such comment. Also raises it if the request names another `actor` than the account.
        """
        comment = self._own_comment(account, urn, "socialActions.comments.DELETE")
        if actor and actor != account.account_id:
            raise denied("socialActions.comments.DELETE")
        self.sim.world.remove_comment(comment.comment_id)

    def _own(self, account: Account, urn: str, what: str) -> Post:
        post, _ = self.find(urn)
        if post.account_id != account.account_id:
            raise denied(what)
        return post

    def _own_comment(self, account: Account, urn: str, what: str) -> Comment:
        post, comment = self.find(urn)
        assert comment is not None
        if account.account_id not in (comment.author_id, post.account_id):
            raise denied(what)
        return comment

    def say(self, account: Account, urn: str, body: dict[str, Any]) -> tuple[Post, Comment]:
        """Adds a comment to a post, or a reply to a comment (POST …/comments). Raises LinkedInError if LinkedIn would
        refuse it.
        """
        post, under = self.find(urn)
        text = (body.get("message") or {}).get("text")
        if body.get("actor") != account.account_id:
            raise denied("socialActions.comments.CREATE")
        if not isinstance(text, str) or not 0 < len(text) <= COMMENT_LIMIT:
            raise invalid(
                "message/text", f"must have 1 to {COMMENT_LIMIT} characters", "FIELD_LENGTH_TOO_LONG"
            )
        if body.get("object") not in (post.post_id, activity_urn(post)):
            raise invalid("object", "is not what is commented on")
        parent = body.get("parentComment")
        if (under is None) != (parent is None) or (under is not None and under.parent_id is not None):
            raise invalid("parentComment", "replies stand under a first comment alone")
        if parent is not None and parent != urn:
            raise invalid("parentComment", "is not the comment of the address")
        parent_id = under.comment_id if under else None
        return post, self.sim.comment(post, account.account_id, account.name, text, parent_id)

    def listed(self, urn: str) -> tuple[Post, list[Comment]]:
        """Returns a post and its top-level comments, newest first. If the URN is that of a comment, returns the
        comment's post and the replies to the comment.
        """
        post, under = self.find(urn)
        parent_id = under.comment_id if under else None
        found = [comment for comment in list(post.comments) if comment.parent_id == parent_id]
        return post, sorted(found, key=lambda comment: int(comment.comment_id), reverse=True)

    def _media(self, account: Account, content: Any) -> list[tuple[Asset, str]]:
        if content is None:
            return []
        if not isinstance(content, dict) or len(content) != 1:
            raise invalid("content", "union type is not backed by a single entry")
        [(kind, value)] = content.items()
        if kind == "media":
            return [self._medium(account, value)]
        if kind == "multiImage":
            images = value.get("images") or []
            if not IMAGES[0] <= len(images) <= IMAGES[1]:
                raise invalid("content/multiImage/images", f"must have {IMAGES[0]} to {IMAGES[1]} images")
            return [self._medium(account, image) for image in images]
        if kind == "article" and value.get("source") and value.get("title"):
            return []
        raise invalid(f"content/{kind}", "unrecognized or incomplete")

    def _medium(self, account: Account, value: dict[str, Any]) -> tuple[Asset, str]:
        return self.assets.usable(account.account_id, str(value.get("id"))), str(value.get("altText") or "")

    def _refuse_repeats(self, account: Account, body: dict[str, Any]) -> None:
        now = self.sim.clock.now()
        said = self._said.get(_mark(account, body))
        if said is not None and now - said[1] < DUPLICATES:
            raise duplicate(said[0])
        if self._posted[account.account_id, now.date()] >= POSTS_PER_DAY:
            raise throttled()


def _absent(field: str) -> LinkedInError:
    return invalid(field, "field is required but not found and has no default value", "MISSING_FIELD")


def _mark(account: Account, body: dict[str, Any]) -> str:
    return json.dumps([account.account_id, body.get("commentary"), body.get("content")], sort_keys=True)
