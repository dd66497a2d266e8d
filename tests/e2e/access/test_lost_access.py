"""When a token or a collaborator loses access, its subscriptions are disabled and its queued posts are held until the
owner releases or cancels them. With `--keep` neither happens.
"""

import uuid
from collections.abc import Iterator
from typing import NamedTuple

import pytest
from e2e_kit.api import Api, Json, refused
from e2e_kit.operator import Account, Accounts, Operator
from e2e_kit.posting import await_post, shown, tomorrow
from e2e_kit.receiver import Receiver, subscribe
from e2e_kit.stack import Stack
from e2e_kit.waiting import until

#: Time for accounts' event and the receivers' loops, of a second each, on a busy machine.
SOON_SECONDS = 30.0
BACK_SECONDS = 60.0


@pytest.fixture(scope="module")
def receiver() -> Iterator[Receiver]:
    with Receiver() as receiver:
        yield receiver


class Guest(NamedTuple):
    """A collaborator of somebody's brand, with a token for that brand."""

    user_id: str
    token_id: str
    api: Api


def invited(accounts: Accounts, operator: Operator, owner: Account) -> Guest:
    user_id = accounts.new(pages=()).user_id
    operator("collaborator", "add", "--brand", owner.brand_id, "--user", user_id, "--role", "full")
    made = accounts.token(owner.user_id, "*", "--brand", owner.brand_id, "--issued-by", user_id)
    return Guest(user_id, made["token"]["id"], accounts.client(made["api_token"]))


def queue(owner: Account, api: Api, message: str = "x", **later: float) -> str:
    body = {"page_id": owner.page_id(), "message": message, "scheduled_at": tomorrow(**later)}
    return str(api.post("/posts/schedule", body)["scheduled_post"]["id"])


def listen(api: Api, url: str) -> str:
    body = {"name": "theirs", "url": url, "events": ["post.published", "post.failed"]}
    return str(api.post("/webhooks", body)["id"])


def await_disabled(owner: Account, webhook_id: str) -> Json:
    def look() -> Json | None:
        found: Json = owner.api.get(f"/webhooks/{webhook_id}")
        return found if found["status"] == "disabled" else None

    return until(look, SOON_SECONDS, "the subscription is disabled")


def audit_log(operator: Operator, owner: Account, *actions: str) -> dict[str, Json]:
    """Waits until the brand's audit log has an entry for each of these actions. Returns the entries by action."""

    def noted() -> dict[str, Json] | None:
        entries = {entry["action"]: entry for entry in operator("audit", "list", "--brand", owner.brand_id)}
        found = {action: entries[action] for action in actions if action in entries}
        return found if len(found) == len(actions) else None

    return until(noted, SOON_SECONDS, f"the audit log names {actions}")


def test_a_removed_collaborator_leaves_nothing_behind_and_the_owner_decides(
    accounts: Accounts, operator: Operator, receiver: Receiver
) -> None:
    owner = accounts.new("pro")
    guest = invited(accounts, operator, owner)
    ghost_path, path = f"/{uuid.uuid4().hex}", f"/{uuid.uuid4().hex}"
    secret = subscribe(owner, receiver.url(path), "posts.held", "webhooks.disabled")["secret"]
    webhook_id = listen(guest.api, receiver.url(ghost_path))
    first, second, third = (queue(owner, guest.api, hours=hour) for hour in range(3))
    own = queue(owner, owner.api, hours=5)
    operator("collaborator", "remove", "--brand", owner.brand_id, "--user", guest.user_id)
    hold = await_post(owner.api, third, SOON_SECONDS, status="held")["hold"]
    assert (hold["reason"], hold["made_by"]["user_id"]) == ("collaborator_removed", guest.user_id)
    assert await_disabled(owner, webhook_id)["disabled_reason"] == "collaborator_removed"
    listed = owner.api.get("/posts/scheduled", status="held")["scheduled_posts"]
    assert [post["id"] for post in listed] == [first, second, third]
    assert shown(owner.api, own)["status"] == "queued"

    told = {one.event: one.data for one in (a.verified(secret) for a in receiver.await_arrivals(path, 2))}
    assert sorted(told["posts.held"]["postIds"]) == sorted([first, second, third])
    assert told["posts.held"]["brandId"] == owner.brand_id
    assert told["webhooks.disabled"]["webhooks"] == [{"id": webhook_id, "name": "theirs"}]
    entries = audit_log(operator, owner, "posts.held", "webhooks.disabled")
    assert (entries["posts.held"]["subject_id"], entries["posts.held"]["details"]["count"]) == (
        guest.user_id,
        3,
    )

    owner.api.delete(f"/posts/scheduled/{first}")
    assert owner.api.post("/posts/held/release", {"post_ids": [second]}, 200)["released"] == [second]
    answer = owner.api.post("/posts/held/cancel", {"made_by": guest.user_id}, 200)
    assert answer == {"cancelled": [third], "refused": [], "remaining": 0}
    statuses = [shown(owner.api, post_id)["status"] for post_id in (first, second, third)]
    assert statuses == ["cancelled", "queued", "cancelled"]
    entries = audit_log(operator, owner, "posts.released", "posts.cancelled")
    assert {entry["actor_id"] for entry in entries.values()} == {owner.user_id}
    assert entries["posts.released"]["details"]["post_ids"] == [second]
    operator("post", "due", second)
    await_post(owner.api, second, status="published")
    assert receiver.arrivals(ghost_path) == []


def test_a_revoked_tokens_posts_are_held_and_go_out_when_they_are_released(
    accounts: Accounts, operator: Operator
) -> None:
    owner = accounts.new("pro")
    leaked = accounts.token(owner.user_id)
    post_id = queue(owner, accounts.client(leaked["api_token"]))
    rotated = operator("token", "rotate", leaked["token"]["id"])
    assert shown(owner.api, post_id)["status"] == "queued"
    operator("token", "revoke", rotated["token"]["id"])
    hold = await_post(owner.api, post_id, SOON_SECONDS, status="held")["hold"]
    assert hold["made_by"] == {"user_id": owner.user_id, "token_id": leaked["token"]["id"]}
    refused(owner.api.call("POST", f"/posts/scheduled/{post_id}/retry", json={}), 404, "NOT_FOUND")
    assert owner.api.post("/posts/held/release", {"made_by": "anybody"}, 200)["released"] == [post_id]
    assert shown(owner.api, post_id)["hold"] is None
    operator("post", "due", post_id)
    await_post(owner.api, post_id, status="published")


def test_what_is_kept_goes_on(accounts: Accounts, operator: Operator, receiver: Receiver) -> None:
    owner = accounts.new("pro")
    guest, other = (invited(accounts, operator, owner) for _ in range(2))
    made = [
        (queue(owner, one.api, hours=n), listen(one.api, receiver.url("/x")))
        for n, one in enumerate((guest, other))
    ]
    operator("collaborator", "remove", "--brand", owner.brand_id, "--user", guest.user_id, "--keep")
    operator("token", "revoke", other.token_id, "--keep")
    refused(guest.api.call("GET", "/pages"), 401, "TOKEN_REVOKED")
    gone = invited(accounts, operator, owner)
    held = queue(owner, gone.api, hours=4)
    operator("collaborator", "remove", "--brand", owner.brand_id, "--user", gone.user_id)
    await_post(owner.api, held, SOON_SECONDS, status="held")
    for post_id, webhook_id in made:
        assert shown(owner.api, post_id)["status"] == "queued"
        assert owner.api.get(f"/webhooks/{webhook_id}")["status"] == "active"


@pytest.mark.alone
def test_services_that_are_away_when_a_token_is_revoked_learn_of_it_when_they_are_back(
    accounts: Accounts, operator: Operator, stack: Stack, receiver: Receiver
) -> None:
    owner = accounts.new("pro")
    leaked = accounts.token(owner.user_id)
    client = accounts.client(leaked["api_token"])
    post_id, webhook_id = queue(owner, client), listen(client, receiver.url("/y"))
    with stack.held_down("publishing"), stack.held_down("webhooks"):
        operator("token", "revoke", leaked["token"]["id"])
    stack.await_ready(BACK_SECONDS)
    assert await_post(owner.api, post_id, BACK_SECONDS, status="held")["hold"]["reason"] == "token_revoked"
    assert await_disabled(owner, webhook_id)["disabled_reason"] == "token_revoked"
