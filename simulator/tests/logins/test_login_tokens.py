"""Tests the tokens that logins give: they are refreshed, revoked, ended by the person who gave them, and limited by
their scopes.
"""

from dataclasses import replace

import pytest
from simulator_kit.logins import REFRESHED, Browser

from simulator.app import create_app
from simulator.simulation import Simulation


def test_a_refresh_token_of_linkedin_works_for_the_app_that_got_it_alone(settings, clock):
    app = create_app(Simulation(replace(settings, linkedin_refresh=True), clock))
    browser = Browser(app.test_client(), settings, "LN")
    token = browser.log_in()["refresh_token"]
    own, browser.app = browser.app, settings.apps["LN"]
    assert browser.refresh(token).get_json()["error"] == "invalid_grant"
    browser.app = own
    assert browser.refresh(token).status_code == 200


@pytest.mark.parametrize(
    ("scopes", "path", "status"),
    [
        (["openid"], "/api.linkedin.com/v2/userinfo", 200),
        (["openid"], "/api.linkedin.com/v2/me", 403),
        (["r_basicprofile"], "/api.linkedin.com/v2/me", 200),
        (["r_basicprofile"], "/api.linkedin.com/v2/userinfo", 403),
        (["r_basicprofile"], "/api.linkedin.com/rest/organizationAcls?q=roleAssignee", 403),
        (["rw_organization_admin"], "/api.linkedin.com/rest/organizationAcls?q=roleAssignee", 200),
    ],
)
def test_linkedin_checks_the_scope_of_each_call(client, scopes, path, status):
    made = client.post("/_sim/linkedin/members", json={"scopes": scopes}).get_json()
    headers = {
        "Authorization": f"Bearer {made['access_token']}", "LinkedIn-Version": "202607",
        "X-Restli-Protocol-Version": "2.0.0",
    }  # fmt: skip
    assert client.get(path, headers=headers).status_code == status
    assert (
        client.get(
            "/api.linkedin.com/rest/posts", headers=headers | {"LinkedIn-Version": "202612"}
        ).status_code
        == 426
    )


@pytest.mark.parametrize("platform", REFRESHED)
def test_a_refresh_gives_another_token(at, platform):
    browser = at(platform)
    first = browser.log_in()
    second = browser.refresh(first["refresh_token"]).get_json()
    assert second["access_token"] != first["access_token"]
    assert browser.me(second["access_token"]) == 200


@pytest.mark.parametrize("platform", ["TT", "TW"])
def test_a_rotated_refresh_token_works_once(at, platform):
    browser = at(platform)
    first = browser.log_in()["refresh_token"]
    second = browser.refresh(first).get_json()["refresh_token"]
    assert second != first
    assert "error" in browser.refresh(first).get_json()
    assert "access_token" in browser.refresh(second).get_json()


def test_googles_refresh_token_stays_and_comes_only_when_asked_for(at):
    browser = at("YT")
    first = browser.log_in()["refresh_token"]
    assert "refresh_token" not in browser.refresh(first).get_json()
    assert "access_token" in browser.refresh(first).get_json()
    assert "refresh_token" not in browser.log_in(access_type="online")


def test_googles_later_logins_need_the_consent_for_a_refresh_token(at, client):
    browser = at("YT")
    person = client.post("/_sim/persons", json={"platform": "YT"}).get_json()["person_id"]
    assert "refresh_token" in browser.log_in(sim_person=person, prompt="none")
    assert "refresh_token" not in browser.log_in(sim_person=person, prompt="none")
    assert "refresh_token" in browser.log_in(sim_person=person)


def test_linkedin_gives_no_refresh_token_and_its_token_reaches_company_pages(at, client):
    browser = at("LN")
    person = client.post("/_sim/persons", json={"platform": "LN", "accounts": 2}).get_json()
    given = browser.log_in(sim_person=person["person_id"])
    assert "refresh_token" not in given
    headers = {
        "Authorization": f"Bearer {given['access_token']}", "LinkedIn-Version": "202607",
        "X-Restli-Protocol-Version": "2.0.0",
    }  # fmt: skip
    query = {"q": "roleAssignee", "state": "APPROVED"}
    rows = client.get(
        "/api.linkedin.com/rest/organizationAcls", query_string=query, headers=headers
    ).get_json()["elements"]
    pages = [account["account_id"] for account in person["accounts"][1:]]
    assert [row["organization"] for row in rows] == pages
    for author in (pages[1], person["accounts"][0]["account_id"]):
        body = {
            "author": author, "commentary": "hello", "visibility": "PUBLIC", "lifecycleState": "PUBLISHED",
            "distribution": {
                "feedDistribution": "MAIN_FEED", "targetEntities": [], "thirdPartyDistributionChannels": [],
            },
            "isReshareDisabledByAuthor": False,
        }  # fmt: skip
        assert client.post("/api.linkedin.com/rest/posts", json=body, headers=headers).status_code == 201
    body["author"] = "urn:li:organization:1"
    assert client.post("/api.linkedin.com/rest/posts", json=body, headers=headers).status_code == 403


def test_xs_dead_refresh_token_is_an_invalid_request(at):
    answer = at("TW").refresh("nonsense")
    assert answer.status_code == 400
    assert answer.get_json() == {
        "error": "invalid_request", "error_description": "Value passed for the token was invalid.",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("platform", "path"),
    [
        ("TT", "/open.tiktokapis.com/v2/oauth/revoke/"),
        ("TW", "/api.x.com/2/oauth2/revoke"),
        ("YT", "/oauth2.googleapis.com/revoke"),
        ("LN", "/www.linkedin.com/oauth/v2/revoke"),
    ],
)
def test_what_is_given_back_is_over(at, client, platform, path):
    browser = at(platform)
    given = browser.log_in()
    browser.token_url = path
    assert browser.ask(token=given["access_token"]).status_code == 200
    assert browser.me(given["access_token"]) == 401
    assert len(client.get("/_sim/oauth").get_json()["revoked"]) == 1


def test_google_revokes_the_token_in_the_query(at, client):
    browser = at("YT")
    given = browser.log_in()
    url = "/oauth2.googleapis.com/revoke"
    assert client.post(url, query_string={"token": given["access_token"]}).status_code == 200
    assert browser.me(given["access_token"]) == 401
    assert client.post(url, query_string={"token": "nonsense"}).get_json()["error"] == "invalid_token"


@pytest.mark.parametrize("platform", REFRESHED)
def test_who_removes_the_app_ends_everything(at, client, platform):
    browser = at(platform)
    person = client.post("/_sim/persons", json={"platform": platform}).get_json()["person_id"]
    given = browser.log_in(sim_person=person)
    client.post(f"/_sim/persons/{person}/leave")
    assert browser.me(given["access_token"]) == 401
    assert "error" in browser.refresh(given["refresh_token"]).get_json()
    assert browser.me(browser.log_in(sim_person=person)["access_token"]) == 200


@pytest.mark.parametrize("platform", REFRESHED)
@pytest.mark.parametrize(
    ("mode", "status"), [("server_error", 503), ("rate_limit", 429), ("expired", 400), ("reject", 401)]
)
def test_planned_faults_meet_the_refresh(at, plan_fault, platform, mode, status):
    browser = at(platform)
    given = browser.log_in()
    plan_fault(platform, "token", mode)
    answer = browser.refresh(given["refresh_token"])
    assert answer.status_code == (200 if platform == "TT" and status < 429 else status)
    assert "error" in answer.get_json()
    assert "access_token" in browser.refresh(given["refresh_token"]).get_json()


@pytest.mark.parametrize(
    ("scope", "reads", "posts", "uploads"),
    [
        ("tweet.read users.read", 200, 403, 403),
        ("tweet.read users.read tweet.write", 200, 201, 403),
        ("tweet.write", 403, 403, 403),
        ("media.write", 403, 403, 200),
    ],
)
def test_x_checks_the_scopes_of_each_call(at, client, scope, reads, posts, uploads):
    browser = at("TW")
    browser.scope = scope
    headers = {"Authorization": f"Bearer {browser.log_in()['access_token']}"}
    begun = {"media_type": "video/mp4", "total_bytes": 5, "media_category": "tweet_video"}
    assert client.get("/api.x.com/2/users/me", headers=headers).status_code == reads
    assert (
        client.post("/api.x.com/2/tweets", json={"text": f"allowed {scope}"}, headers=headers).status_code
        == posts
    )
    answer = client.post("/api.x.com/2/media/upload/initialize", json=begun, headers=headers)
    assert answer.status_code == uploads
