"""How rarely seen screens look: connecting a page, failed and held posts, refusals, secrets, pages that scripts
usually replace, and limits that are nearly reached. By day and by night axe-core finds nothing, and no page is wider
than its window.
"""

from typing import Any

import requests
from e2e_kit.attacks.hostile_api import hostile_dashboard
from e2e_kit.chromium import Chromium
from e2e_kit.operator import Accounts, Operator
from e2e_kit.posting import Conversation, await_post, schedule, tomorrow
from e2e_kit.receiver import Answer, Receiver
from e2e_kit.simulator import Simulator
from e2e_kit.stack import Stack
from e2e_kit.waiting import until

#: Screens over a fake API, with the number that chooses the states of what they show.
FULL = (
    (0, "/posts?after=x"), (0, "/posts/x"), (3, "/posts/x"), (3, "/posts?tab=attention&after=x"),
    (0, "/comments/of/x?after=x"), (0, "/library?after=x"), (1, "/library/x"), (0, "/pages?after=x"),
    (1, "/brands?after=x"), (0, "/brands/x?after=x"), (1, "/developers?after=x&hooks_after=x"),
    (0, "/developers/webhooks/x?after=x"), (1, "/developers/webhooks/x/deliveries/x"),
    (1, "/developers/requests?after=x"), (0, "/developers/requests/x"), (1, "/activity/audit?after=x"),
    (0, "/account?after=x"), (1, "/compose?copy=x"),
)  # fmt: skip


def fail(person: Any, simulator: Simulator, operator: Operator, text: str) -> str:
    """Schedules a post on X that X refuses, and returns its id."""
    post_id: str = schedule(person.account, "TW", message=text)["id"]
    simulator.fault("reject", person.account.pages["TW"], operation="publish")
    operator("post", "due", post_id)
    await_post(person.account.api, post_id, status="failed")
    return post_id


def hold(person: Any, accounts: Accounts, text: str) -> str:
    """Schedules a post with a token that is revoked then, and returns its id."""
    made = accounts.token(person.account.user_id)
    body = {"page_id": person.account.page_id("FB"), "message": text, "scheduled_at": tomorrow()}
    post = accounts.client(made["api_token"]).post("/posts/schedule", body)["scheduled_post"]
    accounts.operator("token", "revoke", made["token"]["id"])
    await_post(person.account.api, post["id"], status="held")
    return str(post["id"])


def disable(person: Any, receiver: Receiver, name: str) -> str:
    """Creates a webhook whose server answers 410, which disables the webhook. Returns its id."""
    api = person.account.api
    receiver.answers("/gone", Answer(410))
    hook_id: str = api.post(
        "/webhooks", {"name": name, "url": receiver.url("/gone"), "events": ["post.published"]}
    )["id"]
    api.post(f"/webhooks/{hook_id}/test", status=202)
    until(lambda: api.get(f"/webhooks/{hook_id}")["status"] == "disabled", 30, "it is disabled")
    return hook_id


def test_what_needs_attention_looks_right_in_the_overview_and_on_its_own_screen(
    stranger: Any, looks: Any, accounts: Accounts, simulator: Simulator, operator: Operator, receiver: Receiver
) -> None:  # fmt: skip
    person = stranger
    failed = fail(person, simulator, operator, "Nobody wants this")
    held = hold(person, accounts, "Waits for a word")
    hook_id = disable(person, receiver, "The till")
    operator("page", "expire", person.account.page_id("IG"))
    person.open("/")
    person.sign_in()
    looks.at(
        "overview", "Nobody wants this", "Waits for a word", "The connection has ended", "This webhook is disabled"
    )  # fmt: skip
    person.open(f"/posts/{failed}")
    looks.at("failed post", "X refused the post.", "What to do:")
    person.open(f"/posts/{held}")
    looks.at("held post", "Why it is held")
    person.open(f"/developers/webhooks/{hook_id}")
    looks.at("disabled webhook", "your server answered 410 Gone")
    person.open("/pages")
    looks.at("pages", "Not connected", "X refused a post:", "Post refused")
    person.open("/posts?tab=attention")
    looks.at("posts that need attention", "Nobody wants this", "Waits for a word")
    assert looks.found == {}


def connect(person: Any, platform: str) -> None:
    person.open("/pages")
    person.window.click("#connect summary")
    person.window.press(f"#connect button[value={platform}]")


def log_in(person: Any, who: dict[str, Any], button: str) -> None:
    """Goes from our page to the platform's login, and presses this button of its form."""
    window = person.window
    window.press("main a.primary")
    window.run(f"document.cookie = 'sim_person={who['person_id']}; path=/'")
    window.press("a")
    window.press(button)


def test_each_step_of_connecting_a_page_looks_right(person: Any, looks: Any, simulator: Simulator) -> None:
    window = person.window
    connect(person, "LN")
    looks.at("before the login", "Continue to LinkedIn")
    window.press("main a[href*='/pages/linked']")
    looks.at("during the login", "LinkedIn has not confirmed your login yet")
    connect(person, "LN")
    log_in(person, simulator.person("LN"), "button[name=sim_allow]")
    window.press("button[value=give]")
    until(lambda: "/pages/linked?" in window.url, 20, "the login leads back")
    looks.at("choice of accounts", "Connect this LinkedIn account to")
    window.run("for (const it of document.querySelectorAll('[name=account_id]')) it.checked = false")
    window.press("main form button")
    looks.at("nothing chosen", "Choose at least one.")
    connect(person, "TW")
    log_in(person, simulator.person("TW"), "button[name=sim_deny]")
    until(lambda: "/pages/linked?" in window.url, 20, "the login leads back")
    looks.at("refused login", "X was not connected")
    assert looks.found == {}


def test_a_new_token_and_a_post_that_some_pages_refuse_look_right(person: Any, looks: Any) -> None:
    window = person.window
    person.open("/developers")
    window.click("[aria-labelledby=tokens] .make summary")
    window.type("#token-name", "For the till")
    window.click("input[name=scope][value='read:posts']")
    window.press("form[action$='/tokens'] button")
    looks.at("secret of a token", "This is the only time the token “For the till” is shown. Copy it now.")
    person.open("/compose")
    for platform in ("FB", "IG"):
        window.click(f"input[name=page_id][value={person.account.page_id(platform)}]")
    window.type("#message", "Without a photo")
    until(lambda: window.has("#ready button"), 20, "one page is ready")
    window.press("#ready button")
    looks.at("sent with a refusal", "Published on Facebook. Not published on Instagram.")
    assert looks.found == {}


def test_comments_and_replies_look_right_as_pages_of_their_own(
    person: Any, looks: Any, simulator: Simulator
) -> None:
    window, talk = person.window, Conversation(person.account, simulator)
    path = f"/comments/of/{talk.post['post_id']}"

    def reply(text: str, title: str) -> None:
        """Sends the form as a browser without scripts does, and checks the page that is the answer."""
        person.open(path)
        window.run(
            f"const form = document.querySelector('.conversations form'); form.message.value = '{text}'; form.submit()"
        )
        until(lambda: window.title == f"{title} · Posthaste", 30, title)

    person.open(path)
    looks.at("comments on a post", "Spelt, too?")
    reply("", "Not answered")
    looks.at("refused reply", "Not answered yet")
    reply("On Mondays.", "Answered")
    looks.at("reply", "On Mondays.")
    assert looks.found == {}


def test_limits_that_are_nearly_reached_and_a_full_calendar_look_right(
    window: Chromium, looks: Any, stack: Stack
) -> None:
    """The dashboard runs over a fake API. In its answers each limit is nearly used up and each list has a further
    page.
    """
    description = requests.get(f"{stack.base_url}/openapi.json", timeout=30).json()
    with hostile_dashboard(description) as (url, api):
        api.text = "Corner Bakery"
        window.open(f"{url}/sign-in")
        window.run("document.cookie = 'posthaste_session=x; path=/'")
        for path, shown in (
            ("/", ("posts of this month are used", "requests of today are used", "AI credits are left")),
            ("/overview/account", ("Limits and webhooks", "requests of today are used")),
            ("/calendar", ("There are more posts than fit here.",)),
            ("/calendar?view=list", ("There are more posts than fit here.",)),
        ):
            window.open(f"{url}{path}")
            looks.at(path, *shown)
    assert looks.found == {}


def test_lists_in_their_middle_and_records_with_every_field_look_right(
    window: Chromium, looks: Any, stack: Stack
) -> None:
    """The fake API fills every field of its answers, among them those that exclude each other in the real API."""
    description = requests.get(f"{stack.base_url}/openapi.json", timeout=30).json()
    with hostile_dashboard(description) as (url, api):
        api.text = "Corner Bakery"
        window.open(f"{url}/sign-in")
        window.run("document.cookie = 'posthaste_session=x; path=/'")
        for api.turn, path in FULL:
            window.open(f"{url}{path}")
            looks.at(f"{path} {api.turn}", "Corner Bakery")
    assert looks.found == {}
