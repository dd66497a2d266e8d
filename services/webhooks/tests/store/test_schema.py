"""The migrations and the models describe the same tables."""

from collections.abc import Callable

from chassis.db.database import Database
from testkit.schema import differences
from webhooks.models import metadata


def test_the_migrations_make_exactly_the_models(open_database: Callable[[str], Database]) -> None:
    assert differences(open_database("webhooks"), "webhooks", metadata) == []
