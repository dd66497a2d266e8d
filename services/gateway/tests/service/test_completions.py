"""Two requests complete the same upload in parts at once, with two gateways, two processes of media, and a slow
storage.
"""

import io
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.parse import urlsplit

import pytest
import requests
from PIL import Image
from sqlalchemy import text

from chassis.db.database import Database
from contracts.accounts import CreateToken, CreateUser
from contracts.caller import operator
from testkit.faulty_link import FaultyLink
from testkit.waiting import until


@pytest.fixture
def to_storage(shared_bucket: dict[str, str]) -> Iterator[FaultyLink]:
    address = urlsplit(shared_bucket["S3_URL"])
    link = FaultyLink((str(address.hostname), int(address.port or 0)))
    yield link
    link.close()


@pytest.fixture
def media(
    services: Any,
    shared_service: Callable[..., Any],
    shared_bucket: dict[str, str],
    to_storage: FaultyLink,
) -> Any:
    """Two processes of media, which reach the storage through the link `to_storage`. Clients reach the storage
    directly.
    """
    env = shared_bucket | {
        "S3_URL": f"http://127.0.0.1:{to_storage.port}",
        "S3_PUBLIC_URL": shared_bucket["S3_URL"],
    }
    first = shared_service("media", env=env)
    shared_service("media", env={**env, "DATABASE_URL": first.env["DATABASE_URL"]})
    return first


def is_claimed(media: Any) -> bool:
    database = Database(media.env["DATABASE_URL"], pool_size=1)
    with database.reading() as connection:
        found = connection.execute(
            text("SELECT count(*) FROM uploads WHERE lease_until IS NOT NULL")
        ).scalar_one()
    database.close()
    return bool(found)


def test_both_completions_answer_with_the_one_file_that_was_kept(
    services: Any, media: Any, running: Any, to_storage: FaultyLink
) -> None:
    user = services.create_user(operator(), CreateUser(email="u@example.com", tier="elite")).user
    token = services.create_token(operator(), CreateToken(user_id=user.id, scopes=("*",))).api_token
    drawn = io.BytesIO()
    Image.new("RGB", (64, 64), "teal").save(drawn, "JPEG", comment=b"removed from what is stored")
    with running(services, 2, SERVICES="accounts,quota,media") as gateways:

        def call(number: int, method: str, path: str, body: Any = None) -> requests.Response:
            url = f"{gateways[number].url}/api/v1{path}"
            return requests.request(method, url, headers={"X-API-Key": token}, json=body, timeout=90)

        file = {"filename": "a.jpg", "mime_type": "image/jpeg", "size_bytes": len(drawn.getvalue())}
        begun = call(0, "POST", "/media/uploads", file).json()
        put = requests.put(begun["parts"][0]["url"], data=drawn.getvalue(), timeout=30)
        parts = {"parts": [{"number": 1, "etag": put.headers["ETag"]}]}
        to_storage.freeze()
        with ThreadPoolExecutor(2) as pool:
            asked = [
                pool.submit(call, number, "POST", f"/media/uploads/{begun['upload_id']}/complete", parts)
                for number in range(2)
            ]
            until(lambda: is_claimed(media))
            assert not any(it.done() for it in asked)
            to_storage.thaw()
            answers = [it.result() for it in asked]
        assert [it.status_code for it in answers] == [201, 201], [it.text for it in answers]
        [first, second] = [it.json() for it in answers]
        assert first["media_id"] == second["media_id"]
        assert first["size_bytes"] == second["size_bytes"] < file["size_bytes"]
        listed = call(1, "GET", "/media").json()["media"]
        assert [it["media_id"] for it in listed] == [first["media_id"]]
