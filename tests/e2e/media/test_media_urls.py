"""Tests files at other servers (`media_urls`), which are treated like uploads when a post is sent."""

import uuid

import pytest
from e2e_kit.api import Json, refused
from e2e_kit.files import MB, used_bytes
from e2e_kit.operator import Account, Accounts, Operator
from e2e_kit.posting import await_post, schedule
from e2e_kit.simulator import Simulator
from e2e_kit.stack import Stack
from e2e_kit.waiting import until

#: A short video is made to fit at the lowest priority, beside other tests.
MADE_SECONDS = 180.0


def sample(photo: str, name: str) -> str:
    """Returns the URL of another sample file at the server of `photo`."""
    return f"{photo.rpartition('/')[0]}/{name}"


@pytest.mark.parametrize(
    ("platform", "name", "most"),
    [
        ("FB", "photo-1080x1080-9mb.jpg", 4 * MB),
        ("IG", "photo-1080x1080.png", 8 * MB),
    ],
)
def test_a_photo_that_a_platform_does_not_take_is_made_to_fit_when_the_post_is_due(
    account: Account,
    operator: Operator,
    simulator: Simulator,
    photo: str,
    platform: str,
    name: str,
    most: int,
) -> None:
    url = sample(photo, name)
    post_id = schedule(account, platform, message="Cake", media_urls=[url])["id"]
    operator("post", "due", post_id)
    post = await_post(account.api, post_id, status="published")
    assert (post["media_urls"], post["attempts"]) == ([url], 1)
    [held] = simulator.posts(account.pages[platform])
    assert (held["media"][0]["type"], held["media"][0]["bytes"] <= most) == ("photo", True)
    assert (account.api.get("/media")["media"], used_bytes(account.api)) == ([], 0)


def test_a_post_on_several_pages_copies_and_converts_a_file_once(
    accounts: Accounts, simulator: Simulator, stack: Stack, photo: str
) -> None:
    account = accounts.new(pages=("IG",))
    first = account.pages["IG"]
    pages = [first, *(accounts.page(account.brand_id, "IG") for _ in range(3))]
    body = {"media_urls": [sample(photo, "photo-1080x1080.png")], "message": "x"}
    account.api.post("/posts/publish", {"page_ids": [page["id"] for page in pages], **body}, 201)
    assert [len(simulator.posts(page)) for page in pages] == [1] * 4
    copies = f"SELECT id FROM media WHERE account_id = 'copies:{account.user_id}'"
    assert len(stack.rows("media", copies)) == 1
    assert len(stack.rows("media", f"SELECT 1 FROM renditions WHERE media_id IN ({copies})")) == 1


@pytest.mark.prompt
def test_a_video_that_a_platform_does_not_take_is_made_to_fit_and_goes_out_once(
    account: Account, simulator: Simulator, photo: str
) -> None:
    """The same key goes on after MEDIA_PROCESSING."""
    body = {"page_id": account.page_id("IG"), "media_urls": [sample(photo, "video-5s.webm")], "message": "x"}
    key = uuid.uuid4().hex

    def answer() -> Json | None:
        found = account.api.call("POST", "/posts/publish", json=body, key=key)
        if found.status_code == 409:
            refused(found, 409, "MEDIA_PROCESSING")
            return None
        assert found.status_code == 201, found.text
        post: Json = found.json()
        return post

    assert until(answer, MADE_SECONDS, "the video is made and published")["was_published"] is True
    [held] = simulator.posts(account.pages["IG"])
    assert held["media"][0]["type"] == "video"
