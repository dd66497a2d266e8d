"""Idempotency keys on a real database: a request has one effect, whatever happens at once, is killed, or is stored
late.
"""

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from sqlalchemy import text

from chassis.db.database import Database
from chassis.ids import new_id
from contracts import errors
from contracts.errors import ApiError
from gateway.http.answers import Answer
from gateway.idempotency.keys import IdempotencyKeys, fingerprint_of
from gateway.idempotency.store import Offered, Store, Verdict

PUBLISH = "/api/v1/posts/publish"
BODY = {"page_id": "pag_1", "message": "Hello"}
KEY = {"Idempotency-Key": "k-1"}


class Link:
    """A database that cannot be reached while `is_away`."""

    is_away = False

    def __init__(self, database: Database) -> None:
        self._database = database

    def reading(self) -> Any:
        if self.is_away:
            raise ApiError(errors.SERVICE_UNAVAILABLE)
        return self._database.reading()


def run_out_locks(database: Database) -> None:
    """Ends the locks of all keys, as time does after a gateway was killed."""
    with database.transaction() as connection:
        connection.execute(
            text("UPDATE idempotency_keys SET locked_until = clock_timestamp() - interval '1 s'")
        )


def offer(key: str) -> Offered:
    return Offered("tok_1", key, b"f", new_id("op"), 60.0)


class TestClaimingTogether:
    def test_one_statement_claims_the_new_keys_and_leaves_a_used_one_as_it_is(self, keys, database) -> None:
        keys.claim("tok_1", "used", b"f", 60.0)
        offers = [offer("b"), offer("used"), offer("a")]
        with database.reading() as connection:
            claimed = Store(connection).claim_new(offers)
        assert claimed == {offers[0].operation_id, offers[2].operation_id}
        run_out_locks(database)
        for key, operation_id in (("a", offers[2].operation_id), ("b", offers[0].operation_id)):
            claim = keys.claim("tok_1", key, b"f", 60.0)
            assert (claim.operation_id, claim.fence) == (operation_id, 2)
        assert keys.claim("tok_1", "used", b"f", 60.0).operation_id not in {
            one.operation_id for one in offers
        }

    def test_of_equal_keys_in_one_statement_one_is_claimed(self, database) -> None:
        offers = [offer("same"), offer("same")]
        with database.reading() as connection:
            assert len(Store(connection).claim_new(offers)) == 1


class TestStoringAnswers:
    def test_answers_that_wait_at_the_same_moment_are_stored_together(self, keys) -> None:
        claims = [keys.claim("tok_1", f"k-{n}", b"f", 60.0) for n in range(3)]
        for number, claim in enumerate(claims):
            keys.keep(claim, Answer(201, b"%d" % number, {"X": "y"}))
        assert keys.claim("tok_1", "k-0", b"f", 60.0).verdict is Verdict.RUNNING
        keys.answers.write()
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
            keys.answers.write()
        link.is_away = False
        keys.answers.write()
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
        keys.answers.write()
        assert keys.claim("tok_1", "k", b"f", 60.0).verdict is Verdict.RUNNING

    def test_a_request_that_lost_its_lock_can_no_longer_write(self, keys, database, key_count) -> None:
        slow = keys.claim("tok_1", "k", b"f", 60.0)
        run_out_locks(database)
        quick = keys.claim("tok_1", "k", b"f", 60.0)
        assert slow is not None
        assert quick is not None
        assert quick.taken_over
        keys.give_up(slow, outcome_open=False)
        assert key_count() == 1

    def test_giving_up_twice_frees_no_key_that_a_later_request_has_claimed(
        self, keys, database, key_count
    ) -> None:
        """The gateway gave up the key, but the answer to its commit was lost. So it gives up the key again later."""
        refused = keys.claim("tok_1", "k", b"f", 60.0)
        assert refused is not None
        keys.give_up(refused, outcome_open=False)
        corrected = keys.claim("tok_1", "k", b"other body", 60.0)
        assert corrected is not None
        assert (corrected.verdict, corrected.fence) == (Verdict.CLAIMED, refused.fence)
        keys.give_up(refused, outcome_open=False)
        assert key_count() == 1
        keys.keep(refused, Answer(400, b"late", {}))
        keys.keep(corrected, Answer(201, b"{}", {}))
        keys.answers.write()
        stored = keys.claim("tok_1", "k", b"other body", 60.0)
        assert stored is not None
        assert (stored.verdict, stored.answer.status) == (Verdict.STORED, 201)

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
    def test_removes_old_keys_and_no_others(self, keys, database, key_count) -> None:
        keys.claim("tok_1", "old", b"f", 60.0)
        with database.transaction() as connection:
            connection.execute(
                text("UPDATE idempotency_keys SET created_at = clock_now() - interval '25 hours'")
            )
        keys.claim("tok_1", "new", b"f", 60.0)
        assert keys.forget_old() == 1
        assert key_count() == 1

    def test_an_answer_that_cannot_be_stored_is_given_all_the_same(self, client, bus, database, kit) -> None:
        def publish(_caller: Any, _request: Any) -> Any:
            with database.transaction() as connection:
                connection.execute(text("ALTER TABLE idempotency_keys RENAME TO gone"))
            return kit.RESULT

        bus.answers["publish_post"] = publish
        assert client.post(PUBLISH, json=BODY, headers=KEY).status_code == 201
