"""X's API."""

from .description import FORM, JSON, MULTIPART, Description, Operation
from .shapes import Shape, anything, array, flag, list_of, named, one_of, record, text, whole

_API = "https://api.x.com/2"
_ID = text(r"[0-9]{1,19}")
_TIME = text(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")

#: X's two sets of names for a post's fields and expansions. The OpenAPI has only the second; docs.x.com's examples and
#: data dictionary (August 2026) have the first.
_POST_SETS = {
    "tweet.fields": (
        "attachments author_id context_annotations conversation_id created_at edit_controls edit_history_tweet_ids"
        " entities geo id in_reply_to_user_id lang non_public_metrics note_tweet organic_metrics possibly_sensitive"
        " promoted_metrics public_metrics referenced_tweets reply_settings source text withheld",
        "attachments.media_keys attachments.poll_ids author_id edit_history_tweet_ids entities.mentions.username"
        " geo.place_id in_reply_to_user_id referenced_tweets.id referenced_tweets.id.author_id",
    ),
    "post.fields": (
        "article article_title attachments card_uri community_id context_annotations conversation_id created_at"
        " display_text_range edit_controls entities geo id lang matched_media_notes media_metadata non_public_metrics"
        " note_post note_request_suggestions organic_metrics paid_partnership possibly_sensitive promoted_metrics"
        " public_metrics reply_settings scopes source suggested_source_links suggested_source_links_with_counts text"
        " withheld",
        "article.cover_media article.media_entities attachments.media_keys attachments.media_source_tweet"
        " attachments.poll_ids author_id edit_history_post_ids entities.mentions.username geo.place_id"
        " in_reply_to_user_id referenced_posts username",
    ),
}
_USER_FIELDS = list_of(
    "confirmed_email connection_status created_at description entities id is_identity_verified location name parody"
    " profile_banner_url profile_image_url protected public_metrics receives_your_dm subscribes_to_you subscription"
    " subscription_type url username verified verified_followers_count verified_type withheld"
)
_LIST = {
    **named("start_time end_time", _TIME), **named("since_id until_id", _ID),
    **named("next_token pagination_token", text()),
}  # fmt: skip
_READS = ("tweet.read users.read",)
_MEDIA_WRITES = ("media.write",)


def _read(path: str, **query: Shape) -> list[Operation]:
    """Returns the calls that read posts, one for each set of field names that we ask for."""
    return [
        Operation(
            method="GET", url=f"{_API}/{path}", scopes=_READS, required=("query",) if "query" in query else (),
            query={
                name: list_of(fields), "expansions": list_of(expansions), "user.fields": _USER_FIELDS, **query,
            },
        )
        for name, (fields, expansions) in _POST_SETS.items()
    ]  # fmt: skip


def _write(path: str, bodies: dict[str, Shape], scopes: tuple[str, ...] = _MEDIA_WRITES) -> Operation:
    return Operation(method="POST", url=f"{_API}/{path}", bodies=bodies, scopes=scopes)


_POST = record(
    {
        **named("for_super_followers_only made_with_ai nullcast paid_partnership share_with_followers", flag),
        **named("card_uri direct_message_deep_link text", text()),
        **named("community_id quote_tweet_id", _ID),
        "reply_settings": one_of("following mentionedUsers subscribers verified"),
        "media": record(
            {"media_ids": array(_ID, 4), "tagged_user_ids": array(_ID, 10), **named("title description embeddable")},
            ("media_ids",),
        ),
        "reply": record(
            {
                "in_reply_to_tweet_id": _ID, "auto_populate_reply_metadata": flag,
                "exclude_reply_user_ids": array(_ID),
            },
            ("in_reply_to_tweet_id",),
        ),
    }
)  # fmt: skip
_METADATA = named(
    "allow_download_status audience_policy content_expiration domain_restrictions found_media_origin geo_restrictions"
    " management_info preview_image sensitive_media_warning shared_info sticker_info upload_source"
) | {"alt_text": record({"text": text(longest=1_000)}, ("text",))}
_CATEGORIES = "tweet_image tweet_video tweet_gif dm_image dm_video dm_gif subtitles"
_TYPES = (
    "video/mp4 video/webm video/mp2t video/quicktime text/srt text/vtt image/jpeg image/gif image/bmp image/png"
    " image/webp"
    " image/pjpeg image/tiff model/gltf-binary model/vnd.usdz+zip"
)
_SCOPES = (
    "block.read bookmark.read bookmark.write broadcast.read broadcast.write dm.read dm.write follows.read follows.write"
    " like.read like.write list.read list.write media.write mute.read mute.write offline.access space.read"
    " timeline.read"
    " tweet.moderate.write tweet.read tweet.write users.read"
)
_APP = named("client_id client_secret", text())

X = Description(
    source="X's OpenAPI 2.167 (repository xdevplatform/xdk, specs/openapi.json, 25 July 2026); the login and"
    " `tweet.fields`"
    " from docs.x.com (repository xdevplatform/docs, 22 August 2026). Read on 23 November 2026.",
    operations=(
        *_read("tweets/search/recent", query=text(longest=4_096), max_results=whole(10, 100),
               sort_order=one_of("recency relevancy"), **_LIST),
        *_read("tweets/{id}"),
        *_read("users/{id}/tweets", max_results=whole(5, 100), exclude=list_of("replies retweets"), **_LIST),
        *_read("users/me"),
        Operation(
            method="GET", url=f"{_API}/media/upload", scopes=_MEDIA_WRITES, required=("media_id",),
            query={"media_id": _ID, "command": one_of("STATUS")},
        ),
        _write("tweets", {JSON: _POST}, ("tweet.write tweet.read users.read",)),
        Operation(method="DELETE", url=f"{_API}/tweets/{{id}}", scopes=("tweet.write tweet.read users.read",)),
        _write(
            "media/upload",
            {MULTIPART: record({"media": anything, "media_category": one_of(_CATEGORIES)}, ("media",
                "media_category"))},
        ),
        _write(
            "media/upload/initialize",
            {
                JSON: record(
                    {
                        "media_category": one_of(f"{_CATEGORIES} amplify_video"), "media_type": one_of(_TYPES),
                        "total_bytes": whole(0, 17_179_869_184), "shared": flag, "additional_owners": array(_ID),
                    }
                )
            },
        ),
        _write(
            "media/upload/{id}/append",
            {MULTIPART: record({"media": anything, "segment_index": whole(0, 999)}, ("media", "segment_index"))},
        ),
        _write("media/upload/{id}/finalize", {}),
        _write("media/metadata", {JSON: record({"id": _ID, "metadata": record(_METADATA)}, ("id",))}),
        Operation(
            method="GET", url="https://x.com/i/oauth2/authorize",
            required=("response_type", "client_id", "redirect_uri", "scope", "state", "code_challenge",
                      "code_challenge_method"),
            query={
                **named("client_id redirect_uri state", text()), "response_type": one_of("code"),
                "scope": list_of(_SCOPES, " "), "code_challenge": text(r"[\w-]{43}"),
                "code_challenge_method": one_of("S256 plain"),
            },
        ),
        Operation(
            method="POST", url=f"{_API}/oauth2/token",
            bodies={
                FORM: record(
                    {
                        **_APP, **named("code redirect_uri code_verifier refresh_token", text()),
                        "grant_type": one_of("authorization_code refresh_token"),
                    },
                    ("grant_type",),
                )
            },
        ),
        Operation(
            method="POST", url=f"{_API}/oauth2/revoke",
            bodies={
                FORM: record(
                    {**_APP, "token": text(), "token_type_hint": one_of("access_token refresh_token")}, ("token",)
                )
            },
        ),
    ),
)  # fmt: skip
