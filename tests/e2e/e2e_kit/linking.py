"""One person's way to the platform's login and back, as an app begins it; and what the browser is shown in the end."""

from dataclasses import dataclass
from html.parser import HTMLParser
from typing import Any

import requests

from contracts.platforms import PLATFORMS
from e2e_kit.api import Api, Json
from e2e_kit.operator import Account
from e2e_kit.simulator import Simulator

NAMES = {code: platform.name for code, platform in PLATFORMS.items()}


class Page(HTMLParser):
    """What a browser shows, and whether it would load or run anything."""

    def __init__(self, answer: requests.Response) -> None:
        super().__init__()
        self.status, self.headers, self.tags, self.text, self.outcome = (
            answer.status_code, answer.headers, [], "", "",
        )  # fmt: skip
        self.feed(answer.text)

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.tags.append((tag, dict(attrs)))
        self.outcome = dict(attrs).get("data-outcome") or self.outcome

    def handle_data(self, data: str) -> None:
        self.text += data


@dataclass
class Linking:
    """One linking by one person."""

    api: Api
    simulator: Simulator
    brand_id: str
    platform: str
    person: Json
    begun: Json

    @property
    def path(self) -> str:
        return f"/pages/connect/{self.begun['session_id']}"

    def open(self, **more: str) -> Page:
        """What the browser shows in the end, wherever it is sent; nobody is asked on the way."""
        url = self.begun["authorize_url"]
        with requests.Session() as browser:
            browser.cookies.set("sim_person", self.person["person_id"])
            return Page(browser.get(url, params=more, timeout=60))

    def way_back(self) -> str:
        """The address the platform sends the browser to, which has not gone there yet."""
        url, query = self.begun["authorize_url"], {"sim_person": self.person["person_id"]}
        sent: str = requests.get(url, query, allow_redirects=False, timeout=30).headers["Location"]
        return sent

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
    begun = account.api.post("/pages/connect", body)
    return Linking(account.api, simulator, account.brand_id, platform, person, begun)


def linked(account: Account, simulator: Simulator, platform: str, **more: Any) -> tuple[Json, Linking]:
    """The last page a person links."""
    linking = begin(account, simulator, platform, **more)
    assert linking.open().outcome == "choose"
    accounts = linking.session()["accounts"]
    return linking.choose(accounts[-1]["account_id"])[0], linking
