"""If the database has a standby and commits do not wait for it, a process logs that at its start."""

import pytest
from publishing_kit.world import World
from structlog.testing import capture_logs

from publishing.store import standbys
from publishing.store.standbys import Replication, warn_of_asynchronous


@pytest.mark.parametrize(
    ("replication", "may_lose"),
    [
        (Replication(0, "", "on"), False),
        (Replication(1, "", "on"), True),
        (Replication(1, "ANY 1 (a, b)", "on"), False),
        (Replication(1, "ANY 1 (a, b)", "remote_write"), False),
        (Replication(1, "ANY 1 (a, b)", "local"), True),
        (Replication(1, "ANY 1 (a, b)", "off"), True),
    ],
)
def test_commits_that_wait_for_no_standby_may_be_lost(replication: Replication, may_lose: bool) -> None:
    assert replication.may_lose_commits is may_lose


@pytest.mark.parametrize("receivers", [0, 1])
def test_the_log_says_so_only_where_there_is_a_standby(
    world: World, monkeypatch: pytest.MonkeyPatch, receivers: int
) -> None:
    statement = str(standbys._REPLICATION).replace(
        "SELECT count(*) FROM pg_stat_replication", f"SELECT {receivers}"
    )
    monkeypatch.setattr(standbys, "_REPLICATION", standbys.text(statement))
    with capture_logs() as lines, world.database.reading() as connection:
        warn_of_asynchronous(connection)
    assert [line["event"] for line in lines] == ["standby_is_asynchronous"] * receivers


def test_the_database_is_asked_as_the_service_may(world: World) -> None:
    with capture_logs() as lines, world.database.reading() as connection:
        warn_of_asynchronous(connection)
    assert lines == []
