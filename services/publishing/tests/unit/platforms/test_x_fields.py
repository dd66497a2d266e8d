"""The parameter by which X returns a post's fields has two names: which one is used, and what follows from posts
without fields.
"""

from datetime import UTC, datetime
from typing import Any

import pytest

from publishing.platforms.base import Account, OpenComment, PlatformRefusal, Refusal
from publishing.platforms.x.calls import Calls
from publishing.platforms.x.connector import XConnector
from publishing.platforms.x.settings import XSettings

ACCOUNT = Account("7", "token")
POST = {"id": "1", "text": "Thanks!"}
SHOWN = POST | {"created_at": "2026-11-23T08:00:00.000Z"}


class FakeX(Calls):
    """Answers a read by the name of its parameter for fields. If the answer is an exception, raises it."""

    def __init__(self, **answers: Any) -> None:
        super().__init__(XSettings())
        self.answers = answers
        self.asked: list[str] = []

    def _get(self, account: Account, path: str, query: dict[str, Any]) -> Any:
        name = next(name for name in ("tweet.fields", "post.fields") if name in query)
        self.asked.append(name)
        answer = self.answers[name.replace(".", "_")]
        if isinstance(answer, Exception):
            raise answer
        return {"data": answer}


def bad_parameter() -> PlatformRefusal:
    return PlatformRefusal(Refusal.REJECTED, "invalid-request", "No such parameter.")


def test_a_parameter_that_x_ignores_is_found_out_and_the_other_one_remembered() -> None:
    x = FakeX(tweet_fields=[POST], post_fields=[SHOWN])
    for _ in range(2):
        assert x.read(ACCOUNT, "tweets", "created_at,entities")["data"] == [SHOWN]
    assert x.asked == ["tweet.fields", "post.fields", "post.fields"]


@pytest.mark.parametrize("other", [[POST], bad_parameter()])
def test_posts_without_their_fields_are_never_compared(other: Any) -> None:
    x = FakeX(tweet_fields=[POST], post_fields=other)
    with pytest.raises(PlatformRefusal) as refused:
        x.read(ACCOUNT, "tweets", "created_at,entities")
    assert refused.value.retryable


@pytest.mark.parametrize("answer", [[], None, SHOWN, [SHOWN]])
def test_an_answer_with_times_or_without_posts_needs_one_call(answer: Any) -> None:
    x = FakeX(tweet_fields=answer)
    assert x.read(ACCOUNT, "tweets", "created_at,entities")["data"] == answer
    assert x.asked == ["tweet.fields"]


@pytest.mark.parametrize(
    ("calls", "is_open"),
    [
        (FakeX(tweet_fields=[SHOWN]), False),
        (FakeX(tweet_fields=bad_parameter(), post_fields=[SHOWN]), True),
        (FakeX(tweet_fields=bad_parameter(), post_fields=[SHOWN | {"text": "Another"}]), False),
    ],
    ids=["old names", "new names", "another text"],
)
def test_a_post_that_may_be_the_reply_leaves_it_open_where_references_are_a_guess(
    calls: FakeX, is_open: bool
) -> None:
    connector = XConnector(XSettings())
    connector._calls = calls
    reply = OpenComment(ACCOUNT, "99", "Thanks!", datetime(2026, 11, 23, 8, tzinfo=UTC))
    if is_open:
        with pytest.raises(PlatformRefusal) as refused:
            connector.find_reply(reply)
        assert refused.value.retryable
    else:
        assert connector.find_reply(reply) is None
