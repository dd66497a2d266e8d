"""docs/install.md, word by word: its commands run in one shell, on a fresh clone, up to the first post and webhook.

These things differ from the guide: the packages of step 1 (the engine is there), the domain (in /etc/hosts, with
Caddy's own authority), the images (stand-ins for the official ones), and the login at the platform (`ctl` links a page
of the simulator).
"""

import json
import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from local.containers import images
from local.containers.compose import DEMO, ENGINE_NETWORKS, RECEIVER_PORT, Composed
from local.demo.listener import Listener
from local.environment import values_of
from local.paths import ROOT

#: What the guide's reader replaces by values of their own → the test's. So are REPOSITORY and RECEIVER.
OWN = {"posthaste.your-company.com": "posthaste.bakery.test", "you@your-company.com": "dana@bakery.test"}
REPOSITORY, RECEIVER = (
    "https://git.your-company.com/posthaste.git",
    "https://your-company.com/posthaste-events",
)
DOMAIN = OWN["posthaste.your-company.com"]
MOST_STEPS = 8
BLOCKS = re.compile(r"^```sh\n(.*?)^```$", re.MULTILINE | re.DOTALL)
#: Said before a block, by the words that it begins with. Of the whole guide this alone is not in it.
BEFORE = {
    'getent hosts "$DOMAIN"': "cat ../settings >.env",
    "python3 deploy/compose/doctor.py": (
        "docker compose cp caddy:/data/caddy/pki/authorities/local/root.crt ../root.crt >/dev/null\n"
        "cat /etc/ssl/certs/ca-certificates.crt ../root.crt >../all.crt\n"
        "export SSL_CERT_FILE=$PWD/../all.crt CURL_CA_BUNDLE=$PWD/../all.crt"
    ),
    "PAG=$(": 'docker compose run --rm -T ctl --json page link --brand "$BRD" --platform FB >/dev/null',
}


def settings() -> dict[str, str]:
    """Returns the lines that `.env` has before step 3: the stand-ins, and the simulator's addresses."""
    demo = values_of(DEMO)
    played = {
        name: value
        for name, value in demo.items()
        if re.match(r"(FACEBOOK|INSTAGRAM|META)_|OUTBOUND_HOST_MAP|SIMULATOR_URL", name)
    }
    return (
        played
        | images.SETTINGS
        | {
            "CADDY_TLS": "tls internal",
            "COMPOSE_PROFILES": "core,tls,demo",
            "WEBHOOK_ALLOWED_CIDRS": f"*={ENGINE_NETWORKS}:{RECEIVER_PORT}",
        }
    )


def script(guide: str, own: dict[str, str]) -> str:
    """Returns the guide's commands without those that install packages. `own`: example of the guide → value."""
    lines = ["set -euo pipefail"]
    for block in BLOCKS.findall(guide):
        lines += [said for begin, said in BEFORE.items() if block.startswith(begin)]
        lines += [line for line in block.splitlines() if not line.startswith("sudo ")]
    text = "\n".join(lines)
    for example, value in own.items():
        assert example in text
        text = text.replace(example, value)
    return text


def test_the_guide_has_few_steps_and_every_block_is_run() -> None:
    steps = (ROOT / "docs" / "install.md").read_text().partition("\n## From here\n")[0]
    assert 1 <= len(re.findall(r"^## \d", steps, re.MULTILINE)) <= MOST_STEPS
    assert steps.count("```") == 2 * len(BLOCKS.findall(steps))


def test_it_leads_to_the_first_post_and_the_first_webhook(stack: Composed, is_core: bool) -> None:
    if is_core or stack.profile != "core":
        pytest.skip("the whole run follows it, once")
    stack.down()
    folder = stack.run / "install"
    folder.mkdir()
    host = "172.17.0.1"  # the engine's default bridge, which is there always
    lines = "".join(f"{name}={value}\n" for name, value in settings().items())
    (folder / "settings").write_text(lines)
    (folder / "hosts").write_text(f"127.0.0.1 localhost\n127.0.0.1 {DOMAIN}\n")
    shell = f"mount --bind {folder}/hosts /etc/hosts && exec bash {folder}/script"
    with Listener(host, RECEIVER_PORT) as listener:
        own = OWN | {REPOSITORY: str(ROOT), RECEIVER: listener.url}
        (folder / "script").write_text(script((ROOT / "docs" / "install.md").read_text(), own))
        done = subprocess.run(
            ["unshare", "--mount", "--propagation=private", "sh", "-c", shell],
            cwd=folder, env=stack.engine.env | {"USER": "root"},
            stdin=subprocess.DEVNULL, capture_output=True, text=True,
        )  # fmt: skip
        try:
            assert done.returncode == 0, f"{done.stdout[-6000:]}\n{done.stderr[-6000:]}"
            post = answers(done.stdout)[-1]
            delivery = listener.next(30.0)
            assert delivery is not None
            event = json.loads(delivery.body)
            assert event["event"] == "post.published"
            assert event["data"]["post"]["id"] == post["post_id"]
        finally:
            clone = Path(folder, "posthaste")
            subprocess.run(
                ["/usr/bin/docker", "compose", "down", "--volumes", "--timeout", "20"],
                cwd=clone, env=os.environ | stack.engine.env, capture_output=True,
            )  # fmt: skip


def answers(text: str) -> list[Any]:
    """Returns the JSON objects in the output. They follow each other without a line break, as curl prints them."""
    decoder, at, found = json.JSONDecoder(), 0, []
    while (at := text.find('{"', at)) >= 0:
        value, at = decoder.raw_decode(text, at)
        found.append(value)
    return found
