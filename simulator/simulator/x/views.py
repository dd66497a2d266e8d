"""The JSON of posts, replies and users as the X API returns them, with the requested fields only."""

from datetime import datetime
from typing import Any

from flask import request

from simulator.clock import rfc3339
from simulator.hosts import url_of
from simulator.simulation import Simulation
from simulator.world import Comment
from simulator.x import text as texts
from simulator.x.fields import are_new, asked, takes_both
from simulator.x.posts import Posts, Thing, author_id_of, id_of

#: Host of the URLs in `profile_image_url`.
PICTURE_HOST = "pbs.twimg.com"

_NEW_NAMES = {
    "referenced_tweets": "referenced_posts",
    "note_tweet": "note_post",
    "retweet_count": "repost_count",
    "tweet_count": "post_count",
    "edit_history_tweet_ids": "edit_history_post_ids",
}


def post_view(posts: Posts, thing: Thing, fields: set[str]) -> dict[str, Any]:
    """Returns the id and the text of a post or reply, and the requested fields."""
    post_id, keys = id_of(thing), [] if isinstance(thing, Comment) else thing.settings.get("media_keys", [])
    username = posts.username(thing)
    words = " ".join([*(f"@{name}" for name in posts.mentions(thing)), thing.text])
    text, urls = texts.shown(words, f"https://x.com/{username}/status/{post_id}", keys)
    whole: dict[str, Any] = {
        "created_at": rfc3339(thing.created_at),
        "author_id": author_id_of(thing),
        "conversation_id": thing.post_id,
        "public_metrics": _metrics(posts, thing),
    }
    if texts.weight(words) > texts.LIMIT:
        # `text` is cut off; the field `note_tweet` has the whole text.
        whole["note_tweet"] = {"text": text, "entities": {"urls": urls}}
        text = f"{text[: texts.LIMIT - 1]}…"
    if urls:
        whole["entities"] = {"urls": urls}
    if keys:
        whole["attachments"] = {"media_keys": keys}
    if isinstance(thing, Comment):
        whole["referenced_tweets"] = [{"type": "replied_to", "id": thing.parent_id or thing.post_id}]
    whole = _named(whole)
    if are_new():
        fields = fields | asked("expansions")
    shown = {name: value for name, value in whole.items() if name in fields}
    return {"id": post_id, "text": text, **_named({"edit_history_tweet_ids": [post_id]}), **shown}


def _named(facts: dict[str, Any]) -> dict[str, Any]:
    """Returns the fields under the names, older or newer, that the answer to this call uses."""
    if not are_new():
        return facts
    return {
        _NEW_NAMES.get(name, name): _named(value) if name == "public_metrics" else value
        for name, value in facts.items()
    }


def user_view(sim: Simulation, user_id: str, name: str, username: str, fields: set[str]) -> dict[str, Any]:
    account = sim.accounts.find(user_id)
    whole: dict[str, Any] = {
        "profile_image_url": url_of(PICTURE_HOST, f"/profile_images/{user_id}_normal.jpg"),
        "public_metrics": {
            "followers_count": account.followers if account else 7, "following_count": 3, "tweet_count": 1,
            "listed_count": 0, "like_count": 0, "media_count": 0,
        },
    }  # fmt: skip
    if takes_both():
        # tweepy reads the older name; X's own client (xdk 0.10.6) refuses an answer without the newer one.
        whole["public_metrics"]["post_count"] = whole["public_metrics"]["tweet_count"]
    shown = {key: value for key, value in _named(whole).items() if key in fields}
    return {"id": user_id, "name": name, "username": username, **shown}


def page_view(posts: Posts, things: list[Thing], size: int, token_name: str) -> dict[str, Any]:
    """Returns one page of a list of posts, newest first. Leaves out the posts that the call's `since_id`, `until_id`,
    `start_time` or page token exclude. Includes the authors if `expansions` asks for them.
    """
    for name, is_in in (
        ("since_id", lambda thing, value: int(id_of(thing)) > int(value)),
        ("until_id", lambda thing, value: int(id_of(thing)) < int(value)),
        ("start_time", lambda thing, value: thing.created_at >= datetime.fromisoformat(value)),
        (token_name, lambda thing, value: int(id_of(thing)) < int(value.rpartition("-")[2])),
    ):
        value = request.args.get(name)
        if value:
            things = [thing for thing in things if is_in(thing, value)]
    shown, rest = things[:size], things[size:]
    meta: dict[str, Any] = {"result_count": len(shown)}
    if not shown:
        return {"meta": meta}
    meta |= {"newest_id": id_of(shown[0]), "oldest_id": id_of(shown[-1])}
    if rest:
        meta["next_token"] = f"7140dibdnow-{id_of(shown[-1])}"
    fields = asked("tweet.fields", "post.fields")
    answer: dict[str, Any] = {"data": [post_view(posts, thing, fields) for thing in shown], "meta": meta}
    if "author_id" in asked("expansions"):
        authors = {author_id_of(thing): thing for thing in shown}
        answer["includes"] = {
            "users": [
                user_view(posts.sim, user_id, thing.author, posts.username(thing), asked("user.fields"))
                for user_id, thing in authors.items()
            ]
        }
    return answer


def _metrics(posts: Posts, thing: Thing) -> dict[str, int]:
    counts = {"retweet_count": 0, "quote_count": 0, "bookmark_count": 0, "impression_count": 0}
    if isinstance(thing, Comment):
        return {**counts, "like_count": 0, "reply_count": len(posts.sim.world.replies_to(thing))}
    return {
        **counts, "retweet_count": thing.shares, "like_count": thing.likes, "reply_count": thing.comment_count,
    }  # fmt: skip
