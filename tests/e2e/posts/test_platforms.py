"""Tests each platform from end to end: what it offers, and how it fails."""

from typing import Any

import pytest
from e2e_kit.api import Api, Json, refused
from e2e_kit.files import uploaded
from e2e_kit.operator import Account, Accounts, Operator
from e2e_kit.posting import PUBLISH_SECONDS, await_post, schedule
from e2e_kit.simulator import Simulator
from e2e_kit.waiting import until

#: local-stack.md: reconciliation starts after 5 s and ends within two minutes.
LOOK_UP_SECONDS = 60.0

#: TikTok gives the id of a public post after moderation; we ask after 10 s.
NAMED_SECONDS = 45.0


def publish(account: Account, platform: str, **content: Any) -> Json:
    """Publishes a post at once."""
    answer = account.api.post("/posts/publish", {"page_id": account.page_id(platform), **content})
    assert answer["was_published"] is True
    return answer


def due(account: Account, operator: Operator, platform: str, **content: Any) -> Json:
    """Schedules a post and makes it due. Returns it when it is published."""
    post_id = schedule(account, platform, **content)["id"]
    operator("post", "due", post_id)
    return await_post(account.api, post_id, PUBLISH_SECONDS, status="published")


def findings(api: Api, account: Account, platform: str, **content: Any) -> set[str]:
    """Returns the fields about which `POST /posts/validate` reports an error."""
    answer = api.post("/posts/validate", {"page_id": account.page_id(platform), **content}, 200)
    return {error["field"] for error in answer["errors"]}


def check_refusals(account: Account, simulator: Simulator, platform: str, **content: Any) -> None:
    """Makes the platform refuse. Asserts that the error is the platform's, that nothing is published, and that an
    expired page stays expired.
    """
    page, body = account.pages[platform], {"page_id": account.page_id(platform), **content}
    for mode, retryable in (("reject", False), ("rate_limit", True)):
        simulator.fault(mode, page)
        answer = account.api.call("POST", "/posts/publish", json=body)
        error = refused(answer, 502, "PLATFORM_REJECTED", platform=platform)
        assert error["platform_error"]["retryable"] is retryable
    simulator.fault("expired", page)
    for _ in range(2):
        refused(
            account.api.call("POST", "/posts/publish", json=body), 400, "PAGE_EXPIRED", page_id=page["id"]
        )
    assert simulator.posts(page) == []


def check_dropped_answers(account: Account, simulator: Simulator, platform: str, photo: str) -> None:
    """Drops the responses for a text and a picture, and asserts that each is reconciled and published once."""
    page = account.pages[platform]
    unknown = []
    for content in ({"message": "words"}, {"message": "words and a picture", "media_urls": [photo]}):
        simulator.fault("drop_after_accept", page)
        answer = account.api.call("POST", "/posts/publish", json={"page_id": page["id"], **content})
        unknown.append(refused(answer, 502, "PLATFORM_OUTCOME_UNKNOWN")["post_id"])

    def published() -> dict[str, str] | None:
        rows = account.api.get("/posts/published", page_id=page["id"])["published_posts"]
        found = {row["id"]: row["remote_id"] for row in rows}
        return found if len(found) == len(unknown) else None

    found = until(published, LOOK_UP_SECONDS, "both looked up")
    assert [found[post_id] for post_id in unknown] == [post["id"] for post in simulator.posts(page)]


@pytest.fixture
def youtube(accounts: Accounts) -> Account:
    return accounts.new(pages=("YT",))


def test_youtube_takes_an_upload_with_its_title_and_a_first_comment(
    youtube: Account, operator: Operator, simulator: Simulator, mp4: bytes
) -> None:
    media = uploaded(youtube.api, mp4, "pan.mp4", "video/mp4")
    asked = {"title": "How we bake", "privacy": "unlisted", "tags": ["bread"], "made_for_kids": False}
    post = due(
        youtube, operator, "YT", message="Fresh bread\nevery day", media_ids=[media["media_id"]],
        youtube_settings=asked, first_comment="Recipe below",
    )  # fmt: skip
    [held] = simulator.posts(youtube.pages["YT"])
    assert (post["remote_id"], held["text"]) == (held["id"], "Fresh bread\nevery day")
    assert post["permalink"] == f"https://www.youtube.com/watch?v={held['id']}"
    assert held["media"] == [{"type": "video", "bytes": media["size_bytes"]}]
    assert {name: held["settings"][name] for name in asked} == asked

    def comments() -> list[Json]:
        return simulator.posts(youtube.pages["YT"])[0]["comments"]  # type: ignore[no-any-return]

    [comment] = until(comments, PUBLISH_SECONDS, "the first comment")
    assert comment["text"] == "Recipe below"


@pytest.mark.prompt
def test_youtube_takes_a_url_and_its_comments_are_read_and_answered(
    youtube: Account, simulator: Simulator, video: str
) -> None:
    post = publish(youtube, "YT", message="Ask us\nanything", media_urls=[video])
    page = youtube.pages["YT"]
    assert simulator.posts(page)[0]["settings"]["title"] == "Ask us"
    first = simulator.comment("YT", post["platform_post_id"], "Open on Sunday?", "Vera Visitor")
    [comment] = youtube.api.get("/comments", post_id=post["post_id"])["comments"]
    assert (comment["text"], comment["from"]["name"]) == ("Open on Sunday?", "Vera Visitor")
    body = {"page_id": page["id"], "comment_id": comment["id"], "message": "From eight."}
    reply = youtube.api.post("/comments/reply", body)["reply"]
    [answer] = [row for row in simulator.posts(page)[0]["comments"] if row["parent_id"]]
    assert (answer["text"], answer["parent_id"], reply["parent_id"]) == ("From eight.", first, comment["id"])
    path = f"/posts/published/{post['post_id']}/engagement"
    refused(youtube.api.call("GET", path), 400, "UNSUPPORTED_PLATFORM")


def test_youtube_is_not_asked_for_what_it_never_takes(youtube: Account, photo: str, video: str) -> None:
    def found(**content: Any) -> set[str]:
        return findings(youtube.api, youtube, "YT", **content)

    assert found(message="text alone")
    assert "media_urls" in found(message="x", media_urls=[photo])
    assert found(media_urls=[video]) == {"youtube_settings.title"}
    assert found(message="a < b", media_urls=[video]) == {"message"}
    bad = {"privacy": "friends", "tags": ["<"], "made_for_kids": "no"}
    assert found(message="x", media_urls=[video], youtube_settings=bad) == {
        f"youtube_settings.{name}" for name in bad
    }
    assert found(media_urls=[video], youtube_settings={"title": "Bread"}) == set()


@pytest.mark.prompt
def test_youtube_publishes_once_when_the_answer_is_dropped(
    youtube: Account, simulator: Simulator, video: str
) -> None:
    page = youtube.pages["YT"]
    simulator.fault("drop_after_accept", page)
    post = publish(youtube, "YT", message="once", media_urls=[video])
    assert [held["id"] for held in simulator.posts(page)] == [post["platform_post_id"]]


def test_youtube_says_why_not(youtube: Account, simulator: Simulator, video: str) -> None:
    check_refusals(youtube, simulator, "YT", message="no", media_urls=[video])


@pytest.fixture
def x(accounts: Accounts) -> Account:
    return accounts.new(pages=("TW",))


@pytest.mark.prompt
def test_x_takes_texts_pictures_and_films(
    x: Account, operator: Operator, simulator: Simulator, photo: str, video: str, png: bytes
) -> None:
    text = publish(x, "TW", message="Fresh bread & rolls <8am> 🍞 example.com")
    media = uploaded(x.api, png, "rolls.png", "image/png")
    pictures = due(
        x, operator, "TW", message="Rolls", media_ids=[media["media_id"]], media_urls=[photo],
        x_settings={"alt_texts": ["Rolls", "An oven"], "reply_settings": "following"},
    )  # fmt: skip
    film = publish(x, "TW", media_urls=[video])
    held = simulator.posts(x.pages["TW"])
    ids = [text["platform_post_id"], pictures["remote_id"], film["platform_post_id"]]
    assert [post["id"] for post in held] == ids
    assert held[0]["text"] == "Fresh bread & rolls <8am> 🍞 example.com"
    assert [item["alt_text"] for item in held[1]["media"]] == ["Rolls", "An oven"]
    assert held[1]["settings"]["reply_settings"] == "following"
    assert [item["type"] for item in held[2]["media"]] == ["video"]
    assert text["permalink"].startswith("https://x.com/")
    assert text["permalink"].endswith(f"/status/{held[0]['id']}")


def test_replies_on_x_are_read_and_answered(x: Account, simulator: Simulator) -> None:
    post, page = publish(x, "TW", message="Ask us anything"), x.pages["TW"]
    first = simulator.comment("TW", post["platform_post_id"], "Open on Sunday?", "Vera Visitor")
    [comment] = x.api.get("/comments", post_id=post["post_id"])["comments"]
    assert comment["text"].endswith("Open on Sunday?")
    assert comment["from"]["name"] == "Vera Visitor"
    body = {"page_id": page["id"], "comment_id": comment["id"], "message": "From eight."}
    reply = x.api.post("/comments/reply", body)["reply"]
    [answer] = [row for row in simulator.posts(page)[0]["comments"] if row["parent_id"]]
    assert (answer["text"], answer["parent_id"], reply["parent_id"]) == ("From eight.", first, comment["id"])
    simulator.fault("reject", page, operation="reply")
    error = refused(
        x.api.call("POST", "/comments/reply", json=body | {"message": "And on Monday."}),
        502,
        "PLATFORM_REJECTED",
    )
    assert error["platform_error"]["message"].startswith("You can only reply to or quote posts where you are")
    path = f"/posts/published/{post['post_id']}/engagement"
    refused(x.api.call("GET", path), 400, "UNSUPPORTED_PLATFORM")


def test_x_is_not_asked_for_what_it_never_takes(x: Account, photo: str, video: str) -> None:
    def found(**content: Any) -> set[str]:
        return findings(x.api, x, "TW", **content)

    assert found(message="日" * 141) == {"message"}
    assert found(message="日" * 140) == set()
    assert found(message=f"{'a' * 256} https://example.com/{'b' * 200}") == set()
    assert found(message="x", media_urls=[photo] * 5) == {"media_urls"}
    assert found(message="x", media_urls=[photo, video]) == {"media_urls"}
    assert found(message="x", first_comment="日" * 141) == {"first_comment"}
    assert found(message="x", x_settings={"reply_settings": "nobody"}) == {"x_settings.reply_settings"}
    assert found(message="x", youtube_settings={"title": "y"}) == {"youtube_settings"}


def test_x_publishes_once_when_the_answer_is_dropped(x: Account, simulator: Simulator, photo: str) -> None:
    check_dropped_answers(x, simulator, "TW", photo)


def test_x_says_why_not(x: Account, simulator: Simulator) -> None:
    check_refusals(x, simulator, "TW", message="no")


@pytest.fixture
def tiktok(accounts: Accounts) -> Account:
    return accounts.new(pages=("TT",))


def test_tiktok_takes_an_upload_in_public_and_in_private(
    tiktok: Account, operator: Operator, simulator: Simulator, mp4: bytes
) -> None:
    media = uploaded(tiktok.api, mp4, "pan.mp4", "video/mp4")
    asked = {"privacy_level": "PUBLIC_TO_EVERYONE", "disable_comment": True, "something_new": {"x": 1}}
    post = due(
        tiktok,
        operator,
        "TT",
        message="Fresh bread #bread",
        media_ids=[media["media_id"]],
        tiktok_settings=asked,
    )
    [held] = simulator.posts(tiktok.pages["TT"])
    assert (held["text"], held["media"]) == (
        "Fresh bread #bread",
        [{"type": "video", "bytes": media["size_bytes"]}],
    )
    assert {name: held["settings"][name] for name in asked} == asked
    assert post["remote_id"] in (held["settings"]["publish_id"], held["id"])
    named = await_post(tiktok.api, post["id"], NAMED_SECONDS, remote_id=held["id"])
    assert named["permalink"].endswith(f"/video/{held['id']}")


def test_tiktok_gets_photos_by_their_public_address_and_pngs_as_jpegs(
    tiktok: Account, simulator: Simulator, photo: str, png: bytes
) -> None:
    media = uploaded(tiktok.api, png, "cake.png", "image/png")
    post = publish(
        tiktok, "TT", message="Two cakes", media_ids=[media["media_id"]], media_urls=[photo],
        tiktok_settings={"title": "Cakes"},
    )  # fmt: skip
    [held] = simulator.posts(tiktok.pages["TT"])
    assert [item["type"] for item in held["media"]] == ["photo", "photo"]
    assert held["settings"]["privacy_level"] == "SELF_ONLY", "the strictest that is offered"
    assert (held["settings"]["title"], held["text"]) == ("Cakes", "Two cakes")
    assert (post["platform_post_id"], post["permalink"]) == (held["settings"]["publish_id"], None)
    refused(tiktok.api.call("GET", f"/comments?post_id={post['post_id']}"), 400, "UNSUPPORTED_PLATFORM")


def test_tiktok_is_not_asked_for_what_it_never_takes(tiktok: Account, photo: str, video: str) -> None:
    def found(**content: Any) -> set[str]:
        return findings(tiktok.api, tiktok, "TT", **content)

    assert found(message="text alone")
    assert found(message="x", media_urls=[photo, video])
    assert found(message="x", media_urls=[video], first_comment="no") == {"first_comment"}
    assert found(message="👍" * 1_101, media_urls=[video]) == {"message"}
    assert found(media_urls=[video], tiktok_settings={"privacy_level": "ALL"}) == {
        "tiktok_settings.privacy_level"
    }
    assert found(media_urls=[video], tiktok_settings={"anything": 1}) == set()


@pytest.mark.prompt
def test_tiktok_publishes_once_when_the_answer_is_dropped(
    tiktok: Account, simulator: Simulator, video: str
) -> None:
    page = tiktok.pages["TT"]
    simulator.fault("drop_after_accept", page)
    post = publish(tiktok, "TT", message="once", media_urls=[video])
    assert [held["settings"]["publish_id"] for held in simulator.posts(page)] == [post["platform_post_id"]]


def test_tiktok_says_why_not(tiktok: Account, simulator: Simulator, video: str) -> None:
    check_refusals(tiktok, simulator, "TT", message="no", media_urls=[video])


@pytest.fixture
def linkedin(accounts: Accounts) -> Account:
    return accounts.new(pages=("LN",))


def test_linkedin_takes_texts_as_they_are(linkedin: Account, simulator: Simulator) -> None:
    text = "Fresh (warm) rolls *today* #bread [8 am] <here> @home \\ {x} | a_b ~ 🍞"
    post = publish(linkedin, "LN", message=text)
    [held] = simulator.posts(linkedin.pages["LN"])
    assert (held["id"], held["text"]) == (post["platform_post_id"], text)
    assert post["permalink"] == f"https://www.linkedin.com/feed/update/{held['id']}/"


def test_linkedin_takes_pictures_and_films(
    linkedin: Account, operator: Operator, simulator: Simulator, photo: str, video: str, png: bytes
) -> None:
    media = uploaded(linkedin.api, png, "rolls.png", "image/png")
    publish(
        linkedin, "LN", message="Rolls", media_ids=[media["media_id"]], media_urls=[photo],
        linkedin_settings={"alt_texts": ["Rolls", "An oven"], "visibility": "LOGGED_IN"},
    )  # fmt: skip
    film = due(
        linkedin, operator, "LN", message="How", media_urls=[video], linkedin_settings={"title": "Pan"}
    )
    pictures, held = simulator.posts(linkedin.pages["LN"])
    assert [item["alt_text"] for item in pictures["media"]] == ["Rolls", "An oven"]
    assert pictures["settings"]["visibility"] == "LOGGED_IN"
    assert ([item["type"] for item in held["media"]], held["id"]) == (["video"], film["remote_id"])
    assert held["settings"]["content"]["media"]["title"] == "Pan"


def test_comments_on_linkedin_are_read_and_answered(linkedin: Account, simulator: Simulator) -> None:
    post, page = publish(linkedin, "LN", message="Ask us anything"), linkedin.pages["LN"]
    first = simulator.comment("LN", post["platform_post_id"], "Open (on Sunday)?", "Vera Visitor")
    [comment] = linkedin.api.get("/comments", post_id=post["post_id"])["comments"]
    assert (comment["text"], comment["from"]["name"]) == ("Open (on Sunday)?", "LinkedIn member")
    body = {"page_id": page["id"], "comment_id": comment["id"], "message": "From eight (sharp)."}
    reply = linkedin.api.post("/comments/reply", body)["reply"]
    [answer] = [row for row in simulator.posts(page)[0]["comments"] if row["parent_id"]]
    assert (answer["text"], answer["parent_id"]) == ("From eight (sharp).", first)
    shown = {row["id"]: row for row in linkedin.api.get("/comments", post_id=post["post_id"])["comments"]}
    assert [row["parent_id"] for row in shown.values()].count(comment["id"]) == 1
    assert reply["parent_id"] == comment["id"]
    path = f"/posts/published/{post['post_id']}/engagement"
    refused(linkedin.api.call("GET", path), 400, "UNSUPPORTED_PLATFORM")


def test_linkedin_is_not_asked_for_what_it_never_takes(linkedin: Account, photo: str, video: str) -> None:
    def found(**content: Any) -> set[str]:
        return findings(linkedin.api, linkedin, "LN", **content)

    assert found(message="(" * 1_500) == set()
    assert found(message="(" * 1_501) == {"message"}
    assert found(message="x", media_urls=[photo, video]) == {"media_urls"}
    assert found(message="x", first_comment="y" * 1_251) == {"first_comment"}
    article = {"source": "https://example.com/", "title": "Bread"}
    assert found(message="x", linkedin_settings={"article": article}) == set()
    assert found(message="x", media_urls=[photo], linkedin_settings={"article": article}) == {
        "linkedin_settings.article"
    }
    assert found(message="x", linkedin_settings={"visibility": "me"}) == {"linkedin_settings.visibility"}


def test_linkedin_publishes_once_when_the_answer_is_dropped(
    linkedin: Account, simulator: Simulator, photo: str
) -> None:
    check_dropped_answers(linkedin, simulator, "LN", photo)


def test_linkedin_says_why_not(linkedin: Account, simulator: Simulator) -> None:
    check_refusals(linkedin, simulator, "LN", message="no")
