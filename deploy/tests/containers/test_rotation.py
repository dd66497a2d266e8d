"""New passwords and keys, with the commands and steps of docs/operations.md, "Keys"."""

import secrets
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext

import pika
import pika.exceptions
import psycopg2
import pytest
from container_kit import account, sample, schedule
from container_mail import mail_server
from cryptography.fernet import Fernet
from minio import Minio
from minio.error import S3Error

from chassis.broker_access import PROCESSES
from chassis.message_keys import SHARED, all_message_keys, new_secrets, secrets_in
from contracts.services import NAMES, SERVICES
from local.containers.compose import Composed
from local.environment import read_env, values_of

DATABASES = ("gateway", *SERVICES)
#: Until a mail arrives. If a login is refused, the next attempt is a minute later.
MAIL_SECONDS = 30.0


def new() -> str:
    return secrets.token_urlsafe(24)


def broker_users(stack: Composed) -> tuple[str, ...]:
    return ("gateway", SHARED, "ctl") if stack.profile == "compact" else NAMES


def of_the_databases(stack: Composed) -> None:
    stack.set({f"DATABASE_PASSWORD_{name.upper()}": new() for name in DATABASES})


def of_the_superuser(stack: Composed) -> None:
    password = new()
    statement = f"ALTER ROLE posthaste PASSWORD '{password}'"
    stack.compose("exec", "-T", "postgres", "psql", "-U", "posthaste", "-d", "postgres", stdin=statement)
    stack.set({"POSTGRES_PASSWORD": password})


def of_the_broker_users(stack: Composed) -> None:
    stack.set({f"AMQP_PASSWORD_{process.upper()}": new() for process in broker_users(stack)})
    stack.compose("up", "--detach", "broker-users")
    stack.compose(
        "exec", "-T", "rabbitmq", "rabbitmqctl", "import_definitions", "/definitions/definitions.json"
    )


def of_the_storage(stack: Composed) -> None:
    stack.set({"S3_SECRET_KEY": new()})


@contextmanager
def new_passwords(stack: Composed, *, of_servers: bool) -> Iterator[None]:
    """Changes all passwords at once, so that one restart in the block is enough. Then checks that each new one is taken
    and the old one refused. `of_servers`: not those of the services' databases alone.
    """
    before = values_of(stack.settings)
    of_the_databases(stack)
    if of_servers:
        of_the_superuser(stack)
        of_the_broker_users(stack)
        of_the_storage(stack)
    changed = {name: value for name, value in values_of(stack.settings).items() if value != before[name]}
    assert len(changed) == len(DATABASES) + (len(broker_users(stack)) + 2 if of_servers else 0)
    yield
    servers = {name: stack.address(name) for name in ("postgres", "rabbitmq")}
    with ThreadPoolExecutor(len(changed)) as pool:  # RabbitMQ takes three seconds to refuse a password
        old = list(pool.map(lambda name: opens(servers, name, before[name]), changed))
        new = list(pool.map(lambda name: opens(servers, name, changed[name]), changed))
    assert [name for name, is_open in zip(changed, old, strict=True) if is_open] == []
    assert [name for name, is_open in zip(changed, new, strict=True) if not is_open] == []


def test_each_new_password_is_taken_and_the_old_one_refused(stack: Composed, is_core: bool) -> None:
    if stack.profile == "core":
        pytest.skip("there they change together with the keys, to restart everything once")
    with new_passwords(stack, of_servers=not is_core):
        renewed(stack)
    with account(stack) as client:
        assert schedule(client, stack, "Passwords", 300)
        assert client.upload(sample(stack), filename="after.jpg").media_id


def renewed(stack: Composed) -> None:
    """Restarts the containers whose settings have changed, and the operator's container."""
    stack.up()
    stack.engine.docker("rm", "--force", "operator")
    stack.operator()


def opens(servers: Mapping[str, str], name: str, password: str) -> bool:
    """Tells whether the server accepts the password. `servers` maps postgres and rabbitmq to their addresses."""
    if name == "S3_SECRET_KEY":
        return opens_storage(password)
    if name.startswith("AMQP_PASSWORD_"):
        user = name.removeprefix("AMQP_PASSWORD_").lower()
        parameters = pika.URLParameters(f"amqp://{user}:{password}@{servers['rabbitmq']}:5672/%2F")
        try:
            pika.BlockingConnection(parameters).close()
        except pika.exceptions.ProbableAuthenticationError:
            return False
        return True
    database = "postgres" if name == "POSTGRES_PASSWORD" else name.removeprefix("DATABASE_PASSWORD_").lower()
    user = "posthaste" if name == "POSTGRES_PASSWORD" else f"posthaste_{database}"
    try:
        psycopg2.connect(
            host=servers["postgres"], dbname=database, user=user, password=password, connect_timeout=10
        ).close()
    except psycopg2.OperationalError as error:
        assert "password authentication failed" in str(error), error
        return False
    return True


def opens_storage(secret_key: str) -> bool:
    storage = Minio("127.0.0.1:9000", "posthaste-media", secret_key, secure=False)
    with pytest.raises(S3Error) as refused:
        storage.get_object("posthaste-media", "nothing")
    return refused.value.code != "SignatureDoesNotMatch"


def test_every_key_and_password_changes_while_everything_that_it_protects_is_kept(stack: Composed) -> None:
    if stack.profile != "core":
        pytest.skip("one process for each service, which therefore all have a key for each other")
    values = values_of(stack.settings)
    lists = ("CREDENTIAL_KEYS", "WEBHOOK_SECRET_KEYS")
    fresh = {name: Fernet.generate_key().decode() for name in lists}
    old = secrets_in(stack.settings.read_text())
    then = new_secrets()
    signing = all_message_keys(then)

    def message_keys(first: dict[str, str], second: dict[str, str]) -> dict[str, str]:
        """Returns the keys of each process, followed by its own second secret if it has one."""
        also = {process: f",{process}={secret}" for process, secret in second.items()}
        return {
            f"MESSAGE_KEYS_{process.upper()}": first[process] + also.get(process, "") for process in NAMES
        }

    present = {process: values[f"MESSAGE_KEYS_{process.upper()}"] for process in NAMES}
    steps = (
        {name: f"{values[name]},{fresh[name]}" for name in lists} | message_keys(present, then),
        {name: f"{fresh[name]},{values[name]}" for name in lists} | message_keys(signing, old),
        fresh | message_keys(signing, {}) | {"TOKEN_SECRET": new() + new()},
    )
    with account(stack) as client, mail_server(stack) as server:
        made = client.create_webhook(
            name="Kept", url="https://receiver.bakery.test/", events=["post.published"]
        )
        for number, step in enumerate(steps):
            server.password = new()
            with new_passwords(stack, of_servers=True) if number == 0 else nullcontext():
                stack.set(step | {"SMTP_PASSWORD": server.password})
                renewed(stack)
            client.forgot_password(email=read_env(stack.run)["DEMO_EMAIL"])
            assert server.mails.get(timeout=MAIL_SECONDS)
            assert schedule(client, stack, "Keys", 310 + number)
            for service in ("publishing", "webhooks"):
                done = stack.ctl("keys", "rotate", service)
                assert (done["rotated"] > 0) is (number == 1), done  # from then on the new key encrypts
                assert done["unreadable"] == [], done
        page = read_env(stack.run)["SECOND_PAGE_ID"]
        assert client.publish_post(page_id=page, message="With the new keys alone").post_id
        assert client.upload(sample(stack), filename="after.jpg").media_id
        assert client.get_webhook(made.id).id == made.id


def test_no_unit_and_no_password_is_left_out() -> None:
    assert {*PROCESSES} == {*NAMES, SHARED}
    assert {*DATABASES} == {"gateway", *SERVICES}
