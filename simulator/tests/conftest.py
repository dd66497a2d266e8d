"""A simulator without a network and with a manual clock, and a client of the Graph API."""

from collections.abc import Callable, Iterator
from concurrent.futures import Future
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from io import BytesIO
from typing import Any, TypeVar
from urllib.parse import urlsplit

import pytest
import requests
from flask import Flask
from flask.testing import FlaskClient
from urllib3 import HTTPResponse
from werkzeug.test import TestResponse

from simulator.app import create_app
from simulator.clock import Clock
from simulator.config import Settings
from simulator.fetching import Fetcher
from simulator.simulation import Simulation

T = TypeVar("T")
MEDIA = "http://media.posthaste.test/media/"


class HandClock(Clock):
    """A clock that moves only when a test moves it."""

    def __init__(self) -> None:
        super().__init__()
        self._start = datetime(2026, 11, 20, 12, tzinfo=UTC)
        self.passed_seconds = 0.0

    def pass_time(self, seconds: float) -> None:
        self.passed_seconds += seconds

    def now(self) -> datetime:
        return self._start + timedelta(seconds=self.passed_seconds + self.shift_seconds)

    def ticks(self) -> float:
        return self.passed_seconds


class HereFetcher(Fetcher):
    """Fetches every URL at once from the sample media of the simulator under test."""

    app: Flask

    def later(self, work: Callable[[], T]) -> "Future[T]":
        done: Future[T] = Future()
        try:
            done.set_result(work())
        except Exception as problem:  # noqa: BLE001 - a future keeps what its work raises
            done.set_exception(problem)
        return done

    def _open(self, url: str) -> requests.Response:
        if urlsplit(url).hostname != "media.posthaste.test":
            raise requests.ConnectionError("no such host")
        answer = self.app.test_client().get(url)
        response = requests.Response()
        response.status_code = answer.status_code
        response.headers.update(dict(answer.headers))
        response.raw = HTTPResponse(BytesIO(answer.data), preload_content=False)
        return response


@dataclass
class Graph:
    """A client of the simulated Graph API with the token of one account."""

    client: FlaskClient
    account_id: str
    token: str

    def post(self, path: str, query: dict[str, Any] | None = None, **form: Any) -> TestResponse:
        return self.client.post(
            f"/graph.facebook.com/v26.0/{path}", query_string=query, data={"access_token": self.token, **form}
        )

    def get(self, path: str, **query: Any) -> TestResponse:
        return self.client.get(
            f"/graph.facebook.com/v26.0/{path}", query_string={"access_token": self.token, **query}
        )

    def delete(self, path: str) -> TestResponse:
        return self.client.delete(
            f"/graph.facebook.com/v26.0/{path}", query_string={"access_token": self.token}
        )

    def publish(self, message: str = "hello", **form: Any) -> str:
        """Publishes a Facebook post and returns its id."""
        answer = self.post(f"{self.account_id}/feed", message=message, **form)
        assert answer.status_code == 200, answer.json
        post_id: str = answer.get_json()["id"]
        return post_id

    def contain(self, **form: Any) -> str:
        """Creates an Instagram container and returns its id."""
        answer = self.post(f"{self.account_id}/media", **form)
        assert answer.status_code == 200, answer.json
        container_id: str = answer.get_json()["id"]
        return container_id


@pytest.fixture
def clock() -> HandClock:
    return HandClock()


@pytest.fixture
def settings() -> Settings:
    settings = Settings(slow_seconds=0.0, hang_seconds=0.0)
    return replace(settings, apps={**settings.apps, "FB": (settings.meta_app_id, "shh")})


@pytest.fixture
def sim(clock: HandClock, settings: Settings) -> Iterator[Simulation]:
    sim = Simulation(settings=settings, clock=clock)
    yield sim
    sim.reset()


@pytest.fixture
def client(sim: Simulation) -> Iterator[FlaskClient]:
    fetcher = HereFetcher(sim.settings)
    sim.fetcher = fetcher
    fetcher.app = create_app(sim)
    with fetcher.app.test_client() as client:
        yield client


@pytest.fixture
def new_account(client: FlaskClient) -> Callable[..., Graph]:
    def make(platform: str, **names: str) -> Graph:
        account = client.post("/_sim/accounts", json={"platform": platform, **names}).get_json()
        return Graph(client, account["account_id"], account["access_token"])

    return make


@pytest.fixture
def page(new_account: Callable[..., Graph]) -> Graph:
    """A client with the token of a Facebook page."""
    return new_account("FB", name="Corner Bakery", username="cornerbakery")


@pytest.fixture
def insta(new_account: Callable[..., Graph]) -> Graph:
    """A client with the token of an Instagram account."""
    return new_account("IG", name="Corner Bakery", username="cornerbakery")


@pytest.fixture
def plan_fault(client: FlaskClient) -> Callable[..., None]:
    def plan(platform: str, operation: str, mode: str, **more: Any) -> None:
        body = {"platform": platform, "operation": operation, "mode": mode, **more}
        assert client.post("/_sim/faults", json=body).status_code == 201

    return plan


@pytest.fixture
def media_url() -> str:
    return MEDIA
