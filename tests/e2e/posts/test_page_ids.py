"""Tests requests that put a post on several pages: each page gets a post, a result and a counted publish."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from e2e_kit.api import Api, Json, body_of, refused
from e2e_kit.files import uploaded
from e2e_kit.operator import Account, Accounts, Operator
from e2e_kit.posting import await_post, tomorrow
from e2e_kit.simulator import Simulator
from e2e_kit.waiting import until


def ids(account: Account, *platforms: str) -> list[str]:
    return [account.page_id(platform) for platform in platforms or account.pages]


def used(api: Api) -> int:
    count: int = api.get("/account")["quota"]["monthly"]["publishes"]["used"]
    return count


def test_a_photo_goes_to_every_page_at_once(account: Account, simulator: Simulator, photo: str) -> None:
    body = {"page_ids": ids(account), "message": "Everywhere", "media_urls": [photo], "facebook_settings": {}}
    results = account.api.post("/posts/publish", body)["results"]
    assert [row["page_id"] for row in results] == ids(account)
    assert [(row["status"], row["post"]["status"]) for row in results] == [(201, "published")] * 2
    assert all("error" not in row for row in results)
    for page in account.pages.values():
        [post] = simulator.posts(page)
        assert post["text"] == "Everywhere"
    assert used(account.api) == 2


def test_posts_are_queued_on_every_page_and_hold_their_files(account: Account, jpeg: bytes) -> None:
    media_id = uploaded(account.api, jpeg)["media_id"]
    body = {"page_ids": ids(account), "media_ids": [media_id], "scheduled_at": tomorrow()}
    results = account.api.post("/posts/schedule", body)["results"]
    queued = [row["scheduled_post"] for row in results]
    assert [(post["status"], post["media_ids"]) for post in queued] == [("queued", [media_id])] * 2
    assert used(account.api) == 2
    refused(account.api.call("DELETE", f"/media/{media_id}"), 409, "MEDIA_IN_USE")
    account.api.delete(f"/posts/scheduled/{queued[0]['id']}")
    refused(account.api.call("DELETE", f"/media/{media_id}"), 409, "MEDIA_IN_USE")
    account.api.delete(f"/posts/scheduled/{queued[1]['id']}")
    account.api.delete(f"/media/{media_id}")


def test_a_page_has_its_own_text_and_the_dry_run_knows_of_it(
    account: Account, simulator: Simulator, photo: str
) -> None:
    own = {"page_id": account.page_id("IG"), "message": "Only here"}
    body = {"page_ids": ids(account), "message": "Everywhere", "media_urls": [photo], "overrides": [own]}
    found = account.api.post("/posts/validate", body, 200)
    assert [(row["page_id"], row["valid"]) for row in found["results"]] == [
        (one, True) for one in ids(account)
    ]
    assert (found["valid"], used(account.api)) == (True, 0)
    account.api.post("/posts/publish", body)
    assert [simulator.posts(page)[0]["text"] for page in account.pages.values()] == [
        "Everywhere",
        "Only here",
    ]


def test_a_misspelt_setting_of_one_page_is_found_and_refuses_all_of_it(
    account: Account, simulator: Simulator, photo: str
) -> None:
    own = {"page_id": account.page_id("FB"), "settings": {"lnik": "https://example.com"}}
    body = {"page_ids": ids(account), "message": "x", "media_urls": [photo], "overrides": [own]}
    first, second = account.api.post("/posts/validate", body, 200)["results"]
    assert (first["errors"][0]["field"], second["valid"]) == ("overrides[0].settings.lnik", True)
    answer = account.api.call("POST", "/posts/publish", json=body)
    refused(answer, 400, "VALIDATION_ERROR", page_id=account.page_id("FB"))
    assert "did you mean link?" in answer.json()["error"]
    assert [simulator.posts(page) for page in account.pages.values()] == [[], []]


def test_one_rule_broken_refuses_all_of_it(account: Account, simulator: Simulator) -> None:
    """The broken rule: Instagram accepts no post without media."""
    answer = account.api.call("POST", "/posts/publish", json={"page_ids": ids(account), "message": "words"})
    refused(answer, 400, "UNSUPPORTED_PLATFORM", page_id=account.page_id("IG"))
    assert simulator.posts(account.pages["FB"]) == []
    assert used(account.api) == 0


def test_refusals_stand_beside_what_went(
    account: Account, accounts: Accounts, simulator: Simulator, operator: Operator
) -> None:
    fine, expired, rejected = (accounts.page(account.brand_id) for _ in range(3))
    operator("page", "expire", expired["id"])
    simulator.fault("reject", rejected)
    body = {"page_ids": [expired["id"], fine["id"], rejected["id"]], "message": "hello"}
    results = account.api.post("/posts/publish", body, status=207, key="k")["results"]
    assert [row.get("error", {}).get("code") for row in results] == [
        "PAGE_EXPIRED",
        None,
        "PLATFORM_REJECTED",
    ]
    assert [row["status"] for row in results] == [400, 201, 502]
    assert used(account.api) == 1
    again = account.api.call("POST", "/posts/publish", json=body, key="k")
    assert (again.status_code, again.headers["Idempotency-Replayed"]) == (207, "true")
    assert again.json()["results"] == results


def test_none_went_is_the_first_error(account: Account, operator: Operator) -> None:
    body = {"page_ids": ids(account), "message": "x", "media_urls": ["https://media.posthaste.test/none.jpg"]}
    for page in account.pages.values():
        operator("page", "expire", page["id"])
    refused(
        account.api.call("POST", "/posts/publish", json=body),
        400, "PAGE_EXPIRED", page_id=ids(account)[0],
    )  # fmt: skip
    assert used(account.api) == 0


def test_a_lost_answer_is_one_pages_matter_and_nothing_goes_twice(
    account: Account, accounts: Accounts, simulator: Simulator
) -> None:
    lost, fine = accounts.page(account.brand_id), accounts.page(account.brand_id)
    simulator.fault("drop_after_accept", lost)
    body = {"page_ids": [lost["id"], fine["id"]], "message": "once"}
    results = account.api.post("/posts/publish", body, status=207, key="k")["results"]
    assert results[0]["error"]["code"] == "PLATFORM_OUTCOME_UNKNOWN"
    await_published(account.api, results[0]["error"]["post_id"])
    assert [len(simulator.posts(page)) for page in (lost, fine)] == [1, 1]
    assert used(account.api) == 2


def await_published(api: Api, post_id: str) -> None:
    def listed() -> bool:
        return post_id in {post["id"] for post in api.get("/posts/published")["published_posts"]}

    until(listed, 60, "the post is found published")


def test_ten_times_the_same_key_at_once_publish_once_on_each(account: Account, simulator: Simulator) -> None:
    body = {"page_id": None, "page_ids": ids(account, "FB"), "message": "once"}

    def send(_: int) -> Json:
        return body_of(account.api.call("POST", "/posts/publish", json=body, key="same"), 201)

    with ThreadPoolExecutor(10) as pool:
        posts = {answer["results"][0]["post"]["post_id"] for answer in pool.map(send, range(10))}
    assert len(posts) == 1
    assert len(simulator.posts(account.pages["FB"])) == 1


def test_the_months_last_units_go_as_far_as_they_go(accounts: Accounts) -> None:
    """The free plan has 60 publishes a month and ten requests a minute. A page takes ten posts an hour."""
    account = accounts.new(tier="free", pages=("FB",))
    pages = [account.page_id()] + [accounts.page(account.brand_id)["id"] for _ in range(7)]
    for count in range(7):
        account.api.post("/posts/publish", {"page_ids": pages, "message": f"no. {count}"})
    results = account.api.post("/posts/publish", {"page_ids": pages, "message": "last"}, status=207)[
        "results"
    ]
    assert [row["status"] for row in results] == [201] * 4 + [429] * 4
    error = results[-1]["error"]
    assert (error["code"], error["bucket"], error["limit"]) == ("MONTHLY_QUOTA_EXCEEDED", "publishes", 60)
    assert used(account.api) == 60


@pytest.mark.parametrize(
    "pages", [{"page_ids": []}, {"page_ids": ["x"] * 21}, {"page_ids": ["x", "x"]}, {"page_ids": "x", "page_id": "x"}]
)  # fmt: skip
def test_pages_that_cannot_be_meant_are_refused(shared: Account, pages: Json) -> None:
    refused(
        shared.api.call("POST", "/posts/publish", json={"message": "x", **pages}), 400, "VALIDATION_ERROR"
    )


def test_a_page_of_another_account_refuses_all_of_it(account: Account, shared: Account) -> None:
    body = {"page_ids": [account.page_id(), shared.page_id()], "message": "x"}
    refused(account.api.call("POST", "/posts/publish", json=body), 404, "NOT_FOUND", field="page_ids")


def test_queued_posts_of_one_call_go_out_by_themselves(
    account: Account, operator: Operator, photo: str
) -> None:
    body = {"page_ids": ids(account), "media_urls": [photo], "scheduled_at": tomorrow()}
    for row in account.api.post("/posts/schedule", body)["results"]:
        operator("post", "due", row["scheduled_post"]["id"])
        await_post(account.api, row["scheduled_post"]["id"], status="published")
