"""Tests that every button, and every choice that asks the server, shows something within 100 ms, however long the
server takes.
"""

from typing import Any

import requests
from e2e_kit.attacks.hostile_api import hostile_dashboard
from e2e_kit.chromium import Chromium
from e2e_kit.stack import Stack
from e2e_kit.waiting import until

#: Screens over a fake API, with the numbers that choose the states of what they show.
SCREENS = (
    (0, "/"), (1, "/"), (0, "/posts"), (0, "/posts?tab=published"), (3, "/posts?tab=attention"), (0, "/posts/x"),
    (1, "/posts/x"), (2, "/posts/x"), (3, "/posts/x"), (0, "/calendar"), (0, "/calendar?view=list"),
    (0, "/calendar/move/x"), (0, "/comments"), (0, "/comments/of/x"), (0, "/library"), (0, "/library/x"),
    (0, "/compose"), (0, "/compose/ai"), (0, "/pages"), (1, "/pages"), (0, "/brands"),
    (0, "/brands/x"), (1, "/brands/x"),
    (0, "/developers"), (1, "/developers"), (0, "/developers/webhooks/x"), (1, "/developers/webhooks/x"),
    (0, "/developers/webhooks/x/deliveries/x"), (0, "/developers/requests"), (0, "/developers/requests/x"),
    (0, "/usage"), (1, "/usage"), (0, "/usage/credits"), (0, "/activity/audit"), (0, "/account"), (0, "/account/email"),
    (0, "/account/codes"),
)  # fmt: skip
#: Forms of a person who is not signed in.
FORMS = ("/sign-in", "/sign-in/forgot", "/sign-up", "/reset/a/b", "/verify/a/b", "/email/a/b")
#: Presses one control after the other while no call and no form leaves the page, and calls its last argument with those
#: after which the page looked for 100 ms as before, and with the number of controls.
PRESS_ALL = """
const done = arguments[arguments.length - 1], main = document.querySelector("main");
(async () => {
window.fetch = () => new Promise(() => {});
XMLHttpRequest.prototype.send = () => {};
addEventListener("submit", (event) => event.preventDefault());
HTMLInputElement.prototype.showPicker = () => {};
for (const it of main.querySelectorAll("details")) it.open = true;
for (const it of main.querySelectorAll("form")) it.noValidate = true;
const look = () => main.innerText + [...main.querySelectorAll("*")].map((it) => {
  const { opacity, visibility, display } = getComputedStyle(it);
  return [opacity, visibility, display, it.value].join();
}).join(";");
const pressed = [...main.querySelectorAll("form button:not([type=button]), a[hx-get]")];
const chosen = [...main.querySelectorAll("form[hx-trigger*=change]")].map((it) => it.querySelector("select"));
const all = [...pressed, ...chosen].filter((it) => it && !it.disabled && it.checkVisibility());
const silent = [];
for (const it of all) {
  const before = look();
  if (it.matches("select")) it.dispatchEvent(new Event("change", { bubbles: true }));
  else it.click();
  await new Promise((go) => setTimeout(go, 100));
  if (it.isConnected && look() === before) silent.push(it.outerHTML.slice(0, 160));
  dispatchEvent(new PageTransitionEvent("pageshow"));
}
done([silent, all.length]);
})();
"""


def press_all(window: Chromium, path: str) -> tuple[dict[str, list[str]], int]:
    """Returns the controls of the present screen that show nothing, by the screen's path, and how many there are."""
    loading = "return document.querySelectorAll('[hx-trigger=load], .htmx-request').length"
    until(lambda: window.run(loading) == 0, 20, "the page is complete")
    silent, count = window.run_async(PRESS_ALL)
    return ({path: silent} if silent else {}), count


def test_every_control_answers_within_a_tenth_of_a_second(window: Chromium, stack: Stack) -> None:
    description: dict[str, Any] = requests.get(f"{stack.base_url}/openapi.json", timeout=30).json()
    found: dict[str, list[str]] = {}
    total = 0
    with hostile_dashboard(description) as (url, api):
        api.text = "Corner Bakery"
        for path in FORMS:
            window.open(f"{url}{path}")
            silent, count = press_all(window, path)
            found, total = found | silent, total + count
        window.run("document.cookie = 'posthaste_session=x; path=/'")
        for api.turn, path in SCREENS:
            window.open(f"{url}{path}")
            silent, count = press_all(window, f"{path} {api.turn}")
            found, total = found | silent, total + count
    assert found == {}
    assert total >= 80
