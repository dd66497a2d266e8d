"""LinkedIn's API."""

from .description import BYTES, FORM, JSON, Description, Operation
from .shapes import Shape, anything, array, flag, list_of, named, one_of, record, text, whole

_API = "https://api.linkedin.com"
_PERSON_OR_PAGE = text(r"urn:li:(person:[\w-]+|organization:\d+)")
_POST = text(r"urn:li:(share|ugcPost|activity):\d+")
_COMMENT = text(r"urn:li:comment:\(urn:li:\w+:\d+,\d+\)")
_IMAGE, _VIDEO = text(r"urn:li:image:[\w-]+"), text(r"urn:li:video:[\w-]+")
_VERSIONED = {
    "LinkedIn-Version": text(r"20\d\d(0[1-9]|1[0-2])"),
    "X-Restli-Protocol-Version": one_of("2.0.0"),
    "Content-Type": text("application/json"),
}
_PAGED = {"start": whole(), "count": whole(1, 100)}

_WRITES = ("w_member_social", "w_organization_social")
_READS = ("r_organization_social", "r_member_social")
_FEED_WRITES = ("w_member_social_feed", "w_organization_social_feed")
_FEED_READS = ("r_organization_social_feed", "r_member_social_feed")
_ADMINISTERS = ("rw_organization_admin", "r_organization_admin")
_SCOPES = " ".join(
    (
        *_WRITES,
        *_READS,
        *_FEED_WRITES,
        *_FEED_READS,
        *_ADMINISTERS,
        "openid profile email r_basicprofile r_liteprofile",
    )
)

_ALT_TEXT = text(r"(?s).*", longest=4_086)
_CONTENT = record(
    {
        "media": record({"id": text(r"urn:li:(image|video|document):[\w-]+"), "altText": _ALT_TEXT,
            "title": text()}, ("id",)),
        "multiImage": record({"images": array(record({"id": _IMAGE, "altText": _ALT_TEXT}, ("id",)), 20)}, ("images",)),
        "article": record(
            {
                "source": text(r"https?://.+"), "title": text(longest=400), "description": text(longest=4_086),
                "thumbnail": _IMAGE, "thumbnailAltText": _ALT_TEXT,
            },
            ("source", "title"),
        ),
        **named("poll carousel reference event celebration"),
    }
)  # fmt: skip
_NEW_POST = record(
    {
        "author": _PERSON_OR_PAGE, "commentary": text(r"(?s).*"), "content": _CONTENT,
        "visibility": one_of("PUBLIC CONNECTIONS LOGGED_IN CONTAINER"),
        "distribution": record(
            {
                "feedDistribution": one_of("MAIN_FEED NONE"), "targetEntities": array(anything),
                "thirdPartyDistributionChannels": array(anything),
            },
            ("feedDistribution",),
        ),
        "lifecycleState": one_of("PUBLISHED DRAFT"), "isReshareDisabledByAuthor": flag,
        **named("adContext container contentLandingPage contentCallToActionLabel reshareContext"),
    },
    ("author", "commentary", "visibility", "distribution", "lifecycleState"),
)  # fmt: skip
_NEW_COMMENT = record(
    {
        "actor": _PERSON_OR_PAGE, "object": _POST, "parentComment": _COMMENT,
        "message": record({"text": text(longest=1_250), "attributes": array(anything)}, ("text",)),
        "content": array(anything),
    },
    ("actor", "message"),
)  # fmt: skip


def _read(path: str, scopes: tuple[str, ...], *required: str, **query: Shape) -> Operation:
    return Operation(
        method="GET",
        url=f"{_API}/rest/{path}",
        scopes=scopes,
        query=query,
        required=required,
        headers=_VERSIONED,
    )


def _action(path: str, name: str, request: Shape) -> Operation:
    return Operation(
        method="POST", url=f"{_API}/rest/{path}", required=("action",), query={"action": one_of(name)}, scopes=_WRITES,
        bodies={JSON: record({f"{name}Request": request}, (f"{name}Request",))}, headers=_VERSIONED,
    )  # fmt: skip


def _file(path: str) -> Operation:
    # The address comes from the answer of initializeUpload and has parameters of its own.
    return Operation(
        method="PUT", url=f"https://www.linkedin.com/{path}", bodies={BYTES: anything}, query=named("ca cn"),
        headers={"Content-Length": whole(1), "Content-Type": text(r"[\w-]+/[\w.+-]+")},
    )  # fmt: skip


def _token(path: str, fields: dict[str, Shape], *required: str) -> Operation:
    app = named("client_id client_secret", text())
    return Operation(
        method="POST", url=f"https://www.linkedin.com/oauth/v2/{path}",
        bodies={FORM: record({**app, **fields}, ("client_id", "client_secret", *required))},
    )  # fmt: skip


LINKEDIN = Description(
    source="learn.microsoft.com/linkedin, view li-lms-2026-05 (Post Schema, Posts, Images, Videos, Network"
    " Update Social"
    " Actions, Comments, Social Metadata, Organization Access Control, Organization Lookup, Network Sizes) and shared"
    " authentication (3-legged OAuth, OpenID Connect, Profile). Read in November 2026. The `_feed` scopes: see"
    " docs/platforms/linkedin.md.",
    operations=(
        _read(
            "posts", _READS, "q", "author", q=one_of("author"), author=_PERSON_OR_PAGE, isDsc=flag,
            sortBy=one_of("LAST_MODIFIED CREATED"), **_PAGED,
        ),
        Operation(
            method="POST", url=f"{_API}/rest/posts", bodies={JSON: _NEW_POST}, scopes=_WRITES, headers=_VERSIONED
        ),
        Operation(method="DELETE", url=f"{_API}/rest/posts/{{urn}}", scopes=_WRITES, headers=_VERSIONED),
        _action("images", "initializeUpload", record({"owner": _PERSON_OR_PAGE}, ("owner",))),
        _action(
            "videos",
            "initializeUpload",
            record(
                {
                    "owner": _PERSON_OR_PAGE, "fileSizeBytes": whole(75 * 1024, 500 * 2**20),
                    **named("uploadCaptions uploadThumbnail", flag), **named("purpose templateUrn", text()),
                },
                ("owner", "fileSizeBytes"),
            ),
        ),
        _action(
            "videos",
            "finalizeUpload",
            record(
                {"video": _VIDEO, "uploadToken": text(r".*"), "uploadedPartIds": array(text())},
                ("video", "uploadToken", "uploadedPartIds"),
            ),
        ),
        # A member's token may not read them, which the connector knows from the answer alone.
        _read("images/{urn}", (*_READS, *_WRITES)),
        _read("videos/{urn}", (*_READS, *_WRITES)),
        _read("socialActions/{urn}/comments", _FEED_READS, **_PAGED),
        _read("socialActions/{urn}/comments/{id}", _FEED_READS),
        Operation(
            method="POST", url=f"{_API}/rest/socialActions/{{urn}}/comments", bodies={JSON: _NEW_COMMENT},
            scopes=_FEED_WRITES, headers=_VERSIONED,
        ),
        _read("socialMetadata/{urn}", _FEED_READS),
        _read(
            "organizationAcls", _ADMINISTERS, "q", q=one_of("roleAssignee organization"),
            role=text(), state=one_of("APPROVED REJECTED REQUESTED REVOKED"), projection=text(), **_PAGED,
        ),
        _read("organizations/{id}", _ADMINISTERS),
        _read("organizationsLookup", (), "ids", ids=text(r"List\(\d+(,\d+)*\)")),
        _read(
            "networkSizes/{urn}", (*_ADMINISTERS, *_READS), "edgeType",
            edgeType=one_of("COMPANY_FOLLOWED_BY_MEMBER"),
        ),
        Operation(method="GET", url=f"{_API}/v2/userinfo", scopes=("openid profile",)),
        Operation(
            method="GET", url=f"{_API}/v2/me", scopes=("r_basicprofile", "r_liteprofile"),
            query={
                "projection": text(
                    r"\((?:(?:id|localizedFirstName|localizedLastName|vanityName|localizedHeadline"
                    r"|profilePicture\(displayImage~:playableStreams\))(?:,(?!\))|(?=\))))+\)"
                )
            },
        ),
        _file("dms-uploads/{id}/image"),
        _file("dms-uploads/{id}/video"),
        Operation(
            method="GET", url="https://www.linkedin.com/oauth/v2/authorization",
            required=("response_type", "client_id", "redirect_uri", "scope"),
            query={
                **named("client_id redirect_uri state", text()), "response_type": one_of("code"),
                "scope": list_of(_SCOPES, " "), "enable_extended_login": flag,
            },
        ),
        _token(
            "accessToken",
            {
                **named("code redirect_uri refresh_token", text()),
                "grant_type": one_of("authorization_code refresh_token"),
            },
            "grant_type",
        ),
        _token("revoke", {"token": text()}, "token"),
    ),
)  # fmt: skip
