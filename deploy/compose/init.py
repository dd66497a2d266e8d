#!/usr/bin/env python3
"""Writes `.env` for docker-compose.yml: new secrets, your domain and your mail address.

    python3 deploy/compose/init.py [--domain posthaste.example.com] [--mail you@example.com] [--profile core|compact]

Asks for the values that the command does not give. It only adds lines and keeps existing values. So it may be run
again, also after an upgrade that needs new secrets. Refuses weak values (short, repeated, or those of the demo). Needs
only Python 3.9 or newer and Docker Compose 2. Keep a copy of `.env` elsewhere: a backup cannot be read without it.
"""

import argparse
import base64
import os
import re
import secrets
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SERVICES = ("ACCOUNTS", "QUOTA", "MEDIA", "PUBLISHING", "AI", "WEBHOOKS")
UNITS = ("GATEWAY", "CTL", "SERVICES", *SERVICES)
#: 32 random bytes in the encoding of Fernet, which encrypts with the first two.
KEYS = ("CREDENTIAL_KEYS", "WEBHOOK_SECRET_KEYS", "TOKEN_SECRET")
PASSWORDS = (
    "POSTGRES_PASSWORD", "S3_SECRET_KEY", "GRAFANA_PASSWORD", "BACKUP_KEY",
    *(f"AMQP_PASSWORD_{unit}" for unit in UNITS),
    *(f"DATABASE_PASSWORD_{name}" for name in (*SERVICES, "GATEWAY")),
)  # fmt: skip
MESSAGE_KEYS = tuple(f"MESSAGE_KEYS_{unit}" for unit in UNITS)
#: A password of this length from 64 characters is beyond guessing even if a server lets anybody try without limit.
LEAST_LENGTH = 16
#: Settings of a small server, for the profile compact.
COMPACT = ROOT / "deploy" / "compose" / "compact.env"
DOMAIN = re.compile(r"(?=.{4,253}$)([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z][a-z0-9-]{0,61}[a-z0-9]")
MAIL = re.compile(r"[^@\s,<>]+@([a-z0-9-]+\.)+[a-z0-9-]{2,}", re.IGNORECASE)
#: Domains of documentation: nobody gets a certificate for them.
EXAMPLES = re.compile(r"(.*\.)?example(\.(com|net|org))?")


class Refused(Exception):
    """Raised for a value that cannot be used. The message says what to do."""


def settings_in(text: str) -> dict[str, str]:
    """Returns the settings of an env file. If a name occurs twice, the last line counts, as for Compose."""
    lines = (line.strip() for line in text.splitlines())
    return dict(line.split("=", 1) for line in lines if "=" in line and not line.startswith("#"))


def weaknesses(settings: dict[str, str]) -> list[str]:
    """Returns a line for each secret that is short, the demo's, or used for two purposes."""
    found = []
    names_of: dict[str, list[str]] = {}
    for name in (*KEYS, *PASSWORDS):
        value = settings.get(name, "")
        if not value:
            continue
        names_of.setdefault(value, []).append(name)
        if "demo-only" in value or value.startswith("ZGVtby1vbmx5"):
            found.append(f"{name} is the demo's, which everybody knows")
        elif len(value) < LEAST_LENGTH or len(set(value)) < LEAST_LENGTH // 2:
            found.append(f"{name} is too easy to guess: use {LEAST_LENGTH} random characters or more")
    found += [f"{' and '.join(names)} are the same" for names in names_of.values() if len(names) > 1]
    return found


def checked_domain(value: str) -> str:
    """Returns the domain in lower case. Raises Refused if it is not valid."""
    domain = value.strip().lower().rstrip(".")
    if not DOMAIN.fullmatch(domain) or EXAMPLES.fullmatch(domain):
        raise Refused(f"{value!r} is not a domain of yours. Write only its name: posthaste.your-company.com")
    return domain


def checked_mail(value: str) -> str:
    """Returns the mail address. Raises Refused if it is not valid."""
    mail = value.strip()
    if not MAIL.fullmatch(mail) or EXAMPLES.fullmatch(mail.rpartition("@")[2].lower()):
        raise Refused(f"{value!r} is not a mail address of yours. Certificate authorities write to it.")
    return mail


def additions(present: dict[str, str], domain: str, mail: str, profile: str) -> dict[str, str]:
    """Returns the missing settings with their values, except MESSAGE_KEYS."""
    address = f"https://{domain}"
    wanted = {
        "DOMAIN": domain,
        "ACME_EMAIL": mail,
        "COMPOSE_PROFILES": f"{profile},tls,backup",
        "PUBLIC_BASE_URL": address,
        "DASHBOARD_URL": address,
        "RECONNECT_URL": address + "/pages/{page_id}/reconnect",
        "S3_PUBLIC_URL": address,
        "TRUSTED_PROXY_HOPS": "1",
        # Compose builds or pulls as many images at once: all of them would take a small server's memory.
        "COMPOSE_PARALLEL_LIMIT": "2",
    }
    if profile == "compact":
        sizes = settings_in(COMPACT.read_text())
        wanted |= {name: value for name, value in sizes.items() if name != "COMPOSE_PROFILES"}
    for name in KEYS:
        wanted[name] = base64.urlsafe_b64encode(os.urandom(32)).decode()
    for name in PASSWORDS:
        wanted[name] = secrets.token_urlsafe(24)
    # A secret that is a file is the operator's own.
    return {
        name: value
        for name, value in wanted.items()
        if not present.get(name) and not present.get(f"{name}_FILE")
    }


def add(path: Path, lines: dict[str, str]) -> None:
    """Adds the lines to the file atomically, and makes the file readable for its owner only."""
    text = path.read_text() if path.exists() else ""
    if text and not text.endswith("\n"):
        text += "\n"
    fresh = path.with_name(path.name + ".new")
    with open(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
        file.write(text + "".join(f"{name}={value}\n" for name, value in lines.items()))
    fresh.chmod(0o600)
    fresh.replace(path)


def new_message_keys(path: Path) -> dict[str, str]:
    """Creates the keys that sign messages, with the gateway's image. Keeps the secrets that the file already has."""
    compose = ["docker", "compose", "--project-directory", str(ROOT), "--env-file", str(path)]
    print(
        "· building the image of the gateway, which makes the keys that sign messages (a few minutes)",
        flush=True,
    )
    subprocess.run([*compose, "build", "--quiet", "gateway"], check=True)
    made = subprocess.run(
        [*compose, "run", "--rm", "--no-deps", "-T", "gateway", "python", "-m", "chassis.message_keys", "-"],
        input=path.read_text(), capture_output=True, text=True,
    )  # fmt: skip
    if made.returncode != 0:
        raise Refused(f"the image of the gateway made no MESSAGE_KEYS:\n{made.stderr[-2000:]}")
    return settings_in(made.stdout)


def ask(question: str, given: str) -> str:
    """Returns `given`, or asks for the value. Raises Refused if there is no terminal to ask on."""
    if given:
        return given
    if not sys.stdin.isatty():
        raise Refused(f"{question}: nobody to ask. Give it as an option, see --help.")
    return input(f"{question}: ")


def main() -> int:
    """Returns 0, or 1 if a value was refused. In that case the file is unchanged."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--domain", default="", help="the name under which everybody reaches Posthaste")
    parser.add_argument("--mail", default="", help="where certificate authorities write to before a problem")
    parser.add_argument(
        "--profile", choices=("core", "compact"), default="core", help="compact: below 2 GB of memory"
    )
    parser.add_argument(
        "--env-file", type=Path, default=ROOT / ".env", help="default: .env beside docker-compose.yml"
    )
    parser.add_argument(
        "--no-message-keys", action="store_true", help="do not build an image to make MESSAGE_KEYS"
    )
    options = parser.parse_args()
    path: Path = options.env_file
    try:
        present = settings_in(path.read_text()) if path.exists() else {}
        if weak := weaknesses(present):
            raise Refused(
                "\n".join(
                    [*weak, f"Remove these lines from {path}, or write better values, and run this again."]
                )
            )
        domain = checked_domain(ask("Domain of this server", options.domain or present.get("DOMAIN", "")))
        mail = checked_mail(ask("Your mail address", options.mail or present.get("ACME_EMAIL", "")))
        for name, value in {"DOMAIN": domain, "ACME_EMAIL": mail}.items():
            if present.get(name, value) != value:
                raise Refused(
                    f"{path} has {name}={present[name]}. Change it there: other lines may name it as well."
                )
        missing = additions(present, domain, mail, options.profile)
        add(path, missing)
        print(f"· {len(missing)} settings added to {path}" if missing else f"· {path} was complete")
        incomplete = any(name not in present and f"{name}_FILE" not in present for name in MESSAGE_KEYS)
        if incomplete and not options.no_message_keys:
            add(path, new_message_keys(path))
        backup = ROOT / "backup"
        backup.mkdir(mode=0o700, exist_ok=True)
    except (Refused, OSError, subprocess.CalledProcessError) as error:
        print(f"init: {error}", file=sys.stderr)
        return 1
    print("Next: docker compose up -d --build --wait, then python3 deploy/compose/doctor.py")
    print(f"Keep a copy of {path} elsewhere: without its keys no backup can be read.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
