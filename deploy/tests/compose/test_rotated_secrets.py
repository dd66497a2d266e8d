"""Each secret of Compose changes in a test on a container engine, or stands here with the reason why it does not."""

import re
from fnmatch import fnmatch

from contracts.services import NAMES
from local.paths import ROOT
from local.stack import units

FILES = ("docker-compose.yml", "deploy/compose/minio.yml", "deploy/compose/external-s3.yml")
#: Every secret may be a file (test_compose_secrets.py), and then has this default.
SECRET = re.compile(r"\$\{(\w+)_FILE:-\./deploy/compose/not-given\}")
SECRETS = {name for file in FILES for name in SECRET.findall((ROOT / file).read_text())}
ENGINE = (ROOT / "deploy/tests/containers/test_rotation.py").read_text()
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
        *("GEMINI_API_KEY", "OPENAI_API_KEY", "SMTP_PASSWORD"),
    },
    "test_each_new_password_is_taken_and_the_old_one_refused": {
        "AMQP_PASSWORD_SERVICES",
        "MESSAGE_KEYS_SERVICES",
    },
    "test_backups_go_on_with_new_keys_of_theirs_and_of_their_bucket": {"BACKUP_KEY", "BACKUP_S3_SECRET_KEY"},
}
#: Reason → the secrets that no test on the engine changes.
NOT_ROTATED = {
    "Grafana's image does not run there: Debian, of which the test's servers are, has no package of it": {
        "GRAFANA_PASSWORD"
    },
    "MinIO does not run there: it is for installations that still have their files in it": {
        "MINIO_ROOT_PASSWORD"
    },
    "no payment provider is set up there": {"STRIPE_SECRET_KEY", "STRIPE_WEBHOOK_SECRET"},
    "made by a script for TLS to the servers, which is off there; test_tls.py has it on": {
        *("TLS_CA", "POSTGRES_CERTIFICATE", "POSTGRES_KEY", "RABBITMQ_CERTIFICATE", "RABBITMQ_KEY"),
    },
}


def test_each_secret_changes_in_one_test_on_the_engine_or_is_listed_with_the_reason() -> None:
    """For a new secret: change it in a test of test_rotation.py and name it in ROTATED."""
    listed = [name for names in (*ROTATED.values(), *NOT_ROTATED.values()) for name in names]
    assert sorted(listed) == sorted(SECRETS)


def test_the_tests_on_the_engine_are_there_and_set_these_secrets() -> None:
    """The names of some are put together there: `f"AMQP_PASSWORD_{…}"`."""
    for test, names in ROTATED.items():
        assert f"def {test}(" in ENGINE
        for name in names:
            assert f'"{name}"' in ENGINE or f"{name.rpartition('_')[0]}_{{" in ENGINE, name


def test_the_guide_tells_how_to_change_each_secret() -> None:
    told = [row.partition(" | ")[0] for row in GUIDE.splitlines() if row.startswith("| ")]
    patterns = re.findall(r"`([A-Z_*0-9]+)`", "\n".join(told))
    assert [name for name in sorted(SECRETS) if not any(fnmatch(name, it) for it in patterns)] == []
