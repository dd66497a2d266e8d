"""TikTok's API."""

from .description import BYTES, FORM, JSON, Description, Operation
from .shapes import anything, array, flag, list_of, named, one_of, record, text, whole

_API = "https://open.tiktokapis.com/v2"
_JSON_TYPE = {"Content-Type": text(r"application/json; charset=UTF-8")}
_MIB = 2**20
_PRIVACIES = one_of("PUBLIC_TO_EVERYONE MUTUAL_FOLLOW_FRIENDS FOLLOWER_OF_CREATOR SELF_ONLY")
_COMMERCIAL = named("disable_comment brand_content_toggle brand_organic_toggle", flag)

_VIDEO_POST = record(
    {
        **_COMMERCIAL, **named("disable_duet disable_stitch is_aigc", flag), "privacy_level": _PRIVACIES,
        "title": text(r"(?s).*", longest=2_200), "video_cover_timestamp_ms": whole(),
    },
    ("privacy_level",),
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
    ("privacy_level",),
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
    " like_count comment_count share_count view_count"
)
_SCOPES = (
    "user.info.basic user.info.profile user.info.stats video.list video.publish video.upload"
    " research.adlib.basic research.data.basic portability.postsandprofile.single portability.all.single"
)
_APP = named("client_key client_secret", text())


def _post(path: str, body: object, scope: str, **query: object) -> Operation:
    return Operation(
        method="POST", url=f"{_API}/{path}", bodies={JSON: body}, scopes=(scope,), headers=_JSON_TYPE, query=query,
        required=tuple(query),
    )  # type: ignore[arg-type]  # fmt: skip


TIKTOK = Description(
    source="developers.tiktok.com/doc: Content Posting API (Query Creator Info, Direct Post, Photo, Get Video"
    " Status, Media"
    " Transfer Guide), Display API (Get User Info, Query Videos), OAuth User Access Token Management, Login Kit"
    " for Web,"
    " Scopes. Read in November 2026.",
    operations=(
        _post("post/publish/creator_info/query/", record({}), "video.publish"),
        _post(
            "post/publish/video/init/",
            record({"post_info": _VIDEO_POST, "source_info": _VIDEO_SOURCE}, ("post_info", "source_info")),
            "video.publish",
        ),
        _post(
            "post/publish/content/init/",
            record(
                {
                    "media_type": one_of("PHOTO"), "post_mode": one_of("DIRECT_POST MEDIA_UPLOAD"),
                    "post_info": _PHOTO_POST, "source_info": _PHOTO_SOURCE,
                },
                ("media_type", "post_mode", "post_info", "source_info"),
            ),
            "video.publish",
        ),
        _post("post/publish/status/fetch/", record({"publish_id": text(longest=64)}, ("publish_id",)), "video.publish"),
        _post(
            "video/query/",
            record({"filters": record({"video_ids": array(text(r"\d+"), 20)}, ("video_ids",))}, ("filters",)),
            "video.list",
            fields=list_of(_VIDEO_FIELDS),
        ),
        Operation(
            method="GET", url=f"{_API}/user/info/", required=("fields",), scopes=(" ".join(_USER_FIELDS),),
            query={"fields": list_of(" ".join(_USER_FIELDS.values()))},
        ),
        Operation(
            # The address comes from the answer of video/init and has parameters of its own.
            method="PUT", url="https://open-upload.tiktokapis.com/video/", bodies={BYTES: anything},
            query=named("upload_id upload_token"),
            headers={
                "Content-Range": text(r"bytes \d+-\d+/\d+"), "Content-Length": whole(1, 128 * _MIB),
                "Content-Type": one_of("video/mp4 video/quicktime video/webm"),
            },
        ),
        Operation(
            method="GET", url="https://www.tiktok.com/v2/auth/authorize/",
            required=("client_key", "scope", "redirect_uri", "state", "response_type"),
            query={
                **named("client_key redirect_uri state", text()), "response_type": one_of("code"),
                "scope": list_of(_SCOPES), "disable_auto_auth": one_of("0 1"), "code_challenge": text("[0-9a-f]{64}"),
                "code_challenge_method": one_of("S256"),
            },
        ),
        Operation(
            method="POST", url=f"{_API}/oauth/token/",
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
            method="POST", url=f"{_API}/oauth/revoke/",
            bodies={
                FORM: record({**_APP, "token": text()}, ("client_key", "client_secret", "token"))
            },
        ),
    ),
)  # fmt: skip
