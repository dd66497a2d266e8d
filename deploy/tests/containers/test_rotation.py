"""New passwords and keys, with the commands and steps of docs/operations.md, "Keys"."""

import hmac
import secrets
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext, suppress
from datetime import UTC, datetime
from functools import partial
from typing import Any

import pika
import pika.exceptions
import psycopg2
import pytest
import requests
from container_certificates import Certificates, broker, public_key
from container_kit import CALL_SECONDS, account, sample, schedule
from container_mail import mail_server
from container_storage import provider
from cryptography.fernet import Fernet
from deploy_kit import wait_until
from e2e_kit.api import Api
from e2e_kit.linking import NAMES as PLATFORM_NAMES
from e2e_kit.linking import Linking
from e2e_kit.simulator import Simulator
from minio import Minio
from minio.error import S3Error

from chassis.broker_access import PROCESSES
from chassis.message_keys import SHARED, all_message_keys, new_secrets, secrets_in
from contracts.services import NAMES, SERVICES
from local.containers.compose import DOMAIN, Composed
from local.environment import read_env, values_of
from posthaste import Posthaste
from simulator.stripe.webhooks import signature

DATABASES = ("gateway", *SERVICES)
#: Until a mail arrives. If a login is refused, the next attempt is a minute later.
MAIL_SECONDS = 30.0
#: Until a card is charged. The worker loop looks every two seconds.
REFILL_SECONDS = 30.0
#: Keys with which we exchange the code of a person's login at the platform → platform and more of the request.
OF_LOGINS: dict[str, tuple[str, dict[str, str]]] = {
    "LINKEDIN_CLIENT_SECRET": ("LN", {"account_type": "member"}),
    "LINKEDIN_PAGES_CLIENT_SECRET": ("LN", {"account_type": "organization"}),
    "TIKTOK_CLIENT_SECRET": ("TT", {}),
    "X_CLIENT_SECRET": ("TW", {}),
    "YOUTUBE_CLIENT_SECRET": ("YT", {}),
}


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
    servers = {"postgres": {"host": stack.address("postgres")}, "rabbitmq": broker(stack)}
    with ThreadPoolExecutor(len(changed)) as pool:  # RabbitMQ takes three seconds to refuse a password
        old = list(pool.map(lambda name: opens(servers, name, before[name]), changed))
        new = list(pool.map(lambda name: opens(servers, name, changed[name]), changed))
    assert [name for name, is_open in zip(changed, old, strict=True) if is_open] == []
    assert [name for name, is_open in zip(changed, new, strict=True) if not is_open] == []


def test_each_new_password_is_taken_and_the_old_one_refused(stack: Composed, is_core: bool) -> None:
    if stack.profile == "core":
        pytest.skip("there they change together with the keys, to restart everything once")
    with new_passwords(stack, of_servers=not is_core):
        # All processes restart together, so their keys may change without a step in which old and new ones are taken.
        signing = all_message_keys(new_secrets())
        stack.set({f"MESSAGE_KEYS_{process.upper()}": keys for process, keys in signing.items()})
        renewed(stack)
    with account(stack) as client:
        assert schedule(client, stack, "Passwords", 300)
        assert client.upload(sample(stack), filename="after.jpg").media_id


def renewed(stack: Composed) -> None:
    """Restarts the containers whose settings have changed, and the operator's container."""
    stack.up()
    stack.engine.docker("rm", "--force", "operator")
    stack.operator()


def opens(servers: Mapping[str, dict[str, Any]], name: str, password: str) -> bool:
    """Tells whether the server accepts the password. `servers`: the addresses of postgres and rabbitmq, as psycopg2 and
    pika take them.
    """
    if name == "S3_SECRET_KEY":
        return opens_storage(password)
    if name.startswith("AMQP_PASSWORD_"):
        user = name.removeprefix("AMQP_PASSWORD_").lower()
        credentials = pika.PlainCredentials(user, password)
        try:
            pika.BlockingConnection(
                pika.ConnectionParameters(**servers["rabbitmq"], credentials=credentials)
            ).close()
        except pika.exceptions.ProbableAuthenticationError:
            return False
        return True
    database = "postgres" if name == "POSTGRES_PASSWORD" else name.removeprefix("DATABASE_PASSWORD_").lower()
    user = "posthaste" if name == "POSTGRES_PASSWORD" else f"posthaste_{database}"
    try:
        psycopg2.connect(
            **servers["postgres"], dbname=database, user=user, password=password, connect_timeout=10
        ).close()
    except psycopg2.OperationalError as error:
        assert "password authentication failed" in str(error), error
        return False
    return True


def takes_webhook(platform: str, stack: Composed, app_secret: str) -> bool:
    """Tells whether Posthaste takes a webhook of the platform that is signed with this secret."""
    body = b'{"object": "page", "entry": []}'
    signature = hmac.new(app_secret.encode(), body, "sha256").hexdigest()
    answer = requests.post(
        f"{stack.api.removesuffix('/api/v1')}/hooks/{platform}",
        data=body, headers={"X-Hub-Signature-256": f"sha256={signature}"}, timeout=CALL_SECONDS,
    )  # fmt: skip
    return answer.status_code == 200


def takes_verification(stack: Composed, token: str) -> bool:
    """Tells whether Posthaste confirms the address of its webhooks to Meta, which proves itself with this token."""
    asked = {"hub.mode": "subscribe", "hub.verify_token": token, "hub.challenge": "7"}
    url = f"{stack.api.removesuffix('/api/v1')}/hooks/facebook"
    return requests.get(url, params=asked, timeout=CALL_SECONDS).status_code == 200


def takes_payment_event(stack: Composed, *webhook_secrets: str) -> bool:
    """Tells whether Posthaste takes an event of Stripe that is signed with these secrets: with two while Stripe rolls
    the secret.
    """
    body, now = b'{"type": "charge.updated", "data": {"object": {}}}', int(time.time())
    signed = [signature(body, secret, now).partition(",")[2] for secret in webhook_secrets]
    answer = requests.post(
        f"{stack.api.removesuffix('/api/v1')}/hooks/stripe",
        data=body, headers={"Stripe-Signature": ",".join([f"t={now}", *signed])}, timeout=CALL_SECONDS,
    )  # fmt: skip
    return answer.status_code == 200


def is_known(path: str, header: str, stack: Composed, key: str) -> bool:
    """Tells whether a provider, which the simulator plays, knows the key in this header of a call."""
    name, _, scheme = header.partition(": ")
    answer = requests.post(
        read_env(stack.run)["SIMULATOR_URL"] + path,
        headers={name: f"{scheme} {key}".strip()}, json={}, timeout=CALL_SECONDS,
    )  # fmt: skip
    return "api key" not in answer.text.lower()


#: Keys of calls between us and others → a function that says whether the called side accepts a key.
OF_CALLS: dict[str, Callable[[Composed, str], bool]] = {
    "META_APP_SECRET": partial(takes_webhook, "facebook"),
    "INSTAGRAM_APP_SECRET": partial(takes_webhook, "instagram"),
    "META_VERIFY_TOKEN": takes_verification,
    "STRIPE_WEBHOOK_SECRET": takes_payment_event,
    "STRIPE_SECRET_KEY": partial(is_known, "/v1/payment_intents", "Authorization: Bearer"),
    "OPENAI_API_KEY": partial(is_known, "/v1/images/generations", "Authorization: Bearer"),
    "GEMINI_API_KEY": partial(is_known, "/v1beta/models/any:generateContent", "x-goog-api-key"),
}
#: Credits are bought at the simulator's Stripe.
PAYMENTS = {"PAYMENT_PROVIDER": "stripe", "STRIPE_API_URL": "http://simulator:8000"}


def logs_in(stack: Composed, platform: str, more: Mapping[str, str]) -> bool:
    """Tells whether a person's login at the platform leads to the choice of pages, for which our secret must be
    accepted.
    """
    env = read_env(stack.run)
    api, simulator = Api(stack.api, env["LIVE_TOKEN"]), Simulator(env["SIMULATOR_URL"])
    body = {"platform": PLATFORM_NAMES[platform], "brand_id": env["SECOND_BRAND_ID"], **more}
    person, begun = simulator.person(platform), api.post("/pages/connect", body)
    linking = Linking(api, simulator, env["SECOND_BRAND_ID"], platform, person, begun)
    return linking.open().outcome == "choose"


def buy_credits(client: Posthaste, stack: Composed) -> None:
    """Lets Stripe charge the card of the demo account, and waits until the account has the credits."""
    user = read_env(stack.run)["DEMO_USER_ID"]
    refill = ("credits", "auto-refill", "--user", user)
    payer = ("--customer", f"cus_local_{user}", "--payment-method", "pm_card_visa")
    simulator = Simulator(read_env(stack.run)["SIMULATOR_URL"])
    before = client.get_credits().credits.bonus
    stack.ctl(*refill, "--threshold", "1000000", "--amount", "500", *payer)
    wait_until(lambda: simulator.payments()["charged"]["count"], "the card is charged", REFILL_SECONDS)
    wait_until(lambda: client.get_credits().credits.bonus == before + 500, "the account has the credits", 5.0)
    stack.ctl(*refill, "--off")


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
    of_providers = {name: new() for name in (*OF_CALLS, *OF_LOGINS)}
    before = {name: values.get(name) or new() for name in OF_CALLS}  # some are not set in the demo
    old_hook, new_hook = (keys["STRIPE_WEBHOOK_SECRET"] for keys in (before, of_providers))
    certificates = Certificates(stack)  # the servers keep TLS for the tests that follow on this stack
    of_tls = (certificates.switch_on, certificates.renew, certificates.replace_authority)
    added = {name: f"{values[name]},{fresh[name]}" for name in lists}
    steps = (
        added | message_keys(present, then) | before | PAYMENTS,
        {name: f"{fresh[name]},{values[name]}" for name in lists} | message_keys(signing, old),
        fresh | message_keys(signing, {}) | {"TOKEN_SECRET": new() + new()} | of_providers,
    )
    with account(stack) as client, mail_server(stack) as server:
        made = client.create_webhook(
            name="Kept", url="https://receiver.bakery.test/", events=["post.published"]
        )
        for number, step in enumerate(steps):
            server.password = new()
            with new_passwords(stack, of_servers=True) if number == 0 else nullcontext():
                stack.set(step | {"SMTP_PASSWORD": server.password})
                of_tls[number]()
                renewed(stack)
            client.forgot_password(email=read_env(stack.run)["DEMO_EMAIL"])
            assert server.mails.get(timeout=MAIL_SECONDS)
            assert schedule(client, stack, "Keys", 310 + number)
            for name, takes in OF_CALLS.items():
                assert takes(stack, before[name]) is (number < 2), name
                assert takes(stack, of_providers[name]) is (number == 2), name
            assert takes_payment_event(stack, old_hook, new_hook)
            for service in ("publishing", "webhooks"):
                done = stack.ctl("keys", "rotate", service)
                assert (done["rotated"] > 0) is (number == 1), done  # from then on the new key encrypts
                assert done["unreadable"] == [], done
        env = read_env(stack.run)
        page, brand = env["SECOND_PAGE_ID"], env["SECOND_BRAND_ID"]
        assert client.publish_post(page_id=page, message="With the new keys alone").post_id
        for name, login in OF_LOGINS.items():
            assert logs_in(stack, *login), name
        assert client.write_caption(brand_id=brand, instruction="We bake at night").text  # OpenAI's
        assert client.generate_image(brand_id=brand, prompt="Loaves at dawn").media  # Gemini's
        buy_credits(client, stack)
        assert client.upload(sample(stack), filename="after.jpg").media_id
        assert client.get_webhook(made.id).id == made.id


def test_backups_go_on_with_new_keys_of_theirs_and_of_their_bucket(stack: Composed) -> None:
    """The new BACKUP_KEY begins in another place, as in the table of "Keys": in a bucket with a key of its own."""
    if stack.profile != "core":
        pytest.skip("the image of the backups is built for core alone")
    today = f"{datetime.now(UTC):%F}"
    old, first, second = values_of(stack.settings).get("BACKUP_KEY", "the-first-key"), new(), new()

    def backup(*words: str, told: Mapping[str, str] | None = None) -> tuple[bool, str]:
        """Runs a command in the service's container. Returns whether it succeeded, and its output."""
        variables = [f"--env={name}={value}" for name, value in (told or {}).items()]
        done = stack.compose("exec", "-T", *variables, "backup", "/scripts/backup.sh", *words, check=False)
        return done.returncode == 0, done.stdout + done.stderr

    with provider(stack, "posthaste-backup", "backups") as server:
        server.start(first)
        stack.set(
            {
                "BACKUP_KEY": new(),
                "BACKUP_HOUR": "0",
                "BACKUP_S3_URL": f"http://{server.address}",
                "BACKUP_S3_BUCKET": server.bucket,
                "BACKUP_S3_ACCESS_KEY": server.user,
                "BACKUP_S3_SECRET_KEY": first,
            }
        )
        stack.compose("up", "--detach", "backup")
        made = f"backed up: {today}"
        wait_until(lambda: made in stack.compose("logs", "backup").stdout, "no backup was made", 120)
        server.start(second)
        is_done, said = backup("list")
        assert not is_done
        assert "SignatureDoesNotMatch" in said
        stack.set({"BACKUP_S3_SECRET_KEY": second})
        stack.compose("up", "--detach", "backup")
        assert backup("list") == (True, f"{today}\n")
        assert made in backup("now")[1]
        is_done, said = backup("fetch", today)
        assert is_done, said
        is_done, said = backup("rehearse", told={"BACKUP_KEY": old})
        assert not is_done
        assert "password" in said
        stack.compose("rm", "--force", "--stop", "backup")
        stack.set({"BACKUP_S3_BUCKET": ""})


def test_caddy_gets_a_new_certificate_for_a_new_key(stack: Composed) -> None:
    if stack.profile != "core":
        pytest.skip("Caddy is in front of core alone")
    with stack.trusted() as authority:

        def key() -> bytes:
            with suppress(OSError):  # until it listens again, and has a certificate
                return public_key(("127.0.0.1", 443), DOMAIN, authority)
            return b""

        before = key()
        assert before
        stack.compose("exec", "-T", "caddy", "rm", "-r", "/data/caddy/certificates")
        stack.compose("restart", "caddy")
        wait_until(lambda: key() not in (b"", before), "Caddy has a certificate for another key")


def test_no_unit_and_no_password_is_left_out() -> None:
    assert {*PROCESSES} == {*NAMES, SHARED}
    assert {*DATABASES} == {"gateway", *SERVICES}
