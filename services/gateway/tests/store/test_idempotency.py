"""Idempotency keys against a real database: replays, mismatches, and keys after errors."""

from typing import Any

import pytest
from cryptography.fernet import InvalidToken
from sqlalchemy import text

from chassis.db import clock
from chassis.tokens import SESSION_PREFIX, make_token
from contracts import errors, quota, webhooks
from contracts.errors import ApiError
from contracts.publishing import PageResult, PageResults
from gateway.http.answers import Answer
from gateway.idempotency import keys, sealing
from gateway.idempotency.store import Verdict

PUBLISH = "/api/v1/posts/publish"
BODY = {"page_id": "pag_1", "message": "Hello"}
KEY = {"Idempotency-Key": "k-1"}


class TestReplay:
    def test_the_same_request_gets_the_stored_answer_and_costs_no_month_unit(self, client, bus) -> None:
        first = client.post(PUBLISH, json=BODY, headers=KEY)
        second = client.post(PUBLISH, json=BODY, headers=KEY)
        assert (first.status_code, second.status_code) == (201, 201)
        assert second.data == first.data
        assert "Idempotency-Replayed" not in first.headers
        assert second.headers["Idempotency-Replayed"] == "true"
        assert second.headers["X-RateLimit-Limit"] == "60"
        assert second.headers["Cache-Control"] == "no-store"
        assert second.headers["X-Content-Type-Options"] == "nosniff"
        assert len(bus.asked("publish_post")) == 1
        assert [request.meter for _, request in bus.asked("admit")] == ["publishes", ""]

    def test_another_body_path_or_query_is_a_mismatch_and_costs_no_month_unit(self, client, bus) -> None:
        client.post(PUBLISH, json=BODY, headers=KEY)
        for path, body in (
            (PUBLISH, BODY | {"message": "x"}),
            (f"{PUBLISH}?a=1", BODY),
            ("/api/v1/posts/schedule", BODY),
        ):
            response = client.post(path, json=body, headers=KEY)
            assert (response.status_code, response.json["code"]) == (409, "IDEMPOTENCY_KEY_MISMATCH")
        assert [request.meter for _, request in bus.asked("admit")] == ["publishes", "", "", ""]

    def test_keys_belong_to_a_token(self, client, bus, kit) -> None:
        client.post(PUBLISH, json=BODY, headers=KEY)
        bus.answers["authenticate"] = kit.identity(id="tok_2")
        bus.on_reset()
        client.post(PUBLISH, json=BODY, headers=KEY)
        assert len(bus.asked("publish_post")) == 2

    def test_the_token_is_checked_anew_before_a_replay(self, client, bus) -> None:
        client.post(PUBLISH, json=BODY, headers=KEY)
        bus.answers["authenticate"] = ApiError(errors.TOKEN_REVOKED)
        bus.on_reset()
        assert client.post(PUBLISH, json=BODY, headers=KEY).status_code == 401

    def test_a_key_lives_24_hours(self, client, bus, database) -> None:
        client.post(PUBLISH, json=BODY, headers=KEY)
        with database.transaction() as connection:
            clock.set_shift(connection, 24 * 3600 + 1)
        assert client.post(PUBLISH, json=BODY | {"message": "x"}, headers=KEY).status_code == 201
        first, second = (caller.operation_id for caller, _ in bus.asked("publish_post"))
        assert first != second

    def test_of_too_many_answers_that_wait_for_the_database_the_newest_are_kept(
        self, database, monkeypatch
    ) -> None:
        monkeypatch.setattr(keys, "_MOST_WAITING", 1)
        all_keys = keys.IdempotencyKeys(database)
        for key in ("old", "new"):
            claim = all_keys.claim("tok_1", key, b"f", 10)
            assert claim is not None
            all_keys.keep(claim, Answer(201, key.encode()))
        all_keys.answers.write()
        old, new = (all_keys.claim("tok_1", key, b"f", 10) for key in ("old", "new"))
        assert (old.verdict, new.verdict) == (Verdict.RUNNING, Verdict.STORED)

    def test_the_key_of_a_publish_whose_file_is_not_ready_goes_on_later(self, client, bus) -> None:
        published = bus.answers["publish_post"]
        bus.answers["publish_post"] = ApiError(errors.MEDIA_PROCESSING, retry_after_seconds=5)
        early = client.post(PUBLISH, json=BODY, headers=KEY)
        assert (early.status_code, early.json["code"]) == (409, "MEDIA_PROCESSING")
        assert early.headers["Retry-After"] == "5"
        bus.answers["publish_post"] = published
        assert client.post(PUBLISH, json=BODY, headers=KEY).status_code == 201
        assert len(bus.asked("publish_post")) == 2

    def test_deletes_and_patches_take_keys_too(self, client, bus) -> None:
        for _ in range(2):
            assert client.delete("/api/v1/posts/scheduled/pst_1", headers=KEY).json == {
                "success": True,
                "id": "pst_1",
            }
        assert len(bus.asked("cancel_post")) == 1


class TestSecrets:
    """Answers that contain a signing secret."""

    BODY = {"name": "n", "url": "https://example.com/", "events": ["post.failed"]}

    @pytest.fixture(autouse=True)
    def service(self, bus: Any, kit: Any) -> None:
        bus.answers["create_subscription"] = webhooks.CreatedSubscription(
            id="whk_1", name="n", url="https://example.com/", events=("post.failed",), brand_ids=(), status="active",
            disabled_reason=None, consecutive_failures=0, last_delivery_at=None, created_at=kit.NOW,
            secret="whsec_shown_once",
        )  # fmt: skip

    def test_a_secret_is_replayed_and_kept_sealed(self, client, bus, database) -> None:
        first, second = (client.post("/api/v1/webhooks", json=self.BODY, headers=KEY) for _ in range(2))
        assert (first.status_code, second.data) == (201, first.data)
        assert second.headers["Idempotency-Replayed"] == "true"
        assert second.json["secret"] == "whsec_shown_once"
        assert len(bus.asked("create_subscription")) == 1
        with database.reading() as connection:
            [kept] = connection.execute(text("SELECT body FROM idempotency_keys")).scalars()
        assert b"whsec" not in bytes(kept)

    def test_a_session_that_got_another_token_meanwhile_is_answered_by_the_operation(
        self, client, bus
    ) -> None:
        for _ in range(2):
            answer = client.post("/api/v1/webhooks", json=self.BODY, headers=KEY)
            assert (answer.status_code, answer.json["secret"]) == (201, "whsec_shown_once")
            client.environ_base["HTTP_AUTHORIZATION"] = f"Bearer {make_token(SESSION_PREFIX)}"
            bus.on_reset()
        first, second = bus.asked("create_subscription")
        assert first[0].operation_id == second[0].operation_id
        assert [request.meter for _, request in bus.asked("admit")] == ["writes", ""]

    def test_what_is_sealed_opens_with_its_token_alone(self) -> None:
        sealed = sealing.seal(b"whsec_shown_once", "svc_live_a")
        assert sealing.unseal(sealed, "svc_live_a") == b"whsec_shown_once"
        with pytest.raises(InvalidToken):
            sealing.unseal(sealed, "svc_live_b")


class TestErrors:
    def test_leave_no_trace_so_a_mended_body_may_follow(self, client, bus, key_count, kit) -> None:
        assert client.post(PUBLISH, json={}, headers=KEY).status_code == 400
        bus.answers["publish_post"] = ApiError(errors.PLATFORM_REJECTED)
        assert client.post(PUBLISH, json=BODY, headers=KEY).status_code == 502
        assert key_count() == 0
        bus.answers["publish_post"] = kit.RESULT
        assert client.post(PUBLISH, json=BODY | {"message": "mended"}, headers=KEY).status_code == 201

    @pytest.mark.parametrize("refusal", ["RATE_LIMITED", "MONTHLY_QUOTA_EXCEEDED"])
    def test_of_admission_release_the_key(self, client, bus, key_count, kit, refusal) -> None:
        bus.answers["admit"] = kit.admitted(refused_code=refusal)
        assert client.post(PUBLISH, json=BODY, headers=KEY).status_code == 429
        assert key_count() == 0

    def test_of_scope_release_the_key(self, client, bus, key_count, kit) -> None:
        bus.answers["authenticate"] = kit.identity(scopes=("read:pages",))
        assert client.post(PUBLISH, json=BODY, headers=KEY).status_code == 403
        assert key_count() == 0

    @pytest.mark.parametrize(
        "error",
        [
            ApiError(errors.PLATFORM_OUTCOME_UNKNOWN, post_id="pst_1"),
            ApiError(errors.POST_IN_PROGRESS, post_id="pst_1"),
            ApiError(errors.SERVICE_UNAVAILABLE),
            ApiError(errors.IDEMPOTENCY_IN_PROGRESS),
            ValueError("a bug"),
        ],
    )
    def test_whose_outcome_is_open_bind_the_key_to_its_operation(self, client, bus, kit, error) -> None:
        bus.answers["publish_post"] = error
        assert client.post(PUBLISH, json=BODY, headers=KEY).status_code >= 400
        assert (
            client.post(PUBLISH, json=BODY | {"message": "x"}, headers=KEY).json["code"]
            == "IDEMPOTENCY_KEY_MISMATCH"
        )
        bus.answers["publish_post"] = kit.RESULT
        assert client.post(PUBLISH, json=BODY, headers=KEY).status_code == 201
        ids = {caller.operation_id for caller, _ in bus.asked("publish_post")}
        assert len(ids) == 1
        assert client.post(PUBLISH, json=BODY, headers=KEY).headers["Idempotency-Replayed"] == "true"

    def test_of_one_page_of_several_are_made_up_for_under_the_same_key_and_cost_no_other_its_unit(
        self, client, bus, kit
    ) -> None:
        away = {"error": "away", "code": "SERVICE_UNAVAILABLE", "retry_after_seconds": 1}
        pages = ["pag_1", "pag_2"]
        bus.answers["charge_units"] = quota.ChargedUnits(allowed=(True,))
        went = [PageResult(page_id=page, status=201, post=kit.RESULT) for page in pages]
        bus.answers["publish_posts"] = PageResults(
            results=(went[0], PageResult(page_id="pag_2", status=503, error=away))
        )
        body = {"page_ids": pages, "message": "Hello"}
        assert client.post(PUBLISH, json=body).status_code == 207
        assert client.post(PUBLISH, json=body, headers=KEY).status_code == 503
        bus.answers["publish_posts"] = PageResults(results=tuple(went))
        assert client.post(PUBLISH, json=body, headers=KEY).status_code == 201
        [_, first, again] = [request for _, request in bus.asked("publish_posts")]
        assert [page.operation_id for page in first.pages] == [page.operation_id for page in again.pages]
        assert not bus.asked("refund")

    def test_an_outage_of_one_page_is_told_before_the_open_outcome_of_another(self, client, bus) -> None:
        away = {"error": "away", "code": "SERVICE_UNAVAILABLE", "retry_after_seconds": 1}
        lost = {"error": "?", "code": "PLATFORM_OUTCOME_UNKNOWN", "post_id": "pst_1"}
        bus.answers["charge_units"] = quota.ChargedUnits(allowed=(True,))
        bus.answers["publish_posts"] = PageResults(
            results=(
                PageResult(page_id="pag_1", status=502, error=lost),
                PageResult(page_id="pag_2", status=503, error=away),
            )
        )
        body = {"page_ids": ["pag_1", "pag_2"], "message": "Hello"}
        told = client.post(PUBLISH, json=body, headers=KEY)
        assert (told.status_code, told.headers["Retry-After"]) == (503, "1")
        assert client.post(PUBLISH, json=body).json["post_id"] == "pst_1"

    def test_to_an_edit_in_progress_is_a_plain_refusal(self, client, bus, key_count) -> None:
        bus.answers["edit_post"] = ApiError(errors.POST_IN_PROGRESS)
        response = client.patch("/api/v1/posts/scheduled/pst_1", json={"message": "x"}, headers=KEY)
        assert response.json["code"] == "POST_IN_PROGRESS"
        assert key_count() == 0

    def test_of_admission_do_not_loosen_a_key_whose_operation_may_have_happened(
        self, client, bus, kit
    ) -> None:
        bus.answers["publish_post"] = ApiError(errors.SERVICE_UNAVAILABLE)
        client.post(PUBLISH, json=BODY, headers=KEY)
        bus.answers["admit"] = kit.admitted(refused_code="RATE_LIMITED")
        assert client.post(PUBLISH, json=BODY, headers=KEY).status_code == 429
        bus.answers |= {"admit": kit.admitted(), "publish_post": kit.RESULT}
        client.post(PUBLISH, json=BODY, headers=KEY)
        assert len({caller.operation_id for caller, _ in bus.asked("publish_post")}) == 1
