"""When a token or collaborator loses access, publishing and webhooks get an event, unless the operator passes `keep`.
The audit log records it.
"""

from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from accounts import audit, collaborators
from contracts.accounts import RemoveCollaborator
from contracts.caller import Maker, operator
from contracts.events import DisabledWebhook, Event, HoldEnded, PostsHeld, WebhooksDisabled


@pytest.fixture
def scene(accounts: Any) -> Any:
    """An owner with two brands, and a collaborator with full access to both."""
    accounts.owner, accounts.helper = accounts.user(tier="pro"), accounts.user()
    accounts.first, accounts.second = accounts.brand(accounts.owner), accounts.brand(accounts.owner)
    for brand in (accounts.first, accounts.second):
        accounts.collaborator(brand, accounts.helper)
    return accounts


def issue(scene: Any, brand: Any) -> Any:
    return scene.token(scene.owner, brand_ids=(brand.id,), issued_by=scene.helper.id)


def remove(scene: Any, *, operation_id: str | None = None, **options: Any) -> None:
    request = RemoveCollaborator(brand_id=scene.first.id, user_id=scene.helper.id, **options)
    scene.call(collaborators.remove_collaborator, replace(operator(), operation_id=operation_id), request)


def told(scene: Any) -> list[dict[str, Any]]:
    return scene.staged("access.revoked")  # type: ignore[no-any-return]


def test_a_removal_is_told_once_with_every_token_issued_for_the_brand(scene: Any) -> None:
    revoked_before, live = issue(scene, scene.first), issue(scene, scene.first)
    issue(scene, scene.second)
    scene.revoke(revoked_before, keep=True)
    remove(scene, operation_id="op_1")
    remove(scene, operation_id="op_1")
    assert told(scene) == [
        {
            "reason": "collaborator_removed",
            "token_ids": [revoked_before.token.id, live.token.id],
        }
    ]


def test_nobody_is_told_of_a_collaborator_who_never_had_a_token(scene: Any) -> None:
    issue(scene, scene.second)
    remove(scene)
    assert told(scene) == []


def test_a_removal_that_keeps_is_told_to_nobody_and_says_so_in_the_audit_log(scene: Any) -> None:
    made = issue(scene, scene.first)
    remove(scene, keep=True)
    assert told(scene) == []
    entries = {entry.action: entry for entry in scene.audit_log(scene.first)}
    assert entries["collaborator.removed"].details == {"kept": True}
    assert entries["token.revoked"].subject_id == made.token.id


def test_a_revocation_is_told_once_with_the_tokens_it_has_replaced(scene: Any) -> None:
    first = scene.token(scene.owner)
    second = scene.rotate(first)
    third = scene.rotate(second)
    other = scene.token(scene.owner)
    assert told(scene) == []
    scene.revoke(third)
    scene.revoke(third)
    ids = [made.token.id for made in (first, second, third)]
    assert told(scene) == [{"reason": "token_revoked", "token_ids": ids}]
    scene.revoke(other)
    assert told(scene)[1]["token_ids"] == [other.token.id]


def test_a_revocation_that_keeps_is_told_to_nobody(scene: Any) -> None:
    scene.revoke(scene.token(scene.owner), keep=True)
    kept = issue(scene, scene.first)
    scene.revoke(kept, keep=True)
    assert told(scene) == []
    assert scene.audit_log(scene.first)[0].details["kept"] is True


def happened(scene: Any, data: Any, *, made_within: tuple[str, ...] | None = None) -> Event:
    return Event(
        id="evt_1",
        event="of a test",
        created_at=scene.owner.created_at,
        account_id=scene.owner.id,
        data=msgspec.to_builtins(data),
        made_within=made_within,
    )


def test_held_posts_are_in_the_audit_log_of_their_brand(scene: Any) -> None:
    held = PostsHeld(
        user_id=scene.owner.id,
        brand_id=scene.first.id,
        reason="token_revoked",
        made_by=Maker(user_id=scene.helper.id, token_id="tok_1"),
        post_ids=("pst_1", "pst_2"),
    )
    scene.call(audit.note_posts_held, happened(scene, held))
    entry = scene.audit_log(scene.first)[0]
    assert (entry.action, entry.actor_id, entry.subject_id) == ("posts.held", "system", scene.helper.id)
    assert entry.details == {
        "reason": "token_revoked",
        "token_id": "tok_1",
        "count": 2,
        "post_ids": ["pst_1", "pst_2"],
    }
    assert "posts.held" not in scene.actions(scene.second)


def test_whoever_ends_a_hold_is_in_the_audit_log_of_the_brand(scene: Any) -> None:
    ended = HoldEnded(
        brand_id=scene.first.id,
        outcome="released",
        by=Maker(user_id=scene.owner.id, token_id="tok_owner"),
        made_by=Maker(user_id=scene.helper.id, token_id="tok_1"),
        post_ids=("pst_1", "pst_2"),
    )
    scene.call(audit.note_hold_ended, happened(scene, ended))
    scene.call(audit.note_hold_ended, happened(scene, replace(ended, outcome="cancelled")))
    newest, before = scene.audit_log(scene.first)[:2]
    assert (newest.action, before.action) == ("posts.cancelled", "posts.released")
    assert (before.actor_id, before.subject_id) == (scene.owner.id, scene.helper.id)
    assert before.details == {
        "by_token_id": "tok_owner",
        "token_id": "tok_1",
        "count": 2,
        "post_ids": ["pst_1", "pst_2"],
    }


def test_posts_of_a_brand_that_is_not_the_accounts_are_noted_nowhere(scene: Any) -> None:
    held = PostsHeld(
        user_id="usr_x",
        brand_id="brd_unknown",
        reason="token_revoked",
        made_by=Maker(user_id="u"),
        post_ids=("p",),
    )
    scene.call(audit.note_posts_held, happened(scene, held))
    assert scene.actions(scene.first) == ["collaborator.set"]


@pytest.mark.parametrize("is_limited", [True, False])
def test_disabled_subscriptions_are_in_the_audit_log_of_each_brand_they_were_made_for(
    scene: Any, is_limited: bool
) -> None:
    disabled = WebhooksDisabled(
        user_id=scene.owner.id,
        reason="token_revoked",
        made_by=Maker(user_id=scene.owner.id, token_id="tok_1"),
        webhooks=(DisabledWebhook(id="whk_1", name="Orders"),),
    )
    made_within = (scene.first.id,) if is_limited else None
    scene.call(audit.note_webhooks_disabled, happened(scene, disabled, made_within=made_within))
    assert scene.audit_log(scene.first)[0].details == {
        "reason": "token_revoked",
        "token_id": "tok_1",
        "webhook_ids": ["whk_1"],
    }
    assert ("webhooks.disabled" in scene.actions(scene.second)) is not is_limited
