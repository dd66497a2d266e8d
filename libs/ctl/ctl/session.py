"""The state of one command: its caller, its connection to the services (opened on first use) and its output."""

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar, cast

import click
from msgspec.structs import replace

from chassis.bus.rpc import Bus, connect
from chassis.ids import new_id
from chassis.signatures import Signatures
from contracts.accounts import AccountsApi
from contracts.ai import AiApi
from contracts.caller import Caller, operator
from contracts.errors import SERVICE_UNAVAILABLE, ApiError
from contracts.media import MediaApi
from contracts.publishing import PublishingApi
from contracts.quota import QuotaApi
from contracts.record import Record
from contracts.webhooks import WebhooksApi
from ctl import output
from ctl.config import CtlConfig

#: How often a call without an answer is made, 10 s each: once more after a restart of a service.
_TRIES = 2
Api = TypeVar("Api")


class Session:
    """One run of a command: its settings, its caller and its connection to the services. Tests pass `connect_bus` and
    `config`.
    """

    def __init__(
        self, config: CtlConfig | None = None, connect_bus: Callable[[str, Signatures], Bus] = connect
    ) -> None:
        self.config = config or CtlConfig()
        self.as_json = False
        self._connect_bus = connect_bus
        self._bus: Bus | None = None
        #: A run is one operation: a service that has already carried it out repeats its answer.
        self.caller: Caller = replace(operator(new_id("req")), operation_id=new_id("op"))

    def act_as(self, operation_id: str) -> None:
        """Gives this run the operation id of an earlier run whose outcome is unknown. Then nothing is done twice."""
        self.caller = replace(self.caller, operation_id=operation_id)

    @property
    def accounts(self) -> AccountsApi:
        return _retrying(self.bus.service("accounts"))

    @property
    def media(self) -> MediaApi:
        return _retrying(self.bus.service("media"))

    @property
    def publishing(self) -> PublishingApi:
        return _retrying(self.bus.service("publishing"))

    @property
    def quota(self) -> QuotaApi:
        return _retrying(self.bus.service("quota"))

    @property
    def ai(self) -> AiApi:
        return _retrying(self.bus.service("ai"))

    @property
    def webhooks(self) -> WebhooksApi:
        return _retrying(self.bus.service("webhooks"))

    @property
    def bus(self) -> Bus:
        """Returns the connection to the services, and opens it on first use."""
        if self._bus is None:
            self._bus = self._connect_bus(self.config.amqp_url, self.config.signatures)
        return self._bus

    def close(self) -> None:
        if self._bus is not None:
            self._bus.close()

    def show(self, record: object) -> None:
        """Prints one record: as a JSON object with --json, else a line per field."""
        plain = output.plain(record)
        click.echo(output.as_json(plain) if self.as_json else output.fields(plain))

    def show_all(self, records: Iterable[object], columns: Sequence[str]) -> None:
        """Prints several records: with --json as an array with all fields, else as a table of these columns."""
        plain = [output.plain(record) for record in records]
        click.echo(output.as_json(plain) if self.as_json else output.table(plain, columns))


class _RetryingClient:
    """A client of a service that repeats a call once after SERVICE_UNAVAILABLE, under the same operation id.

    So an answer that was lost at first, such as a new token, still arrives. Every write called through this client must
    take effect once per operation id.
    """

    def __init__(self, client: object) -> None:
        self._client = client

    def __getattr__(self, name: str) -> Callable[[Caller, Record], Record]:
        method: Callable[[Caller, Record], Record] = getattr(self._client, name)

        def call(caller: Caller, request: Record) -> Record:
            for _ in range(_TRIES):
                try:
                    return method(caller, request)
                except ApiError as error:
                    if error.row is not SERVICE_UNAVAILABLE:
                        raise
                    unanswered = error
            raise _with_operation(unanswered, caller.operation_id)

        return call


def _retrying(client: Api) -> Api:
    return cast(Api, _RetryingClient(client))


def _with_operation(error: ApiError, operation_id: str | None) -> ApiError:
    hint = f"Repeat the command with --operation {operation_id} before it: nothing is done twice."
    return ApiError(error.row, f"{error.message} {hint}", **error.extras, operation=operation_id)


pass_session = click.make_pass_decorator(Session)
