"""A private RabbitMQ from the system's package: installation, configuration and its two processes.

The package's server script is started directly, because the wrapper in /usr/sbin switches users. The node has its own
name, folders, ports and name server (epmd), so that it does not disturb another RabbitMQ on the machine.
"""

import json
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

from chassis.broker_access import definitions
from local.processes.table import Process
from local.servers import packages

SERVER_SCRIPTS = (
    "/usr/lib/rabbitmq/bin/rabbitmq-server",  # Debian, Ubuntu, Fedora
    "/opt/rabbitmq/sbin/rabbitmq-server",  # the official image
)
MISSING = """\
RabbitMQ is needed and cannot be installed here: that takes apt-get, and root or sudo without a password.
Either install the package rabbitmq-server of your system (its own service need not run), or start the one in
deploy/local/docker-compose.yml and say so: AMQP_URL=amqp://posthaste:posthaste@127.0.0.1:5672/%2F ./dev …"""
#: RabbitMQ blocks publishers above this, because the stack has a memory budget.
MEMORY_BYTES = 256 * 2**20
FREE_DISK_BYTES = 50 * 2**20
#: Exists once the node has been up. A node that was interrupted earlier has incomplete tables and never starts again.
STARTED_ONCE = "started-once"
#: Virtual hosts for tests, which declare the same queues as the services in `/` and as each other.
TEST_VHOSTS = tuple(f"tests-{number}" for number in range(16))


def server_script() -> Path | None:
    return next((Path(script) for script in SERVER_SCRIPTS if Path(script).exists()), None)


def install(tell: Callable[[str], None]) -> None:
    """Installs the system package, if it is missing, without starting its service. Raises NotReady if that is not
    allowed or fails.
    """
    packages.install(("rabbitmq-server",), server_script, MISSING, tell)


def prepare(run: Path, *, port: int, test_vhosts: bool, passwords: Mapping[str, str] | None = None) -> None:
    """Writes the configuration of the node. If the node was never started successfully, deletes its data first.

    `passwords`: process → password of its user. These users get their permissions in the virtual host `/`.
    `test_vhosts`: whether to create the virtual hosts that tests use (TEST_VHOSTS).
    """
    home = run / "rabbitmq"
    home.mkdir(mode=0o700, exist_ok=True)
    if not (home / STARTED_ONCE).exists():
        shutil.rmtree(home / "data", ignore_errors=True)
    (home / "rabbitmq.conf").write_text(
        f"listeners.tcp.local = 127.0.0.1:{port}\n"
        f"vm_memory_high_watermark.absolute = {MEMORY_BYTES}\n"
        f"disk_free_limit.absolute = {FREE_DISK_BYTES}\n"
        "log.file.level = warning\n"
        f"load_definitions = {home / 'definitions.json'}\n"
    )
    vhosts = ("/", *TEST_VHOSTS) if test_vhosts else ("/",)
    everything = {"user": "guest", "configure": ".*", "write": ".*", "read": ".*"}
    ours = definitions(passwords or {})
    ours["users"].append({"name": "guest", "password": "guest", "tags": "administrator"})
    ours["vhosts"] = [{"name": name} for name in vhosts]
    ours["permissions"] += [{"vhost": name, **everything} for name in vhosts]
    (home / "definitions.json").write_text(json.dumps(ours, indent=1))
    (home / "plugins").write_text("[].\n")


def note_started(run: Path) -> None:
    """Records that the node has started once. From then on its data is kept."""
    if (run / "rabbitmq").exists():
        (run / "rabbitmq" / STARTED_ONCE).touch()


def url(port: int) -> str:
    """Returns the administrator's URL of the broker, for tests and debugging."""
    return user_url(port, "guest", "guest")


def user_url(port: int, user: str, password: str) -> str:
    return f"amqp://{user}:{password}@127.0.0.1:{port}/%2F"


#: Two schedulers: the two cores are shared with everything else.
ERLANG = "+S 2:2 +SDcpu 1:1 +SDio 2"


def processes(run: Path, port: Mapping[str, int], erlang: str = ERLANG) -> list[Process]:
    """Returns the rows of the process table for the broker and its name server. The name server has a row of its own.
    Otherwise the broker would start one, which would go on running after the broker has ended.
    """
    home, names_port = run / "rabbitmq", port["amqp_names"]
    env = {
        "HOME": str(home),  # the cookie
        "ERL_EPMD_PORT": str(names_port),
        "ERL_EPMD_ADDRESS": "127.0.0.1",
        "ERL_CRASH_DUMP_SECONDS": "0",
        "RABBITMQ_NODENAME": "posthaste@localhost",
        "RABBITMQ_DIST_PORT": str(port["amqp_node"]),
        "RABBITMQ_CONF_ENV_FILE": "/dev/null",
        "RABBITMQ_CONFIG_FILE": str(home / "rabbitmq.conf"),
        "RABBITMQ_ADVANCED_CONFIG_FILE": str(home / "advanced.config"),
        "RABBITMQ_ENABLED_PLUGINS_FILE": str(home / "plugins"),
        "RABBITMQ_MNESIA_BASE": str(home / "data"),
        "RABBITMQ_LOG_BASE": str(home / "log"),
        "RABBITMQ_ALLOW_INPUT": "1",  # makes the script become the broker instead of waiting beside it
        # Schedulers that sleep when idle, and small allocators.
        "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": (
            f"-noinput {erlang} +sbwt none +sbwtdcpu none +sbwtdio none +MMscs 64 "
            "-kernel inet_dist_use_interface {127,0,0,1}"
        ),
    }
    epmd = shutil.which("epmd") or "/usr/bin/epmd"
    return [
        Process(
            "epmd",
            [epmd, "-port", str(names_port), "-address", "127.0.0.1"],
            check=f"tcp:127.0.0.1:{names_port}",
        ),
        Process(
            "rabbitmq",
            [str(server_script() or SERVER_SCRIPTS[0])],
            env,
            f"tcp:127.0.0.1:{port['amqp']}",
            ["epmd"],
            stop_seconds=20,
        ),
    ]
