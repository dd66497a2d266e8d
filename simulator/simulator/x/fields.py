"""The parameters that choose fields, and their values: X's two descriptions (repository xdevplatform/xdk, July 2026).

`latest-openapi.json` 2.159 has `tweet.fields`, `specs/openapi.json` 2.167 has `post.fields`.
"""

from flask import request

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
_USER_FIELDS = {
    "affiliation", "confirmed_email", "connection_status", "created_at", "description", "entities", "id",
    "is_identity_verified", "location", "most_recent_tweet_id", "name", "parody", "pinned_tweet_id",
    "profile_banner_url", "profile_image_url", "protected", "public_metrics", "receives_your_dm", "subscribes_to_you",
    "subscription", "subscription_type", "url", "username", "verified", "verified_followers_count", "verified_type",
    "withheld",
}  # fmt: skip


def asked(*names: str) -> set[str]:
    """The values of a list parameter under any of its names."""
    return {part for name in names for part in request.args.get(name, "").split(",") if part}


def check(served: str | None) -> None:
    """Refuses names and values that X does not know. `served`: the one name that this X takes; None: both."""
    names = [served] if served else [OLD, NEW]
    for name in {OLD, NEW} & {*request.args}:
        if name not in names:
            raise invalid(
                name, request.args[name], f"The query parameter [{name}] is not one of [{', '.join(names)}]"
            )
        _check_values(name, _FIELDS[name])
    _check_values("expansions", set().union(*(_EXPANSIONS_OF[name] for name in names)))
    _check_values("user.fields", _USER_FIELDS)


def _check_values(name: str, known: set[str]) -> None:
    for value in sorted(asked(name) - known):
        raise invalid(
            name, value, f"The `{name}` query parameter value [{value}] is not one of the known ones"
        )
