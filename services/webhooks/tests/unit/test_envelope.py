"""The body of a delivery: the envelope in decisions.md, times in milliseconds, and otherwise the data of the event."""

import json
from datetime import UTC, datetime
from typing import get_args

import msgspec

from contracts.events import (
    EVENTS,
    CommentReceived,
    CommentReplied,
    ConnectRefused,
    CreditsAdjusted,
    Event,
    FirstCommentFailed,
    JobCompleted,
    JobFailed,
    PageExpired,
    PostFailed,
    PostPublished,
    PostsHeld,
    QuotaWarning,
    WebhooksDisabled,
)
from contracts.webhooks import EventName
from webhooks.events import body_of

AT = datetime(2026, 11, 20, 11, 58, 9, 847_000, tzinfo=UTC)


def event(data: dict[str, object], created_at: datetime = AT) -> Event:
    return Event(id="evt_1", event="post.failed", created_at=created_at, account_id="usr_1", data=data)


def test_the_envelope_has_these_fields_in_this_order() -> None:
    body = body_of(event({"userId": "usr_1"}))
    assert body == (
        b'{"id":"evt_1","event":"post.failed","created_at":"2026-11-20T11:58:09.847Z","data":{"userId":"usr_1"}}'
    )


def test_times_are_in_milliseconds_wherever_they_stand() -> None:
    resets_at = QuotaWarning(user_id="usr_1", bucket="reads", used=8, limit=10, percent=80, resets_at=AT)
    data = json.loads(body_of(event(msgspec.to_builtins(resets_at))))["data"]
    assert data["resetsAt"] == "2026-11-20T11:58:09.847Z"
    times = {
        "post": {"scheduled_at": "2026-01-01T00:00:00.120000Z", "created_time": "2026-01-01T00:00:00.001000Z"}
    }
    post = json.loads(body_of(event(times)))["data"]["post"]
    assert post == {"scheduled_at": "2026-01-01T00:00:00.120Z", "created_time": "2026-01-01T00:00:00.001Z"}


def test_a_moment_between_two_milliseconds_is_cut() -> None:
    body = json.loads(body_of(event({}, AT.replace(microsecond=847_999))))
    assert body["created_at"] == "2026-11-20T11:58:09.847Z"


def test_a_text_that_looks_like_a_time_stays_as_it_was_written() -> None:
    text = 'say "created_at":"2026-01-01T00:00:00.120000Z", and 2026-01-01T00:00:00.120000Z'
    assert json.loads(body_of(event({"message": text})))["data"]["message"] == text


#: decisions "Events".
DATA = {
    "post.published": (PostPublished, {"userId", "brandId", "post"}),
    "post.failed": (PostFailed, {"userId", "brandId", "post", "error", "attempts"}),
    "comment.received": (CommentReceived, {"userId", "brandId", "pageId", "postId", "comment"}),
    "comment.replied": (CommentReplied, {"userId", "brandId", "pageId", "postId", "reply"}),
    "first_comment.failed": (FirstCommentFailed, {"userId", "brandId", "pageId", "postId", "error"}),
    "page.expired": (PageExpired, {"userId", "brandId", "page", "error", "reconnectUrl"}),
    "page.connect.refused": (ConnectRefused, {"userId", "brandId", "sessionId", "platform", "error"}),
    "account.quota.warning": (QuotaWarning, {"userId", "bucket", "used", "limit", "percent", "resetsAt"}),
    "account.credits.adjusted": (CreditsAdjusted, {"userId", "reason", "credits", "bonus", "owed"}),
    "ai.job.completed": (JobCompleted, {"userId", "brandId", "job", "media"}),
    "ai.job.failed": (JobFailed, {"userId", "brandId", "job"}),
    "posts.held": (PostsHeld, {"userId", "brandId", "reason", "madeBy", "postIds"}),
    "webhooks.disabled": (WebhooksDisabled, {"userId", "reason", "madeBy", "webhooks"}),
}


def test_every_event_one_may_subscribe_to_comes_here_with_the_data_of_the_contract() -> None:
    assert set(get_args(EventName)) == DATA.keys()
    for name, (record, fields) in DATA.items():
        assert "webhooks" in EVENTS[name].receivers
        assert set(record.__struct_encode_fields__) == fields
