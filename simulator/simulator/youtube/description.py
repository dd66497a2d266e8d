"""Checks calls against Google's description of the YouTube API: scopes, parameters, parts and values of each method.

The tables are those of the discovery document of the YouTube Data API v3, revision 20261104 (in
google-api-python-client 2.202.0, read on 23 November 2026); `tests/foreign` compares them with the document itself.
Filters and error messages: developers.google.com/youtube/v3/docs (reference and "Errors", read the same day).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from flask import request

from simulator.youtube.errors import YouTubeError, invalid

_SCOPE = "https://www.googleapis.com/auth/"
_OWNER, _COMMENTS = ("youtube", "youtube.force-ssl", "youtubepartner"), ("youtube.force-ssl",)
_READER, _UPLOADER = (*_OWNER, "youtube.readonly"), (*_OWNER, "youtube.upload")
#: Parameters that every call may have.
COMMON = {
    "$.xgafv", "access_token", "alt", "callback", "fields", "key", "oauth_token", "prettyPrint", "quotaUser",
    "uploadType", "upload_protocol",
}  # fmt: skip
#: Parameters in the URL of an upload session.
_SESSION = {"upload_id"}
ENUMS = {
    "textFormat": {"textFormatUnspecified", "html", "plainText"},
    "order": {"orderUnspecified", "time", "relevance"},
    "moderationStatus": {"published", "heldForReview", "likelySpam", "rejected"},
    "chart": {"chartUnspecified", "mostPopular"},
    "myRating": {"none", "like", "dislike"},
}
_FLAGS = {"true", "false"}
#: Name of a schema in the discovery document → the fields that a request body may have.
SCHEMAS = {
    "Video": {
        "ageGating", "brandPartner", "contentDetails", "etag", "fileDetails", "id", "kind", "liveStreamingDetails",
        "localizations", "monetizationDetails", "paidProductPlacementDetails", "player", "processingDetails",
        "projectDetails", "recordingDetails", "snippet", "statistics", "status", "suggestions", "topicDetails",
    },
    "VideoSnippet": {
        "categoryId", "channelId", "channelTitle", "defaultAudioLanguage", "defaultLanguage", "description",
        "liveBroadcastContent", "localized", "publishedAt", "tags", "thumbnails", "title",
    },
    "VideoStatus": {
        "containsSyntheticMedia", "embeddable", "failureReason", "license", "madeForKids", "privacyStatus",
        "publicStatsViewable", "publishAt", "rejectionReason", "selfDeclaredMadeForKids", "uploadStatus",
    },
    "CommentThread": {"etag", "id", "kind", "replies", "snippet"},
    "CommentThreadSnippet": {
        "canReply", "channelId", "isPublic", "topLevelComment", "totalReplyCount", "videoId",
    },
    "Comment": {"etag", "id", "kind", "snippet"},
    "CommentSnippet": {
        "authorChannelId", "authorChannelUrl", "authorDisplayName", "authorProfileImageUrl", "canRate", "channelId",
        "imageUrl", "likeCount", "moderationStatus", "parentId", "publishedAt", "textDisplay", "textOriginal",
        "updatedAt", "videoId", "viewerRating",
    },
}  # fmt: skip
_SCHEMA_OF = {
    ("Video", "snippet"): "VideoSnippet",
    ("Video", "status"): "VideoStatus",
    ("CommentThread", "snippet"): "CommentThreadSnippet",
    ("CommentThreadSnippet", "topLevelComment"): "Comment",
    ("Comment", "snippet"): "CommentSnippet",
}


@dataclass(frozen=True, slots=True)
class Method:
    """What Google's description allows in a call of one method of the YouTube API."""

    #: The token needs at least one of these scopes.
    scopes: tuple[str, ...]
    parameters: frozenset[str]
    parts: frozenset[str] = frozenset()
    #: A call must have exactly one of these parameters.
    filters: tuple[str, ...] = ()


def _method(scopes: tuple[str, ...], parameters: str, parts: str = "", filters: str = "") -> Method:
    return Method(scopes, frozenset(parameters.split()), frozenset(parts.split()), tuple(filters.split()))


#: Name of a method in the discovery document → its description.
METHODS = {
    "videos.list": _method(
        _READER,
        "chart hl id locale maxHeight maxResults maxWidth myRating onBehalfOfContentOwner pageToken part regionCode"
        " videoCategoryId",
        "contentDetails fileDetails id liveStreamingDetails localizations paidProductPlacementDetails player"
        " processingDetails recordingDetails snippet statistics status suggestions topicDetails",
        "chart id myRating",
    ),
    "videos.insert": _method(
        _UPLOADER,
        "autoLevels notifySubscribers onBehalfOfContentOwner onBehalfOfContentOwnerChannel part stabilize",
        "contentDetails fileDetails id liveStreamingDetails localizations paidProductPlacementDetails player"
        " processingDetails recordingDetails snippet statistics status suggestions topicDetails",
    ),
    "videos.delete": _method(_OWNER, "id onBehalfOfContentOwner"),
    "channels.list": _method(
        (*_READER, "youtubepartner-channel-audit"),
        "categoryId forHandle forUsername hl id managedByMe maxResults mine mySubscribers onBehalfOfContentOwner"
        " pageToken part",
        "auditDetails brandingSettings contentDetails contentOwnerDetails id localizations snippet statistics status"
        " topicDetails",
        "categoryId forHandle forUsername id managedByMe mine mySubscribers",
    ),
    "playlistItems.list": _method(
        _READER,
        "id maxResults onBehalfOfContentOwner pageToken part playlistId videoId",
        "contentDetails id snippet status",
        "id playlistId",
    ),
    "commentThreads.list": _method(
        _COMMENTS,
        "allThreadsRelatedToChannelId channelId id maxResults moderationStatus order pageToken part searchTerms"
        " textFormat videoId",
        "id replies snippet",
        "allThreadsRelatedToChannelId channelId id videoId",
    ),
    "commentThreads.insert": _method(_COMMENTS, "part", "id replies snippet"),
    "comments.list": _method(
        _COMMENTS, "id maxResults pageToken parentId part textFormat", "id snippet", "id parentId"
    ),
    "comments.insert": _method(_COMMENTS, "part", "id snippet"),
    "comments.delete": _method(_COMMENTS, "id"),
}  # fmt: skip


def check(name: str, granted: list[str] | None) -> None:
    """Checks this call against the description of the method `name`. `granted` are the token's scopes; None: all.
    Raises YouTubeError if the description does not allow the call.
    """
    method = METHODS[name]
    if granted is not None and not {_SCOPE + scope for scope in method.scopes} & {*granted}:
        raise YouTubeError(
            403, "insufficientPermissions", "Request had insufficient authentication scopes.", "global"
        )
    _check_values(method)
    if "part" in method.parameters:
        _check_parts(method)
    used = [name for name in method.filters if name in request.args]
    if method.filters and not used:
        message = f"No filter selected. Expected one of: {', '.join(method.filters)}"
        raise invalid("missingRequiredParameter", message, "youtube.parameter")
    if len(used) > 1:
        message = f"Incompatible parameters specified in the request: {', '.join(used)}"
        raise invalid("incompatibleParameters", message, "youtube.parameter")


def check_fields(schema: str, body: Mapping[str, Any]) -> None:
    """Raises YouTubeError if the body has a field, at any depth, that the schema does not have."""
    for name, value in body.items():
        if name not in SCHEMAS[schema]:
            message = f'Invalid JSON payload received. Unknown name "{name}": Cannot find field.'
            raise invalid("invalid", message, "global")
        inner = _SCHEMA_OF.get((schema, name))
        if inner is not None and isinstance(value, dict):
            check_fields(inner, value)


def values(name: str) -> list[str]:
    """Returns the values of a list parameter, which may be separated by commas or given in repeated parameters."""
    return [part for value in request.args.getlist(name) for part in value.split(",") if part]


def _check_values(method: Method) -> None:
    known = method.parameters | COMMON | (_SESSION if method.scopes is _UPLOADER else set())
    for name, value in request.args.items():
        if name not in known:
            message = (
                f'Invalid JSON payload received. Unknown name "{name}": Cannot bind query parameter.'
                f" Field '{name}' could not be found in request message."
            )
            raise invalid("invalid", message, "global")
        allowed = _FLAGS if name in ("notifySubscribers", "mine") else ENUMS.get(name)
        if allowed is not None and value not in allowed:
            raise invalid("invalid", f"Invalid value at '{name}', \"{value}\"", "global")


def _check_parts(method: Method) -> None:
    asked = values("part")
    if not asked:
        raise invalid("required", "Required parameter: part", "global")
    for part in asked:
        if part not in method.parts:
            raise invalid("unknownPart", part, "youtube.part")
