"""Tests Meta's webhooks: subscriptions, and signed batches that are sent over a real socket until they are accepted."""

import hashlib
import hmac
import json
import queue
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from flask.testing import FlaskClient

from simulator.config import Settings
from simulator.meta import hooks

SECRET, VERIFY = "app-secret", "verify-me"


class Receiver:
    """A webhook endpoint. It answers with the statuses in `answers` one after the other, then with 200."""

    def __init__(self):
        self.answers = []
        self.asked = []
        self.came = queue.Queue()
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                query = parse_qs(urlsplit(self.path).query)
                receiver.asked.append(urlsplit(self.path).path)
                good = query["hub.verify_token"] == [VERIFY] and query["hub.mode"] == ["subscribe"]
                self.send_response(200 if good else 403)
                self.end_headers()
                self.wfile.write(query["hub.challenge"][0].encode())

            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                self.send_response(receiver.answers.pop(0) if receiver.answers else 200)
                self.end_headers()
                receiver.came.put((self.path, self.headers["X-Hub-Signature-256"], body))

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/hooks"

    def next(self):
        """Checks the signature of the next batch and returns its path and body."""
        path, signature, body = self.came.get(timeout=30)
        digest = hmac.new(SECRET.encode(), body, hashlib.sha256).hexdigest()
        assert signature == f"sha256={digest}"
        return path, json.loads(body)


@pytest.fixture
def receiver(client: FlaskClient, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    monkeypatch.setattr(hooks, "WAITS_SECONDS", (0.0, 0.01, 0.01, 0.01))
    receiver = Receiver()
    thread = threading.Thread(target=receiver.server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    body = {"url": receiver.url, "secret": SECRET, "verify_token": VERIFY}
    assert client.post("/_sim/meta/webhook", json=body).status_code == 200
    yield receiver
    receiver.server.shutdown()
    thread.join()
    receiver.server.server_close()


@pytest.fixture
def settings() -> Settings:
    from simulator.config import Settings

    return Settings(hook_duplicates=0, slow_seconds=0.0, hang_seconds=0.0)


def visit(client, platform, post_id, text="hi", parent_id=None):
    body = {"platform": platform, "post_id": post_id, "from": "Ann", "text": text, "parent_id": parent_id}
    return client.post("/_sim/comments", json=body).get_json()["id"]


def test_a_subscribed_page_is_told_of_comments_after_the_address_gave_the_challenge_back(
    client, page, receiver
):
    assert page.post(f"{page.account_id}/subscribed_apps", subscribed_fields="feed").get_json() == {
        "success": True
    }
    post_id = page.publish()
    top = visit(client, "FB", post_id)
    path, hook = receiver.next()
    assert receiver.asked == [path]
    assert (path, hook["object"], hook["entry"][0]["id"]) == ("/hooks/facebook", "page", page.account_id)
    [change] = hook["entry"][0]["changes"]
    value = change["value"]
    assert (change["field"], value["item"], value["verb"]) == ("feed", "comment", "add")
    assert (value["comment_id"], value["post_id"], value["parent_id"]) == (top, post_id, post_id)
    assert (value["message"], value["from"]["name"]) == ("hi", "Ann")
    answer = visit(client, "FB", post_id, "answer", parent_id=top)
    _, hook = receiver.next()
    value = hook["entry"][0]["changes"][0]["value"]
    assert (value["comment_id"], value["parent_id"]) == (answer, top)


def test_the_pages_own_comments_are_told_too(page, receiver):
    page.post(f"{page.account_id}/subscribed_apps", subscribed_fields="feed")
    post_id = page.publish()
    page.post(f"{post_id}/comments", message="first!")
    value = receiver.next()[1]["entry"][0]["changes"][0]["value"]
    assert value["from"]["id"] == page.account_id


def test_instagram_tells_without_a_time_under_its_own_path(client, insta, receiver, media_url):
    insta.post(f"{insta.account_id}/subscribed_apps", subscribed_fields="comments")
    container = insta.contain(image_url=f"{media_url}photo-1080x1080.jpg", caption="x")
    receiver.answers = []
    client.application.extensions["simulation"].clock.pass_time(5)
    media_id = insta.post(f"{insta.account_id}/media_publish", creation_id=container).get_json()["id"]
    comment_id = visit(client, "IG", media_id)
    path, hook = receiver.next()
    [change] = hook["entry"][0]["changes"]
    assert (path, hook["object"], change["field"]) == ("/hooks/instagram", "instagram", "comments")
    assert (change["value"]["id"], change["value"]["media"]["id"]) == (comment_id, media_id)
    assert change["value"].keys() == {"id", "text", "from", "media"}


def test_who_has_not_subscribed_is_told_nothing(client, page, receiver):
    post_id = page.publish()
    visit(client, "FB", post_id)
    page.post(f"{page.account_id}/subscribed_apps", subscribed_fields="feed")
    page.delete(f"{page.account_id}/subscribed_apps")
    visit(client, "FB", post_id)
    assert client.get("/_sim/meta/webhooks").get_json() == {"subscribed": [], "webhooks": []}


def test_comments_of_one_moment_come_in_one_batch(client, page, receiver):
    page.post(f"{page.account_id}/subscribed_apps", subscribed_fields="feed")
    post_id = page.publish()
    made = [visit(client, "FB", post_id, f"{number}") for number in range(5)]
    told = []
    while len(told) < len(made):
        told += receiver.next()[1]["entry"][0]["changes"]
    assert [change["value"]["comment_id"] for change in told] == made
    assert receiver.came.qsize() < 4


def test_a_batch_that_is_not_taken_comes_again(client, page, receiver):
    page.post(f"{page.account_id}/subscribed_apps", subscribed_fields="feed")
    receiver.answers = [503, 403]
    visit(client, "FB", page.publish())
    assert len({json.dumps(receiver.next()[1]) for _ in range(3)}) == 1


def test_every_nth_batch_comes_twice(client, page, receiver, sim):
    twice = next(tell for tell in sim.on_comment).__self__
    twice._every = 1
    page.post(f"{page.account_id}/subscribed_apps", subscribed_fields="feed")
    visit(client, "FB", page.publish())
    assert receiver.next() == receiver.next()


@pytest.mark.parametrize("fields", ["", "comments", "feed,unheard_of"])
def test_fields_that_a_page_does_not_have_are_refused(page, fields):
    answer = page.post(f"{page.account_id}/subscribed_apps", subscribed_fields=fields)
    assert answer.get_json()["error"]["code"] == 100


def test_an_address_that_is_no_text_is_refused(client):
    assert client.post("/_sim/meta/webhook", json={"url": 1}).status_code == 400
