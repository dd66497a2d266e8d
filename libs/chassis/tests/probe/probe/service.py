"""Methods that show how chassis behaves: they echo, wait, fail, count effects and handle events."""

import time

from sqlalchemy import text

from chassis.bus import outbox
from chassis.runtime.loops import Waker
from chassis.service import BusProvider, DatabaseProvider, loop, on_event, on_events, rpc
from contracts.errors import NOT_FOUND, ApiError
from contracts.events import EVENTS, AccountChanged, Route
from contracts.record import Nothing
from probe.api import Count, ProbeApi, Words

#: An event that the probe sends to itself.
EVENTS["probe.told"] = Route(sender="probe", receivers=("probe",))
HANGS: list[float] = []
NAP_OVER = Waker()


class ProbeService:
    name = "probe"
    api = ProbeApi
    database = DatabaseProvider()
    bus = BusProvider()

    @rpc
    def echo(self, caller, request):
        return request

    @rpc
    def pass_on(self, caller, request):
        probe = self.bus.service("probe", ProbeApi)
        if request.seconds:
            return probe.wait(caller, request, timeout_seconds=0.2)
        return probe.echo(caller, request)

    @rpc
    def wait(self, caller, request):
        time.sleep(request.seconds)
        return request

    @rpc
    def query_slowly(self, caller, request):
        with self.database.reading() as connection:
            connection.execute(text("SELECT pg_sleep(:s)"), {"s": request.seconds})
        return request

    @rpc
    def refuse(self, caller, request):
        raise ApiError(NOT_FOUND, request.text, field="thing")

    @rpc
    def break_down(self, caller, request):
        raise ZeroDivisionError(request.text)

    @rpc
    def garble(self, caller, request):
        return Words(text="half an emoji: \ud83d")

    @rpc
    def write(self, caller, request):
        with self.database.transaction() as connection:
            connection.execute(text("INSERT INTO notes (text) VALUES (:t)"), {"t": request.text})
            time.sleep(request.seconds)
        return Nothing()

    @rpc
    def count(self, caller, request):
        with self.database.reading() as connection:
            statement = text("SELECT count(*) FROM notes WHERE text = :t")
            return Count(count=connection.execute(statement, {"t": request.text}).scalar_one())

    @rpc
    def tell(self, caller, request):
        time.sleep(request.seconds)
        change = AccountChanged(account_id="usr_1", tier=request.text)
        with self.database.transaction() as connection:
            outbox.stage(connection, "probe.told", change, account_id="usr_1")
        return Nothing()

    @on_event("probe.told")
    def on_told(self, connection, event):
        note(connection, event.data["tier"])

    @on_event("account.changed")
    def on_account_changed(self, connection, event):
        note(connection, event.data["tier"])

    @on_events("post.published", "post.failed")
    def on_posts(self, connection, events):
        connection.execute(text("INSERT INTO notes (text) VALUES ('transaction')"))
        for event in events:
            note(connection, event.data["name"])

    @loop(interval_seconds=0.1, deadline_seconds=0.5)
    def hang_once(self):
        if not HANGS:
            HANGS.append(time.monotonic())
            time.sleep(3600)
        with self.database.transaction() as connection:
            note_once(connection, "went on")
        return 0

    @loop(interval_seconds=0.2)
    def tick(self):
        with self.database.transaction() as connection:
            note_once(connection, "tick")
        return 0

    @loop(interval_seconds=3600, woken_by=NAP_OVER)
    def nap(self):
        with self.database.transaction() as connection:
            note(connection, "napped")
        return 0

    @rpc
    def end_nap(self, caller, request):
        NAP_OVER.wake()
        return Nothing()

    @loop(interval_seconds=0.1, until_the_end=True)
    def renew(self):
        with self.database.transaction() as connection:
            connection.execute(text("INSERT INTO notes (text) VALUES ('renewed')"))
        return 0


def note(connection, words):
    connection.execute(text("INSERT INTO notes (text) VALUES (:t)"), {"t": words})
    if words.startswith("poison"):
        raise ZeroDivisionError("poison")


def note_once(connection, note):
    statement = text(
        "INSERT INTO notes (text) SELECT :t WHERE NOT EXISTS (SELECT FROM notes WHERE text = :t)"
    )
    connection.execute(statement, {"t": note})
