"""Idempotency keys against a real database: one effect, whatever is repeated, raced or killed."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from cryptography.fernet import InvalidToken
from sqlalchemy import text

from chassis.db import clock
from chassis.db.database import Database
from contracts import errors, quota, webhooks
from contracts.errors import ApiError
from contracts.publishing import PageResult, PageResults
from gateway.http.answers import Answer
from gateway.idempotency import sealing
from gateway.idempotency.keys import IdempotencyKeys, Verdict, fingerprint_of

PUBLISH = "/api/v1/posts/publish"
BODY = {"page_id": "pag_1", "message": "Hello"}
KEY = {"Idempotency-Key": "k-1"}


@pytest.fixture
def database(open_database: Callable[[str], Database]) -> Database:
    return open_database("gateway")


@pytest.fixture
def client(make_gateway: Any, database: Database) -> Any:
    return make_gateway(database)


@pytest.fixture
def keys(database: Database) -> IdempotencyKeys:
    return IdempotencyKeys(database)


class Link:
    """A database that can be away."""

    is_away = False

    def __init__(self, database: Database) -> None:
        self._database = database

    def reading(self) -> Any:
        if self.is_away:
            raise ApiError(errors.SERVICE_UNAVAILABLE)
        return self._database.reading()


def count(database: Database) -> int:
    with database.reading() as connection:
        return connection.execute(text("SELECT count(*) FROM idempotency_keys")).scalar_one()


def run_out_locks(database: Database) -> None:
    """Lets the locks of keys end, as time does after a gateway was killed."""
    with database.transaction() as connection:
        connection.execute(
            text("UPDATE idempotency_keys SET locked_until = clock_timestamp() - interval '1 s'")
        )


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

    def test_deletes_and_patches_take_keys_too(self, client, bus) -> None:
        for _ in range(2):
            assert client.delete("/api/v1/posts/scheduled/pst_1", headers=KEY).json == {
                "success": True,
                "id": "pst_1",
            }
        assert len(bus.asked("cancel_post")) == 1


class TestSecrets:
    """Answers that show a signing secret."""

    BODY = {"name": "n", "url": "https://example.com/", "events": ["post.failed"]}

    @pytest.fixture(autouse=True)
    def service(self, bus, kit) -> None:
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

    def test_what_is_sealed_opens_with_its_token_alone(self) -> None:
        sealed = sealing.seal(b"whsec_shown_once", "svc_live_a")
        assert sealing.unseal(sealed, "svc_live_a") == b"whsec_shown_once"
        with pytest.raises(InvalidToken):
            sealing.unseal(sealed, "svc_live_b")


class TestErrors:
    def test_leave_no_trace_so_a_mended_body_may_follow(self, client, bus, database, kit) -> None:
        assert client.post(PUBLISH, json={}, headers=KEY).status_code == 400
        bus.answers["publish_post"] = ApiError(errors.PLATFORM_REJECTED)
        assert client.post(PUBLISH, json=BODY, headers=KEY).status_code == 502
        assert count(database) == 0
        bus.answers["publish_post"] = kit.RESULT
        assert client.post(PUBLISH, json=BODY | {"message": "mended"}, headers=KEY).status_code == 201

    @pytest.mark.parametrize("refusal", ["RATE_LIMITED", "MONTHLY_QUOTA_EXCEEDED"])
    def test_of_admission_release_the_key(self, client, bus, database, kit, refusal) -> None:
        bus.answers["admit"] = kit.admitted(refused_code=refusal)
        assert client.post(PUBLISH, json=BODY, headers=KEY).status_code == 429
        assert count(database) == 0

    def test_of_scope_release_the_key(self, client, bus, database, kit) -> None:
        bus.answers["authenticate"] = kit.identity(scopes=("read:pages",))
        assert client.post(PUBLISH, json=BODY, headers=KEY).status_code == 403
        assert count(database) == 0

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

    def test_to_an_edit_in_progress_is_a_plain_refusal(self, client, bus, database) -> None:
        bus.answers["edit_post"] = ApiError(errors.POST_IN_PROGRESS)
        response = client.patch("/api/v1/posts/scheduled/pst_1", json={"message": "x"}, headers=KEY)
        assert response.json["code"] == "POST_IN_PROGRESS"
        assert count(database) == 0

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


class TestStoringAnswers:
    def test_answers_that_wait_at_the_same_moment_are_stored_together(self, keys) -> None:
        claims = [keys.claim("tok_1", f"k-{n}", b"f", 60.0) for n in range(3)]
        for number, claim in enumerate(claims):
            keys.keep(claim, Answer(201, b"%d" % number, {"X": "y"}))
        assert keys.claim("tok_1", "k-0", b"f", 60.0).verdict is Verdict.RUNNING
        keys.store_answers()
        answers = [keys.claim("tok_1", f"k-{n}", b"f", 60.0).answer for n in range(3)]
        assert answers == [Answer(201, b"%d" % number, {"X": "y"}) for number in range(3)]

    def test_with_the_database_away_they_are_stored_when_it_is_back(self, database) -> None:
        link = Link(database)
        keys = IdempotencyKeys(link)  # type: ignore[arg-type]
        claims = [keys.claim("tok_1", f"k-{n}", b"f", 60.0) for n in range(3)]
        for claim in claims:
            keys.keep(claim, Answer(201, b"", {}))
        link.is_away = True
        with pytest.raises(ApiError):
            keys.store_answers()
        link.is_away = False
        keys.store_answers()
        assert all(keys.claim("tok_1", f"k-{n}", b"f", 60.0).answer for n in range(3))


class TestKilledGateway:
    def test_its_key_is_taken_over_with_the_same_operation(self, client, bus, keys, database) -> None:
        raw = b'{"page_id": "pag_1", "message": "Hello"}'
        killed = keys.claim("tok_1", "k-1", fingerprint_of("POST", PUBLISH, raw), 60.0)
        assert killed is not None
        run_out_locks(database)
        response = client.post(PUBLISH, data=raw, content_type="application/json", headers=KEY)
        assert response.status_code == 201
        [(caller, _)] = bus.asked("publish_post")
        assert caller.operation_id == killed.operation_id

    def test_each_takeover_is_the_next_try_of_the_operation(self, client, bus, database) -> None:
        bus.answers["publish_post"] = ApiError(errors.SERVICE_UNAVAILABLE)
        for _ in range(3):
            client.post(PUBLISH, json=BODY, headers=KEY)
            run_out_locks(database)
        tries = [(caller.operation_id, caller.try_number) for caller, _ in bus.asked("publish_post")]
        assert [number for _, number in tries] == [1, 2, 3]
        assert len({operation_id for operation_id, _ in tries}) == 1

    def test_a_refusal_gives_the_unit_back_only_where_no_earlier_try_may_have_made_something(
        self, client, bus, database
    ) -> None:
        bus.answers["publish_post"] = ApiError(errors.PLATFORM_REJECTED)
        client.post(PUBLISH, json=BODY, headers=KEY)
        assert [caller.try_number for caller, _ in bus.asked("refund")] == [1]
        bus.answers["publish_post"] = ApiError(errors.SERVICE_UNAVAILABLE)
        client.post(PUBLISH, json=BODY, headers=KEY)
        run_out_locks(database)
        bus.answers["publish_post"] = ApiError(errors.PLATFORM_REJECTED)
        client.post(PUBLISH, json=BODY, headers=KEY)
        assert len(bus.asked("publish_post")) == 3
        assert len(bus.asked("refund")) == 1

    def test_an_admission_whose_answer_was_lost_takes_no_unit_from_an_earlier_try(
        self, client, bus, database
    ) -> None:
        bus.answers["publish_post"] = ApiError(errors.SERVICE_UNAVAILABLE)
        client.post(PUBLISH, json=BODY, headers=KEY)
        run_out_locks(database)
        bus.answers["admit"] = ApiError(errors.SERVICE_UNAVAILABLE)
        client.post(PUBLISH, json=BODY, headers=KEY)
        assert not bus.asked("refund")

    def test_a_call_without_a_key_is_the_first_try(self, client, bus) -> None:
        client.post(PUBLISH, json=BODY)
        assert [caller.try_number for caller, _ in bus.asked("publish_post")] == [1]

    def test_its_answer_that_was_not_stored_yet_is_given_again_by_the_operation_s_own_service(
        self, make_gateway, keys, database
    ) -> None:
        answered = keys.claim("tok_1", "k", b"f", 60.0)
        assert answered is not None
        keys.keep(answered, Answer(201, b"{}", {}))
        run_out_locks(database)  # killed before the answer was stored
        again = keys.claim("tok_1", "k", b"f", 60.0)
        assert again is not None
        assert (again.verdict, again.operation_id) == (Verdict.CLAIMED, answered.operation_id)
        keys.store_answers()
        assert keys.claim("tok_1", "k", b"f", 60.0).verdict is Verdict.RUNNING

    def test_a_request_that_lost_its_lock_can_no_longer_write(self, keys, database) -> None:
        slow = keys.claim("tok_1", "k", b"f", 60.0)
        run_out_locks(database)
        quick = keys.claim("tok_1", "k", b"f", 60.0)
        assert slow is not None
        assert quick is not None
        assert quick.taken_over
        keys.give_up(slow, outcome_open=False)
        assert count(database) == 1

    def test_a_key_that_there_is_no_time_to_give_up_is_free_soon(self, keys) -> None:
        claim = keys.claim("tok_1", "k", b"f", 60.0)
        keys.give_up(claim, outcome_open=False, at_once=False)
        assert keys.claim("tok_1", "k", b"f", 60.0).verdict is Verdict.RUNNING
        keys.give_up_waiting()
        assert keys.claim("tok_1", "k", b"f", 60.0).verdict is Verdict.CLAIMED

    def test_a_key_that_cannot_be_given_up_is_free_when_the_database_is_back(self, database) -> None:
        link = Link(database)
        keys = IdempotencyKeys(link)  # type: ignore[arg-type]
        claims = [keys.claim("tok_1", key, b"f", 60.0) for key in ("failed", "open")]
        link.is_away = True
        for claim, outcome_open in zip(claims, (False, True), strict=True):
            assert claim is not None
            keys.give_up(claim, outcome_open=outcome_open)
        keys.give_up_waiting()
        link.is_away = False
        keys.give_up_waiting()
        failed, open_ = (keys.claim("tok_1", key, b"f", 60.0) for key in ("failed", "open"))
        assert failed is not None
        assert open_ is not None
        assert (failed.verdict, failed.taken_over) == (Verdict.CLAIMED, False)
        assert (open_.verdict, open_.taken_over) == (Verdict.CLAIMED, True)

    def test_another_request_does_not_take_it_over(self, keys, database) -> None:
        keys.claim("tok_1", "k", b"f", 60.0)
        run_out_locks(database)
        other = keys.claim("tok_1", "k", b"g", 60.0)
        assert other is not None
        assert other.error is not None
        assert other.error.code == "IDEMPOTENCY_KEY_MISMATCH"


class TestAtOnce:
    def test_fifty_equal_requests_have_one_effect_and_one_answer(self, client, bus, kit) -> None:
        together = threading.Barrier(8)

        def send(_number: int) -> tuple[int, bytes]:
            together.wait(30)
            response = client.application.test_client().post(
                PUBLISH, json=BODY, headers={**KEY, "Authorization": f"Bearer {kit.TOKEN}"}
            )
            return response.status_code, response.data

        with ThreadPoolExecutor(8) as pool:
            answers = set(pool.map(send, range(48)))
        assert len(answers) == 1
        assert len(bus.asked("publish_post")) == 1
        assert [request.meter for _, request in bus.asked("admit")].count("publishes") == 1

    def test_who_waits_runs_when_the_first_failed_and_pays_its_own_unit(
        self, client, bus, keys, kit, database
    ) -> None:
        raw = b'{"page_id": "pag_1", "message": "Hello"}'
        first = keys.claim("tok_1", "k-1", fingerprint_of("POST", PUBLISH, raw), 60.0)
        assert first is not None

        def admit(_caller: Any, request: Any) -> Any:
            if request.meter == "":  # the second request is about to wait
                keys.give_up(first, outcome_open=False)
            return kit.admitted()

        bus.answers["admit"] = admit
        assert client.post(PUBLISH, data=raw, content_type="application/json", headers=KEY).status_code == 201
        assert [request.meter for _, request in bus.asked("admit")] == ["", "publishes"]
        [(caller, _)] = bus.asked("publish_post")
        assert caller.operation_id != first.operation_id

    def test_who_waits_too_long_is_told_to_come_back(self, database) -> None:
        now = [0.0]

        def sleep(seconds: float) -> None:
            now[0] += seconds

        keys = IdempotencyKeys(database, sleep=sleep, monotonic=lambda: now[0])
        keys.claim("tok_1", "k", b"f", 60.0)
        waiting = keys.claim("tok_1", "k", b"f", 60.0)
        assert waiting is not None
        assert waiting.verdict is Verdict.RUNNING
        verdict = keys.await_turn(waiting, 60.0)
        assert verdict.error is not None
        assert verdict.error.code == "IDEMPOTENCY_IN_PROGRESS"
        assert 9 < now[0] <= 10


class TestForgetting:
    def test_removes_old_keys_and_no_others(self, keys, database) -> None:
        keys.claim("tok_1", "old", b"f", 60.0)
        with database.transaction() as connection:
            connection.execute(
                text("UPDATE idempotency_keys SET created_at = clock_now() - interval '25 hours'")
            )
        keys.claim("tok_1", "new", b"f", 60.0)
        assert keys.forget_old() == 1
        assert count(database) == 1

    def test_an_answer_that_cannot_be_stored_is_given_all_the_same(self, client, bus, database, kit) -> None:
        def publish(_caller: Any, _request: Any) -> Any:
            with database.transaction() as connection:
                connection.execute(text("ALTER TABLE idempotency_keys RENAME TO gone"))
            return kit.RESULT

        bus.answers["publish_post"] = publish
        assert client.post(PUBLISH, json=BODY, headers=KEY).status_code == 201
