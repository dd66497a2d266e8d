"""Tests that a wrong host, a missing scope, a wrong value and a wrong version are each refused as the platform refuses
them.

Sources, all read in November 2026. LinkedIn: learn.microsoft.com/linkedin, shared/api-guide/concepts/error-handling,
shared/authentication, marketing/versioning, marketing/community-management/shares. Meta: developers.facebook.com/docs,
graph-api/guides/error-handling and versioning, and the reference of each edge. TikTok: developers.tiktok.com/doc,
tiktok-api-v2-error-handling, oauth-error-handling, and the reference of each call.

No source says what a host answers to a path that only another host has. The tests expect the platform's answer to a
path that it does not have; for the Graph API as others saw it (arsduo/koala issue 611).
"""

from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest

from simulator.meta.permissions import NEEDED

GRAPH, LINKEDIN, TIKTOK = "/graph.facebook.com", "/api.linkedin.com", "/open.tiktokapis.com"
META = sorted({*NEEDED.values()})
COMMUNITY = [
    "w_organization_social",
    "r_organization_social",
    "rw_organization_admin",
    "w_organization_social_feed",
]
CREATOR = ["user.info.basic", "user.info.profile", "user.info.stats", "video.list", "video.publish"]
#: TikTok's refusals of a call, and of a field, whose scope the token lacks.
CALL, FIELD = (401, "scope_not_authorized"), (400, "scope_permission_missed")
POST = {
    "author": "{id}", "commentary": "Hello", "visibility": "PUBLIC", "lifecycleState": "PUBLISHED",
    "distribution": {"feedDistribution": "MAIN_FEED"},
}  # fmt: skip
FILM = {"source": "FILE_UPLOAD", "video_size": 5, "chunk_size": 5, "total_chunk_count": 1}
PHOTOS = {"source": "PULL_FROM_URL", "photo_images": ["http://media.posthaste.test/media/photo-9x9.jpg"]}
INIT = {"post_info": {"privacy_level": "SELF_ONLY"}, "source_info": FILM}
CONTENT = {
    "media_type": "PHOTO", "post_mode": "DIRECT_POST", "post_info": INIT["post_info"], "source_info": PHOTOS,
}  # fmt: skip


@pytest.fixture
def call(client: Any, sim: Any) -> Callable[..., Any]:
    """Sends a request with the token of a new account; `{id}` stands for the account's id."""

    def send(platform, method, path, body=None, scopes=None, headers=None):
        account = sim.accounts.issue(platform)
        facts = {} if scopes is None else {"scopes": scopes}
        token = sim.accounts.token(account, **facts)
        sent = {"Authorization": f"Bearer {token}"}
        if platform == "LN":
            sent |= {"LinkedIn-Version": "202607", "X-Restli-Protocol-Version": "2.0.0"}
        sent = {name: value for name, value in (sent | (headers or {})).items() if value}
        path = path.replace("{id}", account.account_id)
        if body and body.get("author") == "{id}":
            body = body | {"author": account.account_id}
        return client.open(path, method=method, json=body, headers=sent)

    return send


def said(answer):
    """Returns status and code of a refusal in any platform's format."""
    body = answer.get_json(silent=True) or {}
    error = body.get("error")
    code = error.get("code") if isinstance(error, dict) else body.get("code")
    return answer.status_code, code


@pytest.mark.parametrize(
    ("platform", "method", "path", "expected"),
    [
        ("FB", "POST", "/www.facebook.com/v26.0/{id}/feed", (404, None)),
        ("FB", "GET", f"{GRAPH}/v26.0/dialog/oauth", (400, 100)),
        ("FB", "POST", f"{LINKEDIN}/v26.0/{{id}}/feed", (404, "RESOURCE_NOT_FOUND")),
        ("FB", "POST", "/v26.0/{id}/feed", (404, None)),
        ("LN", "POST", "/www.linkedin.com/rest/posts", (404, None)),
        ("LN", "POST", f"{LINKEDIN}/oauth/v2/accessToken", (404, "RESOURCE_NOT_FOUND")),
        ("LN", "PUT", f"{LINKEDIN}/dms-uploads/urn/0", (404, "RESOURCE_NOT_FOUND")),
        ("LN", "GET", f"{GRAPH}/v2/userinfo", (400, 190)),
        ("TT", "POST", "/www.tiktok.com/v2/post/publish/video/init/", (404, None)),
        ("TT", "GET", f"{TIKTOK}/v2/auth/authorize/", (404, "invalid_params")),
        ("TT", "PUT", f"{TIKTOK}/video/", (404, "invalid_params")),
        ("TT", "POST", "/open-upload.tiktokapis.com/v2/post/publish/video/init/", (404, None)),
        ("TT", "GET", f"{LINKEDIN}/v2/user/info/?fields=open_id", (404, "RESOURCE_NOT_FOUND")),
    ],
)
def test_a_host_has_nothing_of_another(call, platform, method, path, expected):
    assert said(call(platform, method, path, {"message": "hi"} if method == "POST" else None)) == expected


def test_a_host_may_be_named_by_the_host_header_as_well(client, sim):
    page = sim.accounts.issue("FB")
    query = {"access_token": sim.accounts.token(page), "fields": "id"}
    path = f"/v26.0/{page.account_id}"
    assert client.get(path, query_string=query, headers={"Host": "graph.facebook.com"}).status_code == 200
    assert client.get(path, query_string=query, headers={"Host": "www.facebook.com"}).status_code == 404
    assert client.get("/_sim/health", headers={"Host": "graph.facebook.com"}).status_code == 200


@pytest.mark.parametrize(
    ("platform", "method", "path", "body", "lacks", "expected"),
    [
        # Meta, "Permissions" of each edge: 200 for pages, 10 for Instagram.
        ("FB", "POST", f"{GRAPH}/v26.0/{{id}}/feed", {"message": "hi"}, "pages_manage_posts", (400, 200)),
        ("FB", "GET", f"{GRAPH}/v26.0/{{id}}/videos", None, "pages_read_engagement", (400, 200)),
        ("IG", "POST", f"{GRAPH}/v26.0/{{id}}/media", {"image_url": "x"}, "instagram_content_publish", (400, 10)),
        # LinkedIn, "403 ACCESS_DENIED: Not enough permissions to access".
        ("LN", "POST", f"{LINKEDIN}/rest/posts", POST, "w_organization_social", (403, "ACCESS_DENIED")),
        (
            "LN", "GET", f"{LINKEDIN}/rest/posts?q=author&author={{id}}", None, "r_organization_social",
            (403, "ACCESS_DENIED"),
        ),
        ("LN", "GET", f"{LINKEDIN}/v2/userinfo", None, "openid", (403, "ACCESS_DENIED")),
        # TikTok, "scope_not_authorized 401" for a call and "scope_permission_missed 400" for a field.
        ("TT", "POST", f"{TIKTOK}/v2/post/publish/video/init/", INIT, "video.publish", CALL),
        ("TT", "POST", f"{TIKTOK}/v2/post/publish/content/init/", CONTENT, "video.publish", CALL),
        ("TT", "POST", f"{TIKTOK}/v2/video/query/?fields=id", {}, "video.list", CALL),
        ("TT", "GET", f"{TIKTOK}/v2/user/info/?fields=username", None, "user.info.profile", FIELD),
        ("TT", "GET", f"{TIKTOK}/v2/user/info/?fields=follower_count", None, "user.info.stats", FIELD),
    ],
)  # fmt: skip
def test_a_token_without_the_calls_scope_is_refused(call, platform, method, path, body, lacks, expected):
    every = {"FB": META, "IG": META, "LN": [*COMMUNITY, "openid"], "TT": CREATOR}[platform]
    assert lacks in every
    assert said(call(platform, method, path, body, [name for name in every if name != lacks])) == expected
    assert said(call(platform, method, path, body, every)) != expected


@pytest.mark.parametrize(
    ("platform", "path", "body", "expected"),
    [
        # Meta: "(#100) Param … must be one of {…}"; 2207023 is "Media Type unknown".
        ("FB", f"{GRAPH}/v26.0/{{id}}/videos", {"upload_phase": "begin"}, (400, 100)),
        ("FB", f"{GRAPH}/v26.0/{{id}}/subscribed_apps", {"subscribed_fields": "likes"}, (400, 100)),
        ("FB", f"{GRAPH}/v26.0/{{id}}/feed?fields=wall", {"message": "hi"}, (400, 100)),
        ("IG", f"{GRAPH}/v26.0/{{id}}/media", {"media_type": "FILM", "image_url": "x"}, (400, 100)),
        # LinkedIn, Posts API: visibility, distribution and lifecycleState are enums.
        ("LN", f"{LINKEDIN}/rest/posts", POST | {"visibility": "FRIENDS"}, (400, "INVALID_VALUE_FOR_FIELD")),
        ("LN", f"{LINKEDIN}/rest/posts", POST | {"lifecycleState": "LIVE"}, (400, "INVALID_VALUE_FOR_FIELD")),
        (
            "LN", f"{LINKEDIN}/rest/posts", POST | {"distribution": {"feedDistribution": "SIDE"}},
            (400, "INVALID_VALUE_FOR_FIELD"),
        ),
        ("LN", f"{LINKEDIN}/rest/posts", POST | {"text": "Hello"}, (400, "ILLEGAL_ARGUMENT")),
        # TikTok, Direct Post and Photo Post: invalid_params, and a code of its own for the privacy.
        (
            "TT", f"{TIKTOK}/v2/post/publish/video/init/", INIT | {"post_info": {"privacy_level": "FRIENDS"}},
            (403, "privacy_level_option_mismatch"),
        ),
        (
            "TT", f"{TIKTOK}/v2/post/publish/video/init/", INIT | {"source_info": FILM | {"source": "UPLOAD"}},
            (400, "invalid_params"),
        ),
        ("TT", f"{TIKTOK}/v2/post/publish/content/init/", CONTENT | {"media_type": "VIDEO"}, (400, "invalid_params")),
        ("TT", f"{TIKTOK}/v2/video/query/?fields=views", {"filters": {"video_ids": ["1"]}}, (400, "invalid_params")),
    ],
)  # fmt: skip
def test_a_value_outside_an_enum_is_refused(call, platform, path, body, expected):
    assert said(call(platform, "POST", path, body)) == expected


@pytest.mark.parametrize(
    ("platform", "path", "headers", "expected"),
    [
        ("FB", f"{GRAPH}/v27.0/me/feed", {}, (400, 2500)),
        ("FB", f"{GRAPH}/v2.80/me/feed", {}, (400, 2500)),
        # LinkedIn, marketing/versioning: a version lives twelve months at least.
        ("LN", f"{LINKEDIN}/rest/posts?q=author", {"LinkedIn-Version": "202510"}, (426, "NONEXISTENT_VERSION")),
        ("LN", f"{LINKEDIN}/rest/posts?q=author", {"LinkedIn-Version": "202612"}, (426, "NONEXISTENT_VERSION")),
        ("LN", f"{LINKEDIN}/rest/posts?q=author", {"LinkedIn-Version": "202613"}, (426, "NONEXISTENT_VERSION")),
        ("LN", f"{LINKEDIN}/rest/posts?q=author", {"LinkedIn-Version": None}, (400, "VERSION_MISSING")),
        ("LN", f"{LINKEDIN}/v3/userinfo", {}, (404, "RESOURCE_NOT_FOUND")),
        ("TT", f"{TIKTOK}/v3/user/info/", {}, (404, "invalid_params")),
    ],
)  # fmt: skip
def test_a_version_outside_its_window_is_refused(call, platform, path, headers, expected):
    assert said(call(platform, "GET", path, headers=headers)) == expected


@pytest.mark.parametrize(
    ("platform", "address", "scopes", "expected"),
    [
        # An app with Community Management has no other product (n8n PR 7451, Postiz PR 1658).
        (
            "LN",
            "/www.linkedin.com/oauth/v2/authorization",
            "openid w_organization_social",
            "unauthorized_scope_error",
        ),
        ("LN", "/www.linkedin.com/oauth/v2/authorization", "r_liteprofile", "unauthorized_scope_error"),
        ("TT", "/www.tiktok.com/v2/auth/authorize/", "user.info.basic,video.delete", "invalid_scope"),
    ],
)
def test_a_login_for_scopes_that_the_app_lacks_is_refused(client, sim, platform, address, scopes, expected):
    name = {"LN": "linkedin", "TT": "tiktok"}[platform]
    query = {
        "client_id": sim.settings.apps[platform][0], "client_key": sim.settings.apps[platform][0], "scope": scopes,
        "redirect_uri": f"https://app.test/connect/{name}/callback", "response_type": "code", "state": "s",
    }  # fmt: skip
    went = client.get(address, query_string=query).headers["Location"]
    assert dict(parse_qsl(urlsplit(went).query))["error"] == expected
