"""/docs: a page for every operation and event, without scripts. Needs neither a token nor a call to a service."""

import re

import pytest
from flask.testing import FlaskClient

from gateway.openapi.description import describe
from gateway.routes import ENDPOINTS


def pages(client: FlaskClient) -> dict[str, str]:
    """Returns the text of each page that the first page links to, guides included."""
    first = client.get("/docs").text
    paths = set(re.findall(r'href="(/docs/[\w/-]+)"', first))
    return {"/docs": first} | {path: client.get(path).text for path in paths}


def test_every_operation_and_event_stands_on_a_page(client: FlaskClient) -> None:
    description = describe(ENDPOINTS)
    expected = {
        operation["operationId"]
        for section in ("paths", "webhooks")
        for methods in description[section].values()
        for operation in methods.values()
    }
    of_operations = [text for path, text in pages(client).items() if not path.startswith("/docs/guides/")]
    shown = [name for text in of_operations for name in re.findall(r'<h2 id="(\w+)">', text)]
    assert len(expected) > 80
    assert sorted(shown) == sorted(expected)


def test_every_link_leads_to_a_page_and_a_place_on_it(client: FlaskClient) -> None:
    made = pages(client)
    links = {link for text in made.values() for link in re.findall(r'href="(/docs[^"]*)"', text)}
    links -= {"/docs/style.css", "/docs/postman.json"}
    assert len(links) > 80
    for link in links:
        path, _, place = link.partition("#")
        assert path in made
        assert not place or f'id="{place}"' in made[path], link


def test_pages_run_nothing_and_load_only_their_style_sheet(client: FlaskClient) -> None:
    for path in ("/docs", "/docs/posts", "/docs/guides/quickstart"):
        answer = client.get(path)
        assert answer.content_type == "text/html; charset=utf-8"
        policy = answer.headers["Content-Security-Policy"]
        assert policy.startswith("default-src 'none'; style-src 'self';")
        assert not re.search(r"<script|<style|\sstyle=|\son\w+=|<img", answer.text)
    assert client.get("/docs/style.css").content_type == "text/css; charset=utf-8"


def test_texts_of_the_description_are_escaped(client: FlaskClient) -> None:
    assert "&#34;page_id&#34;" in client.get("/docs/posts").text


def test_a_known_page_is_not_sent_again(client: FlaskClient) -> None:
    first = client.get("/docs/posts")
    again = client.get("/docs/posts", headers={"If-None-Match": first.headers["ETag"]})
    assert (again.status_code, again.data) == (304, b"")
    assert client.get("/docs/posts", headers={"If-None-Match": '"other"'}).data == first.data


def test_an_unknown_page_is_the_documented_404(client: FlaskClient) -> None:
    answer = client.get("/docs/nothing")
    assert (answer.status_code, answer.json["code"]) == (404, "NOT_FOUND")


def test_llms_txt_lists_every_operation(client: FlaskClient) -> None:
    answer = client.get("/llms.txt")
    assert answer.content_type == "text/plain; charset=utf-8"
    assert "- POST /posts/schedule: Schedule a post\n" in answer.text
    assert len(re.findall(r"^- [A-Z]+ /", answer.text, re.MULTILINE)) == len(ENDPOINTS)


def test_the_fields_of_a_records_value_are_shown_with_the_body_that_takes_it(client: FlaskClient) -> None:
    schedule = client.get("/docs/posts").text.split('id="schedulePost"')[1].split("<section>")[0]
    assert "<code>FacebookPostSettings</code></summary>" in schedule
    assert "<code>alt_text</code>" in schedule


@pytest.mark.parametrize("tag", ["billing", "linking"])
def test_the_pages_that_links_in_errors_lead_to_without_a_dashboard_are_there(
    client: FlaskClient, tag: str
) -> None:
    assert client.get(f"/docs/{tag}").status_code == 200
