"""Tests realistic latencies: how long each kind of call takes, and that a seed repeats them."""

from random import Random

import pytest

from simulator.config import Settings, from_environment
from simulator.latency import Latencies, call_seconds, film_seconds

SOCIAL = ("FB", "IG", "LN", "TT", "TW", "YT")


def drawn(platform, operation, body_bytes=100, count=2000):
    random = Random(7)
    return [call_seconds(platform, operation, body_bytes, random) for _ in range(count)]


@pytest.mark.parametrize("platform", SOCIAL)
@pytest.mark.parametrize(
    ("operation", "body_bytes", "quickest", "slowest"),
    [("publish", 100, 0.4, 3), ("upload", 100, 1, 8), ("publish", 50_000, 1, 8), ("comment", 100, 0.4, 3)],
    ids=["a text", "a photo by its address", "a photo's bytes", "a comment"],
)
def test_what_is_made_takes_seconds_and_now_and_then_25(platform, operation, body_bytes, quickest, slowest):
    times = drawn(platform, operation, body_bytes)
    usual = [seconds for seconds in times if seconds != 25]
    assert quickest <= min(usual) < max(usual) <= slowest
    assert 5 <= times.count(25) <= 50


@pytest.mark.parametrize("platform", SOCIAL)
def test_a_look_is_quick(platform):
    assert max(drawn(platform, "status")) < 1


@pytest.mark.parametrize("platform", SOCIAL)
def test_a_film_is_worked_on_for_minutes(platform):
    random = Random(7)
    times = [film_seconds(platform, random) for _ in range(500)]
    assert 20 <= min(times) < 40
    assert 60 < max(times) <= 180


def test_what_is_no_social_platform_takes_no_time():
    assert drawn("stripe", "payment", count=1) == drawn("gemini", "image", count=1) == [0]


def test_a_seed_repeats_its_times():
    one, same, other = Latencies("1"), Latencies("1"), Latencies("2")
    times = [[latencies.of_call("FB", "publish", 0) for _ in range(5)] for latencies in (one, same, other)]
    assert times[0] == times[1] != times[2]


def test_a_running_simulator_becomes_slow_and_quick_again(client, sim):
    assert sim.latencies.of_call("FB", "publish", 0) == 0
    assert sim.film_seconds("FB") == sim.settings.processing_seconds
    client.post("/_sim/latencies", json={"seed": "1"})
    assert sim.latencies.of_call("FB", "publish", 0) > 0.4
    assert sim.film_seconds("FB") >= 20
    client.post("/_sim/latencies", json={"seed": ""})
    assert sim.latencies.of_call("FB", "publish", 0) == 0


def test_latencies_are_off_unless_a_seed_is_given():
    assert Settings().slow_seed == from_environment({}).slow_seed == ""
    assert from_environment({"SIMULATOR_SLOW": "1"}).slow_seed == "1"
