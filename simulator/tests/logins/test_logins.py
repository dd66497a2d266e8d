"""Tests logins as platforms.md describes them: pages, codes, PKCE, and their errors."""

import base64
from html.parser import HTMLParser

import pytest
from simulator_kit.logins import DIGEST, S256, VERIFIER


def test_a_login_gives_a_token_that_works_until_its_end(browser, clock):
    given = browser.log_in()
    assert browser.me(given["access_token"]) == 200
    clock.pass_time(given["expires_in"])
    assert browser.me(given["access_token"]) == 401


def test_the_state_comes_back_as_it_was(browser):
    assert browser.visit(state="a b&c=d/é")["state"] == "a b&c=d/é"


def test_a_denial_comes_back_in_the_platforms_words(browser):
    words = browser.visit(sim_deny="1")
    denied = "user_cancelled_authorize" if browser.platform == "LN" else "access_denied"
    assert (words["error"], words["state"]) == (denied, "st")
    assert "code" not in words


class Consent(HTMLParser):
    """The form of the consent page, with its buttons."""

    def __init__(self, page):
        super().__init__()
        self.fields, self.buttons = {}, []
        self.feed(page.get_data(as_text=True))

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        if tag == "input":
            self.fields[given["name"]] = given["value"]
        if tag == "button":
            self.buttons.append(given["name"])


def test_a_browser_is_asked_and_its_answer_keeps_all_that_came_along(browser):
    browser.client.environ_base["HTTP_ACCEPT"] = "text/html,*/*;q=0.8"
    assert browser.visit(state='"><script>') == {}
    shown = Consent(browser.went)
    assert shown.buttons == ["sim_allow", "sim_deny"]
    assert shown.fields["state"] == '"><script>'
    assert set(browser.visit(**shown.fields, sim_allow="1")) >= {"code", "state"}
    assert "error" in browser.visit(**shown.fields, sim_deny="1")


@pytest.mark.parametrize("wrong", [{"redirect_uri": "https://evil.test/"}, {"redirect_uri": ""}])
def test_nobody_is_sent_to_an_address_that_is_not_registered(browser, wrong):
    assert browser.visit(**wrong) == {}
    assert browser.went.status_code == 400


def test_an_unknown_app_is_told_on_the_spot(browser):
    browser.visit(**{browser.id_field: "nobody"})
    assert browser.went.status_code == 400


def test_scopes_the_app_may_not_ask_for_are_refused(browser):
    words = {"LN": "unauthorized_scope_error"}
    assert browser.visit(scope="everything")["error"] == words.get(browser.platform, "invalid_scope")


def test_linkedin_refuses_a_whole_login_for_a_scope_of_a_product_beside_community_management(at):
    back = at("LN").visit(scope="openid profile w_organization_social")
    assert back["error"] == "unauthorized_scope_error"
    assert back["error_description"] == 'Scope "openid" is not authorized for your application'


def test_linkedins_app_for_members_gets_no_scope_of_community_management(at, settings):
    browser = at("LN")
    browser.app = settings.apps["LN"]
    assert browser.visit(scope="openid profile w_member_social")["code"]
    assert (
        browser.visit(scope="openid w_member_social r_organization_social")["error"]
        == "unauthorized_scope_error"
    )


def test_a_code_works_once_where_it_was_given_and_in_time(browser, clock):
    def error(code, **more):
        return browser.exchange(code, **more).get_json()["error"]

    bad = "invalid_request" if browser.platform == "TW" else "invalid_grant"
    code = browser.visit()["code"]
    browser.exchange(code)
    assert error(code) == bad
    assert error(browser.visit()["code"], redirect_uri=browser.target + "x") == bad
    late = browser.visit()["code"]
    clock.pass_time(30 if browser.platform == "TW" else 600)
    assert error(late) == bad
    if browser.challenge:
        assert error(browser.visit()["code"], code_verifier="w" * 50) == bad


@pytest.mark.parametrize(("platform", "wrong"), [("TT", S256), ("TW", DIGEST.hexdigest()), ("TW", "")])
def test_the_challenge_has_each_platforms_own_spelling(at, platform, wrong):
    assert at(platform).visit(code_challenge=wrong)["error"] == "invalid_request"


def test_tiktok_lets_a_web_app_log_in_without_a_challenge(at):
    browser = at("TT")
    browser.challenge = None
    given = browser.exchange(browser.visit()["code"], code_verifier="").get_json()
    assert browser.me(given["access_token"]) == 200


def test_linkedin_takes_commas_between_scopes_as_well_and_answers_with_them(at):
    browser = at("LN")
    browser.scope = browser.scope.replace(" ", ",")
    given = browser.log_in()
    assert given["scope"] == browser.scope
    browser.token_url = "/www.linkedin.com/oauth/v2/introspectToken"
    told = browser.ask(token=given["access_token"]).get_json()
    assert (told["active"], told["status"], told["scope"]) == (True, "active", browser.scope)


def test_tiktok_tells_errors_with_http_200(at):
    answer = at("TT").exchange("nonsense")
    assert answer.status_code == 200
    assert set(answer.get_json()) == {"error", "error_description", "log_id"}


def test_a_wrong_secret_opens_nothing(browser):
    browser.app = (browser.app[0], "wrong")
    answer = browser.exchange("x")
    assert "error" in answer.get_json()
    assert "access_token" not in answer.get_json()


def test_google_knows_the_app_by_basic_authentication_too(at, client):
    browser = at("YT")
    form = {"grant_type": "authorization_code", "redirect_uri": browser.target, "code_verifier": VERIFIER}
    for secret, status in ((browser.app[1], 200), ("wrong", 401)):
        signed = base64.b64encode(f"{browser.app[0]}:{secret}".encode()).decode()
        answer = client.post(
            browser.token_url,
            data=form | {"code": browser.visit()["code"]},
            headers={"Authorization": f"Basic {signed}"},
        )
        assert answer.status_code == status


def test_google_s_login_has_the_address_of_its_files_of_credentials(at):
    browser = at("YT")
    browser.dialog = "/accounts.google.com/o/oauth2/auth"
    assert "code" in browser.visit()


def test_x_takes_json_for_a_token_and_the_method_of_pkce_in_small_letters(at, client):
    browser = at("TW")
    code = browser.visit(code_challenge_method="s256")["code"]
    form = {"grant_type": "authorization_code", "code": code, "redirect_uri": browser.target}
    signed = base64.b64encode(":".join(browser.app).encode()).decode()
    headers = {"Authorization": f"Basic {signed}"}
    given = client.post(
        browser.token_url, json=form | {"code_verifier": VERIFIER}, headers=headers
    ).get_json()
    assert browser.me(given["access_token"]) == 200
    client.post("/api.x.com/2/oauth2/revoke", json={"token": given["access_token"]}, headers=headers)
    assert browser.me(given["access_token"]) == 401
