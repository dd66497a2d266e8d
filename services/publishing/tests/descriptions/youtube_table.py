"""YouTube's Data API and Google's login."""

from .description import BYTES, FORM, JSON, Description, Operation
from .shapes import Shape, anything, array, flag, list_of, named, one_of, record, text, whole

_API = "https://www.googleapis.com/youtube/v3"
_AUTH = "https://www.googleapis.com/auth"
_SCOPES = " ".join(
    f"{_AUTH}/{name}"
    for name in [
        "youtube",
        "youtube.channel-memberships.creator",
        "youtube.force-ssl",
        "youtube.readonly",
        "youtube.upload",
        "youtubepartner",
        "youtubepartner-channel-audit",
    ]
)
#: Any of the scopes of a read; comments need more.
_READS = tuple(
    f"{_AUTH}/{name}" for name in ("youtube", "youtube.force-ssl", "youtube.readonly", "youtubepartner")
)
_COMMENTS = (f"{_AUTH}/youtube.force-ssl",)
_UPLOADS = tuple(
    f"{_AUTH}/{name}" for name in ("youtube", "youtube.force-ssl", "youtube.upload", "youtubepartner")
)

_COMMON = {
    **named("access_token callback fields key oauth_token quotaUser uploadType upload_protocol", text()),
    "$.xgafv": one_of("1 2"), "alt": one_of("json media proto"), "prettyPrint": flag,
}  # fmt: skip
_OWNER = named("onBehalfOfContentOwner onBehalfOfContentOwnerChannel", text())
#: Properties of a resource, which `part` names.
_VIDEO_PARTS = (
    "ageGating contentDetails fileDetails id liveStreamingDetails localizations monetizationDetails"
    " paidProductPlacementDetails player processingDetails projectDetails recordingDetails snippet statistics status"
    " suggestions topicDetails"
)
_CHANNEL_PARTS = (
    "auditDetails brandingSettings contentDetails contentOwnerDetails conversionPings id localizations snippet"
    " statistics"
    " status topicDetails"
)

_SNIPPET = record(
    {
        "title": text(longest=100), "description": text(r"(?s).*", longest=5_000), "tags": array(text()),
        "categoryId": text(r"\d+"),

               **named("channelId channelTitle defaultAudioLanguage defaultLanguage liveBroadcastContent"
            " localized publishedAt"),
        **named("thumbnails"),
    },
    ("title", "categoryId"),
)  # fmt: skip
_STATUS = record(
    {
        "privacyStatus": one_of("public unlisted private"), "license": one_of("youtube creativeCommon"),
        **named("containsSyntheticMedia embeddable madeForKids publicStatsViewable selfDeclaredMadeForKids", flag),
        **named("failureReason publishAt rejectionReason uploadStatus"),
    }
)  # fmt: skip
_COMMENT = record(
    {
        "snippet": record({"textOriginal": text(), "parentId": text(), **named("videoId channelId")},
            ("textOriginal",)),
        **named("etag id kind"),
    },
    ("snippet",),
)  # fmt: skip


def _list(resource: str, parts: str, scopes: tuple[str, ...], **query: Shape) -> Operation:
    return Operation(
        method="GET", url=f"{_API}/{resource}", scopes=scopes, required=("part",),
        query={"part": list_of(parts), **query},
    )  # fmt: skip


def _insert(resource: str, body: Shape) -> Operation:
    return Operation(
        method="POST", url=f"{_API}/{resource}", scopes=_COMMENTS, required=("part",),
        query={"part": list_of("id replies snippet")}, bodies={JSON: body},
    )  # fmt: skip


def _form(path: str, fields: dict[str, Shape], *required: str) -> Operation:
    return Operation(
        method="POST", url=f"https://oauth2.googleapis.com/{path}", bodies={FORM: record(fields, required)}
    )


_PLAIN = one_of("textFormatUnspecified html plainText")

YOUTUBE = Description(
    source="Google's discovery document youtube:v3 of 4 November 2026, in google-api-python-client 2.202.0;"
    " values of `part` from"
    " developers.google.com/youtube/v3/docs, its resumable uploads and developers.google.com/identity/protocols/oauth2"
    " (web-server), read in November 2026.",
    common=_COMMON,
    operations=(
        _list(
            "videos", _VIDEO_PARTS, _READS, id=text(), chart=one_of("chartUnspecified mostPopular"),
            hl=text(), locale=text(),
            maxHeight=whole(72, 8_192), maxResults=whole(1, 50), maxWidth=whole(72, 8_192),
            myRating=one_of("none like dislike"), pageToken=text(), regionCode=text(), videoCategoryId=text(),
            onBehalfOfContentOwner=text(),
        ),
        _list(
            "channels", _CHANNEL_PARTS, (*_READS, f"{_AUTH}/youtubepartner-channel-audit"), mine=flag,
            categoryId=text(),
            forHandle=text(), forUsername=text(), hl=text(), id=text(), managedByMe=flag, maxResults=whole(0, 50),
            mySubscribers=flag, pageToken=text(), onBehalfOfContentOwner=text(),
        ),
        _list(
            "playlistItems", "contentDetails id snippet status", _READS, playlistId=text(), id=text(),
            maxResults=whole(0, 50), pageToken=text(), videoId=text(), onBehalfOfContentOwner=text(),
        ),
        _list(
            "commentThreads", "id replies snippet", _COMMENTS, videoId=text(),
            order=one_of("orderUnspecified time relevance"),
            textFormat=_PLAIN, maxResults=whole(1, 100), pageToken=text(), allThreadsRelatedToChannelId=text(),
            channelId=text(), id=text(), searchTerms=text(),
            moderationStatus=one_of("published heldForReview likelySpam rejected"),
        ),
        _list(
            "comments", "id snippet", _COMMENTS, id=text(), parentId=text(), textFormat=_PLAIN,
            maxResults=whole(1, 100),
            pageToken=text(),
        ),
        _insert(
            "commentThreads",
            record(
                {
                    "snippet": record(
                        {"videoId": text(), "topLevelComment": _COMMENT, **named("channelId isPublic canReply")},
                        ("topLevelComment",),
                    ),
                    **named("etag id kind replies"),
                },
                ("snippet",),
            ),
        ),
        _insert("comments", _COMMENT),
        Operation(
            method="POST", url="https://www.googleapis.com/upload/youtube/v3/videos", scopes=_UPLOADS,
            required=("part", "uploadType"),
            query={
                **_OWNER, "part": list_of(_VIDEO_PARTS), "uploadType": one_of("resumable"),
                **named("autoLevels notifySubscribers stabilize", flag),
            },
            bodies={JSON: record({"snippet": _SNIPPET, "status": _STATUS, **named("localizations recordingDetails")})},
            headers={
                "X-Upload-Content-Type": text(r"(video/.+|application/octet-stream)"),
                "X-Upload-Content-Length": whole(1, 274_877_906_944),
            },
        ),
        Operation(
            method="DELETE", url=f"{_API}/videos", required=("id",), query={"id": text(), **_OWNER},
            scopes=tuple(scope for scope in _UPLOADS if not scope.endswith(".upload")),
        ),
        Operation(
            # The address of the session comes from the answer to the call before.
            method="PUT", url="https://www.googleapis.com/upload/youtube/v3/videos", scopes=_UPLOADS,
            required=("upload_id",), query={"uploadType": one_of("resumable"), "upload_id": text()},
            bodies={BYTES: anything, "": anything}, headers={"Content-Range": text(r"bytes (\d+-\d+|\*)/\d+")},
        ),
        Operation(
            method="GET", url="https://accounts.google.com/o/oauth2/v2/auth",
            required=("client_id", "redirect_uri", "response_type", "scope"),
            query={
                **named("client_id redirect_uri state login_hint", text()), "response_type": one_of("code"),
                "scope": list_of(_SCOPES, " "), "access_type": one_of("online offline"),
                "prompt": list_of("none consent select_account", " "), "include_granted_scopes": flag,
                "enable_granular_consent": flag, "code_challenge": text(r"[\w-]{43}"),
                "code_challenge_method": one_of("S256 plain"),
            },
        ),
        _form(
            "token",
            {
                **named("client_id client_secret code redirect_uri code_verifier refresh_token", text()),
                "grant_type": one_of("authorization_code refresh_token"),
            },
            "client_id", "client_secret", "grant_type",
        ),
        _form("revoke", {"token": text()}, "token"),
    ),
)  # fmt: skip
