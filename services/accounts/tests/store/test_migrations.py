"""The migrations make the tables that models.py describes."""

from collections.abc import Callable

from accounts.models import metadata
from chassis.db.database import Database
from testkit.schema import differences


def test_the_migrated_database_is_what_the_models_say(open_database: Callable[[str], Database]) -> None:
    assert differences(open_database("accounts"), "accounts", metadata) == []
