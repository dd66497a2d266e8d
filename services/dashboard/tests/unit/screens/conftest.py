"""Screens with a stand-in for the Python client instead of an API."""

import math
from collections.abc import Callable

import pytest
from e2e_kit.attacks.hostile_api import HostileApi
from flask import Flask
from flask.testing import FlaskClient

from dashboard import api, kept, platforms, words
from dashboard.app import create_app
from dashboard.config import Config
from dashboard.cookies import linking_proof
from dashboard.platforms import Platform

_RULES = Platform(
    code="FB", message_limit=1, photo_message_limit=None, length_unit="characters", text_only=True, photos=1,
    videos=1, mixed_media=False, first_comment=True, comments=True, comment_limit=1, settings_field="x", settings=(),
)  # fmt: skip
_KEY = "k" * 43


@pytest.fixture
def serve(monkeypatch: pytest.MonkeyPatch) -> Callable[[HostileApi], None]:
    """Makes the screens call this stand-in, and nothing that was kept of another API."""

    def serve(stand_in: HostileApi) -> None:
        for name in ("reader", "patient", "own"):
            monkeypatch.setattr(api, name, lambda *_, **__: stand_in)
        monkeypatch.setattr(kept, "_values", {})
        monkeypatch.setattr(platforms, "_kept", (math.inf, dict.fromkeys(words.PLATFORMS, _RULES)))

    return serve


@pytest.fixture(scope="session")
def app() -> Flask:
    return create_app(Config(api_url="http://127.0.0.1:9", public_url="http://localhost"))


@pytest.fixture
def browser(app: Flask) -> FlaskClient:
    """Is signed in, and has begun the linking "x"."""
    browser = app.test_client()
    browser.set_cookie("posthaste_session", "svc_session_x")
    browser.set_cookie("posthaste_form", _KEY)
    browser.set_cookie("posthaste_linking", linking_proof(_KEY, "x"))
    return browser
