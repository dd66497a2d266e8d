"""The largest video that a plan allows, to the storage of Compose, in one piece and in parts: through Caddy of the
profile `tls`, and through an nginx with our nginx.conf.
"""

import ssl
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path

import httpx2
import pytest
from container_kit import VIDEO, sample
from e2e_kit.files import MB, film

from local.containers.compose import DOMAIN, Composed
from local.environment import read_env
from local.testing.proxies import on_nginx
from posthaste import Posthaste

#: "Max file size per upload" of the plan Elite: docs/spec.md.
LARGEST = 250 * MB
#: Such a film is received, checked and copied before its answer, on a machine that may be busy.
UPLOAD_SECONDS = 140.0
#: Where nginx's lines expect the units: the ports of docker-compose.yml.
AT = {"gateway": "127.0.0.1:8080", "dashboard": "127.0.0.1:8081", "storage": "127.0.0.1:9000"}


@pytest.fixture(scope="module", params=["caddy", "nginx"])
def client(
    stack: Composed, request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Posthaste]:
    """The demo account's client, at the address of the proxy."""
    if stack.profile != "core":
        pytest.skip("the profile core has a proxy in front")
    folder = tmp_path_factory.mktemp("proxy")
    folder.chmod(0o755)
    if request.param == "nginx":
        stack.compose("stop", "caddy")
        proxy = on_nginx(folder, AT, (80, 443))
    else:
        proxy = nullcontext()
    with proxy as nginx, stack.trusted() as authority:
        if nginx is not None:
            authority = ssl.create_default_context(cafile=str(nginx.authority))
        with (
            httpx2.Client(verify=authority, follow_redirects=False) as http,
            Posthaste(
                read_env(stack.run)["LIVE_TOKEN"], base_url=f"https://{DOMAIN}", http=http,
                timeout_seconds=UPLOAD_SECONDS,
            ) as client,
        ):  # fmt: skip
            yield client
    if request.param == "nginx":
        stack.compose("start", "caddy")


@pytest.fixture(scope="module")
def large(stack: Composed, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Returns the path of the film."""
    path = tmp_path_factory.mktemp("films") / "large.mp4"
    with path.open("wb") as file:
        file.writelines(film(sample(stack, VIDEO), LARGEST))
    return path


@pytest.mark.parametrize("in_parts", [False, True], ids=["straight", "in parts"])
def test_a_film_of_250_mb_is_taken(client: Posthaste, large: Path, in_parts: bool) -> None:
    taken = client.upload(large, in_parts=in_parts)
    assert taken.media_id
    assert taken.size_bytes > 0.99 * LARGEST
    client.delete_media(taken.media_id)
