"""The addresses of static files contain a version of the content, so that browsers may keep the files for a year."""

import re

import pytest
from flask.testing import FlaskClient

from dashboard.app import create_app
from dashboard.config import Config


@pytest.fixture
def browser() -> FlaskClient:
    return create_app(Config(api_url="http://127.0.0.1:9", public_url="http://localhost")).test_client()


def test_every_file_of_a_page_is_kept_for_a_year_under_its_version(browser: FlaskClient) -> None:
    addresses = re.findall(r'(?:href|src)="(/static/[^"]+)"', browser.get("/sign-in").text)
    assert len(addresses) > 2
    for address in addresses:
        assert re.search(r"\?v=[0-9a-f]{16}$", address), address
        with browser.get(address) as answer:
            assert answer.status_code == 200
            assert answer.headers["Cache-Control"] == "public, max-age=31536000, immutable"


@pytest.mark.parametrize("version", ["", "?v=", "?v=0000000000000000"])
def test_an_address_with_another_version_is_asked_for_each_time(browser: FlaskClient, version: str) -> None:
    with browser.get(f"/static/dashboard.css{version}") as answer:
        assert (answer.status_code, answer.headers["Cache-Control"]) == (200, "no-cache")
    assert "immutable" not in browser.get("/static/none.css?v=").headers.get("Cache-Control", "")
