"""The migrations and the models describe the same tables."""

from collections.abc import Callable
from datetime import timedelta

from sqlalchemy import text

from chassis.db.database import Database
from publishing.models import posts
from testkit.schema import differences


def test_times_come_in_utc_whatever_zone_the_server_has(database_for: Callable[[str], str]) -> None:
    url = database_for("publishing")
    setting = Database(url)
    with setting.transaction() as connection:
        connection.execute(
            text(f"ALTER DATABASE \"{setting.engine.url.database}\" SET timezone = 'Asia/Tokyo'")
        )
    setting.close()
    database = Database(url)
    for connect in (database.reading, database.transaction):
        with connect() as connection:
            assert connection.execute(text("SELECT clock_now()")).scalar_one().utcoffset() == timedelta(0)
    database.close()


def test_the_migrations_make_exactly_the_models(open_database: Callable[[str], Database]) -> None:
    assert differences(open_database("publishing"), "publishing", posts.metadata, foreign=["workers"]) == []
