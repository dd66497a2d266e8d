"""A brand is renamed twice while pages of it are being linked: in the end each page has the newest name."""

from dataclasses import replace
from datetime import timedelta
from functools import partial

from publishing_kit.stage import Stage

from chassis.ids import new_id
from testkit.interleaving import Try, explore


def test_each_page_that_is_linked_during_renames_has_the_newest_name(stage: Stage, seeds: range) -> None:
    link, first, second = (stage.interleaver.process(name) for name in ("link", "first", "second"))

    def example(seed: int) -> None:
        brand, now = new_id("brd"), stage.world.now()
        linked_before = stage.world.page(brand=brand)
        names = {"Newer": now - timedelta(seconds=1), "Newest": now}
        stage.interleaver.run(
            seed,
            Try("link", link, partial(replace(stage.world, app=stage.app(link)).page, brand=brand)),
            *(
                Try(
                    name,
                    process,
                    partial(replace(stage.world, app=stage.app(process)).rename, name, at, brand),
                )
                for process, (name, at) in zip((first, second), names.items(), strict=True)
            ),
        )
        for name, at in names.items():
            stage.world.rename(name, at, brand)  # RabbitMQ sends an event again whose process was killed
        rows = stage.world.ask("SELECT id, brand_name FROM pages WHERE brand_id = :brand", brand=brand)
        assert linked_before.id in {row.id for row in rows}
        assert {row.brand_name for row in rows} == {"Newest"}

    explore(stage.interleaver, seeds, example)
