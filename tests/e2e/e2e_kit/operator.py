"""The operator's command line, and the accounts, brands, pages and tokens that tests create with it."""

import datetime as dt
import json
import os
import subprocess
import sys
import threading
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from e2e_kit import secrecy
from e2e_kit.api import Api, Json
from e2e_kit.stack import Stack


class Refused(AssertionError):
    """Raised when a command of the operator fails. `error` is the error of the API, or an empty dict."""

    def __init__(self, arguments: Sequence[str], code: int, output: str) -> None:
        super().__init__(f"ctl {' '.join(arguments)} ended with {code}: {output}")
        self.exit_code = code
        try:
            self.error: Json = json.loads(output)
        except ValueError:
            self.error = {}


class Operator:
    """Runs commands of the operator (`ctl --json …`), one at a time. Thread-safe."""

    def __init__(self, stack: Stack) -> None:
        self._lock = threading.Lock()
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "local.stack.ctl_loop"],  # -P: the current folder is not searched for packages
            env=os.environ | stack.env | {"CLOCK_SHIFT_ALLOWED": "true"},
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip

    def __call__(self, *arguments: str) -> Any:
        """Runs a command and returns its output, parsed as JSON. Raises Refused if the command fails."""
        with self._lock:
            assert self._process.stdin is not None
            assert self._process.stdout is not None
            self._process.stdin.write(json.dumps(["--json", *arguments]) + "\n")
            self._process.stdin.flush()
            done = json.loads(self._process.stdout.readline())
        if done["code"] != 0:
            raise Refused(arguments, done["code"], done["output"])
        secrecy.note_answer(done["output"])
        return json.loads(done["output"])

    def close(self) -> None:
        with self._process:
            assert self._process.stdin is not None
            self._process.stdin.close()


@dataclass
class Account:
    """A user with a brand, a token (by default with all scopes) and some pages."""

    user_id: str
    email: str
    sandbox_token: str
    brand_id: str
    token_id: str
    api: Api
    #: Platform → its last linked page, as the command `page link` prints it.
    pages: dict[str, Json] = field(default_factory=dict)

    def page_id(self, platform: str = "FB") -> str:
        page_id: str = self.pages[platform]["id"]
        return page_id


class Accounts:
    """Creates accounts, brands, pages and tokens. `close` closes the API clients that it has made."""

    def __init__(self, operator: Operator, base_url: str) -> None:
        self.operator = operator
        self.base_url = base_url
        self._clients: list[Api] = []

    def new(
        self,
        tier: str = "elite",
        pages: Sequence[str] = ("FB",),
        scopes: str = "*",
        pool_size: int = 10,
        email: str = "",
        firstname: str = "Ada",
        password: str = "",
    ) -> Account:
        email = email or f"{uuid.uuid4().hex}@example.test"
        told = ("--email", email, "--tier", tier, "--firstname", firstname)
        created = self.operator("user", "create", *told, *(("--password", password) if password else ()))
        user_id = created["user"]["id"]
        brand_id = self.brand(user_id)["id"]
        token = self.token(user_id, scopes)
        account = Account(
            user_id=user_id,
            email=email,
            sandbox_token=created["sandbox_api_token"],
            brand_id=brand_id,
            token_id=token["token"]["id"],
            api=self.client(token["api_token"], pool_size),
        )
        for platform in pages:
            account.pages[platform] = self.page(brand_id, platform)
        return account

    def without_brand(self, email: str, password: str) -> str:
        """Creates an account as a newcomer has it, without a brand and a token, and signs in. Returns the session's
        token.
        """
        told = ("--email", email, "--tier", "elite", "--firstname", "Ada", "--password", password)
        self.operator("user", "create", *told)
        session_token: str = self.client(None).post("/auth/login", {"email": email, "password": password})[
            "session_token"
        ]
        return session_token

    def brand(self, user_id: str, name: str = "Corner Bakery", *options: str) -> Any:
        """Creates a brand; `options` are options of the command `brand create`."""
        zone = ("--timezone", "Europe/Berlin")
        return self.operator("brand", "create", "--user", user_id, "--name", name, *zone, *options)

    def page(self, brand_id: str, platform: str = "FB", name: str = "") -> Any:
        """Links a page of the simulator. Without `name`, the simulator makes up a name."""
        named = ("--name", name) if name else ()
        return self.operator("page", "link", "--brand", brand_id, "--platform", platform, *named)

    def token(self, user_id: str, scopes: str = "*", *options: str) -> Any:
        """Creates a token. `options` are options of the command `token create`. Returns {token, api_token}."""
        return self.operator("token", "create", "--user", user_id, "--scopes", scopes, *options)

    def sign_in(self, account: Account, password: str = "the owner's own") -> Json:
        """Sets a password with an operator's reset link, which ends all sessions, and signs in with it. Returns
        {session, session_token}.
        """
        link = self.operator("user", "reset-link", account.email)["link"]
        *_, reset_id, code = link.split("/")
        body = {"reset_id": reset_id, "code": code, "password": password}
        self.client(None).post("/auth/password/reset", body, 200)
        return self.log_in(account, password)

    def log_in(self, account: Account, password: str) -> Json:
        """Signs in with the account's present password. Returns {session, session_token}."""
        return self.client(None).post("/auth/login", {"email": account.email, "password": password})

    def enter(self, brand_id: str, role: str = "full", guest: Account | None = None) -> Json:
        """Makes `guest`, by default a new user, a collaborator of the brand. Signs the guest in and returns a brand
        session.
        """
        guest = guest or self.new(pages=())
        self.operator("collaborator", "add", "--brand", brand_id, "--user", guest.user_id, "--role", role)
        own = self.client(self.sign_in(guest)["session_token"])
        entered: Json = own.post(f"/auth/brands/{brand_id}/session", {})
        return entered

    def client(self, token: str | None, pool_size: int = 10) -> Api:
        api = Api(self.base_url, token, pool_size)
        self._clients.append(api)
        return api

    def close(self) -> None:
        while self._clients:
            self._clients.pop().close()


class Clock:
    """The clock of all services and of the simulator."""

    def __init__(self, operator: Operator) -> None:
        self._operator = operator

    def now(self) -> dt.datetime:
        return dt.datetime.fromisoformat(self._operator("clock", "show")["now"])

    def shift(self, **forward: float) -> dt.datetime:
        """Moves the clock forward; the arguments are those of `timedelta`. Returns the new time."""
        seconds = dt.timedelta(**forward).total_seconds()
        return dt.datetime.fromisoformat(self._operator("clock", "shift", str(seconds))["now"])

    def shift_to(self, at: dt.datetime) -> dt.datetime:
        return self.shift(seconds=(at - self.now()).total_seconds())

    def reset(self) -> None:
        self._operator("clock", "reset")
