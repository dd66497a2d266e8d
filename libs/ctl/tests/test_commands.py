"""Which calls each command makes, and what it prints."""

from datetime import UTC, datetime
from typing import Any

import pytest
from msgspec.structs import replace

from chassis.bus import quarantine
from chassis.bus.quarantine import Quarantined
from contracts.accounts import (
    AuditEntry,
    AuditLog,
    Brand,
    BrandList,
    BrandOwner,
    Collaborator,
    CreateBrand,
    CreatedToken,
    CreatedUser,
    Invite,
    InviteUser,
    Token,
    TokenList,
    User,
    UserId,
    UserList,
)
from contracts.caller import OPERATOR_SCOPE
from contracts.keys import KeysRotated
from contracts.publishing import Page, PageList, ScheduledPost
from contracts.record import Nothing
from contracts.webhooks import Subscription

NOW = datetime(2027, 1, 1, 12, tzinfo=UTC)
USER = User(id="usr_1", email="ann@example.com", firstname="Ann", lastname="", tier="pro", created_at=NOW)
TOKEN = Token(
    id="tok_1", name="CI", prefix="svc_live_abc", scopes=("read:posts", "write:posts"), created_at=NOW
)
BRAND = Brand(id="brd_1", name="Acme", description=None, logo=None, timezone="UTC", created_at=NOW)
PAGE = Page(
    id="pag_1", platform="FB", name="Acme", username=None, account_id="777", brand_id="brd_1", brand_name="Acme",
    followers=5, picture=None, expired=False, created_at=NOW,
)  # fmt: skip
POST = ScheduledPost(
    id="pst_1", page_id="pag_1", brand_id="brd_1", platform="FB", media=(), scheduled_at=NOW, status="queued",
    created_at=NOW,
)  # fmt: skip


def test_user_create_prints_the_user_and_the_sandbox_token(line: Any) -> None:
    line.bus.answers["create_user"] = CreatedUser(user=USER, sandbox_api_token="svc_test_x")
    answer = line.json("user", "create", "--email", "ann@example.com", "--tier", "pro", "--firstname", "Ann")
    assert answer["user"]["id"] == "usr_1"
    assert answer["sandbox_api_token"] == "svc_test_x"
    _, caller, request = line.bus.calls[0]
    assert caller.scopes == (OPERATOR_SCOPE,)
    assert (request.email, request.tier, request.password, request.firstname) == (
        "ann@example.com",
        "pro",
        None,
        "Ann",
    )


def test_people_get_a_line_per_field(line: Any) -> None:
    line.bus.answers["change_tier"] = USER
    assert "email       ann@example.com\n" in line.run("user", "plan", "usr_1", "pro").stdout


def test_user_invite_prints_the_code(line: Any) -> None:
    made = Invite(email="ann@example.com", code="c0de", expires_at=NOW)
    line.bus.answers["invite_user"] = made
    assert line.json("user", "invite", "ann@example.com")["code"] == "c0de"
    assert line.bus.calls[0][2] == InviteUser(email="ann@example.com")


def test_user_list_shows_every_page_of_users_or_the_one_with_an_address(line: Any) -> None:
    def answer(request: Any) -> UserList:
        return UserList(users=(USER,), next_cursor=None if request.cursor else "next")

    line.bus.answers["list_users"] = answer
    assert len(line.json("user", "list")) == 2
    line.bus.answers["list_users"] = UserList(users=(USER,))
    assert [row["email"] for row in line.json("user", "list", "--email", "ann@example.com")] == [
        "ann@example.com"
    ]
    assert [call[2].cursor for call in line.bus.calls] == [None, "next", None]
    assert line.bus.calls[2][2].email == "ann@example.com"


def test_user_unverified_lists_sign_ups_and_verify_names_one_by_its_id(line: Any) -> None:
    waiting = replace(USER, verified=False)
    line.bus.answers |= {"list_unverified": UserList(users=(waiting,)), "verify_user": USER}
    assert [row["id"] for row in line.json("user", "unverified")] == ["usr_1"]
    assert line.json("user", "verify", "usr_1")["verified"] is True
    assert line.bus.calls[1][2] == UserId(user_id="usr_1")


def test_token_create_passes_every_option_on(line: Any) -> None:
    line.bus.answers["create_token"] = CreatedToken(token=TOKEN, api_token="svc_live_x")
    answer = line.json(
        "token", "create", "--user", "usr_1", "--scopes", "read:posts, write:posts", "--name", "CI", "--legacy",
        "--brand", "brd_1", "--brand", "brd_2", "--expires", "2027-06-01T00:00:00Z", "--ip", "10.0.0.0/8",
        "--ip", "::1", "--issued-by", "usr_2",
    )  # fmt: skip
    assert (answer["api_token"], answer["token"]["id"]) == ("svc_live_x", "tok_1")
    request = line.bus.calls[0][2]
    assert request.scopes == ("read:posts", "write:posts")
    assert (request.brand_ids, request.ip_allowlist) == (("brd_1", "brd_2"), ("10.0.0.0/8", "::1"))
    assert request.expires_at == datetime(2027, 6, 1, tzinfo=UTC)
    assert (request.legacy, request.issued_by) == (True, "usr_2")


def test_token_list_is_an_array_in_json_and_a_table_for_people(line: Any) -> None:
    line.bus.answers["list_tokens"] = TokenList(tokens=(TOKEN,))
    assert [token["id"] for token in line.json("token", "list", "--user", "usr_1")] == ["tok_1"]
    header, row = line.run("token", "list", "--user", "usr_1").stdout.splitlines()
    assert header.split()[:3] == ["ID", "NAME", "PREFIX"]
    assert row.split()[:5] == ["tok_1", "CI", "svc_live_abc", "read:posts,", "write:posts"]


def test_token_rotate_and_revoke_name_the_token(line: Any) -> None:
    line.bus.answers["rotate_token"] = CreatedToken(token=TOKEN, api_token="svc_live_new")
    line.bus.answers["revoke_token"] = replace(TOKEN, revoked_at=NOW)
    assert line.json("token", "rotate", "tok_0")["api_token"] == "svc_live_new"
    assert line.json("token", "revoke", "tok_0")["revoked_at"] == "2027-01-01T12:00:00Z"
    assert [request.token_id for _, _, request in line.bus.calls] == ["tok_0", "tok_0"]


def test_what_a_revoked_token_made_is_kept_only_when_asked(line: Any) -> None:
    line.bus.answers["revoke_token"] = replace(TOKEN, revoked_at=NOW)
    line.json("token", "revoke", "tok_0")
    line.json("token", "revoke", "tok_0", "--keep")
    assert [request.keep for _, _, request in line.bus.calls] == [False, True]


def test_set_used_of_a_sandbox_token_sets_its_lifetime_use_too(line: Any) -> None:
    line.bus.answers |= {"set_token_use": TOKEN, "set_sandbox_use": Nothing()}
    for sandbox in (False, True):
        line.bus.answers["get_token"] = replace(TOKEN, sandbox=sandbox)
        line.json("token", "set-used", "tok_1", "99")
    called = [method for method, _, _ in line.bus.calls]
    assert called == ["get_token", "set_token_use", "get_token", "set_sandbox_use", "set_token_use"]
    assert [request.count for _, _, request in line.bus.calls if hasattr(request, "count")] == [99, 99, 99]


def test_brand_create_passes_every_option_on(line: Any) -> None:
    line.bus.answers["create_brand"] = BRAND
    line.json(
        "brand", "create", "--user", "usr_1", "--name", "Acme", "--timezone", "Europe/Berlin", "--description", "Cakes",
        "--logo", "https://acme.test/a.png", "--image-guidelines", "Blue", "--caption-guidelines", "Be brief",
    )  # fmt: skip
    assert line.bus.calls[0][2] == CreateBrand(
        user_id="usr_1", name="Acme", timezone="Europe/Berlin", description="Cakes", logo="https://acme.test/a.png",
        image_guidelines="Blue", caption_guidelines="Be brief",
    )  # fmt: skip


def test_brand_list_follows_every_cursor(line: Any) -> None:
    def answer(request: Any) -> BrandList:
        if request.cursor is None:
            return BrandList(brands=(BRAND,), next_cursor="more")
        return BrandList(brands=(replace(BRAND, id="brd_2"),))

    line.bus.answers["list_brands"] = answer
    assert [brand["id"] for brand in line.json("brand", "list", "--user", "usr_1")] == ["brd_1", "brd_2"]


def test_an_empty_list_is_an_empty_array_and_says_so_to_people(line: Any) -> None:
    line.bus.answers["list_brands"] = BrandList(brands=())
    assert line.json("brand", "list", "--user", "usr_1") == []
    assert line.run("brand", "list", "--user", "usr_1").stdout == "(none)\n"


def test_collaborators_are_added_with_a_role_and_removed(line: Any) -> None:
    made = Collaborator(brand_id="brd_1", user_id="usr_2", role="full", created_at=NOW)
    line.bus.answers |= {"set_collaborator": made, "remove_collaborator": Nothing()}
    who = ("--brand", "brd_1", "--user", "usr_2")
    assert line.json("collaborator", "add", *who, "--role", "full")["role"] == "full"
    assert line.json("collaborator", "remove", *who)["removed"] is True
    assert line.json("collaborator", "remove", *who, "--keep")["kept"] is True
    assert [request.keep for method, _, request in line.bus.calls if method == "remove_collaborator"] == [
        False,
        True,
    ]


def test_audit_list_shows_details(line: Any) -> None:
    entry = AuditEntry(
        id="aud_1", brand_id="brd_1", actor_id="operator", action="token.rotated", subject_id="tok_1",
        created_at=NOW, details={"new_token_id": "tok_2"},
    )  # fmt: skip
    line.bus.answers["list_audit"] = AuditLog(entries=(entry,))
    assert line.json("audit", "list", "--brand", "brd_1")[0]["details"] == {"new_token_id": "tok_2"}
    assert '{"new_token_id":"tok_2"}' in line.run("audit", "list", "--brand", "brd_1").stdout


def test_page_list_asks_as_the_account(line: Any) -> None:
    line.bus.answers |= {"get_user": USER, "list_pages": PageList(pages=(PAGE,))}
    assert [page["id"] for page in line.json("page", "list", "--user", "usr_1")] == ["pag_1"]
    assert line.bus.calls[1][1].account_id == "usr_1"


def test_page_expire_names_the_page(line: Any) -> None:
    line.bus.answers["expire_page"] = replace(PAGE, expired=True)
    assert line.json("page", "expire", "pag_1")["expired"] is True
    assert line.bus.calls[0][2].id == "pag_1"


def test_post_due_is_noted_in_the_brands_audit_log(line: Any) -> None:
    line.bus.answers |= {"get_scheduled_post": POST, "bring_post_due": POST, "record_audit": None}
    assert line.json("post", "due", "pst_1")["id"] == "pst_1"
    method, _, noted = line.bus.calls[1]
    assert (method, noted.brand_id, noted.action, noted.subject_id) == (
        "record_audit", "brd_1", "post.brought_due", "pst_1",
    )  # fmt: skip
    assert "reason" not in noted.details


def test_the_reason_of_a_post_due_is_noted_too(line: Any) -> None:
    line.bus.answers |= {"get_scheduled_post": POST, "bring_post_due": POST, "record_audit": None}
    line.json("post", "due", "pst_1", "--reason", "Ada asked for it")
    assert line.bus.calls[1][2].details["reason"] == "Ada asked for it"


def test_page_link_without_a_simulator_says_so(line: Any) -> None:
    line.bus.answers["get_brand_owner"] = BrandOwner(brand=BRAND, account_id="usr_1")
    answer = line.json("page", "link", "--brand", "brd_1", "--platform", "facebook", exit_code=1)
    assert answer["code"] == "NO_SIMULATOR"


def test_page_link_connects_a_new_account_of_the_simulator(line: Any, simulator: Any) -> None:
    line.bus.answers |= {"get_brand_owner": BrandOwner(brand=BRAND, account_id="usr_1"), "link_page": PAGE}
    assert line.json("page", "link", "--brand", "brd_1", "--platform", "facebook")["id"] == "pag_1"
    assert simulator == [("/_sim/accounts", {"platform": "FB"})]
    request = line.bus.calls[1][2]
    assert (request.owner_account_id, request.brand_name, request.platform) == ("usr_1", "Acme", "FB")
    assert (request.remote_account_id, request.access_token, request.followers) == ("777", "t", 3)


def test_quarantine_lists_messages_and_replays_one(line: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = Quarantined(
        id="qrn_1", queue="rpc.quota", error="bad JSON", quarantined_at="now", size_bytes=3, body="{{{"
    )
    monkeypatch.setattr(quarantine, "list_quarantined", lambda _url: [kept])
    monkeypatch.setattr(quarantine, "replay", lambda _url, quarantine_id: quarantine_id == "qrn_1")
    assert [message["queue"] for message in line.json("quarantine", "list")] == ["rpc.quota"]
    assert line.json("quarantine", "replay", "qrn_1") == {"id": "qrn_1", "replayed": True}
    assert line.json("quarantine", "replay", "qrn_2", exit_code=1)["code"] == "NOT_FOUND"


def test_quarantine_without_a_broker_is_unavailable(line: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AMQP_URL", "amqp://127.0.0.1:9/%2F?connection_attempts=1")
    assert line.json("quarantine", "list", exit_code=1)["code"] == "SERVICE_UNAVAILABLE"


def test_a_disabled_subscription_is_enabled_by_the_operator(line: Any) -> None:
    line.bus.answers["enable_subscription"] = Subscription(
        id="whk_1", name="Shop", url="https://shop.example.com/hook", events=("post.failed",), brand_ids=(),
        status="active", disabled_reason=None, consecutive_failures=0, last_delivery_at=None, created_at=NOW,
    )  # fmt: skip
    assert line.json("webhook", "enable", "whk_1")["status"] == "active"
    _, caller, request = line.bus.calls[0]
    assert (caller.scopes, request.id) == ((OPERATOR_SCOPE,), "whk_1")


def test_keys_are_rotated_until_nothing_is_left(line: Any) -> None:
    answers = {
        "": KeysRotated(rotated=2, next="pag_2"),
        "pag_2": KeysRotated(rotated=1, unreadable=("pag_3",), next="pag_4"),
        "pag_4": KeysRotated(rotated=0),
    }
    line.bus.answers["rotate_keys"] = lambda request: answers[request.after]
    found = line.json("keys", "rotate", "publishing")
    assert found == {"service": "publishing", "rotated": 3, "unreadable": ["pag_3"]}
    assert len(line.bus.calls) == 3
