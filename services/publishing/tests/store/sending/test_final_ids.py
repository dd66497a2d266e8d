"""Posts to which their platform gives the final id only after they are published."""

from typing import Any

import pytest
from publishing_kit.fake_platform import FakePlatform
from publishing_kit.world import World

from publishing.platforms.base import OutcomeUnknown, PlatformRefusal, Published, Refusal
from publishing.sending import final_ids
from publishing.sending.final_ids import wait_before_look

OWN = Published("7411", "https://tiktok.example/7411")


@pytest.fixture
def named(platform: FakePlatform, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The platform's answers, in order, when it is asked for a final id. After the last one it has none."""
    answers: list[Any] = []

    def tell(account: Any, remote_id: str) -> Published | None:
        answer = answers.pop(0) if answers else None
        if isinstance(answer, Exception):
            raise answer
        return answer

    real_publish, real_look_up = platform.publish, platform.look_up

    def later(out: Any) -> Any:
        return Published(out.remote_id, is_named_later=True) if isinstance(out, Published) else out

    monkeypatch.setattr(platform, "named", tell, raising=False)
    monkeypatch.setattr(platform, "publish", lambda *given: later(real_publish(*given)))
    monkeypatch.setattr(platform, "look_up", lambda *given, **more: later(real_look_up(*given, **more)))
    return answers


def look(world: World, age_seconds: float = 0.0) -> None:
    """Asks for final ids now, as if the posts had waited for this time."""
    world.run(
        "UPDATE names_awaited SET wake_at = clock_timestamp(),"
        " since = clock_timestamp() - make_interval(secs => :age)",
        age=age_seconds,
    )
    final_ids.name_posts(world.app)
    assert world.app.side.wait_idle(10)


def waiting(world: World) -> list[str]:
    return [row[0] for row in world.ask("SELECT post_id FROM names_awaited")]


def known_as(world: World, post_id: str) -> tuple[str | None, str | None]:
    [row] = world.ask("SELECT remote_id, permalink FROM posts WHERE id = :id", id=post_id)
    return row[0], row[1]


def test_a_post_gets_its_own_name_and_address_when_the_platform_has_them(
    world: World, named: list[Any]
) -> None:
    post = world.published()
    assert (post.permalink, waiting(world)) == (None, [post.post_id])
    named += [None, PlatformRefusal(Refusal.TRANSIENT, "x", "x"), OWN]
    for _ in range(2):
        look(world)
        assert known_as(world, post.post_id) == (post.platform_post_id, None)
    look(world)
    assert known_as(world, post.post_id) == (OWN.remote_id, OWN.permalink)
    assert waiting(world) == []


def test_a_post_found_by_a_look_up_is_waited_for_as_well(
    world: World, platform: FakePlatform, named: list[Any]
) -> None:
    post = world.due_post()
    platform.script.append(platform.keep(OutcomeUnknown("no answer")))
    world.send()
    assert waiting(world) == []
    world.look()
    assert waiting(world) == [post.id]


def test_a_post_that_has_its_name_is_not_waited_for(world: World) -> None:
    world.published()
    assert waiting(world) == []


def test_after_a_day_a_post_keeps_the_name_it_has(world: World, named: list[Any]) -> None:
    post = world.published()
    look(world, 86_399)
    assert waiting(world) == [post.post_id]
    look(world, 86_401)
    assert waiting(world) == []
    assert known_as(world, post.post_id) == (post.platform_post_id, None)


def test_an_answer_that_nobody_foresaw_is_waited_out_like_any_other(world: World, named: list[Any]) -> None:
    post = world.published()
    named += [KeyError("id"), KeyError("id")]
    look(world, 300)
    [row] = world.ask(
        "SELECT extract(epoch FROM wake_at - clock_timestamp())::float8 AS wait FROM names_awaited"
    )
    assert row.wait == pytest.approx(300, abs=5)
    look(world, 86_401)
    assert waiting(world) == []
    assert known_as(world, post.post_id) == (post.platform_post_id, None)


def test_a_post_that_came_to_nothing_has_no_name(world: World, named: list[Any]) -> None:
    post = world.published()
    world.run("UPDATE posts SET state = 'failed', remote_id = NULL, out_at = NULL")
    named.append(OWN)
    look(world)
    assert waiting(world) == []
    assert known_as(world, post.post_id) == (None, None)


def test_looks_come_ever_rarer() -> None:
    assert [wait_before_look(age) for age in (0, 10, 100, 5_000)] == [30.0, 30.0, 100, 3_600.0]
