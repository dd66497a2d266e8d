"""TikTok's API, from the pages of developers.tiktok.com/doc.

All pages were read in stored copies on 23 November 2026. A date is the day on which the page was copied or, after
"updated", the date in the page. "undated" marks a copy without a date.
"""

from .description import BYTES, FORM, JSON, Description, Operation
from .shapes import anything, array, flag, list_of, named, one_of, record, text, whole

_API = "https://open.tiktokapis.com/v2"
_JSON_TYPE = {"Content-Type": text(r"application/json; charset=UTF-8")}
_MIB = 2**20
_PRIVACIES = one_of("PUBLIC_TO_EVERYONE MUTUAL_FOLLOW_FRIENDS FOLLOWER_OF_CREATOR SELF_ONLY")
_COMMERCIAL = named("disable_comment brand_content_toggle brand_organic_toggle", flag)
#: "Required: true" in both references, whose examples leave the two toggles out.
_REQUIRED = ("privacy_level", "brand_content_toggle", "brand_organic_toggle")

_DIRECT = "content-posting-api-reference-direct-post, 2026-09-11"
_PHOTOS = "content-posting-api-reference-photo-post, 2026-09-11"
_CREATOR = "content-posting-api-get-started, 2026-09-11: without a body; many clients send an empty object"
_STATUS = "content-posting-api-reference-get-video-status, undated"
_QUERY = "tiktok-api-v2-video-query, undated; tiktok-api-v2-video-object, updated 2026-08-24"
_USER = "tiktok-api-v2-get-user-info, undated"
_CHUNKS = f"{_DIRECT}; content-posting-api-media-transfer-guide, 2026-09-11"
#: The page for the web names no PKCE: that it is taken there is a guess from public clients.
_LOGIN = "login-kit-web, undated; code_challenge: login-kit-desktop, undated"
_TOKENS = "oauth-get-a-user-access-token and oauth-refresh-a-user-access-token, updated 2026-11-02"
_REVOCATION = "oauth-user-access-token-management, undated; ten public clients send these fields"

_VIDEO_POST = record(
    {
        **_COMMERCIAL, **named("disable_duet disable_stitch is_aigc", flag), "privacy_level": _PRIVACIES,
        "title": text(r"(?s).*", longest=2_200), "video_cover_timestamp_ms": whole(),
    },
    _REQUIRED,
)  # fmt: skip
_VIDEO_SOURCE = record(
    {
        "source": one_of("FILE_UPLOAD"), "video_size": whole(1, 4_096 * _MIB),
        # A file below 5 MB is a single chunk; the last chunk has up to twice the size, 128 MB.
        "chunk_size": whole(1, 128 * _MIB), "total_chunk_count": whole(1, 1_000),
    },
    ("source", "video_size", "chunk_size", "total_chunk_count"),
)  # fmt: skip
_PHOTO_POST = record(
    {
        **_COMMERCIAL, "auto_add_music": flag, "privacy_level": _PRIVACIES,
        "title": text(r"(?s).*", longest=90), "description": text(r"(?s).*", longest=4_000),
    },
    _REQUIRED,
)  # fmt: skip
_PHOTO_SOURCE = record(
    {
        "source": one_of("PULL_FROM_URL"), "photo_images": array(text(r"https://.+"), 35),
        "photo_cover_index": whole(0, 34),
    },
    ("source", "photo_images", "photo_cover_index"),
)  # fmt: skip
#: By the scope that shows them (reference of Get User Info).
_USER_FIELDS = {
    "user.info.basic": "open_id union_id avatar_url avatar_url_100 avatar_large_url display_name",
    "user.info.profile": "bio_description profile_deep_link is_verified username",
    "user.info.stats": "follower_count following_count likes_count video_count",
}
_VIDEO_FIELDS = (
    "id create_time cover_image_url share_url video_description duration height width title embed_html embed_link"
    " like_count comment_count share_count view_count is_aigc"
)
_SCOPES = (
    "user.info.basic user.info.profile user.info.stats video.list video.publish video.upload"
    " research.adlib.basic research.data.basic portability.postsandprofile.single portability.all.single"
)
_APP = named("client_key client_secret", text())


def _post(path: str, source: str, body: object, *scopes: str, **query: object) -> Operation:
    return Operation(
        method="POST", url=f"{_API}/{path}", bodies={JSON: body}, scopes=scopes, headers=_JSON_TYPE, query=query,
        required=tuple(query), source=source,
    )  # type: ignore[arg-type]  # fmt: skip


TIKTOK = Description(
    source="developers.tiktok.com/doc; each operation names its page.",
    operations=(
        _post("post/publish/creator_info/query/", _CREATOR, record({}), "video.publish"),
        _post(
            "post/publish/video/init/",
            _DIRECT,
            record({"post_info": _VIDEO_POST, "source_info": _VIDEO_SOURCE}, ("post_info", "source_info")),
            "video.publish",
        ),
        _post(
            "post/publish/content/init/",
            _PHOTOS,
            record(
                {
                    "media_type": one_of("PHOTO"), "post_mode": one_of("DIRECT_POST MEDIA_UPLOAD"),
                    "post_info": _PHOTO_POST, "source_info": _PHOTO_SOURCE, "is_aigc": flag,
                },
                ("media_type", "post_mode", "post_info", "source_info"),
            ),
            "video.publish",
        ),
        _post(
            "post/publish/status/fetch/",
            _STATUS,
            record({"publish_id": text(longest=64)}, ("publish_id",)),
            "video.publish",
            "video.upload",
        ),
        _post(
            "video/query/",
            _QUERY,
            record({"filters": record({"video_ids": array(text(r"\d+"), 20)}, ("video_ids",))}, ("filters",)),
            "video.list",
            fields=list_of(_VIDEO_FIELDS),
        ),
        Operation(
            method="GET", url=f"{_API}/user/info/", required=("fields",), scopes=(" ".join(_USER_FIELDS),),
            source=_USER,
            query={"fields": list_of(" ".join(_USER_FIELDS.values()))},
        ),
        Operation(
            # The address comes from the answer of video/init and has parameters of its own.
            method="PUT", url="https://open-upload.tiktokapis.com/video/", bodies={BYTES: anything},
            query=named("upload_id upload_token"), source=_CHUNKS,
            headers={
                "Content-Range": text(r"bytes \d+-\d+/\d+"), "Content-Length": whole(1, 128 * _MIB),
                "Content-Type": one_of("video/mp4 video/quicktime video/webm"),
            },
        ),
        Operation(
            method="GET", url="https://www.tiktok.com/v2/auth/authorize/",
            required=("client_key", "scope", "redirect_uri", "state", "response_type"), source=_LOGIN,
            query={
                **named("client_key redirect_uri state", text()), "response_type": one_of("code"),
                "scope": list_of(_SCOPES), "disable_auto_auth": one_of("0 1"), "code_challenge": text("[0-9a-f]{64}"),
                "code_challenge_method": one_of("S256"),
            },
        ),
        Operation(
            method="POST", url=f"{_API}/oauth/token/", source=_TOKENS,
            bodies={
                FORM: record(
                    {
                        **_APP, **named("code redirect_uri code_verifier refresh_token", text()),
                        "grant_type": one_of("authorization_code refresh_token"),
                    },
                    ("client_key", "client_secret", "grant_type"),
                )
            },
        ),
        Operation(
            method="POST", url=f"{_API}/oauth/revoke/", source=_REVOCATION,
            bodies={
                FORM: record({**_APP, "token": text()}, ("client_key", "client_secret", "token"))
            },
        ),
    ),
)  # fmt: skip
