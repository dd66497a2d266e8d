"""The table of our processes: their commands, environments and health checks.

A new service is a row in SERVICES and, if it stores data, a name in DATABASES. `stack.py` starts the processes.
"""

import sys
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

from local.processes.table import Process
from local.servers import storage
from local.stack import apps
from local.stack import compact as small

#: Started as `python -m chassis.run <name>`; the value is what only this service is told.
SERVICES: dict[str, tuple[str, ...]] = {
    "accounts": (
        *("DASHBOARD_URL", "LOGINS_PER_HOUR", "SIGNUPS", "SIGNUPS_PER_HOUR", "TOKEN_SECRET"),
        *("MAIL_FROM", "SMTP_HOST", "SMTP_PORT", "SMTP_SECURITY"),
    ),
    "quota": ("DASHBOARD_URL",),
    "publishing": (
        *(
            "CONNECT_RETURN_URLS",
            "CREDENTIAL_KEYS",
            "DASHBOARD_URL",
            "META_VERIFY_TOKEN",
            "OUTBOUND_HOST_MAP",
            "RECONNECT_URL",
        ),
        *("COMMENT_POLLS", "COMMENT_POLLS_PUSHED", "COMMENT_POLLS_PER_SECOND"),
        *apps.NAMES,
    ),
    "ai": (
        *("AI_CAPTION_PROVIDER", "AI_IMAGE_PROVIDER", "AI_POLL_SECONDS", "AI_VIDEO_PROVIDER", "MAX_WORKERS"),
        *(
            "DASHBOARD_URL",
            "GEMINI_API_KEY",
            "GEMINI_API_URL",
            "OPENAI_API_KEY",
            "OPENAI_API_URL",
            "OUTBOUND_HOST_MAP",
        ),
        *("PACK_LINKS", "PAYMENT_PROVIDER", "STRIPE_API_URL", "STRIPE_SECRET_KEY", "STRIPE_WEBHOOK_SECRET"),
    ),
    "media": ("S3_ACCESS_KEY", "S3_BUCKET", "S3_PUBLIC_URL", "S3_REGION", "S3_SECRET_KEY", "S3_URL"),
    "webhooks": ("MAX_WORKERS", "WEBHOOK_ALLOWED_CIDRS", "WEBHOOK_SECRET_KEYS"),
}
#: Keys that the runner generates, once for each run directory.
SECRETS = (
    *("CREDENTIAL_KEYS", "META_VERIFY_TOKEN", "STRIPE_WEBHOOK_SECRET", "TOKEN_SECRET", "WEBHOOK_SECRET_KEYS"),
    *apps.SECRETS,
)
#: Where packs are bought with `--payments`; in the simulator a control call pays there.
PACK_LINKS = ",".join(f"{size}=https://buy.posthaste.test/{size}" for size in (500, 1_500, 5_000, 15_000))
#: How often comments are asked for (age=wait in seconds): 5 s for young posts (local-stack.md, "Waiting times").
COMMENT_POLLS = "3600=5,86400=15,259200=300,1209600=3600,2592000=86400"
#: The services with a database of their own, with migrations.
DATABASES = ("accounts", "quota", "publishing", "ai", "media", "webhooks", "gateway")
#: Passwords that the runner generates once for each run directory. Each is only given to its own service, in
#: DATABASE_URL.
DATABASE_PASSWORDS = tuple(f"DATABASE_PASSWORD_{name.upper()}" for name in DATABASES)
#: Usual ports of the local stack; ports that are taken are replaced, see `.run/env`.
PORTS = {
    "gateway": 8080,
    "dashboard": 8081,
    "simulator": 8090,
    "s3": 8091,
    "mail": 8092,
    "amqp": 5682,
    "amqp_node": 5683,
    "amqp_names": 5684,
} | {name: 8100 + number for number, name in enumerate(SERVICES, 1)}

#: Seeds the platforms' latencies with `--slow`: the same times in every run.
SLOW_SEED = "1"

PYTHON = (sys.executable, "-m")

#: A host that only exists in the local stack; the simulator serves sample media under it.
MEDIA_HOST = "media.posthaste.test"
SAMPLES = {
    "SAMPLE_PHOTO_URL": f"http://{MEDIA_HOST}/media/photo-1080x1080.jpg",
    "SAMPLE_VIDEO_URL": f"http://{MEDIA_HOST}/media/video-5s.mp4",
}


def settings(
    port: Mapping[str, int],
    *,
    secrets: Mapping[str, str],
    strict: bool,
    payments: bool = False,
    slow: bool = False,
    mail: bool = True,
) -> dict[str, str]:
    """Returns all settings of the local stack's processes, except the database and the port of each process."""
    simulator = f"http://127.0.0.1:{port['simulator']}"
    return {
        "AI_CAPTION_PROVIDER": "openai",
        "AI_IMAGE_PROVIDER": "gemini",
        "AI_POLL_SECONDS": "1",
        "AI_VIDEO_PROVIDER": "gemini",
        "CLOCK_SHIFT_ALLOWED": "true",
        "CONNECT_RETURN_URLS": f"*={dashboard_url(port)}/pages/linked",
        "COMMENT_POLLS": COMMENT_POLLS,
        "COMMENT_POLLS_PUSHED": COMMENT_POLLS,
        "COMMENT_POLLS_PER_SECOND": "20",
        "DASHBOARD_URL": dashboard_url(port),
        "EVENTLET_NO_GREENDNS": "yes",
        "GEMINI_API_KEY": "local-gemini-key",
        "GEMINI_API_URL": simulator,
        "LOGINS_PER_HOUR": "0",
        "LOG_LEVEL": "info",
        "MALLOC_ARENA_MAX": "2",  # as in the images
        "MAIL_FROM": "Posthaste <no-reply@posthaste.test>",
        "MAX_WORKERS": "256",
        "OPENAI_API_KEY": "local-openai-key",
        "OPENAI_API_URL": simulator,
        "OUTBOUND_HOST_MAP": f"{MEDIA_HOST}=127.0.0.1:{port['simulator']}",
        "PACK_LINKS": PACK_LINKS if payments else "",
        "PAYMENT_PROVIDER": "stripe" if payments else "manual",
        "PUBLIC_BASE_URL": f"http://127.0.0.1:{port['gateway']}",
        "PYTHONUNBUFFERED": "1",
        "RECONCILE_FIRST_SECONDS": "5",
        "RECONCILE_SETTLE_SECONDS": "60",
        "RECONNECT_URL": f"{dashboard_url(port)}/pages/{{page_id}}/reconnect",
        "RENEWAL_LEASE_SECONDS": "40",
        "S3_BUCKET": storage.BUCKET,
        "S3_PUBLIC_URL": storage.url(port["s3"]),
        "S3_REGION": storage.REGION,
        "S3_URL": storage.url(port["s3"]),
        "SIGNUPS": "open",
        "SIGNUPS_PER_HOUR": "1000",
        "SIMULATOR_SLOW": SLOW_SEED if slow else "",
        "SMTP_HOST": "127.0.0.1" if mail else "",
        "SMTP_PORT": str(port["mail"]),
        "SMTP_SECURITY": "none",
        "STRIPE_API_URL": simulator,
        "STRIPE_SECRET_KEY": "local-stripe-key",
        "UNCONFIRMED_AFTER_SECONDS": "60",
        "WEBHOOK_ALLOWED_CIDRS": "" if strict else _receivers_on_loopback(port.values()),
        **apps.settings(simulator),
        **secrets,
    }


def _receivers_on_loopback(taken: Iterable[int]) -> str:
    """Returns WEBHOOK_ALLOWED_CIDRS: webhook receivers may be at every port of the loopback except those of the
    stack's own servers.
    """
    edges = [0, *sorted(set(taken)), 65_536]
    free = [(before + 1, after - 1) for before, after in pairwise(edges) if before + 1 < after]
    return ",".join(f"*=127.0.0.1/32:{first}-{last}" for first, last in free)


def processes(
    port: Mapping[str, int],
    told: Mapping[str, str],
    database_urls: Mapping[str, str],
    servers: list[str],
    *,
    compact: bool = False,
    bus: Mapping[str, Mapping[str, str]],
) -> list[Process]:
    """Returns the rows of the process table for our own processes.

    `told`: the settings of the stack (`settings`). `servers`: names of the processes that must be ready before ours.
    `bus`: process → its AMQP_URL and MESSAGE_KEYS. With `compact`, all services run in one process.
    """
    private = {key for keys in SERVICES.values() for key in keys}
    common = {key: value for key, value in told.items() if key not in private}
    store = [name for name in servers if name == "databases"]
    rows = [_simulator(port, told), _migration(database_urls, store)]
    if compact:
        common |= small.SETTINGS
        together = {**told, **small.SETTINGS, **bus[small.NAME]}
        rows.append(_services_together(port, together, database_urls, servers))
    else:
        for name, keys in SERVICES.items():
            own = {"DATABASE_URL": database_urls[name], **bus[name]}
            own |= {key: told[key] for key in keys}
            rows.append(_services(name, [name], common | own, port[name], servers))
    own = {"DATABASE_URL": database_urls["gateway"], **bus["gateway"]}
    own |= {"HOST": "127.0.0.1", "PORT": str(port["gateway"])}
    check = f"http://127.0.0.1:{port['gateway']}/healthz"
    rows.append(Process("gateway", [*PYTHON, "gateway"], common | own, check, [*servers, "migrate"]))
    rows.append(_dashboard(port, told))
    return rows


def _migration(database_urls: Mapping[str, str], servers: list[str]) -> Process:
    """Returns the process that migrates all databases. It is a single process: with one for each database, each would
    have to load SQLAlchemy and Alembic.
    """
    env = {f"DATABASE_URL_{name.upper()}": database_urls[name] for name in DATABASES}
    return Process("migrate", [*PYTHON, "chassis.migrate", *DATABASES], env, depends=servers, once=True)


def dashboard_url(port: Mapping[str, int]) -> str:
    return f"http://127.0.0.1:{port['dashboard']}"


def _dashboard(port: Mapping[str, int], told: Mapping[str, str]) -> Process:
    """Returns the process of the dashboard. It gets only the API's address, not those of databases or brokers."""
    env = {
        "API_URL": told["PUBLIC_BASE_URL"],
        "DASHBOARD_URL": dashboard_url(port),
        "HOST": "127.0.0.1",
        "MALLOC_ARENA_MAX": told["MALLOC_ARENA_MAX"],
        "PORT": str(port["dashboard"]),
        "PUBLIC_BASE_URL": told["PUBLIC_BASE_URL"],
        "PYTHONUNBUFFERED": "1",
    }
    return Process("dashboard", [*PYTHON, "dashboard"], env, f"{dashboard_url(port)}/healthz", ["gateway"])


def _services(row: str, names: Sequence[str], env: dict[str, str], port: int, servers: list[str]) -> Process:
    """Returns a process that runs these services. `row`: the name of the process in the table."""
    return Process(
        row,
        [*PYTHON, "chassis.run", *names],
        env | {"HEALTH_PORT": str(port)},
        f"http://127.0.0.1:{port}/healthz",
        [*servers, "migrate"],
    )


def _services_together(
    port: Mapping[str, int], told: Mapping[str, str], database_urls: Mapping[str, str], servers: list[str]
) -> Process:
    urls = {f"DATABASE_URL_{name.upper()}": database_urls[name] for name in small.SERVICES}
    return _services(small.NAME, small.SERVICES, {**told, **urls}, port[small.SERVICES[0]], servers)


def _simulator(port: Mapping[str, int], told: Mapping[str, str]) -> Process:
    return Process(
        "simulator",
        [*PYTHON, "simulator", "--port", str(port["simulator"])],
        {name: told[name] for name in ("OUTBOUND_HOST_MAP", "SIMULATOR_SLOW")}
        | {"PYTHONUNBUFFERED": "1"}
        | apps.of_simulator(told)
        | _of_meta(port, told)
        | _of_stripe(port, told),
        f"tcp:127.0.0.1:{port['simulator']}",
    )


def _of_meta(port: Mapping[str, int], told: Mapping[str, str]) -> dict[str, str]:
    """Returns the simulator's settings for Meta's webhooks about comments."""
    hooks = f"http://127.0.0.1:{port['gateway']}/hooks"
    return {"META_VERIFY_TOKEN": told["META_VERIFY_TOKEN"], "META_WEBHOOK_URL": hooks}


def _of_stripe(port: Mapping[str, int], told: Mapping[str, str]) -> dict[str, str]:
    """Returns the simulator's settings for our Stripe account, with the address of its webhooks."""
    return {name: told[name] for name in ("STRIPE_SECRET_KEY", "STRIPE_WEBHOOK_SECRET")} | {
        "STRIPE_WEBHOOK_URL": f"http://127.0.0.1:{port['gateway']}/hooks/stripe"
    }
