"""docker-compose.yml: Docker Compose accepts it, and each process gets exactly the settings that it reads."""

import os
import re
import resource
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from composed import COMPOSE, ENV_FILES, MIGRATIONS, OURS, PROCESSES, SERVICES, names

from dashboard.config import Config as Dashboard
from gateway.config import Config
from gateway.routes import ENDPOINTS
from local import release
from local.environment import values_of
from local.paths import ROOT
from local.servers import postgres
from local.stack import compact, units

#: What Dockerfile sets in every image.
OF_IMAGE = {"HEALTH_HOST", "HEALTH_PORT", "HOST", "PORT"}
#: What a process reads and compose does not hand on, and why.
NOT_HANDED_ON = {
    **dict.fromkeys(OF_IMAGE, "the image says it, and networks, ports and health checks rely on it"),
    "CLOCK_SHIFT_ALLOWED": "for the local stack and tests alone",
    "GRACEFUL_SECONDS": "its default and stop_grace_period fit each other",
    "LEASE_SECONDS": "publishing and webhooks mean different things by it",
    "OTEL_SERVICE_NAME": "each process has its own name",
    "SERVICES": "all six run in every profile",
}
#: Our own files of the compose file, and `docker-compose` itself, know these.
OF_COMPOSE = {"COMPOSE_PROFILES"}


#: The pool of a service that is told no size (chassis.config), and what PostgreSQL reserves for superusers.
POOL_SIZE, RESERVED_CONNECTIONS = 16, 3


def seconds(text: str) -> int:
    return int(text.removesuffix("s"))


@pytest.mark.parametrize(
    "options",
    [
        ["--profile", "core", "--profile", "observability"],
        *(["--env-file", str(path)] for path in ENV_FILES.values()),
    ],
    ids=["core", *ENV_FILES],
)
def test_docker_compose_accepts_it(docker_compose: str, options: list[str]) -> None:
    done = subprocess.run(
        [docker_compose, *options, "config", "--quiet"],
        cwd=ROOT, env={"PATH": os.environ["PATH"]}, capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""


@pytest.mark.parametrize("profile", ["compact", "core"])
def test_the_settings_that_the_guide_makes_are_enough(
    docker_compose: str, tmp_path: Path, profile: str, settings_of: Any
) -> None:
    guide = (ROOT / "docs/operations.md").read_text()
    script = re.search(
        r"^test ! -e \.env && python3 - <<'END' >\.env.*?\n(.*?)^END$", guide, re.MULTILINE | re.DOTALL
    )
    assert script
    made = subprocess.run([sys.executable, "-"], input=script[1], capture_output=True, text=True, timeout=30)
    assert "docker compose run --rm --no-deps -T gateway python -m chassis.message_keys >>.env" in guide
    keys = subprocess.run(
        [sys.executable, "-m", "chassis.message_keys"], capture_output=True, text=True, timeout=30
    )
    added = {"compact": ENV_FILES["compact"].read_text(), "core": "COMPOSE_PROFILES=core\n"}[profile]
    (tmp_path / ".env").write_text(made.stdout + keys.stdout + added)
    done = subprocess.run(
        [docker_compose, "--env-file", str(tmp_path / ".env"), "config"],
        cwd=ROOT, env={"PATH": os.environ["PATH"]}, capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    told = yaml.load(done.stdout, yaml.CSafeLoader)["services"]
    for container in told.keys() & PROCESSES.keys():
        settings = settings_of(*PROCESSES[container])
        passwords = {name for name in settings.read if re.match("(AMQP|DATABASE)_PASSWORD", name)}
        needed = settings.required | passwords
        assert not [name for name in needed if not told[container]["environment"].get(name)], container
    assert told.keys() >= {"gateway", "postgres", "services" if profile == "compact" else "ai"}


def test_no_key_is_written_twice() -> None:
    """Docker Compose 2 refuses a file with a repeated key. Version 1 and PyYAML would take the last value."""

    def twice(node: yaml.Node) -> Iterator[str]:
        if isinstance(node, yaml.MappingNode):
            keys = [key.value for key, _ in node.value]
            yield from {key for key in keys if keys.count(key) > 1}
            for _, value in node.value:
                yield from twice(value)
        elif isinstance(node, yaml.SequenceNode):
            for value in node.value:
                yield from twice(value)

    document = yaml.compose((ROOT / "docker-compose.yml").read_text(), yaml.CSafeLoader)
    assert document
    assert list(twice(document)) == []


@pytest.mark.parametrize("container", PROCESSES)
def test_a_process_is_told_what_it_reads_and_nothing_else(container: str, settings_of: Any) -> None:
    settings = settings_of(*PROCESSES[container])
    told = names(SERVICES[container]["environment"])
    libraries = {"EVENTLET_THREADPOOL_SIZE", "MALLOC_ARENA_MAX"}
    assert told - libraries - settings.read == set()
    assert settings.read - told - NOT_HANDED_ON.keys() == set()
    assert not told & NOT_HANDED_ON.keys()
    assert not settings.required & NOT_HANDED_ON.keys()


def test_a_container_is_not_killed_before_its_longest_request_is_answered() -> None:
    deadline = max(endpoint.deadline_seconds for endpoint in ENDPOINTS)
    gateway = Config(amqp_url="", database_url="")
    grace = gateway.graceful_seconds
    assert grace > deadline + gateway.read_seconds  # for the body, before its deadline
    for name in PROCESSES:
        assert seconds(SERVICES[name]["stop_grace_period"]) > grace, name


def test_a_migration_is_told_the_databases_of_its_services(settings_of: Any) -> None:
    for name, row in MIGRATIONS.items():
        services = PROCESSES[name.removeprefix("migrate-")]
        assert row["command"] == ["python", "-m", "chassis.migrate", *services]
        read = {it for it in settings_of(*services).read if it.startswith("DATABASE_")}
        assert names(row["environment"]) == read - {"DATABASE_POOL_SIZE"}


def test_the_command_line_and_the_simulator_are_told_what_they_read(settings_of: Any) -> None:
    from simulator.config import from_environment

    read: set[str] = set()

    class Asked(dict[str, str]):
        def get(self, name: str, default: Any = None) -> Any:
            read.add(name)
            return default

    from_environment(Asked())
    assert names(SERVICES["simulator"]["environment"]) - read == set()
    ctl = {"AMQP_URL", "AMQP_PASSWORD", "AMQP_TLS_CA", "MESSAGE_KEYS", "SIMULATOR_URL"}
    assert names(SERVICES["ctl"]["environment"]) == ctl


def test_the_dashboard_is_told_what_it_reads() -> None:
    read: set[str] = set()

    class Asked(dict[str, str]):
        def get(self, name: str, default: Any = None) -> Any:
            read.add(name)
            return "http://x" if name == "API_URL" else default

    Dashboard.from_env(Asked())
    told = names(SERVICES["dashboard"]["environment"])
    assert told - read == set()
    assert read - told - NOT_HANDED_ON.keys() == set()


def test_every_variable_of_the_env_files_is_used() -> None:
    text = (ROOT / "docker-compose.yml").read_text()
    used = set(re.findall(r"\$\{(\w+)", text))
    used |= {name for row in SERVICES.values() for name, value in row["environment"].items() if value is None}
    for path in ENV_FILES.values():
        assert values_of(path).keys() - used - OF_COMPOSE == set(), path.name


def dependencies(name: str) -> Iterator[tuple[str, str]]:
    for other, how in SERVICES[name].get("depends_on", {}).items():
        yield other, how["condition"]


def test_no_container_can_take_the_machine_s_memory_and_tmp_is_a_part_of_it() -> None:
    for name, row in SERVICES.items():
        assert re.fullmatch(r"(\$\{[A-Z]+_MEMORY:-)?\d+[mg]\}?", row["mem_limit"]), name
    for name, row in OURS.items():
        [mount] = row["tmpfs"]
        size = re.fullmatch(r"/tmp:size=(\d+)(m|g|%)", mount)
        limit = re.fullmatch(r"(\d+)(m|g)", row["mem_limit"])
        assert size, name
        assert limit, name
        mega = {"m": 1, "g": 1024}
        if size[2] != "%":
            assert int(size[1]) * mega[size[2]] < int(limit[1]) * mega[limit[2]], name
    for name in PROCESSES:
        if (deployment := ROOT / "deploy/kubernetes/base" / name / "deployment.yaml").exists():
            of_cluster = re.search(r"limits: {memory: (\d+)(Mi|Gi)}", deployment.read_text())
            least = int(of_cluster[1]) * {"Mi": 1, "Gi": 1024}[of_cluster[2]] if of_cluster else 384
            limit = re.fullmatch(r"(\d+)(m|g)", OURS[name]["mem_limit"])
            assert limit
            assert int(limit[1]) * {"m": 1, "g": 1024}[limit[2]] >= least, name


def test_everything_waits_until_what_it_needs_is_healthy() -> None:
    for name, services in PROCESSES.items():
        conditions = dict(dependencies(name))
        assert conditions["rabbitmq"] == "service_healthy"
        assert conditions[f"migrate-{name}"] == "service_completed_successfully"
        if "media" in services:
            assert conditions["storage"] == "service_healthy"
    for name in MIGRATIONS:
        assert dict(dependencies(name)) == {"databases": "service_completed_successfully"}
    assert dict(dependencies("databases")) == {"postgres": "service_healthy"}
    for name, row in SERVICES.items():
        for other, condition in dependencies(name):
            assert set(row["profiles"]) <= set(SERVICES[other]["profiles"]), (name, other)
            if condition == "service_healthy":
                assert "healthcheck" in SERVICES[other], other


def test_compact_runs_the_figures_that_are_measured() -> None:
    told = SERVICES["services"]["environment"] | values_of(ENV_FILES["compact"])
    assert {name: told.get(name) for name in compact.SETTINGS} == compact.SETTINGS
    assert told["POSTGRES_SHARED_BUFFERS"] == compact.POSTGRES["shared_buffers"]
    assert told["POSTGRES_MAX_CONNECTIONS"] == compact.POSTGRES["max_connections"]
    assert set(compact.ERLANG.split()) <= set(told["RABBITMQ_ERL_ARGS"].split())


@pytest.mark.parametrize("profile", ["core", "compact"])
def test_all_pools_together_fit_into_postgresql_with_room_for_an_operator(profile: str) -> None:
    """The test counts one more connection than its pool for each service, because publishing's leases use one. Ten more
    are for dumps and psql.

    A unit runs twice while it is replaced behind a stand-in.
    """
    told = values_of(ENV_FILES["compact"]) if profile == "compact" else {}
    command = " ".join(SERVICES["postgres"]["command"])
    usual = re.search(r"--max_connections=\$\{POSTGRES_MAX_CONNECTIONS:-(\d+)\}", command)
    assert usual
    limit = int(told.get("POSTGRES_MAX_CONNECTIONS", usual[1]))
    gateway = Config(amqp_url="", database_url="")
    pool = int(told.get("DATABASE_POOL_SIZE", 0))
    workers = int(told.get("WORKERS", gateway.workers))
    of_gateway = workers * (pool or gateway.database_pool_size)
    of_services = len(units.SERVICES) * ((pool or POOL_SIZE) + 1)
    of_unit = of_services if profile == "compact" else of_services // len(units.SERVICES)
    used = of_gateway + of_services + max(of_gateway, of_unit)
    assert used + 10 <= limit - RESERVED_CONNECTIONS


def test_our_containers_have_nothing_to_write_to_and_no_rights() -> None:
    for name, row in OURS.items():
        assert row["read_only"] is True, name
        assert row["cap_drop"] == ["ALL"], name
        assert row["security_opt"] == ["no-new-privileges:true"], name
        assert "privileged" not in row


def test_no_container_s_log_fills_the_disk() -> None:
    rotated = {"driver": "json-file", "options": {"max-size": "10m", "max-file": "5"}}
    assert [name for name, row in SERVICES.items() if row.get("logging") != rotated] == []


def test_the_broker_s_health_check_starts_no_erlang_and_knows_both_ports() -> None:
    """rabbitmq-diagnostics would take 1.5 s of CPU for each check."""
    check = SERVICES["rabbitmq"]["healthcheck"]
    assert check["test"][:2] == ["CMD", "bash"]
    assert "rabbitmq" not in check["test"][-1]
    for scheme, port in (("amqp", 5672), ("amqps", 5671)):
        script = check["test"][-1].replace("${AMQP_SCHEME:-amqp}", scheme).replace("$$", "$")
        asked = script.replace("exec 3<>", "echo ")
        told = subprocess.run(["bash", "-c", asked], capture_output=True, text=True, check=True).stdout
        assert told == f"/dev/tcp/127.0.0.1/{port}\n"
    # A slow start does not count as a failure.
    assert seconds(check["start_period"]) > seconds(check["interval"])


def test_the_broker_s_health_check_costs_next_to_nothing_and_fails_where_nobody_listens() -> None:
    script = SERVICES["rabbitmq"]["healthcheck"]["test"][-1].replace("${AMQP_SCHEME:-amqp}", "amqp")
    with socket.create_server(("127.0.0.1", 0), backlog=100) as server:
        port = str(server.getsockname()[1])
        check = ["bash", "-c", script.replace("$$", "$").replace("5672", port)]
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        for _ in range(20):
            subprocess.run(check, check=True, timeout=10)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    taken = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    assert taken / 20 < 0.05  # of 1.5 s with rabbitmq-diagnostics; usually some milliseconds
    assert subprocess.run(check, capture_output=True, timeout=10).returncode != 0


def test_what_waits_in_the_gateway_s_temporary_files_fits() -> None:
    config = Config(amqp_url="", database_url="")
    [mount] = SERVICES["gateway"]["tmpfs"]
    gibibytes = re.fullmatch(r"/tmp:size=(\d+)g", mount)
    assert gibibytes
    assert config.workers * config.upload_spool_bytes < int(gibibytes[1]) * 2**30


#: Who has a way out, and what for. A container of a profile of its own needs it for a port on the machine too.
WAY_OUT = {
    "gateway": "its port on the machine",
    "dashboard": "its port on the machine",
    "accounts": "mails",
    "publishing": "platforms, and media that clients name by URL",
    "ai": "providers, Stripe, reference images",
    "webhooks": "subscribers",
    "services": "all of these",
    "simulator": "its port on the machine",
    "storage": "its port on the machine",
    "backup": "a bucket at a provider",
    "caddy": "clients and certificates",
    "collector": "a receiver of traces elsewhere",
    "jaeger": "its port on the machine",
    "prometheus": "its port on the machine",
    "alertmanager": "mails",
    "grafana": "its port on the machine",
}


def test_only_those_with_business_outside_have_a_way_out() -> None:
    assert COMPOSE["networks"]["inside"] == {"internal": True}
    is_open = {name for name, row in COMPOSE["networks"].items() if not row.get("internal")}
    assert {name for name, row in SERVICES.items() if is_open & {*row["networks"]}} == WAY_OUT.keys()
    for name, why in WAY_OUT.items():
        if why.startswith("its port"):
            assert SERVICES[name]["ports"], name


def test_what_is_built_and_mounted_is_there() -> None:
    for name, row in SERVICES.items():
        if "build" in row:
            assert (ROOT / row["build"]["context"] / row["build"]["dockerfile"]).is_file()
            for package in row["build"]["args"].get("PACKAGES", "").split():
                assert (ROOT / package / "requirements.lock").is_file(), package
        elif name in OURS:
            assert row["image"] in {other["image"] for other in OURS.values() if "build" in other}
        for volume in row.get("volumes", ()):
            source = re.sub(r"\$\{\w+:-(\./deploy/.*)\}", r"\1", volume.rpartition(":/")[0])
            if source == "${BACKUP_FOLDER:-./backup}":  # made by the engine
                continue
            assert (ROOT / source).exists() if source.startswith(".") else source in COMPOSE["volumes"]


def test_our_images_are_built_here_or_pulled_when_the_operator_says_so_and_by_nobody_else() -> None:
    built = [row["image"] for row in OURS.values() if "build" in row]
    assert len(built) == len(set(built))  # a name built twice at once: the second may fail, "already exists"
    assert {row["pull_policy"] for row in OURS.values()} == {"${POSTHASTE_PULL_POLICY:-never}"}


def test_dumps_are_made_and_restored_where_the_databases_are() -> None:
    row = SERVICES["postgres"]
    told = {name: value for name, value in row["environment"].items() if name.startswith("DATABASE_URL_")}
    assert told == {
        f"DATABASE_URL_{name.upper()}": f"postgresql://{postgres.role(name)}@/{name}"
        for name in units.DATABASES
    }
    assert "./deploy/backup:/scripts:ro" in row["volumes"]


def test_every_image_is_pinned() -> None:
    for name, row in SERVICES.items():
        if name in OURS:
            assert row["image"].endswith(f":${{POSTHASTE_VERSION:-{release.present()}}}"), name
        else:
            assert re.search(r":[\dvR][^:]*@sha256:[0-9a-f]{64}\}$", row["image"]), row["image"]


def test_an_operator_may_name_another_place_for_every_image_of_others() -> None:
    variables = {
        name: re.match(r"\$\{(\w+_IMAGE):-", row["image"])
        for name, row in SERVICES.items()
        if name not in OURS
    }
    assert [name for name, variable in variables.items() if not variable] == []
    guide = (ROOT / "docs/operations.md").read_text()
    assert [it[1] for it in variables.values() if it and f"`{it[1]}`" not in guide] == []


@pytest.mark.parametrize(
    "guide", ["README.md", "docs/operations.md", "docs/observability.md", "docker-compose.yml"]
)
def test_the_guides_speak_of_containers_that_are_there(guide: str) -> None:
    lines = (ROOT / guide).read_text().replace("$unit", "gateway")
    options = r"(?: -[\w-]+(?: \d+h)?)*"
    said = re.findall(
        rf"docker compose (?:build|exec|logs|restart|run|stop|up -d){options} ([a-z][\w-]*)", lines
    )
    assert set(said) - SERVICES.keys() == set()


def test_operations_knows_every_alert() -> None:
    rules = yaml.safe_load((ROOT / "deploy/observability/rules.yaml").read_text())
    alerts = {rule["alert"] for group in rules["groups"] for rule in group["rules"] if "alert" in rule}
    assert alerts - set(re.findall(r"\w+", (ROOT / "docs/operations.md").read_text())) == set()
