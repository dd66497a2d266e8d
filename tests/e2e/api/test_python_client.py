"""Tests the Python client and its command line against a whole stack: a journey through the API, and writes while
answers are lost and processes are killed.
"""

import asyncio
import datetime as dt
import json
import os
import random
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx2
import pytest
from e2e_kit.operator import Account, Accounts
from e2e_kit.receiver import Receiver, subscribe
from e2e_kit.stack import Stack
from e2e_kit.waiting import until

from posthaste import AsyncPosthaste, InvalidRequest, Posthaste, ResourceError, RetryPolicy, records

#: In all, spread over the accounts, whose minutes are limited.
WRITES = 1_000 if "FULL_SIZE" in os.environ else 96
CLIENTS = 8
#: Of 100 answers this many are lost.
LOST_PERCENT = 25
READY_SECONDS = 30.0


@pytest.fixture
def client(account: Account) -> Iterator[Posthaste]:
    with Posthaste(account.api.token, base_url=account.api.base_url) as client:
        yield client


def tomorrow(**later: float) -> dt.datetime:
    return dt.datetime.now(dt.UTC).replace(microsecond=0) + dt.timedelta(days=1, **later)


def test_the_journey_of_a_post(client: Posthaste, account: Account, jpeg: bytes) -> None:
    assert client.get_me().authenticated_as.email == account.email
    assert {page.id for page in client.iterate_pages(limit=1)} == {
        account.page_id("FB"),
        account.page_id("IG"),
    }
    photo = client.upload(jpeg, filename="bread.jpg")
    page_id = account.page_id("FB")
    published = client.publish_post(page_id=page_id, message="Fresh bread", media_ids=[photo.media_id])
    assert published.was_published
    assert [post.id for post in client.iterate_published_posts()] == [published.post_id]
    at = tomorrow()
    planned = client.schedule_post(page_id=page_id, message="Tomorrow's", scheduled_at=at).scheduled_post
    assert (planned.scheduled_at, planned.status) == (at, "queued")
    edited = client.edit_post(planned.id, message="Tomorrow's bread", scheduled_at=tomorrow(hours=1))
    assert edited.scheduled_post.message == "Tomorrow's bread"
    assert client.cancel_post(planned.id).success
    assert client.get_scheduled_post(planned.id).scheduled_post.status == "cancelled"


def test_several_pages_and_findings(client: Posthaste, account: Account) -> None:
    page_ids = [account.page_id("FB"), account.page_id("IG")]
    made = client.schedule_posts(page_ids=page_ids[:1], message="one", scheduled_at=tomorrow())
    assert [result.status for result in made.results] == [201]
    validation = client.validate_post(page_id=page_ids[1], message="text without a picture")
    assert not validation.valid
    assert isinstance(validation.errors[0], records.Finding)


def test_a_file_in_parts_goes_straight_to_the_storage(client: Posthaste, mp4: bytes) -> None:
    told: list[tuple[int, int]] = []
    made = client.upload(mp4, filename="oven.mp4", in_parts=True, on_progress=lambda *now: told.append(now))
    assert (made.filename, made.mime_type) == ("oven.mp4", "video/mp4")
    assert told[-1] == (len(mp4), len(mp4))


def test_a_subscription_and_its_secret(client: Posthaste, stack: Stack) -> None:
    made = client.create_webhook(name="mine", url="http://127.0.0.1:9/hooks", events=["post.published"])
    assert made.secret.startswith("whsec_")
    assert [hook.id for hook in client.iterate_webhooks()] == [made.id]
    assert client.delete_webhook(made.id).success


def test_refusals_are_exceptions_of_their_families(client: Posthaste, account: Account) -> None:
    with pytest.raises(ResourceError) as missing:
        client.get_scheduled_post("pst_nothing")
    assert missing.value.code == "NOT_FOUND"
    assert missing.value.request_id
    with pytest.raises(InvalidRequest) as invalid:
        client.publish_post(page_id=account.page_id("FB"), message="x" * 5_001)
    assert [one.field for one in invalid.value.fields] == ["message"]


def test_the_async_client_does_the_same(account: Account, jpeg: bytes) -> None:
    async def journey() -> list[str | None]:
        async with AsyncPosthaste(account.api.token, base_url=account.api.base_url) as client:
            photo = await client.upload(jpeg, filename="bread.jpg", in_parts=True)
            times = [tomorrow(hours=hour) for hour in range(3)]
            await asyncio.gather(
                *(
                    client.schedule_post(
                        page_id=account.page_id("FB"),
                        message=f"{at:%H}",
                        scheduled_at=at,
                        media_ids=[photo.media_id],
                    )
                    for at in times[:1]
                ),
                *(
                    client.schedule_post(page_id=account.page_id("FB"), message=f"{at:%H}", scheduled_at=at)
                    for at in times[1:]
                ),
            )
            return [post.message async for post in client.iterate_scheduled_posts(limit=1)]

    assert len(set(asyncio.run(journey()))) == 3


def test_the_command_line_schedules_and_cancels(account: Account, jpeg: bytes, tmp_path: Path) -> None:
    (tmp_path / "bread.jpg").write_bytes(jpeg)
    environment = os.environ | {
        "POSTHASTE_URL": account.api.base_url,
        "POSTHASTE_TOKEN": account.api.token or "",
        "XDG_CONFIG_HOME": str(tmp_path),
    }

    def posthaste(*arguments: str) -> Any:
        code = "from posthaste.cli.main import main; main(prog_name='posthaste')"
        command = [sys.executable, "-c", code, "--json", *arguments]
        done = subprocess.run(
            command, env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=60
        )
        assert done.returncode == 0, done
        return json.loads(done.stdout)

    assert posthaste("whoami")["authenticated_as"]["email"] == account.email
    made = posthaste("schedule", "Bread", "--page", "FB", "--at", "tomorrow 9:00", "--file", "bread.jpg")
    assert [post["id"] for post in posthaste("list")] == [made["id"]]
    assert posthaste("cancel", made["id"])["success"]
    assert posthaste("show", made["id"])["status"] == "cancelled"


class LossyTransport(httpx2.HTTPTransport):
    """An HTTP transport that loses some answers after the server has sent them."""

    def __init__(self) -> None:
        super().__init__()
        self.lost = 0
        self._chance = random.Random(18)

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        response = super().handle_request(request)
        if self._chance.randrange(100) >= LOST_PERCENT:
            return response
        response.read()
        response.close()
        self.lost += 1
        raise httpx2.ReadError("lost by the test")


@pytest.mark.alone
def test_listen_hands_every_event_on_while_the_gateway_is_killed(
    account: Account, stack: Stack, tmp_path: Path
) -> None:
    """Listens to 20 events of a subscription that delivers to no URL. Each arrives once, with a valid signature."""
    environment = os.environ | {
        "POSTHASTE_URL": account.api.base_url,
        "POSTHASTE_TOKEN": account.api.token or "",
        "XDG_CONFIG_HOME": str(tmp_path),
    }
    made = subscribe(account, "log:", "post.published")
    with Receiver() as receiver, Posthaste(account.api.token, base_url=account.api.base_url) as client:
        code = "from posthaste.cli.main import main; main(prog_name='posthaste')"
        arguments = ["--webhook", made["id"], "--every", "0.5", "--count", "20"]
        command = ["webhooks", "listen", "--forward-to", receiver.url("/hooks"), *arguments]
        with subprocess.Popen(
            [sys.executable, "-c", code, *command], env=environment, stderr=subprocess.PIPE, text=True
        ) as listener:
            assert listener.stderr is not None
            assert "Forwarding events" in listener.stderr.readline()
            sent = [client.send_test_event(made["id"]).event_id for _ in range(10)]
            starts = stack.kill("gateway")
            sent += [client.send_test_event(made["id"]).event_id for _ in range(10)]
            stack.await_restart("gateway", starts, READY_SECONDS)
            assert listener.wait(60) == 0
        got = [arrival.verified(made["secret"]).id for arrival in receiver.arrivals("/hooks")]
    assert sorted(got) == sorted(sent)


@pytest.mark.alone
def test_logs_are_followed_past_a_killed_gateway(account: Account, stack: Stack, tmp_path: Path) -> None:
    """Requests from before and after the kill are each shown once."""
    environment = os.environ | {
        "POSTHASTE_URL": account.api.base_url,
        "POSTHASTE_TOKEN": account.api.token or "",
        "XDG_CONFIG_HOME": str(tmp_path),
    }

    def asked(times: int) -> list[str]:
        answers = [account.api.call("GET", "/me") for _ in range(times)]
        return [answer.headers["X-Request-Id"] for answer in answers]

    def are_listed(ids: list[str]) -> bool:
        listed = account.api.get("/logs", operation="getMe", limit=100)["entries"]
        return set(ids) <= {entry["request_id"] for entry in listed}

    code = "from posthaste.cli.main import main; main(prog_name='posthaste')"
    command = ["--json", "logs", "--follow", "--operation", "getMe", "--every", "0.5", "--count", "10"]
    before = asked(5)
    until(lambda: are_listed(before), 10)
    printed = tmp_path / "printed"
    with (
        printed.open("w") as output,
        subprocess.Popen([sys.executable, "-c", code, *command], env=environment, stdout=output) as follower,
    ):
        try:
            until(printed.read_text, 30, "a request is shown")
            stack.await_restart("gateway", stack.kill("gateway"), READY_SECONDS)
            stack.await_ready(READY_SECONDS)
            after = asked(5)
            assert follower.wait(60) == 0
        finally:
            follower.kill()
    shown = [json.loads(line)["request_id"] for line in printed.read_text().splitlines()]
    assert sorted(shown) == sorted(before + after)


@pytest.mark.alone
def test_writes_take_effect_once_while_answers_are_lost_and_processes_are_killed(
    accounts: Accounts, stack: Stack
) -> None:
    owners = [accounts.new() for _ in range(CLIENTS)]
    transports = [LossyTransport() for _ in owners]
    done = Counter[str]()
    lock = threading.Lock()

    def write(number: int) -> dict[str, str]:
        """Schedules this client's share of the posts, an hour apart. Returns the ids by message."""
        owner = owners[number]
        made = {}
        with (
            httpx2.Client(transport=transports[number]) as http,
            Posthaste(
                owner.api.token,
                base_url=owner.api.base_url,
                http=http,
                timeout_seconds=20.0,
                retries=RetryPolicy(max_retries=30),
            ) as client,
        ):
            for post in range(WRITES // CLIENTS):
                at = tomorrow(hours=post + 1)
                message = f"client {number} post {post}"
                planned = client.schedule_post(page_id=owner.page_id(), message=message, scheduled_at=at)
                made[message] = planned.scheduled_post.id
                with lock:
                    done["writes"] += 1
        return made

    with ThreadPoolExecutor(CLIENTS) as pool:
        writers = [pool.submit(write, number) for number in range(CLIENTS)]
        for place, name in enumerate(("gateway", "publishing", "quota"), start=1):
            until(lambda share=place * WRITES // 4: done["writes"] >= share, 300.0, "writes go on")
            stack.await_restart(name, stack.kill(name), READY_SECONDS)
        answered = [writer.result() for writer in writers]
    for owner, made in zip(owners, answered, strict=True):
        with Posthaste(owner.api.token, base_url=owner.api.base_url) as client:
            posts = list(client.iterate_scheduled_posts(status="all", limit=100))
        assert Counter(post.message for post in posts) == dict.fromkeys(made, 1)
        assert {post.message: post.id for post in posts} == made
    lost = sum(transport.lost for transport in transports)
    print(f"{WRITES} writes, {lost} answers lost, three processes killed: {done['writes']} effects")
    assert lost > WRITES // 10
