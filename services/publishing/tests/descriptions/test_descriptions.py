"""Every request of a connector agrees with the platform's description: its address, names, values and scopes."""

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from . import linkedin_paths, meta_paths, tiktok_paths, x_paths, youtube_paths
from .call_sites import PLATFORMS, ROOT, Ran, sending_calls
from .description import Description, Request
from .linkedin_table import LINKEDIN
from .meta_table import FACEBOOK, INSTAGRAM
from .played import Played, playing
from .tiktok_table import TIKTOK
from .x_table import X
from .youtube_table import YOUTUBE

#: What each platform describes, and everything that we ask of it.
CASES: dict[str, tuple[Description, Callable[[Played], None]]] = {
    "facebook": (FACEBOOK, meta_paths.drive_facebook),
    "instagram": (INSTAGRAM, meta_paths.drive_instagram),
    "linkedin": (LINKEDIN, linkedin_paths.drive),
    "tiktok": (TIKTOK, tiktok_paths.drive),
    "x": (X, x_paths.drive),
    "youtube": (YOUTUBE, youtube_paths.drive),
}


@pytest.fixture(scope="module")
def driven() -> dict[str, tuple[list[Request], Ran]]:
    """By platform: the requests that its connector made, and the calls in its code that ran."""
    found = {}
    with pytest.MonkeyPatch.context() as monkeypatch:
        for platform, (_, drive) in CASES.items():
            ran = Ran()
            with playing(monkeypatch) as played, ran.watching():
                drive(played)
            found[platform] = (played.requests, ran)
    return found


#: Calls with a token that need no scope.
NO_SCOPE = {
    "https://api.linkedin.com/rest/organizationsLookup",
    "https://www.linkedin.com/dms-uploads/a/image",
    "https://graph.facebook.com/v26.0/me",
    "https://graph.facebook.com/v26.0/me/permissions",
}

each_platform = pytest.mark.parametrize("platform", PLATFORMS)


@each_platform
def test_every_request_is_one_that_the_platform_describes(platform: str, driven: Any) -> None:
    description = CASES[platform][0]
    problems = {problem for request in driven[platform][0] for problem in description.problems(request)}
    assert problems == set(), "\n".join(sorted(problems))


@each_platform
def test_every_call_in_the_code_that_sends_a_request_ran(platform: str, driven: Any) -> None:
    ran = {site for _, one in driven.values() for site in one.calls()}  # Facebook and Instagram share code
    left = sending_calls(platform) - ran
    assert not left, "\n".join(sorted(site.code for site in left))


@each_platform
def test_every_described_call_is_made(platform: str, driven: Any) -> None:
    description = CASES[platform][0]
    made = [one for request in driven[platform][0] for one in description.calls(request)]
    assert [one.url for one in description.operations if one not in made] == []


@pytest.mark.parametrize("platform", ["linkedin", "tiktok"])
def test_every_call_of_a_platform_without_one_document_names_its_source_and_a_date(platform: str) -> None:
    """The other platforms publish one file with their whole API, which the description names."""
    undated = [
        one.url
        for one in CASES[platform][0].operations
        if not re.search(r"20\d\d-?\d\d|of 20\d\d|undated", one.source)
    ]
    assert undated == []


def test_the_calls_in_the_code_are_found() -> None:
    """Every folder with a connector is tested here, and the search finds calls in every kind of module."""
    assert {path.parent.name for path in ROOT.glob("*/connector.py")} == set(PLATFORMS) == set(CASES)
    for platform in PLATFORMS:
        code = " ".join(site.code for site in sending_calls(platform))
        for part in ("http.send(", "/connector.py:", "/reading.py:", "/login.py:", "/facts.py:"):
            assert part in code, (platform, part)


#: Text in the requests, and what replaces it: a field, a value of an enum, a scope, a path, a parameter, a version.
MISTAKES = {
    "facebook": {
        "permalink_url": "permalink_uri", "attached_media": "atached_media", "reverse_chronological": "newest",
        "upload_phase=finish": "upload_phase=end", "pages_manage_posts": "pages_manage_post", "/feed": "/feeds",
        "v26.0": "v17.0", "graph-video.facebook.com": "graph-videos.facebook.com",
    },
    "instagram": {
        "like_count": "likes_count", "image_url": "image_uri", "REELS": "REEL", "metric=shares": "metric=share",
        "instagram_content_publish": "instagram_content_publishing", "/media_publish": "/publish_media",
    },
    "linkedin": {
        "isReshareDisabledByAuthor": "isReshareDisabled", "MAIN_FEED": "FEED", "sortBy=CREATED": "sortBy=CREATED_AT",
        "w_member_social": "w_members_social", "/socialActions/": "/socialAction/", "localizedFirstName": "firstname",
        "LOGGED_IN": "LOGGEDIN", "finalizeUpload": "finaliseUpload", "COMPANY_FOLLOWED_BY_MEMBER": "CompanyFollowed",
    },
    "tiktok": {
        "disable_duet": "disable_duets", "FOLLOWER_OF_CREATOR": "FOLLOWERS", "video.publish": "video.publishing",
        "/status/fetch/": "/status/get/", "total_chunk_count": "chunk_count", "follower_count": "followers_count",
        "PULL_FROM_URL": "PULL", "chunk_size": "chunk_bytes",
    },
    "x": {
        "created_at": "createdat", "mentionedUsers": "mentioned", "tweet_video": "tweet_film",
        "media.write": "media.writes",
        "/tweets/search/recent": "/tweets/search/latest", "in_reply_to_tweet_id": "in_reply_to_post_id",
        "referenced_posts": "referenced_tweet", "made_with_ai": "made_by_ai", "segment_index": "segment",
    },
    "youtube": {
        "containsSyntheticMedia": "containsAiMedia", "unlisted": "hidden", "youtube.upload": "youtube.uploads",
        "/playlistItems": "/playlistitem", "textFormat=plainText": "textFormat=plain", "notifySubscribers": "notify",
        "part=snippet": "part=snippets", "maxResults": "maxResult",
    },
}  # fmt: skip


@pytest.mark.parametrize(
    ("platform", "right", "wrong"),
    [(platform, *texts) for platform, mistakes in MISTAKES.items() for texts in mistakes.items()],
)
def test_a_mistake_is_noticed(platform: str, right: str, wrong: str, driven: Any) -> None:
    mistaken = [
        replace(
            request,
            url=request.url.replace(right, wrong),
            body=request.body.replace(right.encode(), wrong.encode()),
        )
        for request in driven[platform][0]
        if right in request.url or right.encode() in request.body
    ]
    assert mistaken, "the connector sends no such text"
    problems = CASES[platform][0].problems
    # A name may also be part of a text, which is free.
    assert any(map(problems, mistaken))


@each_platform
def test_every_misspelt_parameter_is_noticed(platform: str, driven: Any) -> None:
    missed = {
        f"{request.method} {request.address} {name}"
        for request in driven[platform][0]
        for name in request.query
        if not CASES[platform][0].problems(
            replace(request, url=re.sub(rf"([?&]){re.escape(name)}=", r"\1no_such_name=", request.url))
        )
    }
    # Addresses of uploads are the platform's own.
    assert {one for one in missed if not re.search("upload_id|upload_token| c[an]$", one)} == set()


@each_platform
def test_a_token_without_scopes_is_noticed(platform: str, driven: Any) -> None:
    """Only the login and the upload addresses that the platform returns need no scope."""
    free = {
        request.address
        for request in driven[platform][0]
        if request.headers.get("authorization", "").startswith("Bearer ")
        and not CASES[platform][0].problems(replace(request, granted=()))
    }
    assert free <= NO_SCOPE
