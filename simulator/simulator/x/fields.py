"""The query parameters of each call to X, and their values, from X's two OpenAPI descriptions (repository
xdevplatform/xdk, July 2026, read on 23 November 2026).

`latest-openapi.json` 2.159 names the fields of a post with the parameter `tweet.fields`, `specs/openapi.json` 2.167
with `post.fields`.
"""

from flask import g, request

from simulator.x.errors import invalid

OLD, NEW = "tweet.fields", "post.fields"
_BOTH = {
    "article", "attachments", "card_uri", "community_id", "context_annotations", "conversation_id", "created_at",
    "display_text_range", "edit_controls", "entities", "geo", "id", "lang", "media_metadata", "non_public_metrics",
    "organic_metrics", "paid_partnership", "possibly_sensitive", "promoted_metrics", "public_metrics", "reply_settings",
    "scopes", "source", "suggested_source_links", "suggested_source_links_with_counts", "text", "withheld",
}  # fmt: skip
_FIELDS = {
    OLD: _BOTH
    | {"author_id", "edit_history_tweet_ids", "in_reply_to_user_id", "note_tweet", "referenced_tweets"},
    NEW: _BOTH | {"article_title", "matched_media_notes", "note_post", "note_request_suggestions"},
}
_EXPANSIONS = {
    "article.cover_media", "article.media_entities", "attachments.media_keys", "attachments.media_source_tweet",
    "attachments.poll_ids", "author_id", "entities.mentions.username", "geo.place_id", "in_reply_to_user_id",
}  # fmt: skip
_EXPANSIONS_OF = {
    OLD: _EXPANSIONS
    | {
        "edit_history_tweet_ids", "entities.note.mentions.username", "referenced_tweets.id",
        "referenced_tweets.id.attachments.media_keys", "referenced_tweets.id.author_id",
    },
    NEW: _EXPANSIONS | {"edit_history_post_ids", "referenced_posts", "username"},
}  # fmt: skip
#: Values of `expansions` in a call for a user.
_USER_EXPANSIONS = {
    OLD: {"affiliation.user_id", "most_recent_tweet_id", "pinned_tweet_id"},
    NEW: {"affiliation", "most_recent_post_id", "pinned_post_id"},
}
#: The values of all other parameters that have a fixed set of values.
_VALUES = {
    "user.fields": {
        "affiliation", "confirmed_email", "connection_status", "created_at", "description", "entities", "id",
        "is_identity_verified", "location", "most_recent_tweet_id", "name", "parody", "pinned_tweet_id",
        "profile_banner_url", "profile_image_url", "protected", "public_metrics", "receives_your_dm",
        "subscribes_to_you", "subscription", "subscription_type", "url", "username", "verified",
        "verified_followers_count", "verified_type", "withheld",
    },
    "media.fields": {
        "alt_text", "duration_ms", "height", "media_key", "non_public_metrics", "organic_metrics", "preview_image_url",
        "promoted_metrics", "public_metrics", "type", "url", "variants", "width",
    },
    "poll.fields": {"duration_minutes", "end_datetime", "id", "options", "voting_status"},
    "place.fields": {
        "contained_within", "country", "country_code", "full_name", "geo", "id", "name", "place_type",
    },
    "exclude": {"replies", "retweets"},
    "sort_order": {"recency", "relevancy"},
    "command": {"STATUS"},
}  # fmt: skip
_OF_POSTS = {OLD, NEW, "expansions", "user.fields", "media.fields", "poll.fields", "place.fields"}
_OF_LISTS = {"max_results", "pagination_token", "start_time", "end_time", "since_id", "until_id"}
#: Path of a GET route → its parameters. Other calls have no query parameters.
_PARAMETERS = {
    "/2/tweets": {"ids", *_OF_POSTS},
    "/2/tweets/<post_id>": _OF_POSTS,
    "/2/tweets/search/recent": {"query", "next_token", "sort_order", *_OF_LISTS, *_OF_POSTS},
    "/2/users/<user_id>/tweets": {"exclude", *_OF_LISTS, *_OF_POSTS},
    "/2/users/me": {OLD, NEW, "user.fields", "expansions"},
    "/2/media/upload": {"media_id", "command"},
}


def asked(*names: str) -> set[str]:
    """Returns all values of the query parameters `names`, each of which is a list separated by commas."""
    return {part for name in names for part in request.args.get(name, "").split(",") if part}


def are_new() -> bool:
    """Whether the answer to this call uses the newer names of fields (`post_count`, not `tweet_count`)."""
    return bool(g.get("new_names"))


def takes_both() -> bool:
    """Whether the answer to this call needs both the older and the newer name of a field (`tweet_count`, `post_count`).

    It does if X accepts both parameters, `tweet.fields` and `post.fields`, and the call has neither.
    """
    return bool(g.get("takes_both"))


def check(served: str | None) -> None:
    """Checks the query parameters of this call. Raises XError for an unknown parameter or value.

    A call names the fields of a post that it wants in `tweet.fields` (`OLD`) or in `post.fields` (`NEW`). `served` is
    the only one of these two that X accepts; None: it accepts both.
    """
    names = [served] if served else [OLD, NEW]
    g.new_names = served == NEW or NEW in request.args
    g.takes_both = served is None and not {OLD, NEW} & {*request.args}
    rule = request.url_rule.rule if request.url_rule else ""
    known = _PARAMETERS.get(rule, set()) if request.method == "GET" else set()
    known = known - {OLD, NEW} | (known & {*names})
    for name, value in request.args.items():
        if name not in known:
            message = f"The query parameter [{name}] is not one of [{', '.join(sorted(known))}]"
            raise invalid(name, value, message)
    for name in {OLD, NEW} & {*request.args}:
        _check_values(name, _FIELDS[name])
    expansions = _USER_EXPANSIONS if rule == "/2/users/me" else _EXPANSIONS_OF
    _check_values("expansions", set().union(*(expansions[name] for name in names)))
    for name, values in _VALUES.items():
        _check_values(name, values)


def _check_values(name: str, known: set[str]) -> None:
    for value in sorted(asked(name) - known):
        message = f"The `{name}` query parameter value [{value}] is not one of [{','.join(sorted(known))}]"
        raise invalid(name, value, message)
