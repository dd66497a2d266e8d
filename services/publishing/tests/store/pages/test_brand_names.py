"""The pages of a brand have the brand's newest name, in whatever order the events about its names arrive."""

from datetime import timedelta

from publishing_kit.world import World

from contracts import publishing as api
from publishing.pages import page_list


def names(world: World) -> dict[str, str]:
    """Returns the brand's name of each listed page, by the page's id."""
    found = page_list.show_list(world.app, world.caller(), api.ListPages())
    return {page.id: page.brand_name for page in found.pages}


def test_all_pages_of_a_renamed_brand_get_its_name_and_no_others(world: World) -> None:
    mine, also_mine, another = world.page(), world.page("IG"), world.page(brand="brd_b")
    world.rename("Corner Bakery")
    assert names(world) == {mine.id: "Corner Bakery", also_mine.id: "Corner Bakery", another.id: "Brand"}
    shown = page_list.show(world.app, world.caller(), api.GetPage(id=mine.id))
    assert shown.brand_name == "Corner Bakery"


def test_an_older_name_that_arrives_later_changes_nothing(world: World) -> None:
    page, now = world.page(), world.now()
    world.rename("Newest", now)
    world.rename("Older", now - timedelta(milliseconds=1))
    assert names(world) == {page.id: "Newest"}


def test_an_event_that_comes_twice_has_one_effect(world: World) -> None:
    page, now = world.page(), world.now()
    before = now - timedelta(seconds=1)
    for name, at in (("First", before), ("Second", now), ("First", before)):
        world.rename(name, at)
    assert names(world) == {page.id: "Second"}


def test_a_page_whose_linking_began_under_the_old_name_gets_the_new_one(world: World) -> None:
    world.rename("Newest")
    page = world.page()
    assert (page.brand_name, names(world)) == ("Newest", {page.id: "Newest"})


def test_a_page_that_is_linked_again_keeps_the_newest_name(world: World) -> None:
    page = world.page(remote="777")
    world.rename("Newest")
    assert world.page(remote="777").id == page.id
    assert names(world) == {page.id: "Newest"}


def test_without_any_event_linking_again_brings_the_name_as_before(world: World) -> None:
    """Renames under the previous release came without an event."""
    page = world.page(remote="777")
    world.run("UPDATE pages SET brand_name = 'stale'")
    world.run("UPDATE brand_names SET name = 'stale'")
    world.page(remote="777")
    assert names(world) == {page.id: "Brand"}
