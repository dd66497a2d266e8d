"""The state of the simulated X: posts and replies, the rules for who may reply, and rate limits. A reply is stored as
a `Comment` of the post that began the conversation.
"""

import json
import re
from collections import defaultdict
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from simulator.accounts import Account
from simulator.simulation import Simulation
from simulator.world import Comment, Post
from simulator.x import text as texts
from simulator.x.errors import DUPLICATE, REPLY_RESTRICTED, forbidden, invalid, too_many
from simulator.x.media import Uploads

#: The fields of a new post: X's OpenAPI 2.167 (repository xdevplatform/xdk, July 2026), `CreatePostsRequest`. Fields
#: that have no effect here are stored in the post's settings.
_KEYS = {
    "text", "media", "reply", "reply_settings", "poll", "quote_tweet_id", "geo", "for_super_followers_only",
    "direct_message_deep_link", "nullcast", "community_id", "share_with_followers", "made_with_ai", "card_uri",
    "paid_partnership", "edit_options",
}  # fmt: skip
_REPLY_SETTINGS = ("following", "mentionedUsers", "subscribers", "verified")
_FLAGS = ("for_super_followers_only", "made_with_ai", "nullcast", "paid_partnership", "share_with_followers")
_REPLY_KEYS = {"auto_populate_reply_metadata", "exclude_reply_user_ids", "in_reply_to_tweet_id"}
_MEDIA_KEYS = {
    "call_to_actions", "description", "embeddable", "media_ids", "preview_media_id", "tagged_user_ids", "title",
}  # fmt: skip
_ID = re.compile(r"[0-9]{1,19}")
#: Calls of each account in 15 minutes: docs.x.com/x-api/fundamentals/rate-limits (read 23 November 2026).
WINDOW = timedelta(minutes=15)
POSTS_PER_WINDOW = 100
SEARCHES_PER_WINDOW = 300
#: How long a repeated text is refused; X documents no figure. Our choice.
_DUPLICATES = timedelta(days=1)
SEARCH_WINDOW = timedelta(days=7)

Thing = Post | Comment


def id_of(thing: Thing) -> str:
    return thing.comment_id if isinstance(thing, Comment) else thing.post_id


def author_id_of(thing: Thing) -> str:
    return thing.author_id if isinstance(thing, Comment) else thing.account_id


@dataclass(slots=True)
class Window:
    """Counts the calls of one kind by one account in a window of 15 minutes, which begins with the first call."""

    limit: int
    ends_at: datetime | None = None
    count: int = 0

    def take(self, now: datetime) -> None:
        """Counts a call. Raises XError 429 if the limit of the window is used up."""
        if self.ends_at is None or now >= self.ends_at:
            self.ends_at, self.count = now + WINDOW, 0
        if self.count >= self.limit:
            raise too_many()
        self.count += 1

    def headers(self, now: datetime) -> dict[str, str]:
        ends_at = self.ends_at or now + WINDOW
        return {
            "x-rate-limit-limit": str(self.limit),
            "x-rate-limit-remaining": str(max(self.limit - self.count, 0)),
            "x-rate-limit-reset": str(int(ends_at.timestamp()) + 1),
        }


@dataclass(slots=True)
class Posts:
    """The posts and replies on X in one simulator."""

    sim: Simulation
    uploads: Uploads
    windows: dict[tuple[str, str], Window] = field(default_factory=dict)
    #: Accounts with X Premium.
    premium: set[str] = field(default_factory=set)
    #: Account → text, media and answered post of each recent post → when.
    _said: defaultdict[str, dict[str, datetime]] = field(default_factory=lambda: defaultdict(dict))

    def clear(self) -> None:
        """Forgets used rate limits, recent texts and the accounts with Premium."""
        self.windows.clear()
        self.premium.clear()
        self._said.clear()

    def window(self, account_id: str, kind: str) -> Window:
        limit = SEARCHES_PER_WINDOW if kind == "search" else POSTS_PER_WINDOW
        return self.windows.setdefault((account_id, kind), Window(limit))

    def find(self, thing_id: str) -> Thing | None:
        """Returns a post or reply on X; None if there is none with this id."""
        world = self.sim.world
        thing = world.posts.get(thing_id) or world.comments.get(thing_id)
        root = self.root(thing) if thing else None
        return thing if root is not None and root.platform == "TW" else None

    def root(self, thing: Thing) -> Post | None:
        """Returns the post that began the conversation of a post or reply; None if that post was deleted."""
        return self.sim.world.posts.get(thing.post_id)

    def create(self, account: Account, body: dict[str, Any]) -> Thing:
        """Creates a post or reply (POST /2/tweets). Raises XError if X would refuse it."""
        _check_schema(body)
        text, media_ids = _text(body), _media_ids(body)
        uploads = self.uploads.usable(account.account_id, media_ids)
        answered = self._answered(account, body)
        if not text and not uploads:
            raise invalid("text", "", "One of text, media or poll is required.")
        limit = texts.LONG_LIMIT if account.account_id in self.premium else texts.LIMIT
        if texts.weight(text) > limit:
            raise forbidden(
                "Your Tweet text is too long. For more information, read about counting characters."
            )
        with self.sim.world.lock:
            self._refuse_repeats(account, json.dumps([text, media_ids, answered and id_of(answered)]))
            if answered is not None:
                return self._reply(account, answered, text)
            kept = {key: body[key] for key in body.keys() - {"text", "media"}}
            post = Post(
                self.sim.world.new_id("19"), account.account_id, "TW", account.name, text,
                [upload.medium for upload in uploads], self.sim.clock.now(),
                settings=kept | {"media_keys": [upload.media_key for upload in uploads]},
            )  # fmt: skip
            self.sim.world.add_post(post)
            return post

    def delete(self, account: Account, thing_id: str) -> bool:
        """Deletes a post or reply (DELETE /2/tweets/{id}). Returns False if there is none with this id.

        Raises XError 403 if it belongs to another account.
        """
        thing = self.find(thing_id)
        if thing is None:
            return False
        if author_id_of(thing) != account.account_id:
            raise forbidden("You are not authorized to delete this Tweet.")
        if isinstance(thing, Comment):
            self.sim.world.remove_comment(thing_id)
        else:
            self.sim.world.remove_post(thing_id)
        return True

    def by_account(self, account_id: str) -> list[Thing]:
        """Returns the posts and replies of an account, newest first."""
        posts = self.sim.world.posts_of(platform="TW")
        found: list[Thing] = [post for post in posts if post.account_id == account_id]
        for post in posts:
            found += [comment for comment in list(post.comments) if comment.author_id == account_id]
        return _newest_first(found)

    def conversation(self, root_id: str) -> list[Thing]:
        """Returns the post that began a conversation and all replies in it, newest first; only those of the last 7
        days.
        """
        post = self.sim.world.posts.get(root_id)
        if post is None or post.platform != "TW":
            return []
        earliest = self.sim.clock.now() - SEARCH_WINDOW
        things: list[Thing] = [post, *list(post.comments)]
        return _newest_first([thing for thing in things if thing.created_at >= earliest])

    def mentions(self, thing: Thing) -> list[str]:
        """Returns the usernames that X puts at the start of a reply. The first is the author of the post or reply that
        is answered, then come the authors further up in the conversation. The reply's own author is left out.
        """
        names: list[str] = []
        author_id = author_id_of(thing)
        while isinstance(thing, Comment):
            parent = self.find(thing.parent_id or thing.post_id)
            if parent is None:
                break
            name = self.username(parent)
            if author_id_of(parent) != author_id and name not in names:
                names.append(name)
            thing = parent
        return names

    def username(self, thing: Thing) -> str:
        account = self.sim.accounts.find(author_id_of(thing))
        return account.username if account else re.sub(r"\W", "", thing.author)[:15] or "somebody"

    def _answered(self, account: Account, body: dict[str, Any]) -> Thing | None:
        reply = body.get("reply")
        if reply is None:
            return None
        answered_id = str(reply.get("in_reply_to_tweet_id") or "") if isinstance(reply, dict) else ""
        answered = self.find(answered_id)
        if answered is None:
            raise forbidden("You attempted to reply to a Tweet that is deleted or not visible to you.")
        is_own = author_id_of(answered) == account.account_id
        named = [name.lower() for name in (*self.mentions(answered), *re.findall(r"@(\w+)", answered.text))]
        if not is_own and account.username.lower() not in named:
            raise forbidden(REPLY_RESTRICTED)
        return answered

    def _reply(self, account: Account, answered: Thing, text: str) -> Comment:
        parent_id = answered.comment_id if isinstance(answered, Comment) else None
        root = self.root(answered)
        assert root is not None
        return self.sim.comment(root, account.account_id, account.name, text, parent_id)

    def _refuse_repeats(self, account: Account, said: str) -> None:
        now, lately = self.sim.clock.now(), self._said[account.account_id]
        if said in lately and now - lately[said] < _DUPLICATES:
            raise forbidden(DUPLICATE)
        lately[said] = now


def _newest_first(things: list[Thing]) -> list[Thing]:
    return sorted(things, key=lambda thing: int(id_of(thing)), reverse=True)


def _check_schema(body: dict[str, Any]) -> None:
    """Raises XError if the body has a key or value that X's OpenAPI description does not allow."""
    _check_keys("$", body, _KEYS)
    for name, keys in (("reply", _REPLY_KEYS), ("media", _MEDIA_KEYS)):
        if isinstance(body.get(name), dict):
            _check_keys(f"$.{name}", body[name], keys)
    if body.get("reply_settings", "following") not in _REPLY_SETTINGS:
        message = f"$.reply_settings: does not have a value in the enumeration {list(_REPLY_SETTINGS)}"
        raise invalid("reply_settings", body["reply_settings"], message)
    for name in _FLAGS:
        if not isinstance(body.get(name, False), bool):
            raise invalid(name, body[name], f"$.{name}: boolean expected")


def _check_keys(path: str, body: dict[str, Any], known: set[str]) -> None:
    for key in body.keys() - known:
        message = (
            f"{path}.{key}: is not defined in the schema and the schema does not allow additional properties"
        )
        raise invalid(key, body[key], message)


def _text(body: dict[str, Any]) -> str:
    text = body.get("text", "")
    if not isinstance(text, str):
        raise invalid("text", text, "$.text: string expected")
    return text


def _media_ids(body: dict[str, Any]) -> list[str]:
    media = body.get("media")
    if media is None:
        return []
    ids = media.get("media_ids") if isinstance(media, dict) else None
    if not isinstance(ids, list) or not 1 <= len(ids) <= 4 or not all(_is_id(one) for one in ids):
        raise invalid("media.media_ids", ids, "$.media.media_ids: must have 1 to 4 items that are ids")
    return ids


def _is_id(value: Any) -> bool:
    return isinstance(value, str) and _ID.fullmatch(value) is not None
