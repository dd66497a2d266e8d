"""The uses of tokens are counted and sent to accounts in batches."""

from datetime import UTC, datetime

from contracts.accounts import RecordUse
from contracts.errors import SERVICE_UNAVAILABLE, ApiError
from gateway.callers import TokenUsage

AT = datetime(2026, 11, 20, 12, tzinfo=UTC)


def test_uses_are_counted_per_token_and_sent_once() -> None:
    sent: list[RecordUse] = []
    usage = TokenUsage(sent.append)
    for token in ("a", "b", "a"):
        usage.note(token, AT)
    usage.flush()
    usage.flush()
    assert [[(use.token_id, use.count) for use in batch.uses] for batch in sent] == [[("a", 2), ("b", 1)]]


def test_uses_that_could_not_be_sent_are_sent_with_the_next() -> None:
    sent: list[RecordUse] = []
    is_away = True

    def record(batch: RecordUse) -> None:
        if is_away:
            raise ApiError(SERVICE_UNAVAILABLE)
        sent.append(batch)

    usage = TokenUsage(record)
    usage.note("a", AT)
    usage.flush()
    usage.note("a", AT)
    is_away = False
    usage.flush()
    assert [use.count for use in sent[0].uses] == [2]
