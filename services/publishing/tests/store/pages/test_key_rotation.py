"""Stored credentials are encrypted again with a new key."""

from typing import Any

import pytest
from cryptography.fernet import Fernet
from publishing_kit.world import World

from chassis.vault import Vault
from contracts.caller import operator
from contracts.errors import ApiError
from contracts.keys import KeysRotated, RotateKeys
from publishing.pages import linked_pages
from publishing.records import Credentials
from publishing.store.pages import Pages


def stored(world: World, page_id: str) -> str:
    with world.database.reading() as connection:
        return Pages(connection).get(page_id).access_token


def test_credentials_go_under_the_newest_key(world: World, make_app: Any, settings: Any) -> None:
    made = [world.page(platform).id for platform in ("FB", "IG", "TW")]
    new = Fernet.generate_key().decode()
    app = make_app(credential_keys=(new, *settings.credential_keys))
    assert linked_pages.rotate_keys(app, operator(), RotateKeys()) == KeysRotated(rotated=3)
    for page_id in made:
        assert Credentials.opened(Vault([new]), stored(world, page_id)).access_token == "token"
    assert linked_pages.rotate_keys(app, operator(), RotateKeys()).rotated == 0


def test_the_next_call_goes_on_after_the_last_page(world: World, make_app: Any, settings: Any) -> None:
    made = sorted(world.page(platform).id for platform in ("FB", "IG", "TW"))
    app = make_app(credential_keys=(Fernet.generate_key().decode(), *settings.credential_keys))
    assert linked_pages.rotate_keys(app, operator(), RotateKeys(after=made[0])).rotated == 2


def test_credentials_that_no_key_reads_are_left_alone(world: World, make_app: Any) -> None:
    page = world.page()
    before = stored(world, page.id)
    app = make_app(credential_keys=(Fernet.generate_key().decode(),))
    answer = linked_pages.rotate_keys(app, operator(), RotateKeys())
    assert answer == KeysRotated(rotated=0, unreadable=(page.id,))
    assert stored(world, page.id) == before


def test_a_renewal_that_comes_between_wins(world: World) -> None:
    page = world.page()
    with world.database.transaction() as connection:
        assert not Pages(connection).exchange_credentials(page.id, "what it was before", "older")
    assert stored(world, page.id) != "older"


def test_only_the_operator_rotates_keys(world: World) -> None:
    with pytest.raises(ApiError) as refused:
        linked_pages.rotate_keys(world.app, world.caller(), RotateKeys())
    assert refused.value.code == "MISSING_SCOPE"
