"""SIGTERM while calls run: everything that the calls need stays until the last of them has ended."""

from probe.api import ProbeApi, Words
from sqlalchemy import create_engine, text

from contracts.caller import Caller

CALLER = Caller(account_id="usr_1", user_id="usr_1")


def test_a_loop_until_the_end_runs_as_long_as_the_last_call(running_service):
    probe = running_service("probe", api=ProbeApi)
    engine = create_engine(probe.env["DATABASE_URL"])

    def renewals():
        with engine.connect() as connection:
            return connection.scalar(text("SELECT count(*) FROM notes WHERE text = 'renewed'"))

    proxy = probe.bus.service("probe", ProbeApi)
    pending = proxy.wait.start(CALLER, Words(text="end", seconds=2.0))
    proxy.echo(CALLER, Words(text="behind it in the queue"))
    probe.process.terminate()
    at_first = renewals()
    assert probe.terminate() == 0
    assert pending.result().text == "end"
    assert renewals() > at_first + 5  # an ordinary loop is called once more at most
    engine.dispose()
