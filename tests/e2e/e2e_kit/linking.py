"""Links a page as a person does: through the app's request, the platform's login, and our own pages before and after
it.
"""

from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Any

import requests

from contracts.platforms import PLATFORMS
from e2e_kit.api import Api, Json
from e2e_kit.operator import Account
from e2e_kit.simulator import Simulator

NAMES = {code: platform.name for code, platform in PLATFORMS.items()}


class Page(HTMLParser):
    """A web page that the browser got: its text, its tags, and the outcome in its attribute `data-outcome`."""

    def __init__(self, answer: requests.Response) -> None:
        super().__init__()
        self.status, self.headers, self.tags, self.text, self.outcome = (
            answer.status_code, answer.headers, [], "", "",
        )  # fmt: skip
        self.url, self.links, self.fields = answer.url, [], {}
        self.feed(answer.text)

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.tags.append((tag, dict(attrs)))
        self.outcome = dict(attrs).get("data-outcome") or self.outcome
        if tag == "a":
            self.links.append(dict(attrs)["href"])
        if tag == "input":
            self.fields[dict(attrs)["name"]] = dict(attrs)["value"]

    def handle_data(self, data: str) -> None:
        self.text += data


@dataclass
class Linking:
    """A link session of one person, who uses a browser."""

    api: Api
    simulator: Simulator
    brand_id: str
    platform: str
    person: Json
    begun: Json
    browser: requests.Session = field(default_factory=requests.Session)

    @property
    def path(self) -> str:
        return f"/pages/connect/{self.begun['session_id']}"

    def login_url(self) -> str:
        """Opens our first page, and returns the URL of the platform's login from the page's button."""
        page = Page(self.browser.get(self.begun["authorize_url"], timeout=30))
        assert page.outcome == "start", page.text
        [url] = page.links
        return str(url)

    def way_back(self) -> str:
        """Logs in at the platform. Returns the URL to which the platform redirects the browser, without opening it."""
        query = {"sim_person": self.person["person_id"]}
        sent = self.browser.get(self.login_url(), params=query, allow_redirects=False, timeout=30)
        return str(sent.headers["Location"])

    def come_back(self, **more: str) -> Page:
        """Logs in at the platform, which asks for no consent, and returns our page after the login. `more` is added to
        the login's query (`sim_deny`).
        """
        query = {"sim_person": self.person["person_id"], **more}
        return Page(self.browser.get(self.login_url(), params=query, timeout=60))

    def press(self, page: Page, decision: str) -> Page:
        """Presses the button `give` or `cancel` on our consent page. Returns the next page."""
        assert page.outcome == "confirm", page.text
        return Page(self.browser.post(page.url, data=page.fields | {"decision": decision}, timeout=30))

    def open(self, **more: str) -> Page:
        """Logs in at the platform, and presses `give` if our consent page comes. Returns the next page."""
        page = self.come_back(**more)
        return self.press(page, "give") if page.outcome == "confirm" else page

    def load(self, url: str) -> Page:
        return Page(self.browser.get(url, timeout=30))

    def session(self) -> Json:
        return self.api.get(self.path)

    def choose(self, *account_ids: str) -> list[Json]:
        pages: list[Json] = self.api.post(self.path, {"account_ids": account_ids})["pages"]
        return pages


def begin(
    account: Account, simulator: Simulator, platform: str, person: Json | None = None, **more: Any
) -> Linking:
    person = person or simulator.person(platform, **more)
    body = {"platform": NAMES[platform], "brand_id": account.brand_id}
    if platform == "LN":  # with the app that lists company pages too
        body["account_type"] = "organization"
    begun = account.api.post("/pages/connect", body)
    return Linking(account.api, simulator, account.brand_id, platform, person, begun)


def linked(account: Account, simulator: Simulator, platform: str, **more: Any) -> tuple[Json, Linking]:
    """Links one page: the last one that a new person has at the platform. Returns the page and the link session."""
    linking = begin(account, simulator, platform, **more)
    assert linking.open().outcome == "choose"
    accounts = linking.session()["accounts"]
    return linking.choose(accounts[-1]["account_id"])[0], linking
