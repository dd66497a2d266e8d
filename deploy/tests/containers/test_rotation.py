"""New passwords: the commands of docs/operations.md, "Keys"."""

import secrets
from collections.abc import Callable

import pytest
from container_kit import account, sample, schedule

from local.containers.compose import Composed
from local.environment import values_of

#: What each rotation sets, and how to ask the server for the old value's end.
Rotation = Callable[[Composed, str], None]


def of_a_database(stack: Composed, new: str) -> None:
    stack.set({"DATABASE_PASSWORD_QUOTA": new})


def of_the_superuser(stack: Composed, new: str) -> None:
    statement = f"ALTER ROLE posthaste PASSWORD '{new}'"
    stack.compose("exec", "-T", "postgres", "psql", "-U", "posthaste", "-d", "postgres", stdin=statement)
    stack.set({"POSTGRES_PASSWORD": new})


def of_a_broker_user(stack: Composed, new: str) -> None:
    unit = "services" if stack.profile == "compact" else "quota"
    stack.set({f"AMQP_PASSWORD_{unit.upper()}": new})
    stack.compose("up", "--detach", "broker-users")
    stack.compose(
        "exec", "-T", "rabbitmq", "rabbitmqctl", "import_definitions", "/definitions/definitions.json"
    )


def of_the_storage(stack: Composed, new: str) -> None:
    stack.set({"S3_SECRET_KEY": new})


ALL: dict[str, Rotation] = {
    "DATABASE_PASSWORD_QUOTA": of_a_database,
    "POSTGRES_PASSWORD": of_the_superuser,
    "AMQP_PASSWORD": of_a_broker_user,
    "S3_SECRET_KEY": of_the_storage,
}


@pytest.mark.parametrize("secret", ALL)
def test_a_new_password_is_taken_and_the_old_one_refused(stack: Composed, secret: str, is_core: bool) -> None:
    if is_core and secret != "DATABASE_PASSWORD_QUOTA":
        pytest.skip("the core rotates one")
    before = values_of(stack.settings)
    ALL[secret](stack, secrets.token_urlsafe(24))
    stack.up()
    with account(stack) as client:
        assert schedule(client, stack, secret, 300 + [*ALL].index(secret))
        assert client.upload(sample(stack), filename="after.jpg").media_id
    if secret.endswith("PASSWORD") or "DATABASE" in secret:
        assert_refused(stack, secret, before)


def assert_refused(stack: Composed, secret: str, before: dict[str, str]) -> None:
    """Asks the server whether the old password still opens it, over its network."""
    if secret == "AMQP_PASSWORD":
        unit = "services" if stack.profile == "compact" else "quota"
        old = before[f"AMQP_PASSWORD_{unit.upper()}"]
        done = stack.compose(
            "exec", "-T", "rabbitmq", "rabbitmqctl", "authenticate_user", unit, old, check=False
        )
        assert done.returncode != 0
        assert "not_authorized" in (said := done.stdout + done.stderr) or "failed" in said.lower()
        return
    role = "posthaste" if secret == "POSTGRES_PASSWORD" else "posthaste_quota"
    database = "postgres" if secret == "POSTGRES_PASSWORD" else "quota"
    url = f"postgresql://{role}:{before[secret]}@postgres:5432/{database}"
    done = stack.compose("exec", "-T", "postgres", "psql", url, "-c", "SELECT 1", check=False)
    assert "password authentication failed" in done.stderr
