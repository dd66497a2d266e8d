"""Processes of publishing on one database, interleaved statement by statement. The platform runs in the test's
process.
"""

from collections.abc import Callable, Iterator
from contextlib import nullcontext
from typing import Any

import pytest
from publishing_kit.fake_media import FakeMedia
from publishing_kit.fake_platform import FakePlatform
from publishing_kit.stage import Stage
from publishing_kit.world import World

from chassis.db import leases
from chassis.db.database import Database
from publishing.config import Settings
from publishing.sending.context import SendingContext
from testkit.interleaving import Interleaver


@pytest.fixture
def interleaver(database: Database) -> Iterator[Interleaver]:
    with Interleaver(database.engine.url.render_as_string(hide_password=False)) as made:
        yield made


@pytest.fixture
def stage(
    world: World,
    interleaver: Interleaver,
    settings: Settings,
    media: FakeMedia,
    platform: FakePlatform,
    make_app: Callable[..., SendingContext],
    monkeypatch: pytest.MonkeyPatch,
) -> Stage:
    monkeypatch.setattr("publishing.sending.outcome_writer._PAUSE_SECONDS", 0.0)
    search = platform.search

    def search_page(attempt: Any) -> Any:
        """Looks for the post among the page's posts, as connectors do."""
        own = f"{attempt.account.remote_account_id}_"
        every, platform.posts = platform.posts, [one for one in platform.posts if one[0].startswith(own)]
        try:
            return search(attempt)
        finally:
            platform.posts = every

    monkeypatch.setattr(platform, "search", search_page)
    platform.sending = nullcontext()
    made = Stage(world, interleaver, settings, media, platform, make_app())
    monkeypatch.setattr(leases, "elapsed", made.elapsed)
    return made
