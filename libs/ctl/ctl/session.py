"""One run of the command line: who calls, the connection (made when first used), how answers are printed."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, cast

import click

from chassis.ids import new_id
from chassis.rpc import connect
from contracts.accounts import AccountsApi
from contracts.ai import AiApi
from contracts.caller import Caller, operator
from contracts.publishing import PublishingApi
from contracts.quota import QuotaApi
from contracts.webhooks import WebhooksApi
from ctl import output
from ctl.config import CtlConfig


class Session:
    """`connect_bus` and `config` are given by tests."""

    def __init__(
        self, config: CtlConfig | None = None, connect_bus: Callable[[str, str], Any] = connect
    ) -> None:
        self.config = config or CtlConfig()
        self.as_json = False
        self._connect_bus = connect_bus
        self._bus: Any = None
        self.caller: Caller = operator(new_id("req"))

    @property
    def accounts(self) -> AccountsApi:
        return cast(AccountsApi, self._service("accounts"))

    @property
    def publishing(self) -> PublishingApi:
        return cast(PublishingApi, self._service("publishing"))

    @property
    def quota(self) -> QuotaApi:
        return cast(QuotaApi, self._service("quota"))

    @property
    def ai(self) -> AiApi:
        return cast(AiApi, self._service("ai"))

    @property
    def webhooks(self) -> WebhooksApi:
        return cast(WebhooksApi, self._service("webhooks"))

    def _service(self, name: str) -> Any:
        if self._bus is None:
            self._bus = self._connect_bus(self.config.amqp_url, "ctl")
        return self._bus.service(name)

    def close(self) -> None:
        if self._bus is not None:
            self._bus.close()

    def show(self, record: Any) -> None:
        """One record: a JSON object, or a line per field."""
        plain = output.plain(record)
        click.echo(output.as_json(plain) if self.as_json else output.fields(plain))

    def show_all(self, records: Iterable[Any], columns: Sequence[str]) -> None:
        """Several: a JSON array with every field, or a table of some."""
        plain = [output.plain(record) for record in records]
        click.echo(output.as_json(plain) if self.as_json else output.table(plain, columns))


pass_session = click.make_pass_decorator(Session)
