"""The test posts of `platform check --post`, against the simulator: hidden from others where possible, and removed."""

from collections.abc import Callable

import pytest

from publishing.platforms.base import Checkpoint, PlatformRefusal
from publishing.platforms.registry import PLUGINS

from .simulated import Page

PHOTO = "http://media.posthaste.test/media/photo-300x300.jpg"
STAGED = [code for code, plugin in PLUGINS.items() if plugin.trial and plugin.trial.stage]
PUBLISHED = [code for code, plugin in PLUGINS.items() if plugin.trial and plugin.trial.content]


def test_every_platform_but_tiktok_has_one_and_x_and_linkedin_alone_a_public_one() -> None:
    assert {*STAGED, *PUBLISHED} == PLUGINS.keys() - {"TT"}
    assert [code for code in PUBLISHED if PLUGINS[code].trial.is_public] == ["LN", "TW"]  # type: ignore[union-attr]


@pytest.mark.parametrize("platform", STAGED)
def test_a_staged_one_is_seen_by_nobody(page_on: Callable[[str], Page], platform: str) -> None:
    page, trial = page_on(platform), PLUGINS[platform].trial
    assert trial is not None
    assert trial.stage is not None
    made_id = trial.stage(page.settings, page.account, "Test of the connection", PHOTO)
    assert made_id
    assert page.posts == []
    if trial.remove is not None:
        trial.remove(page.settings, page.account, made_id)
        trial.remove(page.settings, page.account, made_id)


@pytest.mark.parametrize("platform", PUBLISHED)
def test_a_published_one_is_removed_and_removing_it_again_does_no_harm(
    page_on: Callable[[str], Page], platform: str
) -> None:
    page, trial = page_on(platform), PLUGINS[platform].trial
    assert trial is not None
    assert trial.content is not None
    assert trial.remove is not None
    published = page.connector.publish(page.account, trial.content("Test of the connection"), Checkpoint())
    [post] = page.posts
    assert post["id"] == published.remote_id
    if not trial.is_public:
        assert post["settings"]["privacy"] == "private"
    trial.remove(page.settings, page.account, published.remote_id)
    trial.remove(page.settings, page.account, published.remote_id)
    assert page.posts == []


def test_a_photo_that_instagram_cannot_fetch_is_a_refusal(page_on: Callable[[str], Page]) -> None:
    page, trial = page_on("IG"), PLUGINS["IG"].trial
    assert trial is not None
    assert trial.stage is not None
    with pytest.raises(PlatformRefusal):
        trial.stage(page.settings, page.account, "Test", "http://media.posthaste.test/media/none.jpg")
