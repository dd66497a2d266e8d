"""The S3 server of docker-compose.yml, and the two files that replace it by another one."""

import json
import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from composed import COMPOSE, ENV_FILES, SERVICES
from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.x509.oid import ExtendedKeyUsageOID

from local.environment import values_of
from local.paths import ROOT

AT_A_PROVIDER = {
    "S3_URL": "https://s3.eu-central-1.amazonaws.com",
    "S3_PUBLIC_URL": "https://s3.eu-central-1.amazonaws.com",
}
#: Stands for SeaweedFS: as a shell it answers like a server that has just started, then like one that is ready.
WEED = """#!/bin/sh
echo "$*" >>"$STATE/asked"
[ "$1" = server ] && { until [ -e "$STATE/storage/ready" ]; do sleep 0.05; done; exit 0; }
cat >>"$STATE/told"
[ -e "$STATE/tried" ] && echo '"fsync":  true' || : >"$STATE/tried"
"""
#: Stands for MinIO's client: notes what it is asked, and remembers which policy a user has.
MC = """#!/bin/sh
echo "$*" >>"$STATE/asked"
case "$*" in
  *"policy create"*) cp "$7" "$STATE/given.json" ;;
  *"policy attach"*) [ ! -e "$STATE/attached" ] || exit 1; echo "$6" >"$STATE/attached" ;;
  *"user info"*) echo "AccessKey: $5"; cat "$STATE/attached" 2>/dev/null || true ;;
esac
"""


def rendered(docker_compose: str, folder: Path, profiles: str, file: str, **told: str) -> dict[str, Any]:
    """Returns docker-compose.yml merged with `file`, as Compose renders them with the demo's settings and those in
    `told`.
    """
    settings = values_of(ENV_FILES["demo"]) | {"COMPOSE_PROFILES": profiles, "DOMAIN": "x.test"} | told
    (folder / ".env").write_text("".join(f"{name}={value}\n" for name, value in settings.items()))
    files = ("-f", "docker-compose.yml", *(["-f", f"deploy/compose/{file}"] if file else []))
    done = subprocess.run(
        [docker_compose, *files, "--env-file", str(folder / ".env"), "config"],
        cwd=ROOT, env={"PATH": os.environ["PATH"]}, capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    answer: dict[str, Any] = yaml.safe_load(done.stdout)
    return answer


def on(network: str, rows: dict[str, Any]) -> set[str]:
    return {name for name, row in rows.items() if network in row["networks"]}


def played(folder: Path, name: str, program: str) -> dict[str, str]:
    """Puts a program of this name into the folder. Returns the environment that finds it."""
    (folder / name).write_text(program)
    (folder / name).chmod(0o755)
    return {"PATH": f"{folder}:{os.environ['PATH']}", "STATE": str(folder)}


def test_only_who_moves_files_is_on_the_storage_s_network() -> None:
    assert COMPOSE["networks"]["storage"] == {"internal": True}
    moves = {"gateway", "media", "publishing", "ai", "services", "caddy", "backup"}
    assert on("storage", SERVICES) == {"storage", *moves}
    assert on("storage-port", SERVICES) == {"storage"}
    assert set(SERVICES["storage"]["networks"]) == {"storage", "storage-port"}
    assert SERVICES["storage"]["ports"] == ["${S3_BIND:-127.0.0.1}:${S3_PORT:-9000}:9000"]


def test_whoever_reaches_the_storage_reaches_s3_alone() -> None:
    """The server's other ports ask for no password: one request there would make a stranger its administrator."""
    script = (ROOT / "deploy/compose/storage.sh").read_text()
    assert "-ip.bind=127.0.0.1" in script
    assert re.findall(r"\S+=0\.0\.0\.0", script) == ["-s3.ip.bind=0.0.0.0"]
    folder = ROOT / "deploy/storage/grpc"
    for name in ("GRPC_CA", "GRPC_S3_CERT", "GRPC_S3_KEY"):
        file = re.search(rf"WEED_{name}=/grpc/(\S+)", script)
        assert file
        assert (folder / file[1]).is_file()
    server = x509.load_pem_x509_certificate((folder / "server.crt").read_bytes())
    authority = x509.load_pem_x509_certificate((folder / "ca.crt").read_bytes())
    server.verify_directly_issued_by(authority)
    # The server's own certificate is not one with which to ask, and nobody can make another.
    assert [*server.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value] == [
        ExtendedKeyUsageOID.SERVER_AUTH
    ]
    key = serialization.load_pem_private_key((folder / "server.key").read_bytes(), None)
    assert key.public_key() == server.public_key()
    assert key.public_key() != authority.public_key()
    assert sorted(path.name for path in folder.iterdir()) == ["ca.crt", "server.crt", "server.key"]


def test_the_storage_knows_media_alone_and_is_healthy_once_it_has_the_bucket(tmp_path: Path) -> None:
    (tmp_path / "storage").mkdir()
    script = (ROOT / "deploy/compose/storage.sh").read_text().replace("/run/storage", f"{tmp_path}/storage")
    script = script.replace(" /policy.json", f" {ROOT}/deploy/storage/policy.json").replace(
        "sleep 1", "sleep 0"
    )
    told = {"S3_BUCKET": "our-bucket", "S3_ACCESS_KEY": "key", "S3_SECRET_KEY": 'a"b\\c'}
    subprocess.run(["sh", "-c", script], env=told | played(tmp_path, "weed", WEED), check=True, timeout=30)
    settings = json.loads((tmp_path / "storage/s3.json").read_text())
    [user] = settings["identities"]
    assert user["credentials"] == [{"accessKey": "key", "secretKey": 'a"b\\c'}]
    assert user["actions"] == []
    [policy] = settings["policies"]
    assert user["policyNames"] == [policy["name"]]
    wanted = (ROOT / "deploy/storage/policy.json").read_text().replace("${S3_BUCKET}", "our-bucket")
    assert json.loads(policy["content"]) == json.loads(wanted)
    assert "s3.bucket.create -name=our-bucket\n" in (tmp_path / "told").read_text()
    assert "/run/storage/ready" in SERVICES["storage"]["healthcheck"]["test"][1]


@pytest.mark.parametrize("profile", ["core", "compact"])
def test_with_a_provider_media_alone_gets_a_way_out(
    docker_compose: str, tmp_path: Path, profile: str
) -> None:
    profiles = f"{profile},tls,observability"
    usual = rendered(docker_compose, tmp_path, profiles, "")
    other = rendered(docker_compose, tmp_path, profiles, "external-s3.yml", **AT_A_PROVIDER)
    assert usual["services"].keys() - other["services"].keys() == {"storage"}
    assert not {"storage", "storage-port"} & other["networks"].keys()
    assert on("outside", other["services"]) == on("outside", usual["services"]) | (
        {"media"} if profile == "core" else set()
    )
    media = other["services"]["media" if profile == "core" else "services"]
    assert AT_A_PROVIDER.items() <= media["environment"].items()
    assert media["environment"].keys() == (
        usual["services"]["media" if profile == "core" else "services"]["environment"].keys()
    )
    assert "storage" not in media["depends_on"]


def test_a_provider_has_to_be_named(docker_compose: str, tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="the address of the S3 provider"):
        rendered(docker_compose, tmp_path, "core", "external-s3.yml")


@pytest.mark.parametrize("profile", ["core", "compact"])
def test_an_installation_may_keep_minio(docker_compose: str, tmp_path: Path, profile: str) -> None:
    told = {"MINIO_ROOT_PASSWORD": "root's"}
    found = rendered(docker_compose, tmp_path, f"{profile},tls", "minio.yml", **told)
    rows = found["services"]
    assert "storage" not in rows
    media = rows["media" if profile == "core" else "services"]
    assert media["environment"]["S3_URL"] == "http://minio:9000"
    assert media["depends_on"]["bucket"]["condition"] == "service_completed_successfully"
    assert "storage" not in media["depends_on"]
    assert rows["caddy"]["environment"]["S3_UPSTREAM"] == "minio:9000"
    assert on("storage", rows) >= {"minio", "bucket", "caddy", "media" if profile == "core" else "services"}
    holders = {name for name, row in rows.items() if "MINIO_ROOT_PASSWORD" in row["environment"]}
    assert holders == {"minio", "bucket"}
    for name in ("minio", "bucket"):
        assert re.fullmatch(r"quay\.io/minio/\w+:RELEASE\.\S+@sha256:[0-9a-f]{64}", rows[name]["image"])
        assert rows[name]["logging"]["options"]["max-size"] == "10m"
        assert int(rows[name]["mem_limit"]) <= 2 * 2**30


def test_minio_s_user_gets_a_policy_for_this_bucket_and_the_script_may_run_again(tmp_path: Path) -> None:
    script = (ROOT / "deploy/compose/make-bucket.sh").read_text()
    script = script.replace(" /policy.json", f" {ROOT}/deploy/storage/policy.json").replace(
        "/tmp/", f"{tmp_path}/"
    )
    told = {
        "S3_URL": "http://s3",
        "S3_BUCKET": "our-bucket",
        "S3_ACCESS_KEY": "posthaste-media",  # the default: no name of the policy
        "S3_SECRET_KEY": "word",
    }
    told |= {"MINIO_ROOT_USER": "root", "MINIO_ROOT_PASSWORD": "root's"} | played(tmp_path, "mc", MC)
    for _ in range(2):
        subprocess.run(["sh", "-c", script], env=told, check=True, timeout=10)
    assert (tmp_path / "attached").read_text() == "only-media-objects\n"
    asked = (tmp_path / "asked").read_text().splitlines()
    assert "--quiet mb --ignore-existing storage/our-bucket" in asked
    assert "--quiet admin user add storage posthaste-media word" in asked
    policy = json.loads((tmp_path / "given.json").read_text())
    resources = {it for statement in policy["Statement"] for it in statement["Resource"]}
    assert resources == {"arn:aws:s3:::our-bucket", "arn:aws:s3:::our-bucket/*"}
