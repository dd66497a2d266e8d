#!/usr/bin/env python3
"""Reports what is missing or wrong on this server: settings, secrets, DNS, ports, TLS, disk, clock, mail, alerts,
backups, storage, platform apps.

    python3 deploy/compose/doctor.py [--env-file .env] [--authority FILE]

Changes nothing and prints no secret. Exits with 1 if a check failed; warnings are no failure. Needs only Python 3.9 or
newer. --authority: a file with a certificate authority to trust, needed with CADDY_TLS="tls internal".
"""

import argparse
import json
import shutil
import smtplib
import socket
import ssl
import stat
import struct
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from init import KEYS, MESSAGE_KEYS, PASSWORDS, ROOT, settings_in, weaknesses

#: A week's posts with media of one busy account, and room for PostgreSQL's log.
FREE_BYTES = 10 * 2**30
#: Signed messages and presigned addresses allow for 15 minutes; platforms refuse signatures from 5 minutes on.
CLOCK_WARNING_SECONDS, CLOCK_SECONDS = 10.0, 120.0
#: Caddy renews a third of a certificate's life before its end, 30 days: below this it has failed for a while.
CERTIFICATE_DAYS = 14
CALL_SECONDS = 10.0
NTP_SERVER = "pool.ntp.org"
NTP_EPOCH = 2208988800
#: Platform of `ctl platform check` → the setting that says that we have an app there.
APPS = {
    "facebook": "META_APP_ID", "instagram": "META_APP_ID", "linkedin": "LINKEDIN_CLIENT_ID",
    "tiktok": "TIKTOK_CLIENT_ID", "twitter": "X_CLIENT_ID", "youtube": "YOUTUBE_CLIENT_ID",
}  # fmt: skip
#: Who reads a secret that is a file: the user of our images, Grafana's, or a server's container, which begins as root.
OURS, GRAFANA, SUPERUSER = 10001, 472, 0
READERS = {
    "GRAFANA_PASSWORD_FILE": GRAFANA,
    **dict.fromkeys(("BACKUP_KEY_FILE", "BACKUP_S3_SECRET_KEY_FILE", "MINIO_ROOT_PASSWORD_FILE"), SUPERUSER),
    **dict.fromkeys(("POSTGRES_CERTIFICATE_FILE", "POSTGRES_KEY_FILE"), SUPERUSER),
    **dict.fromkeys(("RABBITMQ_CERTIFICATE_FILE", "RABBITMQ_KEY_FILE"), SUPERUSER),
}
#: What `ctl platform check` says → our states.
STATES = {"ok": "ok", "skipped": "ok", "unknown": "warning", "failed": "failed"}


class Finding(NamedTuple):
    """The result of one check. `state`: ok, warning or failed."""

    check: str
    state: str
    detail: str


def check_settings(path: Path, settings: dict[str, str]) -> Iterator[Finding]:
    """Checks `.env`: who can read it, which settings are missing, which secrets are weak."""
    mode = path.stat().st_mode & 0o077
    yield Finding(
        "settings", "failed" if mode else "ok", f"others can read it: chmod 600 {path}" if mode else str(path)
    )
    missing = [
        name
        for name in (*KEYS, *PASSWORDS, *MESSAGE_KEYS, "DOMAIN", "PUBLIC_BASE_URL", "COMPOSE_PROFILES")
        if not settings.get(name) and not settings.get(f"{name}_FILE")
    ]
    if missing:
        yield Finding(
            "settings", "failed", f"{', '.join(missing)} missing: python3 deploy/compose/init.py adds them"
        )
    for weak in weaknesses(settings):
        yield Finding("secrets", "failed", weak)
    domain, address = settings.get("DOMAIN", ""), settings.get("PUBLIC_BASE_URL", "")
    if domain and address != f"https://{domain}":
        yield Finding("settings", "warning", f"PUBLIC_BASE_URL is {address}, but DOMAIN is {domain}")
    dashboard = settings.get("DASHBOARD_URL", "")
    if domain and not dashboard.startswith("https://"):
        wrong = f"DASHBOARD_URL is {dashboard or 'not set'}"
        yield Finding(
            "settings",
            "failed",
            f"{wrong}: without its https address, the dashboard's cookies are not Secure",
        )
    if settings.get("TRUSTED_PROXY_HOPS", "0") == "0":
        yield Finding(
            "settings", "failed", "TRUSTED_PROXY_HOPS is not 1: all clients would share one address's limits"
        )


def check_secret_files(settings: dict[str, str]) -> Iterator[Finding]:
    """Checks that the file of each secret exists, and that the user in its container can read it.

    The engine mounts a file with the owner and the mode that it has on this machine.
    """
    for name, value in settings.items():
        if not value or not name.endswith("_FILE") or name == "COMPOSE_FILE":
            continue
        path, reader = ROOT / value, READERS.get(name, OURS)
        try:
            found = path.stat()
        except PermissionError:
            yield Finding("secrets", "warning", f"{name}: {path} cannot be looked at: run this with sudo")
            continue
        except OSError:
            yield Finding("secrets", "failed", f"{name}: there is no {path}")
            continue
        bit = {found.st_gid: stat.S_IRGRP, found.st_uid: stat.S_IRUSR}.get(reader, stat.S_IROTH)
        if not stat.S_ISREG(found.st_mode):
            yield Finding("secrets", "failed", f"{name}: {path} is not a file")
        elif reader != SUPERUSER and not found.st_mode & bit:
            detail = f"{name}: user {reader} of the container cannot read it: sudo chown {reader} {path}"
            yield Finding("secrets", "failed", detail)


def check_dns(domain: str) -> Iterator[Finding]:
    """Checks that the domain resolves to an address of this machine, as far as this machine can tell."""
    try:
        found = {str(row[4][0]) for row in socket.getaddrinfo(domain, 443, type=socket.SOCK_STREAM)}
    except OSError as error:
        yield Finding(
            "DNS", "failed", f"{domain} has no address ({error}): add an A record with this server's"
        )
        return
    strange = [address for address in sorted(found) if not is_ours(address)]
    if strange:
        detail = f"{', '.join(strange)} is not on this machine: right if it is behind NAT or a load balancer"
        yield Finding("DNS", "warning", f"{domain} → {detail}")
    else:
        yield Finding("DNS", "ok", f"{domain} → {', '.join(sorted(found))}")


def is_ours(address: str) -> bool:
    """Whether this machine has the address: a socket can be bound only to an own address."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        try:
            probe.bind((address, 0))
        except OSError:
            return False
        return True


def check_port(domain: str, port: int) -> Finding:
    """Checks that a server listens on the port. Only another machine could tell whether the port is reachable from the
    internet.
    """
    try:
        socket.create_connection((domain, port), CALL_SECONDS).close()
    except OSError as error:
        return Finding(
            f"port {port}", "failed", f"{error}: open it in the firewall, and see docker compose ps caddy"
        )
    return Finding(f"port {port}", "ok", f"{domain} answers")


def check_tls(domain: str, authority: str | None, *, is_internal: bool) -> Finding:
    """Checks that the certificate is valid for the domain and will not expire soon.

    `is_internal`: the certificate is from Caddy's own authority. Such certificates are valid for half a day.
    """
    context = ssl.create_default_context(cafile=authority)
    try:
        with (
            socket.create_connection((domain, 443), CALL_SECONDS) as plain,
            context.wrap_socket(plain, server_hostname=domain) as secured,
        ):
            certificate = secured.getpeercert() or {}
    except (OSError, ValueError) as error:
        return Finding("TLS", "failed", f"{error}: docker compose logs caddy says why it got no certificate")
    days = (ssl.cert_time_to_seconds(str(certificate["notAfter"])) - time.time()) / 86400
    state = "ok" if is_internal or days > CERTIFICATE_DAYS else "failed"
    return Finding(
        "TLS",
        state,
        f"valid for {days:.0f} more days" if days >= 1 else f"valid for {days * 24:.0f} more hours",
    )


def check_answer(domain: str, authority: str | None) -> Finding:
    """Checks through the proxy that every service answers."""
    context = ssl.create_default_context(cafile=authority)
    try:
        with urllib.request.urlopen(
            f"https://{domain}/readyz", timeout=CALL_SECONDS, context=context
        ) as answer:
            return Finding("services", "ok", f"/readyz answers {answer.status}")
    except OSError as error:
        return Finding(
            "services",
            "failed",
            f"/readyz: {error}; docker compose run --rm ctl service list names the cause",
        )


def check_disk() -> Finding:
    free = shutil.disk_usage(ROOT).free
    state = "ok" if free >= FREE_BYTES else "failed"
    return Finding(
        "disk", state, f"{free / 2**30:.0f} GiB free" + ("" if state == "ok" else ", 10 are needed")
    )


def check_clock() -> Finding:
    """Checks by how much this machine's clock differs from a time server's."""
    try:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asked:
            asked.settimeout(3.0)
            begun_at = time.time()
            asked.sendto(b"\x1b" + 47 * b"\0", (NTP_SERVER, 123))
            answer = asked.recv(48)
            middle = (begun_at + time.time()) / 2
    except OSError as error:
        return Finding(
            "clock", "warning", f"{NTP_SERVER} was not reached ({error}): check it with timedatectl"
        )
    seconds, fraction = struct.unpack("!II", answer[40:48])
    off = middle - (seconds - NTP_EPOCH + fraction / 2**32)
    state = "ok" if abs(off) < CLOCK_WARNING_SECONDS else "warning" if abs(off) < CLOCK_SECONDS else "failed"
    return Finding("clock", state, f"{off:+.1f} s" + ("" if state == "ok" else ": timedatectl set-ntp true"))


def check_mail(settings: dict[str, str]) -> Finding:
    """Checks that the mail server accepts our login. Sends no mail."""
    host = settings.get("SMTP_HOST", "")
    if not host:
        return Finding(
            "mail", "warning", "SMTP_HOST is not set: no verification or reset mails; see operations.md"
        )
    if not settings.get("MAIL_FROM"):
        return Finding("mail", "failed", "MAIL_FROM is not set: the sender of the mails")
    security = settings.get("SMTP_SECURITY") or "starttls"
    port = int(settings.get("SMTP_PORT") or {"tls": 465, "none": 25}.get(security, 587))
    file = settings.get("SMTP_PASSWORD_FILE")
    try:
        kind = smtplib.SMTP_SSL if security == "tls" else smtplib.SMTP
        with kind(host, port, timeout=CALL_SECONDS) as server:
            if security == "starttls":
                server.starttls(context=ssl.create_default_context())
            if user := settings.get("SMTP_USERNAME"):
                server.login(
                    user, Path(file).read_text().strip() if file else settings.get("SMTP_PASSWORD", "")
                )
    except (OSError, smtplib.SMTPException) as error:
        return Finding("mail", "failed", f"{host}:{port}: {error}")
    return Finding("mail", "ok", f"{host}:{port}")


def check_alerts(settings: dict[str, str]) -> Finding:
    """Checks that alerts are sent to somebody by mail."""
    if "observability" not in settings.get("COMPOSE_PROFILES", "").split(","):
        detail = "nobody is told of a failure: add the profile observability (docs/operations.md, Compose)"
        return Finding("alerts", "warning", detail)
    to = settings.get("ALERTS_TO") or settings.get("ACME_EMAIL", "")
    if not settings.get("SMTP_HOST") or not to:
        return Finding("alerts", "warning", "they are shown and not mailed: set SMTP_HOST and ALERTS_TO")
    return Finding("alerts", "ok", f"mailed to {to}")


def check_backups(path: Path, settings: dict[str, str]) -> Finding:
    """Checks that there is a backup of today or yesterday."""
    if "backup" not in settings.get("COMPOSE_PROFILES", "").split(","):
        return Finding("backups", "warning", "none are made: add the profile backup to COMPOSE_PROFILES")
    done = compose(path, "exec", "-T", "backup", "/scripts/backup.sh", "list")
    days = done.stdout.split()
    if done.returncode != 0:
        return Finding("backups", "failed", last_line(done.stderr))
    if not days:
        return Finding("backups", "warning", "none yet: docker compose run --rm backup now makes the first")
    if days[-1] < time.strftime("%Y-%m-%d", time.gmtime(time.time() - 86400)):  # yesterday's
        return Finding("backups", "failed", f"the newest is of {days[-1]}: see docker compose logs backup")
    return Finding("backups", "ok", f"{len(days)}, the newest of {days[-1]}")


def compose(path: Path, *words: str) -> "subprocess.CompletedProcess[str]":
    """Runs `docker compose` with the settings."""
    options = ("--project-directory", str(ROOT), "--env-file", str(path))
    return subprocess.run(
        ["docker", "compose", *options, *words], stdin=subprocess.DEVNULL, capture_output=True, text=True
    )


def last_line(text: str) -> str:
    return (text.strip().splitlines() or ["no answer"])[-1]


def check_storage(settings: dict[str, str], authority: str | None) -> Finding:
    """Checks that clients can reach the bucket, and that it refuses requests without a signature."""
    url = f"{settings.get('S3_PUBLIC_URL', '')}/{settings.get('S3_BUCKET') or 'posthaste-media'}/"
    context = ssl.create_default_context(cafile=authority) if url.startswith("https:") else None
    try:
        with urllib.request.urlopen(url, timeout=CALL_SECONDS, context=context):
            return Finding(
                "storage", "failed", f"{url} lists its files to everybody: make the bucket private"
            )
    except urllib.error.HTTPError as error:
        state = "ok" if error.code in (400, 401, 403) else "failed"
        return Finding("storage", state, f"{url} answers {error.code}")
    except (OSError, ValueError) as error:
        return Finding("storage", "failed", f"{url}: {error}")


def check_platforms(path: Path, settings: dict[str, str]) -> Iterator[Finding]:
    """Checks each platform app with `ctl platform check`, which also prints the redirect URIs to register at the
    platform.
    """
    ours = [platform for platform, name in APPS.items() if settings.get(name)]
    if not ours:
        yield Finding(
            "platform apps", "warning", "none: docs/platforms/connecting.md tells how to register one"
        )
    for platform in ours:
        done = compose(path, "run", "--rm", "-T", "ctl", "--json", "platform", "check", platform)
        try:
            rows = json.loads(done.stdout)
        except ValueError:
            yield Finding(platform, "failed", last_line(done.stderr))
            continue
        for row in rows:
            detail = row["found"] + (f": {row['advice']}" if row["advice"] else "")
            yield Finding(f"{platform}: {row['check']}", STATES[row["state"]], detail)


def findings(path: Path, authority: str | None) -> Iterator[Finding]:
    """Runs every check."""
    settings = settings_in(path.read_text())
    yield from check_settings(path, settings)
    yield from check_secret_files(settings)
    if domain := settings.get("DOMAIN", ""):
        yield from check_dns(domain)
        yield check_port(domain, 80)
        yield check_port(domain, 443)
        yield check_tls(domain, authority, is_internal=settings.get("CADDY_TLS") == "tls internal")
        yield check_answer(domain, authority)
    yield check_disk()
    yield check_clock()
    yield check_mail(settings)
    yield check_alerts(settings)
    yield check_backups(path, settings)
    yield check_storage(settings, authority)
    yield from check_platforms(path, settings)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--env-file", type=Path, default=ROOT / ".env", help="default: .env beside docker-compose.yml"
    )
    parser.add_argument(
        "--authority", help="a file with the certificate authority to trust instead of the system's"
    )
    options = parser.parse_args()
    if not options.env_file.exists():
        print(
            f"doctor: there is no {options.env_file}: run python3 deploy/compose/init.py first",
            file=sys.stderr,
        )
        return 1
    worst = "ok"
    for check, state, detail in findings(options.env_file, options.authority):
        print(f"{check:<28} {state:<8} {detail}", flush=True)
        if state == "failed":
            worst = state
    return int(worst == "failed")


if __name__ == "__main__":
    sys.exit(main())
