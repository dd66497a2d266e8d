"""Meta's webhooks: their signature, and their content with fields that we do not know."""

import hashlib
import hmac
import json
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from publishing.platforms.meta.hooks import NoHook, comments_in, is_signed

AT = datetime(2026, 11, 20, 12, tzinfo=UTC)
SECONDS = int(AT.timestamp())


def facebook(**changes: Any) -> dict[str, Any]:
    value = {
        "item": "comment", "verb": "add", "comment_id": "9_1", "post_id": "1_9", "parent_id": "1_9",
        "from": {"id": "77", "name": "Ann"}, "message": "hi", "created_time": SECONDS,
    }  # fmt: skip
    return {"field": "feed", "value": value | changes}


def instagram(**changes: Any) -> dict[str, Any]:
    value = {
        "id": "178", "text": "hi", "from": {"id": "77", "username": "ann"},
        "media": {"id": "180", "media_product_type": "FEED"},
    }  # fmt: skip
    return {"field": "comments", "value": value | changes}


def hook(*changes: Any, kind: str = "page", account_id: Any = "1") -> bytes:
    entry = {"id": account_id, "time": SECONDS, "changes": list(changes)}
    return json.dumps({"object": kind, "entry": [entry], "unheard": {"of": 1}}).encode()


def signed(body: bytes, secret: str = "s3cret") -> str:
    return "sha256=" + hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()


def test_a_signature_is_over_the_bytes_as_they_came() -> None:
    body = hook(facebook(message="caf\u00e9"))
    assert is_signed(body, signed(body), ["s3cret"])
    assert is_signed(body, f" {signed(body)} ", ["other", "s3cret"])
    again = json.dumps(json.loads(body), ensure_ascii=False).encode()
    assert not is_signed(again, signed(body), ["s3cret"])


@pytest.mark.parametrize(
    "signature", ["", "sha256=", "sha256=0", "sha1=" + "0" * 40, signed(b"x", "wrong"), "sha256=" + "é" * 64]
)
def test_any_other_signature_is_none(signature: str) -> None:
    assert not is_signed(b"x", signature, ["s3cret"])


@pytest.mark.parametrize("secrets", [[], [""], ["", ""]])
def test_without_a_secret_nothing_is_signed(secrets: list[str]) -> None:
    assert not is_signed(b"x", signed(b"x", ""), secrets)


def test_a_comment_on_facebook_is_whole() -> None:
    [told] = comments_in("FB", hook(facebook()))
    assert (told.account_id, told.post_id, told.is_whole) == ("1", "1_9", True)
    comment = told.comment
    assert (comment.id, comment.text, comment.created_at, comment.parent_id) == ("9_1", "hi", AT, None)
    assert (comment.author_id, comment.author_name) == ("77", "Ann")


def test_an_answer_names_what_it_answers() -> None:
    [told] = comments_in("FB", hook(facebook(parent_id="9_0")))
    assert told.comment.parent_id == "9_0"


@pytest.mark.parametrize("changes", [{"from": None}, {"from": {"name": "Ann"}}, {"created_time": None}])
def test_a_comment_without_author_or_time_is_not_whole(changes: dict[str, Any]) -> None:
    [told] = comments_in("FB", hook(facebook(**changes)))
    assert (told.is_whole, told.comment.created_at) == (False, AT)


def test_instagram_does_not_say_when() -> None:
    [told] = comments_in("IG", hook(instagram(parent_id="177"), kind="instagram"))
    assert (told.account_id, told.post_id, told.is_whole) == ("1", "180", False)
    comment = told.comment
    assert (comment.id, comment.author_name, comment.parent_id, comment.created_at) == (
        "178",
        "ann",
        "177",
        AT,
    )


def test_a_batch_is_read_in_its_order() -> None:
    two = [facebook(comment_id=f"9_{number}") for number in range(2)]
    entries = [{"id": account, "time": SECONDS, "changes": two} for account in ("1", "2")]
    told = comments_in("FB", json.dumps({"object": "page", "entry": entries}).encode())
    assert [(one.account_id, one.comment.id) for one in told] == [
        ("1", "9_0"), ("1", "9_1"), ("2", "9_0"), ("2", "9_1"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    "change",
    [
        facebook(verb="edited"), facebook(verb="remove"), facebook(verb="hide"), facebook(item="reaction"),
        facebook(item="post"), {"field": "mention", "value": {}}, {"field": "feed"}, {"field": "feed", "value": []},
        facebook(comment_id=None), facebook(post_id={}), facebook(comment_id="x" * 201), facebook(comment_id="a\0"),
        None, 7, [],
    ],
)  # fmt: skip
def test_whatever_else_happened_is_passed_over(change: Any) -> None:
    assert [one.comment.id for one in comments_in("FB", hook(change, facebook()))] == ["9_1"]


@pytest.mark.parametrize("body", [b'{"object": "user"}', b"{}", b'{"object":"page","entry":{"id":1}}'])
def test_what_is_about_something_else_holds_nothing(body: bytes) -> None:
    assert comments_in("FB", body) == []


@pytest.mark.parametrize("body", [b"", b"no", b"[]", b"7", b"\xff\xfe", b"[" * 100_000])
def test_what_is_no_object_is_no_hook(body: bytes) -> None:
    with pytest.raises(NoHook):
        comments_in("FB", body)


def test_texts_that_no_database_takes_are_mended() -> None:
    [told] = comments_in(
        "FB", hook(facebook(message="a\0b\ud83d", **{"from": {"id": "7", "name": "\ud83d"}}))
    )
    assert (told.comment.text, told.comment.author_name) == ("ab?", "?")


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(
        st.sampled_from(["id", "from", "media", "item", "verb", "comment_id", "post_id", "time"]), inner, max_size=4
    ),
    max_leaves=12,
)  # fmt: skip


@given(json_values, json_values, json_values)
def test_no_made_up_body_breaks_the_reading(value: Any, account_id: Any, time: Any) -> None:
    for platform, kind, field in (("FB", "page", "feed"), ("IG", "instagram", "comments")):
        entry = {"id": account_id, "time": time, "changes": [{"field": field, "value": value}]}
        comments_in(platform, json.dumps({"object": kind, "entry": [entry]}).encode())
