"""Images built by the project's Dockerfile, and docker-compose.yml without changes: the stack works and is confined."""

from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest
from container_kit import account, has_a_way_out

from local.containers.compose import Composed

#: Of each process in the container: pid, and the lines of its status that tell what it may do.
STATUS = "for p in /proc/[0-9]*; do grep -HE '^(Uid|NoNewPrivs|Cap[A-Z][a-z]+):' $p/status 2>/dev/null; done"
CAPABILITIES = {"CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"}
OURS = "10001"


def test_the_demo_journey_succeeds_with_webhooks(stack: Composed, capsys: pytest.CaptureFixture[str]) -> None:
    stack.journey().walk()
    steps = capsys.readouterr().out
    assert "The reply arrives at our server; verify its signature" in steps
    assert "left out" not in steps


def test_no_process_of_ours_is_root_has_a_capability_or_can_gain_one(stack: Composed) -> None:
    for service, container in stack.containers().items():
        seen = stack.engine.docker("exec", container, "sh", "-c", STATUS).stdout.splitlines()
        assert seen, service
        for line in seen:
            where, name, *values = line.split(":", 1)[0], *line.split(":", 1)[1].replace(":", "").split()
            told = f"{service} {where} {name} {values}"
            if name == "Uid":
                assert set(values) == {OURS}, told
            elif name == "NoNewPrivs":
                assert values == ["1"], told
            else:
                assert name in CAPABILITIES, told
                assert int(values[0], 16) == 0, told


def test_the_root_file_system_is_read_only_even_for_root(stack: Composed) -> None:
    for service, container in stack.containers().items():
        done = stack.engine.docker(
            "exec", "--user", "0", container, "touch", "/opt/posthaste/written", check=False
        )
        assert "Read-only file system" in done.stderr, f"{service}: {done.stderr}"


def test_services_have_no_way_out_of_the_inner_network(stack: Composed) -> None:
    """quota and media call nobody outside. In the profile `compact` they share a process with services that do."""
    containers = stack.containers()
    with ThreadPoolExecutor(len(containers)) as pool:
        reached = list(pool.map(partial(has_a_way_out, stack), containers.values()))
    for service, is_reached in zip(containers, reached, strict=True):
        assert is_reached is (service not in ("quota", "media")), service


def test_an_account_sees_what_it_published(stack: Composed) -> None:
    with account(stack) as client:
        assert next(client.iterate_pages()).id


#: Of SeaweedFS: S3's gRPC, master, filer and volume server, which trust everybody.
TRUSTING_PORTS = (19000, 9333, 19333, 8888, 18888, 8080, 18080)
#: Prints the ports that are reached, and of them those whose server speaks HTTP/2 without asking for a certificate, as
#: gRPC does. One process asks for all, and for the name once: starting one takes a second, and a name that is not there
#: five.
ASK = f"""
import socket
try:
    storage = socket.gethostbyname('storage')
except OSError:
    raise SystemExit
for port in (9000, *{TRUSTING_PORTS}):
    try:
        with socket.create_connection((storage, port), 5) as s:
            print('reached', port)
            s.sendall(b'PRI * HTTP/2.0\\r\\n\\r\\nSM\\r\\n\\r\\n' + bytes(3) + b'\\x04' + bytes(5))
            s.settimeout(5)
            answer = s.recv(9)
            if len(answer) == 9 and answer[3] == 4:
                print('served', port)
    except OSError:
        pass
"""


def test_the_storage_s_port_for_s3_alone_serves_those_who_move_files(stack: Composed) -> None:
    moves = {"gateway", "services", "media", "publishing", "ai"}
    containers = stack.containers()

    def ask(container: str) -> list[str]:
        return stack.engine.docker("exec", container, "python", "-IS", "-c", ASK).stdout.splitlines()

    with ThreadPoolExecutor(len(containers)) as pool:
        answers = list(pool.map(ask, containers.values()))
    for service, told in zip(containers, answers, strict=True):
        assert ("reached 9000" in told) is (service in moves), f"{service}: {told}"
        assert not [line for line in told if line.startswith("served") and line != "served 9000"], service
