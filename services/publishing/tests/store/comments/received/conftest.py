"""A process that accepts webhooks of Facebook and Instagram, and a published post."""

from collections.abc import Callable

import pytest
from publishing_kit.received import SECRET, VERIFY
from publishing_kit.world import World

from contracts import publishing as api
from publishing.platforms.meta.settings import MetaSettings
from publishing.platforms.registry import default_settings
from publishing.sending.context import SendingContext


@pytest.fixture
def app(make_app: Callable[..., SendingContext]) -> SendingContext:
    meta = MetaSettings(app_secret=SECRET, verify_token=VERIFY)
    return make_app(platforms=default_settings(FB=meta, IG=meta))


@pytest.fixture
def post(world: World) -> api.PublishResult:
    return world.published()  # type: ignore[no-any-return]
