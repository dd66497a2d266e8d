"""Collaborators, the tokens they issue, and the brand's audit log."""

from typing import Any

import pytest
from msgspec.structs import replace

from accounts import audit, collaborators
from contracts.accounts import RecordAudit, RemoveCollaborator, SetCollaborator
from contracts.caller import operator
from contracts.errors import ApiError


def refusal(function: Any, *args: Any, **values: Any) -> ApiError:
    with pytest.raises(ApiError) as caught:
        function(*args, **values)
    return caught.value


@pytest.fixture
def scene(accounts: Any) -> Any:
    """An owner on pro with two brands, and a collaborator with full access to the first."""
    accounts.owner, accounts.helper = accounts.user(tier="pro"), accounts.user()
    accounts.first, accounts.second = accounts.brand(accounts.owner), accounts.brand(accounts.owner)
    accounts.collaborator(accounts.first, accounts.helper)
    return accounts


def issue(scene: Any, **values: Any) -> Any:
    values = {"brand_ids": (scene.first.id,), "issued_by": scene.helper.id} | values
    return scene.token(scene.owner, **values)


def test_a_collaborators_token_acts_on_the_owners_account_within_one_brand(scene: Any) -> None:
    made = issue(scene)
    caller = scene.authenticate(made.api_token).caller
    assert (caller.account_id, caller.user_id, caller.tier) == (scene.owner.id, scene.helper.id, "pro")
    assert caller.brand_ids == (scene.first.id,)
    assert made.token.on_behalf_of_brand_id == scene.first.id
    assert made.token.issued_by_collaborator_id == scene.helper.id


def test_it_is_the_same_whether_the_owner_or_the_collaborator_is_named(scene: Any) -> None:
    made = scene.token(scene.helper, brand_ids=(scene.first.id,), issued_by=scene.helper.id)
    assert scene.authenticate(made.api_token).caller.account_id == scene.owner.id


def test_it_is_bound_to_exactly_one_brand(scene: Any) -> None:
    assert refusal(issue, scene, brand_ids=()).code == "VALIDATION_ERROR"
    assert refusal(issue, scene, brand_ids=(scene.first.id, scene.second.id)).code == "VALIDATION_ERROR"


def test_only_full_access_to_that_brand_issues_tokens(scene: Any) -> None:
    limited = scene.user()
    scene.collaborator(scene.first, limited, "limited")
    assert refusal(issue, scene, issued_by=limited.id).code == "COLLABORATOR_INSUFFICIENT"
    assert refusal(issue, scene, issued_by=scene.user().id).code == "COLLABORATOR_INSUFFICIENT"
    assert refusal(issue, scene, brand_ids=(scene.second.id,)).code == "COLLABORATOR_INSUFFICIENT"
    assert refusal(issue, scene, issued_by=scene.owner.id).code == "VALIDATION_ERROR"


def test_it_takes_one_of_the_owners_active_keys(scene: Any) -> None:
    for _ in range(9):
        scene.token(scene.owner)
    issue(scene)
    assert refusal(scene.token, scene.owner).code == "LIMIT_REACHED"
    assert scene.token(scene.helper)


def test_without_full_access_live_tokens_are_insufficient_until_it_is_given_back(scene: Any) -> None:
    made = issue(scene)
    scene.collaborator(scene.first, scene.helper, "limited")
    assert refusal(scene.authenticate, made.api_token).code == "COLLABORATOR_INSUFFICIENT"
    scene.collaborator(scene.first, scene.helper, "full")
    assert scene.authenticate(made.api_token)
    assert scene.staged() == [{"token_ids": [made.token.id], "account_ids": []}] * 2


def test_removal_revokes_every_token_they_issued_for_the_brand_and_no_other(scene: Any) -> None:
    scene.collaborator(scene.second, scene.helper)
    here, also_here = issue(scene), issue(scene)
    elsewhere, own = issue(scene, brand_ids=(scene.second.id,)), scene.token(scene.helper)
    request = RemoveCollaborator(brand_id=scene.first.id, user_id=scene.helper.id)
    scene.call(collaborators.remove_collaborator, operator(), request)
    for made in (here, also_here):
        assert refusal(scene.authenticate, made.api_token).code == "TOKEN_REVOKED"
    assert scene.authenticate(elsewhere.api_token)
    assert scene.authenticate(own.api_token)
    assert [told["token_ids"] for told in scene.staged()] == [[here.token.id], [also_here.token.id]]
    assert scene.actions(scene.first)[:3] == ["token.revoked", "token.revoked", "collaborator.removed"]


def test_who_was_removed_and_comes_back_starts_without_tokens(scene: Any) -> None:
    made = issue(scene)
    request = RemoveCollaborator(brand_id=scene.first.id, user_id=scene.helper.id)
    scene.call(collaborators.remove_collaborator, operator(), request)
    scene.collaborator(scene.first, scene.helper)
    assert refusal(scene.authenticate, made.api_token).code == "TOKEN_REVOKED"


def test_create_rotate_and_revoke_are_in_the_brands_audit_log(scene: Any) -> None:
    made = issue(scene, name="CI")
    rotated = scene.rotate(made)
    scene.revoke(rotated)
    entries = scene.audit_log(scene.first)
    assert [(entry.action, entry.subject_id, entry.actor_id) for entry in entries] == [
        ("token.revoked", rotated.token.id, "operator"),
        ("token.rotated", made.token.id, "operator"),
        ("token.created", made.token.id, scene.helper.id),
        ("collaborator.set", scene.helper.id, "operator"),
    ]
    assert entries[1].details["new_token_id"] == rotated.token.id
    assert (entries[1].actor_email, entries[2].actor_email) == (None, scene.helper.email)
    assert {entry.subject_email for entry in entries} == {scene.helper.email}  # the issuer of the tokens
    assert rotated.token.issued_by_collaborator_id == scene.helper.id


def test_the_owners_own_tokens_are_not_in_the_audit_log(scene: Any) -> None:
    scene.token(scene.owner, brand_ids=(scene.first.id,))
    assert scene.actions(scene.first) == ["collaborator.set"]


def test_a_token_of_a_collaborator_who_lost_full_access_is_not_rotated(scene: Any) -> None:
    made = issue(scene)
    scene.collaborator(scene.first, scene.helper, "limited")
    error = refusal(scene.rotate, made)
    assert error.code == "COLLABORATOR_INSUFFICIENT"


def test_the_owner_is_no_collaborator_and_unknown_users_and_roles_are_refused(scene: Any) -> None:
    def code(**values: str) -> str:
        wanted = {"brand_id": scene.first.id, "user_id": scene.helper.id, "role": "full"} | values
        request = SetCollaborator(**wanted)
        return refusal(scene.call, collaborators.set_collaborator, operator(), request).code

    assert code(user_id=scene.owner.id) == "VALIDATION_ERROR"
    assert code(role="owner") == "VALIDATION_ERROR"
    assert code(user_id="usr_unknown") == "NOT_FOUND"
    assert code(brand_id="brd_unknown") == "NOT_FOUND"


def test_removing_whom_is_no_collaborator_is_not_found(scene: Any) -> None:
    request = RemoveCollaborator(brand_id=scene.second.id, user_id=scene.helper.id)
    assert refusal(scene.call, collaborators.remove_collaborator, operator(), request).code == "NOT_FOUND"


def test_a_removal_whose_answer_was_lost_is_answered_again_and_removes_nobody_twice(scene: Any) -> None:
    request = RemoveCollaborator(brand_id=scene.first.id, user_id=scene.helper.id)
    again = replace(operator(), operation_id="op_1")
    first = scene.call(collaborators.remove_collaborator, again, request)
    assert scene.call(collaborators.remove_collaborator, again, request) == first
    other = replace(operator(), operation_id="op_2")
    assert refusal(scene.call, collaborators.remove_collaborator, other, request).code == "NOT_FOUND"
    scene.collaborator(scene.first, scene.helper)
    scene.call(collaborators.remove_collaborator, again, request)
    assert issue(scene)
    assert scene.actions(scene.first).count("collaborator.removed") == 1


def test_a_repeated_call_neither_brings_a_removed_collaborator_back_nor_resets_a_later_role(
    scene: Any,
) -> None:
    def set_role(role: str, operation_id: str) -> Any:
        request = SetCollaborator(brand_id=scene.first.id, user_id=scene.helper.id, role=role)
        caller = replace(operator(), operation_id=operation_id)
        return scene.call(collaborators.set_collaborator, caller, request)

    assert set_role("limited", "op_1").role == "limited"
    assert set_role("full", "op_2").role == "full"
    assert set_role("limited", "op_1").role == "full"
    request = RemoveCollaborator(brand_id=scene.first.id, user_id=scene.helper.id)
    scene.call(collaborators.remove_collaborator, operator(), request)
    assert refusal(set_role, "full", "op_2").code == "NOT_FOUND"
    assert set_role("full", "op_3").role == "full"


def test_an_act_that_is_recorded_twice_under_one_operation_is_one_entry(scene: Any) -> None:
    request = RecordAudit(brand_id=scene.first.id, action="post.brought_due", subject_id="pst_1")
    caller = replace(operator(), operation_id="op_1")
    entry = scene.call(audit.record_audit, caller, request)
    assert scene.call(audit.record_audit, caller, request) == entry
    of_another_post = replace(request, subject_id="pst_2")
    assert scene.call(audit.record_audit, caller, of_another_post) != entry
    assert scene.actions(scene.first).count("post.brought_due") == 2


def test_an_act_of_the_operator_elsewhere_is_recorded(scene: Any) -> None:
    request = RecordAudit(
        brand_id=scene.first.id, action="post.brought_due", subject_id="pst_1", details={"was": "x"}
    )
    entry = scene.call(audit.record_audit, operator(), request)
    assert scene.audit_log(scene.first)[0] == entry
    assert (entry.actor_id, entry.details) == ("operator", {"was": "x"})
