"""Tests tokens, errors and headers of the Graph API: platforms.md section 1."""

import hashlib
import hmac
import json
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest
from flask.testing import FlaskClient

from simulator.app import create_app
from simulator.config import Settings
from simulator.meta.call import Call
from simulator.meta.errors import GraphError
from simulator.meta.fields import Field, parse
from simulator.simulation import Simulation


def error_of(answer):
    error = answer.get_json()["error"]
    return answer.status_code, error["code"], error.get("error_subcode")


def test_an_error_has_the_whole_envelope(insta):
    error = insta.post(f"{insta.account_id}/media_publish", creation_id="1").get_json()["error"]
    assert set(error) == {
        "message", "type", "code", "error_subcode", "error_user_title", "error_user_msg", "is_transient",
        "fbtrace_id",
    }  # fmt: skip


@pytest.mark.parametrize(("token", "code"), [("", 104), ("EAAnonsense", 190), ("é" * 40, 190)])
def test_a_missing_or_made_up_token_is_refused(page, token, code):
    page.token = token
    assert error_of(page.get(page.account_id))[:2] == (400, code)


@pytest.mark.parametrize("scheme", ["Bearer", "OAuth"])
def test_a_token_may_come_in_the_header(page, scheme):
    headers = {"Authorization": f"{scheme} {page.token}"}
    assert page.client.get(f"/graph.facebook.com/v26.0/{page.account_id}", headers=headers).status_code == 200


def test_an_expired_connection_answers_190_463_until_it_is_renewed(page, client):
    client.post(f"/_sim/accounts/{page.account_id}/expire", json={"expired": True})
    assert error_of(page.get(page.account_id)) == (400, 190, 463)
    client.post(f"/_sim/accounts/{page.account_id}/expire", json={"expired": False})
    assert page.get(page.account_id).status_code == 200


def test_the_app_secret_proof_is_checked_when_sent(page):
    proof = hmac.new(b"shh", page.token.encode(), hashlib.sha256).hexdigest()
    assert page.get(page.account_id, appsecret_proof=proof).status_code == 200
    assert error_of(page.get(page.account_id, appsecret_proof="0" * 64))[:2] == (400, 100)


def test_a_restarted_simulator_knows_its_tokens_but_not_those_of_another_seed(page):
    def ask(seed):
        client = create_app(Simulation(settings=Settings(seed=seed))).test_client()
        query = {"access_token": page.token, "fields": "name,username"}
        return client.get(f"/graph.facebook.com/v26.0/{page.account_id}", query_string=query)

    shown = ask(Settings().seed).get_json()
    assert (shown["name"], shown["username"]) == ("Corner Bakery", "cornerbakery")
    assert error_of(ask("another"))[:2] == (400, 190)


def test_debug_token_tells_what_a_token_is(page, client, settings):
    app_token = f"{settings.meta_app_id}|{settings.meta_app_secret}"
    query = {"input_token": page.token, "access_token": app_token}
    data = client.get("/graph.facebook.com/v26.0/debug_token", query_string=query).get_json()["data"]
    assert (data["is_valid"], data["type"], data["expires_at"]) == (True, "PAGE", 0)
    assert "pages_manage_posts" in data["scopes"]
    client.post(f"/_sim/accounts/{page.account_id}/expire", json={})
    assert (
        client.get("/graph.facebook.com/debug_token", query_string=query).get_json()["data"]["is_valid"]
        is False
    )


def log_in(client, settings, **more):
    """Logs a person in and returns the response with the token."""
    target = "https://x.test/connect/facebook/callback"
    asked = {"client_id": settings.meta_app_id, "redirect_uri": target, "state": "s", "response_type": "code"}
    scope = "pages_show_list,pages_manage_posts,pages_read_engagement,pages_read_user_content,instagram_basic"
    went = client.get("/www.facebook.com/v26.0/dialog/oauth", query_string={**asked, "scope": scope, **more})
    back = dict(parse_qsl(urlsplit(went.headers["Location"]).query))
    assert back["state"] == "s"
    app = {"client_id": settings.meta_app_id, "client_secret": settings.meta_app_secret}
    query = {**app, "redirect_uri": target, "code": back["code"]}
    answer = client.get("/graph.facebook.com/v26.0/oauth/access_token", query_string=query).get_json()
    again = client.get("/graph.facebook.com/v26.0/oauth/access_token", query_string=query)
    assert error_of(again) == (400, 100, 36009)
    return answer


def test_a_code_and_a_short_token_are_exchanged_for_sixty_days(client, settings):
    app = {"client_id": settings.meta_app_id, "client_secret": settings.meta_app_secret}
    user = log_in(client, settings)
    assert (user["token_type"], user["expires_in"]) == ("bearer", 3_600)
    query = {**app, "grant_type": "fb_exchange_token", "fb_exchange_token": user["access_token"]}
    assert (
        client.get("/graph.facebook.com/oauth/access_token", query_string=query).get_json()["expires_in"]
        == 5_183_944
    )
    query["fb_exchange_token"] = "EAAnonsense"
    assert error_of(client.get("/graph.facebook.com/oauth/access_token", query_string=query))[:2] == (
        400,
        190,
    )
    query["client_secret"] = "wrong"
    assert error_of(client.get("/graph.facebook.com/oauth/access_token", query_string=query))[:2] == (400, 1)


@pytest.fixture
def person(client: FlaskClient) -> dict[str, Any]:
    return client.post("/_sim/persons", json={"platform": "FB", "accounts": 2}).get_json()


@pytest.fixture
def user_token(client: FlaskClient, settings: Settings, person: dict[str, Any]) -> str:
    return log_in(client, settings, sim_person=person["person_id"])["access_token"]


def test_a_users_token_lists_pages_with_their_tokens(page, client, user_token, person):
    fields = "id,name,username,access_token,picture,followers_count,tasks,instagram_business_account"
    query = {"access_token": user_token, "fields": fields, "limit": 100}
    rows = client.get("/graph.facebook.com/v26.0/me/accounts", query_string=query).get_json()["data"]
    assert [row["id"] for row in rows] == [account["account_id"] for account in person["accounts"]]
    page.account_id, page.token = rows[0]["id"], rows[0]["access_token"]
    assert page.get("me").get_json()["id"] == page.account_id
    assert "MODERATE" in rows[0]["tasks"]


def test_what_a_person_withholds_is_declined(client, settings):
    scope = "pages_manage_posts"
    person = client.post("/_sim/persons", json={"platform": "FB", "withholds": [scope]}).get_json()
    query = {"access_token": log_in(client, settings, sim_person=person["person_id"])["access_token"]}
    rows = client.get("/graph.facebook.com/v26.0/me/permissions", query_string=query).get_json()["data"]
    assert {row["status"] for row in rows if row["permission"] == scope} == {"declined"}
    assert {row["status"] for row in rows if row["permission"] != scope} == {"granted"}


def test_a_users_token_sees_no_comments_and_may_not_post(page, client, user_token):
    post_id = page.publish()
    page.post(f"{post_id}/comments", message="hi")
    page.token = user_token
    assert page.get(f"{post_id}/comments").get_json() == {"data": []}
    assert error_of(page.post(f"{page.account_id}/feed", message="x"))[:2] == (400, 200)


def test_every_answer_tells_the_usage(page):
    headers = page.get(page.account_id).headers
    assert set(json.loads(headers["X-App-Usage"])) == {"call_count", "total_cputime", "total_time"}
    [row] = json.loads(headers["X-Business-Use-Case-Usage"])[page.account_id]
    assert (row["type"], row["estimated_time_to_regain_access"]) == ("pages", 0)


def test_an_unknown_path_gets_an_error_of_the_platform(page):
    assert error_of(page.get(f"{page.account_id}/feed/more"))[:2] == (400, 2500)
    assert error_of(page.get(f"{page.account_id}/nothing")) == (400, 100, 33)


def test_fields_with_modifiers_and_braces_are_read():
    assert parse("id, from{id,name},a.limit(0).summary(true)") == (
        Field("id"),
        Field("from", (), (Field("id"), Field("name"))),
        Field("a", (("limit", "0"), ("summary", "true"))),
    )


@pytest.mark.parametrize(
    "text", ["id{", "id}", "a.limit", "a b", "a..b(1)", "{id}", "a.limit(", "a;b", "from{id}x"]
)
def test_fields_that_cannot_be_read_are_refused(text):
    with pytest.raises(GraphError) as refused:
        parse(text)
    assert refused.value.code == 2500


def test_json_bodies_are_read_like_forms(page):
    answer = page.client.post(
        f"/graph.facebook.com/v26.0/{page.account_id}/feed", json={"message": "j", "access_token": page.token}
    )
    assert answer.status_code == 200


def test_a_call_reads_yes_and_no_and_refuses_words_for_numbers(sim):
    call = Call(sim, None, None, {"a": "false", "b": "1", "n": "x"}, {}, {}, "", "")
    assert (call.flag("a", True), call.flag("b", False), call.flag("c", True)) == (False, True, True)
    with pytest.raises(GraphError):
        call.whole("n", 1)
