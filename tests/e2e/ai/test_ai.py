"""Tests AI requests: results and their cost, refusals before anything is charged, and refunds."""

import time
import uuid
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest
import requests
from e2e_kit.api import Api, Json, body_of, error_code, instant, refused
from e2e_kit.files import uploaded
from e2e_kit.operator import Account, Accounts, Operator
from e2e_kit.simulator import Simulator
from e2e_kit.stack import Stack
from e2e_kit.waiting import until

LEFT = "X-Credits-Remaining"
#: The simulator takes seconds, and a busy machine takes longer.
VIDEO_SECONDS = 40.0
JPEG_OR_PNG = (b"\xff\xd8\xff", b"\x89PNG")


def paid(answer: requests.Response, status: int, cost: int, left: int) -> Json:
    """Asserts the cost in the answer's header and body, and returns the body."""
    body = body_of(answer, status)
    told = body["credits"]
    assert (told["charged"], told["remaining"], answer.headers[LEFT]) == (cost, left, str(left))
    assert told["plan_remaining"] + told["bonus"] == left
    return body


def available(api: Api) -> int:
    left: int = api.get("/account/credits")["credits"]["available"]
    assert api.get("/account")["credits"]["remaining"] == left
    return left


def ended(api: Api, job_id: str) -> Json:
    """Waits until a video job has ended, and returns it."""

    def look() -> Json | None:
        result = api.get(f"/ai/jobs/{job_id}")
        return None if result["job"]["status"] == "processing" else result

    return until(look, VIDEO_SECONDS, f"{job_id} ends")


def states(api: Api, job_ids: list[str]) -> set[str]:
    """Returns the states of these jobs. They must all be among the newest fifty of the account."""
    found = api.get("/ai/jobs", kind="video", limit=50)["jobs"]
    of = {job["job_id"]: job["status"] for job in found}
    return {of[job_id] for job_id in job_ids}


class TestImages:
    def test_an_image_is_made_paid_for_kept_as_media_and_published(
        self, account: Account, simulator: Simulator
    ) -> None:
        api = account.api
        body = {"prompt": "A loaf of rye on a shelf", "aspect_ratio": "16:9", "brand_id": account.brand_id}
        result = paid(api.call("POST", "/ai/images", json=body), 201, 10, 2_390)
        job, media = result["job"], result["media"]
        assert (job["kind"], job["status"], job["credits_charged"], job["error"]) == (
            "image",
            "completed",
            10,
            None,
        )
        assert job["params"] == {"aspect_ratio": "16:9", "model": "flash", "image_to_video": False}
        assert (job["media_id"], job["url"], job["size_bytes"]) == (
            media["media_id"], media["url"], media["size_bytes"],
        )  # fmt: skip
        assert instant(job["completed_at"]) >= instant(job["created_at"])
        assert media["width"] / media["height"] == pytest.approx(16 / 9, rel=0.02)
        picture = requests.get(media["url"], timeout=10).content
        assert picture.startswith(JPEG_OR_PNG)
        assert [item["media_id"] for item in api.get("/media")["media"]] == [media["media_id"]]
        post = {"page_id": account.page_id(), "message": "Rye", "media_ids": [media["media_id"]]}
        api.post("/posts/publish", post)
        assert simulator.posts(account.pages["FB"])[0]["media"] == [{"type": "photo", "bytes": len(picture)}]

    def test_an_image_is_edited_by_its_id_or_its_address(self, api: Api, jpeg: bytes, photo: str) -> None:
        media_id = uploaded(api, jpeg)["media_id"]
        edit = {"prompt": "Add snow", "media_id": media_id}
        result = paid(api.call("POST", "/ai/images/edit", json=edit), 201, 10, 2_390)
        assert result["job"]["kind"] == "image_edit"
        edit = {"prompt": "Add snow", "image_url": photo}
        assert (
            paid(api.call("POST", "/ai/images/edit", json=edit), 201, 10, 2_380)["media"]["type"] == "photo"
        )

    @pytest.mark.parametrize("given", [{}, {"media_id": "med_x", "image_url": "https://example.com/a.jpg"}])
    def test_an_edit_is_of_exactly_one_image(self, shared: Account, given: Json) -> None:
        before = available(shared.api)
        answer = shared.api.call("POST", "/ai/images/edit", json={"prompt": "x", **given})
        refused(answer, 400, "VALIDATION_ERROR")
        assert available(shared.api) == before

    @pytest.mark.parametrize(
        "given",
        [
            {"reference_media_ids": ["med_unknown"]},
            {"reference_image_urls": ["http://127.0.0.1/a.jpg"]},
            {"reference_image_urls": ["not a url"]},
            {"reference_image_urls": ["http://media.posthaste.test/media/none.jpg"]},
            {"reference_image_urls": ["http://media.posthaste.test/media/video-5s.mp4"]},
        ],
    )
    def test_a_reference_that_is_no_image_of_theirs_is_refused_and_costs_nothing(
        self, shared: Account, given: Json
    ) -> None:
        before = available(shared.api)
        answer = shared.api.call("POST", "/ai/images", json={"prompt": "x", **given})
        refused(answer, 400, "INVALID_REFERENCE_MEDIA")
        assert available(shared.api) == before

    def test_references_of_both_kinds_are_taken(self, api: Api, jpeg: bytes, photo: str) -> None:
        ids = [uploaded(api, jpeg)["media_id"]]
        body = {"prompt": "x", "reference_media_ids": ids, "reference_image_urls": [photo], "model": "pro"}
        assert (
            paid(api.call("POST", "/ai/images", json=body), 201, 10, 2_390)["job"]["params"]["model"] == "pro"
        )


class TestWhoMay:
    def test_a_key_stands_for_one_image_and_its_answer(self, api: Api) -> None:
        key, body = uuid.uuid4().hex, {"prompt": "once"}
        first = api.call("POST", "/ai/images", json=body, key=key)
        api.call("POST", "/ai/images", json={"prompt": "another"})
        again = api.call("POST", "/ai/images", json=body, key=key)
        assert (again.status_code, again.json()) == (201, first.json())
        assert (again.headers["Idempotency-Replayed"], again.headers[LEFT]) == ("true", "2390")
        assert available(api) == 2_380

    @pytest.mark.parametrize(("path", "given"), [("/ai/videos", {}), ("/ai/images", {"model": "pro"})])
    def test_a_smaller_plan_is_told_what_it_needs(self, accounts: Accounts, path: str, given: Json) -> None:
        api = accounts.new("pro", pages=()).api
        body = refused(api.call("POST", path, json={"prompt": "x", **given}), 403, "PLAN_REQUIRED")
        assert body["upgrade_url"].startswith("http")
        assert available(api) == 1_300

    def test_who_has_too_few_credits_is_told_all_about_it(self, accounts: Accounts) -> None:
        account = accounts.new("free", pages=())
        api = account.api
        for left in (20, 10, 0):
            paid(api.call("POST", "/ai/images", json={"prompt": "x"}), 201, 10, left)
        answer = api.call("POST", "/ai/captions", json={"brand_id": account.brand_id, "instruction": "x"})
        body = refused(
            answer, 402, "INSUFFICIENT_CREDITS", required=1, available=0, plan_remaining=0, bonus=0
        )
        assert answer.headers[LEFT] == "0"
        assert all(body[name].startswith("http") for name in ("billing_url", "packs_url", "auto_refill_url"))

    def test_bonus_credits_are_spent_after_those_of_the_plan(
        self, accounts: Accounts, operator: Operator
    ) -> None:
        account = accounts.new("free", pages=())
        operator("credits", "grant", "--user", account.user_id, "--amount", "100")
        for plan, bonus in ((20, 100), (10, 100), (0, 100), (0, 90)):
            answer = account.api.call("POST", "/ai/images", json={"prompt": "x"})
            told = paid(answer, 201, 10, plan + bonus)["credits"]
            assert (told["plan_remaining"], told["bonus"]) == (plan, bonus)

    def test_a_token_without_the_scope_may_not_even_look(self, accounts: Accounts) -> None:
        api = accounts.new(pages=(), scopes="read:account").api
        refused(api.call("GET", "/ai/jobs"), 403, "MISSING_SCOPE", required_scope="write:ai")
        refused(api.call("POST", "/ai/images", json={"prompt": "x"}), 403, "MISSING_SCOPE")

    def test_a_brand_out_of_reach_costs_nothing(self, accounts: Accounts, shared: Account) -> None:
        other = accounts.brand(shared.user_id)["id"]
        token = accounts.token(shared.user_id, "*", "--brand", other)["api_token"]
        api = accounts.client(token)
        body = {"prompt": "x", "instruction": "x", "brand_id": shared.brand_id}
        for path in ("/ai/images", "/ai/videos", "/ai/captions"):
            refused(api.call("POST", path, json=body), 403, "BRAND_NOT_AUTHORIZED")
            refused(
                api.call("POST", path, json={**body, "brand_id": "brd_none"}),
                404,
                "NOT_FOUND",
                field="brand_id",
            )

    def test_another_accounts_jobs_are_not_there(self, api: Api, accounts: Accounts) -> None:
        job_id = api.post("/ai/images", {"prompt": "x"})["job"]["job_id"]
        stranger = accounts.new(pages=()).api
        refused(stranger.call("GET", f"/ai/jobs/{job_id}"), 404, "NOT_FOUND")
        assert stranger.get("/ai/jobs")["jobs"] == []


class TestVideosAndCaptions:
    @pytest.mark.prompt
    def test_a_video_is_accepted_made_and_published(self, account: Account, simulator: Simulator) -> None:
        api = account.api
        accepted = paid(api.call("POST", "/ai/videos", json={"prompt": "A slow pan"}), 202, 90, 2_310)
        job = accepted["job"]
        assert (job["status"], job["url"], job["size_bytes"], job["mime_type"]) == (
            "processing",
            None,
            0,
            None,
        )
        assert accepted["poll_url"].endswith(f"/ai/jobs/{job['job_id']}")
        result = ended(api, job["job_id"])
        assert (result["job"]["status"], result["job"]["media_type"]) == ("completed", "video")
        assert result["credits"]["charged"] == 90
        media = result["media"]
        assert (media["mime_type"], media["type"]) == ("video/mp4", "video")
        film = requests.get(media["url"], timeout=30).content
        assert film[4:8] == b"ftyp"
        post = {"page_id": account.page_id(), "message": "Pan", "media_ids": [media["media_id"]]}
        api.post("/posts/publish", post)
        assert simulator.posts(account.pages["FB"])[0]["media"] == [{"type": "video", "bytes": len(film)}]

    def test_jobs_are_listed_newest_first_by_kind_and_in_pages(self, api: Api, jpeg: bytes) -> None:
        media_id = uploaded(api, jpeg)["media_id"]
        made = [
            api.post("/ai/images", {"prompt": "one"})["job"]["job_id"],
            api.post("/ai/images/edit", {"prompt": "two", "media_id": media_id})["job"]["job_id"],
            api.post("/ai/videos", {"prompt": "three", "media_id": media_id}, 202)["job"]["job_id"],
        ]
        answer = api.call("GET", "/ai/jobs")
        jobs = body_of(answer, 200)["jobs"]
        assert [job["job_id"] for job in jobs] == made[::-1]
        assert jobs[0]["params"]["image_to_video"] is True
        assert answer.headers[LEFT] == "2290"
        assert [job["kind"] for job in api.get("/ai/jobs", kind="image_edit")["jobs"]] == ["image_edit"]
        done = [job["job_id"] for job in api.get("/ai/jobs", status="completed")["jobs"]]
        assert done[-2:] == made[1::-1]  # the video may be ready by now
        assert api.get("/ai/jobs", status="failed")["jobs"] == []
        refused(api.call("GET", "/ai/jobs", params={"status": "begun"}), 400, "VALIDATION_ERROR")
        page = api.get("/ai/jobs", limit=2)
        rest = api.get("/ai/jobs", limit=2, cursor=page["next_cursor"])
        assert [job["job_id"] for job in page["jobs"] + rest["jobs"]] == made[::-1]
        refused(api.call("GET", "/ai/jobs", params={"limit": 51}), 400, "VALIDATION_ERROR")
        refused(api.call("GET", "/ai/jobs/job_none"), 404, "NOT_FOUND")
        ended(api, made[2])

    @pytest.mark.parametrize("words", [10, 60, 300])
    def test_a_caption_is_as_long_as_asked(self, shared: Account, words: int) -> None:
        body = {"brand_id": shared.brand_id, "instruction": "Our new rye", "words": words}
        answer = shared.api.call("POST", "/ai/captions", json=body)
        caption = body_of(answer, 200)
        assert (caption["brand_id"], caption["words_requested"]) == (shared.brand_id, words)
        assert (caption["credits"]["charged"], answer.headers[LEFT]) == (
            1,
            str(caption["credits"]["remaining"]),
        )
        assert 0.8 * words <= len(caption["text"].split()) <= 1.2 * words


class TestGuidelines:
    """Tests that a brand's guidelines reach the AI provider."""

    IMAGES, CAPTIONS = "Only ever in teal", "Speak like a pirate"

    @pytest.fixture
    def brand_id(self, accounts: Accounts, shared: Account) -> str:
        rules = ("--image-guidelines", self.IMAGES, "--caption-guidelines", self.CAPTIONS)
        brand_id: str = accounts.brand(shared.user_id, "Jolly Roger", *rules)["id"]
        return brand_id

    def caption(self, shared: Account, simulator: Simulator, **body: str) -> str:
        """Requests a caption. Returns the instructions that the provider received."""
        subject = f"Rum {uuid.uuid4().hex}"
        shared.api.post("/ai/captions", {"instruction": subject, **body}, 200)
        [work] = simulator.works(subject)
        instructions: str = work["instructions"]
        return instructions

    def test_a_caption_keeps_to_the_brands_unless_it_has_instructions_of_its_own(
        self, shared: Account, simulator: Simulator, brand_id: str
    ) -> None:
        told = self.caption(shared, simulator, brand_id=brand_id)
        assert self.CAPTIONS in told
        assert "Jolly Roger" in told
        assert self.IMAGES not in told
        told = self.caption(shared, simulator, brand_id=brand_id, custom_instructions="Speak like a queen")
        assert "Speak like a queen" in told
        assert self.CAPTIONS not in told
        assert self.CAPTIONS not in self.caption(shared, simulator, brand_id=shared.brand_id)

    def test_images_and_videos_keep_to_the_brands(
        self, shared: Account, simulator: Simulator, brand_id: str
    ) -> None:
        subject = f"Sloop {uuid.uuid4().hex}"
        body = {"prompt": subject, "brand_id": brand_id}
        assert shared.api.post("/ai/images", body)["job"]["prompt"] == subject
        ended(shared.api, shared.api.post("/ai/videos", body, 202)["job"]["job_id"])
        shared.api.post("/ai/images", {"prompt": subject})
        works = simulator.works(subject)
        assert [(work["operation"], self.IMAGES in work["prompt"]) for work in works] == [
            ("image", True), ("video", True), ("image", False)
        ]  # fmt: skip


class TestManyAtOnce:
    def test_200_images_at_once_with_credit_for_50_are_50(self, accounts: Accounts) -> None:
        api = accounts.new(pages=(), pool_size=200).api
        jobs = [api.post("/ai/videos", {"prompt": "spend"}, 202)["job"]["job_id"] for _ in range(21)]
        api.post("/ai/images", {"prompt": "spend"})
        assert available(api) == 500

        def paint(_: int) -> requests.Response:
            """Asks for an image, with the same key again while the answer is 503, as on a busy machine."""
            key = uuid.uuid4().hex
            for _ in range(10):
                answer = api.call("POST", "/ai/images", json={"prompt": "many"}, key=key)
                if answer.status_code != 503:
                    break
                time.sleep(float(answer.headers["Retry-After"]))
            return answer

        with ThreadPoolExecutor(200) as pool:
            answers = list(pool.map(paint, range(200)))
        outcomes = Counter(
            (answer.status_code, error_code(answer), answer.json().get("reason")) for answer in answers
        )
        assert outcomes == {(201, None, None): 50, (402, "INSUFFICIENT_CREDITS", None): 150}
        assert len({answer.json()["media"]["media_id"] for answer in answers if answer.ok}) == 50
        # One look at all of them, and not too often: 300 requests are what the account has in a minute.
        until(lambda: "processing" not in states(api, jobs), VIDEO_SECONDS, "all end", pause_seconds=1.0)
        assert states(api, jobs) == {"completed"}
        assert available(api) == 0


@pytest.mark.alone
class TestFailures:
    @pytest.fixture(autouse=True)
    def in_order(self, simulator: Simulator, stack: Stack) -> None:
        stack.await_ready(30)
        simulator.clear_faults()

    def test_an_image_the_provider_refuses_is_paid_back(self, api: Api, simulator: Simulator) -> None:
        simulator.fault_of_provider("gemini", "image", "reject")
        refused(api.call("POST", "/ai/images", json={"prompt": "x"}), 502, "AI_GENERATION_FAILED")
        assert available(api) == 2_400
        [job] = api.get("/ai/jobs")["jobs"]
        assert (job["status"], job["credits_charged"], job["media_id"]) == ("failed", 0, None)
        assert job["error"]

    def test_a_video_the_provider_refuses_is_paid_back(self, api: Api, simulator: Simulator) -> None:
        simulator.fault_of_provider("gemini", "video", "reject", times=3)
        job_id = api.post("/ai/videos", {"prompt": "x"}, 202)["job"]["job_id"]
        result = ended(api, job_id)
        assert (result["job"]["status"], result["job"]["credits_charged"]) == ("failed", 0)
        assert (result["media"], available(api)) == (None, 2_400)
        simulator.clear_faults()

    def test_videos_survive_a_kill_of_the_service_each_made_or_paid_back(
        self, api: Api, stack: Stack
    ) -> None:
        jobs = [api.post("/ai/videos", {"prompt": "x"}, 202)["job"]["job_id"] for _ in range(5)]
        stack.await_restart("ai", stack.kill("ai"))
        stack.await_ready(30)
        results = [ended(api, job_id)["job"] for job_id in jobs]
        made = sum(job["status"] == "completed" for job in results)
        assert available(api) == 2_400 - 90 * made
        assert {job["credits_charged"] for job in results if job["status"] == "failed"} <= {0}
        assert len(api.get("/media")["media"]) == made

    def test_an_image_whose_service_is_killed_is_made_once_or_not_at_all(
        self, api: Api, stack: Stack
    ) -> None:
        """The client repeats the request with the same idempotency key until it gets an answer."""
        key, body = uuid.uuid4().hex, {"prompt": "x"}
        with ThreadPoolExecutor(1) as pool:
            first = pool.submit(api.call, "POST", "/ai/images", json=body, key=key)
            stack.await_restart("ai", stack.kill("ai"))
            first.result()
        stack.await_ready(30)

        def answered() -> requests.Response | None:
            answer = api.call("POST", "/ai/images", json=body, key=key)
            return answer if answer.status_code not in (409, 503) else None

        answer = until(answered, 120, "the key is answered")
        assert answer.status_code in (201, 502), answer.text
        assert available(api) == 2_400 - 10 * (answer.status_code == 201)
