"""The running stack that a benchmark measures, and functions that create accounts and posts in it."""

import os
import secrets
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

import requests
from sqlalchemy import create_engine, text

from chassis.bus.clients import remote
from chassis.ids import new_id
from chassis.message_keys import message_keys
from contracts.accounts import CreateBrand, CreateToken, CreateUser, MakeResetLink
from contracts.caller import Caller, operator
from contracts.publishing import LinkPage, SchedulePost
from contracts.record import Record
from contracts.services import SERVICES
from local.environment import values_of
from local.stack.stack import message_secret
from testkit.any_sender import AnySender

#: Number of tenants. Each may send 300 requests a minute (Elite): together 36,000.
TENANTS = 120
PAGES_EACH = 25
_OPERATOR = operator("req_bench")
#: The benchmarks' own services and their secret.
_OF_BENCH = dict.fromkeys(("echo", "source"), secrets.token_hex(32))
#: Timeout of calls that create pages or posts, many of which are sent at once.
_CALL_SECONDS = 30.0


class Tenant(Record):
    """An account of the tier Elite with one brand, and a token with all scopes."""

    account_id: str
    token: str
    page_ids: tuple[str, ...]


class Stack:
    """A running stack. Its addresses are read from `<run directory>/env`."""

    def __init__(self, run: Path | None = None) -> None:
        """Connects to the stack with this run directory, by default the stack of this benchmark (TEST_RUN_DIR)."""
        self.run = run or Path(os.environ["TEST_RUN_DIR"])
        lines = (self.run / "env").read_text().splitlines()
        self.env = dict(line.split("=", 1) for line in lines if "=" in line)
        self.base_url = self.env["BASE_URL"]
        self.simulator_url = self.env["SIMULATOR_URL"]
        there = values_of(self.run / "secrets")
        self._secrets = {name: there[message_secret(name)] for name in SERVICES} | _OF_BENCH
        self.bus = AnySender(self.env["AMQP_ADMIN_URL"], self._secrets)

    def message_keys(self, *names: str) -> str:
        """Returns the value of MESSAGE_KEYS for a process that sends or receives under these names."""
        return ",".join(message_keys(name, self._secrets, self._secrets) for name in names)

    def make_tenants(self, count: int = TENANTS, pages: int = PAGES_EACH) -> list[Tenant]:
        """Creates accounts, each with a brand and pages. Each page is linked to its own account of the simulator."""
        accounts, link_page = self.bus.service("accounts"), remote(self.bus.service("publishing").link_page)
        tenants = []
        for number in range(count):
            user = accounts.create_user(
                _OPERATOR,
                CreateUser(email=f"{new_id('bench')}@posthaste.test", tier="elite"),
            ).user
            brand = accounts.create_brand(_OPERATOR, CreateBrand(user_id=user.id, name=f"Brand {number}"))
            token = accounts.create_token(_OPERATOR, CreateToken(user_id=user.id, scopes=("*",))).api_token
            linking = []
            for _ in range(pages):
                account = requests.post(
                    f"{self.simulator_url}/_sim/accounts", json={"platform": "FB"}, timeout=10
                ).json()
                link = LinkPage(
                    owner_account_id=user.id,
                    brand_id=brand.id,
                    brand_name=brand.name,
                    platform="FB",
                    remote_account_id=account["account_id"],
                    access_token=account["access_token"],
                    name=account["name"],
                    username=account.get("username"),
                )
                linking.append(link_page.start(_OPERATOR, link, timeout_seconds=_CALL_SECONDS))
            ids = [call.result().id for call in linking]
            tenants.append(Tenant(account_id=user.id, token=token, page_ids=tuple(ids)))
        return tenants

    def schedule_posts(self, tenants: Sequence[Tenant], at: datetime) -> None:
        """Schedules a post on each page of each tenant, through the bus."""
        schedule_post = remote(self.bus.service("publishing").schedule_post)
        for tenant in tenants:
            caller = Caller(
                account_id=tenant.account_id, user_id=tenant.account_id, scopes=("*",), tier="elite"
            )
            posts = [
                SchedulePost(page_id=page_id, message="Fresh bread at eight", scheduled_at=at)
                for page_id in tenant.page_ids
            ]
            for call in [schedule_post.start(caller, post, timeout_seconds=_CALL_SECONDS) for post in posts]:
                call.result()

    def session_of(self, tenant: Tenant) -> str:
        """Sets a password with an operator's reset link and signs the tenant in. Returns the session token."""
        [(email,)] = self.query("accounts", f"SELECT email FROM users WHERE id = '{tenant.account_id}'")
        made = self.bus.service("accounts").make_reset_link(_OPERATOR, MakeResetLink(email=str(email)))
        reset_id, code = made.link.split("/")[-2:]
        root, password = self.base_url.removesuffix("/api/v1"), "the bench's own"
        given = {"reset_id": reset_id, "code": code, "password": password}
        requests.post(f"{root}/auth/password/reset", json=given, timeout=30).raise_for_status()
        login = {"email": email, "password": password}
        token: str = requests.post(f"{root}/auth/login", json=login, timeout=30).json()["session_token"]
        return token

    def change(self, service: str, sql: str) -> None:
        """Runs SQL that changes rows of one service's database, for changes that would take hours through the API."""
        engine = create_engine(self.env[f"DATABASE_URL_{service.upper()}"])
        with engine.begin() as connection:
            connection.execute(text(sql))
        engine.dispose()

    def query(self, service: str, sql: str) -> list[tuple[object, ...]]:
        """Runs SQL that reads rows of one service's database, for figures that the API does not have."""
        engine = create_engine(self.env[f"DATABASE_URL_{service.upper()}"])
        with engine.connect() as connection:
            rows = [tuple(row) for row in connection.execute(text(sql))]
        engine.dispose()
        return rows
