"""LinkedIn's API, from LinkedIn's documentation and from clients by others.

The pages of learn.microsoft.com/linkedin were read in stored copies on 23 November 2026. Most copies hold only the
first third, so a row also names a client that sends the same fields. A row's version or date is that of the copy.
"""

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
_FEED_READS = ("r_organization_social_feed", "r_member_social_feed", "w_member_social_feed")
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

#: Maton's guide to the Community Management API, version 202606 (a gateway of several thousand users).
_MATON = "Maton's linkedin-community-management skill, LinkedIn-Version 202606"
_SCHEMA = f"post-api-schema, view li-lms-2026-05; {_MATON}; Composio's LinkedIn toolkit 20260826"
_POSTMAN = "LinkedIn's Postman collection (api-evangelist/linkedin 14aa945, 2026-08-22)"
_IMAGES, _VIDEOS = (f"{page}-api, view li-lms-2026-05; {_POSTMAN}" for page in ("images", "videos"))
_COMMENTS = f"comments-api, which announces the end of version 202508 on 2026-08-17; {_MATON}"
_METADATA = "social-metadata-api, which announces the end of version 202508 on 2026-08-17"
#: What version 202503 answered a token of an approved app: comments and counts of a member's post are read with
#: w_member_social_feed; /v2/userinfo is 403; posts by a person 400.
_PROBE = "gacabartosz/linkedin-mcp-server f6070c3, docs/API-CAPABILITY-MATRIX-org.md, 2026-07"
_ACLS = "organization-access-control-by-role, of 2023; Composio's LinkedIn toolkit 20260826 (role, state)"
_LOOKUP = f"organization-lookup-api, of 2024; {_POSTMAN}"
_PROFILE = "shared/integrations/people/profile-api and shared/references/v2/profile/basic-profile, undated"
_OPENID = "consumer/integrations/self-serve/sign-in-with-linkedin-v2, undated (first third)"
_OAUTH = "shared/authentication/authorization-code-flow, undated (first third); fields as public clients send"

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


def _read(path: str, source: str, scopes: tuple[str, ...], *required: str, **query: Shape) -> Operation:
    return Operation(
        method="GET",
        url=f"{_API}/rest/{path}",
        scopes=scopes,
        query=query,
        required=required,
        headers=_VERSIONED,
        source=source,
    )


def _action(path: str, source: str, name: str, request: Shape) -> Operation:
    return Operation(
        method="POST", url=f"{_API}/rest/{path}", required=("action",), query={"action": one_of(name)}, scopes=_WRITES,
        source=source,
        bodies={JSON: record({f"{name}Request": request}, (f"{name}Request",))}, headers=_VERSIONED,
    )  # fmt: skip


def _file(path: str, source: str) -> Operation:
    # The address comes from the answer of initializeUpload and has parameters of its own.
    return Operation(
        method="PUT", url=f"https://www.linkedin.com/{path}", bodies={BYTES: anything}, query=named("ca cn"),
        source=source,
        headers={"Content-Length": whole(1), "Content-Type": text(r"[\w-]+/[\w.+-]+")},
    )  # fmt: skip


def _token(path: str, fields: dict[str, Shape], *required: str) -> Operation:
    app = named("client_id client_secret", text())
    return Operation(
        method="POST", url=f"https://www.linkedin.com/oauth/v2/{path}", source=_OAUTH,
        bodies={FORM: record({**app, **fields}, ("client_id", "client_secret", *required))},
    )  # fmt: skip


LINKEDIN = Description(
    source="learn.microsoft.com/linkedin/marketing/community-management; each operation names its page.",
    operations=(
        _read(
            "posts", _MATON, _READS, "q", "author", q=one_of("author"), author=_PERSON_OR_PAGE, isDsc=flag,
            sortBy=one_of("LAST_MODIFIED CREATED"), **_PAGED,
        ),
        Operation(
            method="POST", url=f"{_API}/rest/posts", bodies={JSON: _NEW_POST}, scopes=_WRITES, headers=_VERSIONED,
            source=_SCHEMA,
        ),
        Operation(
            method="DELETE", url=f"{_API}/rest/posts/{{urn}}", scopes=_WRITES, headers=_VERSIONED, source=_MATON
        ),
        _action("images", _IMAGES, "initializeUpload", record({"owner": _PERSON_OR_PAGE}, ("owner",))),
        _action(
            "videos",
            _VIDEOS,
            "initializeUpload",
            record(
                {
                    "owner": _PERSON_OR_PAGE, "fileSizeBytes": whole(75 * 1024, 500 * 2**20),
                    **named("uploadCaptions uploadThumbnail", flag),
                },
                ("owner", "fileSizeBytes"),
            ),
        ),
        _action(
            "videos",
            _VIDEOS,
            "finalizeUpload",
            record(
                {"video": _VIDEO, "uploadToken": text(r".*"), "uploadedPartIds": array(text())},
                ("video", "uploadToken", "uploadedPartIds"),
            ),
        ),
        # A member's token may not read them, which the connector knows from the answer alone.
        _read("images/{urn}", _IMAGES, (*_READS, *_WRITES)),
        _read("videos/{urn}", _VIDEOS, (*_READS, *_WRITES)),
        _read("socialActions/{urn}/comments", f"{_COMMENTS}; {_PROBE}", _FEED_READS, **_PAGED),
        _read("socialActions/{urn}/comments/{id}", f"{_COMMENTS}; {_PROBE}", _FEED_READS),
        Operation(
            method="POST", url=f"{_API}/rest/socialActions/{{urn}}/comments", bodies={JSON: _NEW_COMMENT},
            scopes=_FEED_WRITES, headers=_VERSIONED, source=_COMMENTS,
        ),
        _read("socialMetadata/{urn}", f"{_METADATA}; {_PROBE}", _FEED_READS),
        _read(
            "organizationAcls", _ACLS, _ADMINISTERS, "q", q=one_of("roleAssignee organization"),
            role=text(), state=one_of("APPROVED REJECTED REQUESTED REVOKED"), **_PAGED,
        ),
        _read("organizations/{id}", _LOOKUP, _ADMINISTERS),
        _read("organizationsLookup", _LOOKUP, (), "ids", ids=text(r"List\(\d+(,\d+)*\)")),
        _read(
            "networkSizes/{urn}", _MATON, (*_ADMINISTERS, *_READS), "edgeType",
            edgeType=one_of("COMPANY_FOLLOWED_BY_MEMBER"),
        ),
        Operation(method="GET", url=f"{_API}/v2/userinfo", scopes=("openid profile",), source=_OPENID),
        Operation(
            method="GET", url=f"{_API}/v2/me", scopes=("r_basicprofile", "r_liteprofile"), source=_PROFILE,
            query={
                "projection": text(
                    r"\((?:(?:id|localizedFirstName|localizedLastName|vanityName|localizedHeadline"
                    r"|profilePicture\(displayImage~:playableStreams\))(?:,(?!\))|(?=\))))+\)"
                )
            },
        ),
        _file("dms-uploads/{id}/image", _IMAGES),
        _file("dms-uploads/{id}/video", _VIDEOS),
        Operation(
            method="GET", url="https://www.linkedin.com/oauth/v2/authorization", source=_OAUTH,
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
