"""What `./dev up` and `./dev demo` print. The posts of the filled demo account suit its pages and their platforms, and
are in the order of time.
"""

import os
from pathlib import Path
from typing import Any

import pytest

from local import cli
from local.demo import fill, journey, story
from local.environment import write_env
from local.processes.table import NotReady
from local.stack import account, apps

#: Brand → the platforms on which the demo account has a page of it (stack/account.py).
PAGES = {1: set(apps.CODES), 2: {"FB"}}
#: What a start has written.
ENV = {
    "DASHBOARD_URL": "http://localhost:8100", "DEMO_EMAIL": account.EMAIL, "DEMO_PASSWORD": "bread-and-butter",
    "BASE_URL": "http://localhost:8000/api/v1", "LIVE_TOKEN": "svc_live_x", "SANDBOX_TOKEN": "svc_test_x",
    "PAGE_ID_FB": "pag_1",
}  # fmt: skip


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The run directory of a stack that is running."""
    write_env(tmp_path, ENV)
    monkeypatch.setattr(cli, "RUN", tmp_path)
    for module in (journey, fill):
        monkeypatch.setattr(module, "supervisor_pid", lambda _: os.getpid())
    monkeypatch.setattr(journey, "read_table", lambda _: [])
    return tmp_path


@pytest.mark.usefixtures("run")
def test_up_prints_the_address_of_the_dashboard_and_the_demo_login() -> None:
    lines = [" ".join(line.split()) for line in cli.summary().splitlines() if line.startswith("  ")]
    assert lines[:2] == [
        "Dashboard http://localhost:8100",
        f"Sign in {account.EMAIL}, password bread-and-butter",
    ]


def test_up_says_how_to_get_a_password_for_a_demo_account_that_has_none(run: Path) -> None:
    write_env(run, {name: value for name, value in ENV.items() if not name.startswith("DEMO_")})
    assert f"./dev ctl user reset-link {account.EMAIL} prints a link" in cli.summary()


def test_the_demo_ends_by_naming_the_page_where_its_posts_are(
    run: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(journey.Journey, "walk", lambda _: None)
    assert journey.main(run) == 0
    last = capsys.readouterr().out.splitlines()[-1]
    assert last.startswith("See what it published: http://localhost:8100/posts?tab=published ")
    assert "./dev up prints the login" in last


def test_a_demo_that_stops_says_at_which_step_and_why(
    run: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def walk(self: journey.Journey) -> None:
        self.step("Who am I")
        raise journey.Surprise("GET /me answered 500 instead of 200")

    monkeypatch.setattr(journey.Journey, "walk", walk)
    assert journey.main(run) == 1
    assert "Stopped at step 1: GET /me answered 500" in capsys.readouterr().err


def test_filling_names_the_dashboard_and_a_filled_account_is_left_alone(
    run: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fills(self: Any) -> None:
        write_env(run, ENV | {fill.DONE: "yes"})

    monkeypatch.setattr(fill.Filling, "fill", fills)
    assert fill.main(run) == 0
    assert "Look: http://localhost:8100 (./dev up prints the login)" in capsys.readouterr().out
    monkeypatch.setattr(fill.Filling, "fill", lambda _: pytest.fail("it is filled"))
    assert fill.main(run) == 0
    assert "is filled already: http://localhost:8100" in capsys.readouterr().out


@pytest.mark.parametrize("main", [journey.main, fill.main])
def test_without_a_running_stack_the_demo_says_how_to_start_one(main: Any, tmp_path: Path) -> None:
    with pytest.raises(NotReady, match=r"\./dev up --detach first"):
        main(tmp_path)


def test_the_past_goes_forward_and_stays_within_the_three_weeks_that_the_clock_is_set_back() -> None:
    times = [(post.days, -post.hour) for post in story.PAST]
    assert times == sorted(times, reverse=True)
    assert min(post.days for post in story.PAST) > 0
    assert max(post.days for post in story.PAST) <= 20


def test_every_post_has_a_page_and_the_files_that_its_platform_asks_for() -> None:
    for post in story.PAST:
        assert post.platform in PAGES[post.brand]
        assert post.with_photo or post.platform != "IG"
        assert post.with_video == (post.platform in ("TT", "YT"))
    for _, _, brand, platform, _, with_photo in story.NEXT:
        assert platform in PAGES[brand]
        assert with_photo or platform != "IG"
    assert all(platform in PAGES[1] for platform, _, _ in story.FAILED)


def test_every_platform_has_a_post_and_each_failure_another_reason() -> None:
    assert {post.platform for post in story.PAST} == set(apps.CODES)
    reasons = [reason for _, reason, _ in story.FAILED]
    assert len(reasons) == len(set(reasons)) >= 2


def test_no_text_is_told_twice_because_a_run_that_goes_on_knows_a_post_by_it() -> None:
    texts = [post.text for post in story.PAST] + [text for *_, text in story.FAILED] + [story.HELD[-1]]
    texts += [text for *_, text, _ in story.NEXT]
    assert len(set(texts)) == len(texts)


def test_some_comments_wait_for_an_answer_and_some_have_one() -> None:
    answers = [answer for post in story.PAST for _, _, answer in post.comments]
    assert any(answers)
    assert not all(answers)
