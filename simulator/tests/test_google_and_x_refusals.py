"""Tests that the simulator refuses what Google and X refuse: wrong hosts, scopes, versions, parameters, values and
fields.

Each case names its source, read on 23 November 2026.
"""

from dataclasses import dataclass, field
from typing import Any

import pytest
from flask.testing import FlaskClient

from simulator.simulation import Simulation

DISCOVERY = (
    "discovery document of the YouTube Data API v3, revision 20261104 (google-api-python-client 2.202.0)"
)
FILTERS = (
    "github.com/Agent-Hellboy/pyytdata, issue 23: 'No filter selected. Expected one of: myRating, id, chart'"
)
NO_PART = "github.com/youtube/api-samples, issue 262: 'Required parameter: part'"
PART = "github.com/googleapis/google-api-php-client, issue 1777: unknownPart"
ERRORS = "developers.google.com/youtube/v3/docs/errors"
ISSUE = "github.com/daiki-beppu/youtube-automation, issue 2286: a readonly token, 403 insufficientPermissions"
OPENAPI = "X's OpenAPI 2.167 (repository xdevplatform/xdk, specs/openapi.json, 21 July 2026)"
X_WORDS = "github.com/redouane59/twittered, issue 118: X's words for an unknown value"
GOOGLE_API, GOOGLE_TOKEN = "/www.googleapis.com", "/oauth2.googleapis.com"
READONLY, UPLOAD, COMMENTS = "youtube.readonly", "youtube.upload", "youtube.force-ssl"
VIDEO = {"snippet": {"title": "Bread"}, "status": {"privacyStatus": "public"}}
INVALID = "invalid-request"


@dataclass(frozen=True)
class Case:
    """A call with a valid token that the platform refuses with this status and reason."""

    platform: str
    call: str
    status: int
    reason: str
    source: str
    #: The token's scopes; empty: all.
    scopes: tuple[str, ...] = ()
    json: dict[str, Any] = field(default_factory=dict)


def google(call: str, status: int, reason: str, source: str = DISCOVERY, **more: Any) -> Case:
    method, _, path = call.partition(" ")
    return Case(
        "YT",
        f"{method} {path if path.startswith('/') else f'{GOOGLE_API}/youtube/v3/{path}'}",
        status,
        reason,
        source,
        **more,
    )


def x(call: str, status: int, reason: str = INVALID, source: str = OPENAPI, **more: Any) -> Case:
    method, _, path = call.partition(" ")
    return Case(
        "TW",
        f"{method} {path if path.startswith('/') else f'/api.x.com/2/{path}'}",
        status,
        reason,
        source,
        **more,
    )


UPLOADS = f"{GOOGLE_API}/upload/youtube/v3/videos?uploadType=resumable"
CASES = {
    "the API is not on the host of tokens": google(
        f"GET {GOOGLE_TOKEN}/youtube/v3/channels?part=id&mine=true", 404, ""
    ),
    "tokens are not on the host of the API": google(f"POST {GOOGLE_API}/token", 404, ""),
    "version 2 is over": google(f"GET {GOOGLE_API}/youtube/v2/channels?part=id&mine=true", 404, ""),
    "a token for uploads reads no channel": google(
        "GET channels?part=id&mine=true", 403, "insufficientPermissions", scopes=(UPLOAD,)
    ),
    "a token for reading uploads nothing": google(
        f"POST {UPLOADS}&part=snippet,status", 403, "insufficientPermissions", scopes=(READONLY,), json=VIDEO
    ),
    "a token for reading reads no comments": google(
        "GET commentThreads?part=snippet&videoId=x", 403, "insufficientPermissions", ISSUE, scopes=(READONLY, UPLOAD)
    ),
    "a token for reading deletes nothing": google(
        "DELETE videos?id=x", 403, "insufficientPermissions", scopes=(READONLY, UPLOAD)
    ),
    "a list needs a filter": google("GET videos?part=id", 400, "missingRequiredParameter", FILTERS),
    "a list has one filter": google("GET comments?part=id&id=a&parentId=b", 400, "incompatibleParameters", ERRORS),
    "a list needs a part": google("GET channels?mine=true", 400, "required", NO_PART),
    "a part is one of the resource": google("GET videos?part=replies&id=x", 400, "unknownPart", PART),
    "an unknown parameter": google("GET videos?part=id&id=x&colour=red", 400, "invalid"),
    "a parameter of another call": google("GET comments?part=id&id=x&videoId=y", 400, "invalid"),
    "an unknown text format": google("GET comments?part=id&id=x&textFormat=markdown", 400, "invalid"),
    "an unknown privacy": google(
        f"POST {UPLOADS}&part=snippet,status", 400, "invalidVideoMetadata",
        json=VIDEO | {"status": {"privacyStatus": "friends"}},
    ),
    "an unknown field of a video": google(
        f"POST {UPLOADS}&part=snippet,status", 400, "invalid", json=VIDEO | {"status": {"isAiMade": True}}
    ),
    "an unknown field of a comment": google(
        "POST comments?part=snippet", 400, "invalid", json={"snippet": {"parentId": "x", "text": "hi"}}
    ),
    "X's API is not on the host of its pages": x("GET /x.com/2/users/me", 404, ""),
    "X's login page is not on the host of its API": x("GET /api.x.com/i/oauth2/authorize", 404, ""),
    "API v1.1 takes no token of OAuth 2.0": x("POST /api.x.com/1.1/statuses/update.json", 404, ""),
    "a token for reading posts nothing": x(
        "POST tweets", 403, "about:blank", scopes=("tweet.read", "users.read"), json={"text": "hi"}
    ),
    "a token without media.write uploads nothing": x(
        "POST media/upload/initialize", 403, "about:blank", scopes=("tweet.read", "users.read", "tweet.write"),
        json={"media_type": "video/mp4", "media_category": "tweet_video", "total_bytes": 9},
    ),
    "an unknown field of posts": x("GET tweets/1?tweet.fields=colour", 400, source=X_WORDS),
    "an unknown field of media": x("GET tweets/1?media.fields=colour", 400),
    "an unknown expansion of a user": x("GET users/me?expansions=author_id", 400),
    "an unknown parameter of X": x("GET users/me?colour=red", 400),
    "an unknown command": x("GET media/upload?media_id=1&command=LOOK", 400),
    "an unknown order": x("GET tweets/search/recent?query=conversation_id:1&sort_order=oldest", 400),
    "unknown people who may reply": x("POST tweets", 400, json={"text": "hi", "reply_settings": "everyone"}),
    "an unknown field of a post": x("POST tweets", 400, json={"text": "hi", "visibility": "all"}),
    "an unknown field of a reply": x("POST tweets", 400, json={"text": "hi", "reply": {"to": "1"}}),
    "a label that is no flag": x("POST tweets", 400, json={"text": "hi", "made_with_ai": "yes"}),
    "five media": x("POST tweets", 400, json={"text": "hi", "media": {"media_ids": ["1", "2", "3", "4", "5"]}}),
    "an unknown category of media": x(
        "POST media/upload/initialize", 400,
        json={"media_type": "video/mp4", "media_category": "film", "total_bytes": 9},
    ),
    "an unknown field of an upload": x("POST media/upload/initialize", 400, json={"total_bytes": 9, "alt_text": "a"}),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_the_simulator_refuses_what_the_platform_refuses(
    case: Case, client: FlaskClient, sim: Simulation
) -> None:
    account = sim.accounts.issue(case.platform)
    prefix = "https://www.googleapis.com/auth/" if case.platform == "YT" else ""
    facts = {"scopes": [prefix + scope for scope in case.scopes]} if case.scopes else {}
    headers = {"Authorization": f"Bearer {sim.accounts.token(account, **facts)}"}
    method, _, path = case.call.partition(" ")
    answer = client.open(path, method=method, headers=headers, json=case.json or None)
    assert answer.status_code == case.status, answer.get_data(as_text=True)
    assert _reason(answer.get_json(silent=True) or {}) == case.reason
    assert client.get("/_sim/posts").get_json()["posts"] == []


def _reason(body: dict[str, Any]) -> str:
    """Returns the reason of a refusal: Google's word, or the last part of the `type` of X's problem."""
    error = body.get("error")
    if isinstance(error, dict):
        return str(error["errors"][0]["reason"])
    return str(body.get("type", "")).rpartition("/")[2]
