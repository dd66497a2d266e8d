"""Each secret of Compose changes in a test on a container engine, or stands here with the reason why it does not."""

import re
from fnmatch import fnmatch

import pytest

from contracts.services import NAMES
from local.environment import values_of
from local.paths import ROOT
from local.stack import units

FILES = ("docker-compose.yml", "deploy/compose/minio.yml", "deploy/compose/external-s3.yml")
TEXT = "".join((ROOT / file).read_text() for file in FILES)
#: Every secret may be a file (test_compose_secrets.py), and then has this default. Only headers may not.
SECRET = re.compile(r"\$\{(\w+)_FILE:-\./deploy/compose/not-given\}")
SECRETS = {*SECRET.findall(TEXT), "OTEL_EXPORTER_OTLP_HEADERS"}
ENGINE = (ROOT / "deploy/tests/containers/test_rotation.py").read_text()
#: The names of variables that look like secrets, and what those are that stand for no secret of their own.
NAMED_SO = re.compile(r"\b[A-Z][A-Z0-9_]*(?:SECRET|PASSWORD|TOKEN|_KEYS?|_HEADERS)\b")
NOT_THEIR_OWN = {
    "S3_ACCESS_KEY": "the name of a key, which is not secret",
    "BACKUP_S3_ACCESS_KEY": "the name of a key, which is not secret",
    "ADMIN_DATABASE_PASSWORD": "POSTGRES_PASSWORD",
    "DATABASE_PASSWORD": "DATABASE_PASSWORD_* of one process",
    "AMQP_PASSWORD": "AMQP_PASSWORD_* of one process",
    "MESSAGE_KEYS": "MESSAGE_KEYS_* of one process",
    "GF_SECURITY_ADMIN_PASSWORD": "GRAFANA_PASSWORD",
}
#: The files that TLS to the servers needs.
OF_TLS = {
    name.removesuffix("_FILE")
    for name in values_of(ROOT / "deploy/compose/tls.env")
    if name.endswith("_FILE")
}
GUIDE = (ROOT / "docs/operations.md").read_text().partition("\n## Keys\n")[2].partition("\n## ")[0]

#: Test of deploy/tests/containers/test_rotation.py → the secrets that it changes. It proves that everything works with
#: the new ones alone, and that the old ones are refused by whoever checks them: a server, the simulator, or Posthaste.
ROTATED = {
    "test_every_key_and_password_changes_while_everything_that_it_protects_is_kept": {
        *(f"AMQP_PASSWORD_{process.upper()}" for process in NAMES),
        *(f"MESSAGE_KEYS_{process.upper()}" for process in NAMES),
        *(f"DATABASE_PASSWORD_{name.upper()}" for name in units.DATABASES),
        *("POSTGRES_PASSWORD", "S3_SECRET_KEY", "CREDENTIAL_KEYS", "WEBHOOK_SECRET_KEYS", "TOKEN_SECRET"),
        *("META_APP_SECRET", "META_VERIFY_TOKEN", "INSTAGRAM_APP_SECRET"),
        *("LINKEDIN_CLIENT_SECRET", "LINKEDIN_PAGES_CLIENT_SECRET", "TIKTOK_CLIENT_SECRET"),
        *("X_CLIENT_SECRET", "YOUTUBE_CLIENT_SECRET"),
        *("GEMINI_API_KEY", "OPENAI_API_KEY", "SMTP_PASSWORD", "STRIPE_SECRET_KEY", "STRIPE_WEBHOOK_SECRET"),
        *OF_TLS,
    },
    "test_each_new_password_is_taken_and_the_old_one_refused": {
        "AMQP_PASSWORD_SERVICES",
        "MESSAGE_KEYS_SERVICES",
    },
    "test_backups_go_on_with_new_keys_of_theirs_and_of_their_bucket": {"BACKUP_KEY", "BACKUP_S3_SECRET_KEY"},
}
#: Reason → the secrets that no test on the engine changes.
NOT_ROTATED = {
    "Grafana does not run there: neither Debian nor PyPI nor npm has a package of the server": {
        "GRAFANA_PASSWORD"
    },
    "MinIO does not run there: Debian, PyPI and npm have packages of its clients alone": {
        "MINIO_ROOT_PASSWORD"
    },
    "for a collector that asks for a token: the one there asks for none": {"OTEL_EXPORTER_OTLP_HEADERS"},
}


def test_each_secret_changes_in_one_test_on_the_engine_or_is_listed_with_the_reason() -> None:
    """For a new secret: change it in a test of test_rotation.py and name it in ROTATED."""
    listed = [name for names in (*ROTATED.values(), *NOT_ROTATED.values()) for name in names]
    assert sorted(listed) == sorted(SECRETS)


def test_no_variable_with_a_secret_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "deploy" / "compose"))
    import init

    installed = {*init.KEYS, *init.PASSWORDS, *init.MESSAGE_KEYS}
    assert (installed | {*NAMED_SO.findall(TEXT)}) - SECRETS == {*NOT_THEIR_OWN}


def test_the_tests_on_the_engine_are_there_and_set_these_secrets() -> None:
    """The names of some are put together there: `f"AMQP_PASSWORD_{…}"`. Those of TLS are in deploy/compose/tls.env."""
    assert "certificates.replace_authority" in ENGINE
    for test, names in ROTATED.items():
        assert f"def {test}(" in ENGINE
        for name in names - OF_TLS:
            assert f'"{name}"' in ENGINE or f"{name.rpartition('_')[0]}_{{" in ENGINE, name


def test_the_guide_tells_how_to_change_each_secret() -> None:
    told = [row.partition(" | ")[0] for row in GUIDE.splitlines() if row.startswith("| ")]
    patterns = re.findall(r"`([A-Z_*0-9]+)`", "\n".join(told))
    assert [name for name in sorted(SECRETS) if not any(fnmatch(name, it) for it in patterns)] == []
