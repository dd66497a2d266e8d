"""The posts of the filled demo account suit its pages and their platforms, and are in the order of time."""

from local.demo import story
from local.stack import apps

#: Brand → the platforms on which the demo account has a page of it (stack/account.py).
PAGES = {1: set(apps.CODES), 2: {"FB"}}


def test_the_past_goes_forward_and_stays_within_the_three_weeks_that_the_clock_is_set_back() -> None:
    times = [(post.days, -post.hour) for post in story.PAST]
    assert times == sorted(times, reverse=True)
    assert min(post.days for post in story.PAST) > 0
    assert max(post.days for post in story.PAST) <= 20


def test_every_post_has_a_page_and_instagram_a_photo() -> None:
    for post in story.PAST:
        assert post.platform in PAGES[post.brand]
        assert post.with_photo or post.platform != "IG"
    for _, _, brand, platform, _, with_photo in story.NEXT:
        assert platform in PAGES[brand]
        assert with_photo or platform != "IG"
    assert all(platform in PAGES[1] for _, platform, _, _ in story.FAILED)


def test_some_comments_wait_for_an_answer_and_some_have_one() -> None:
    answers = [answer for post in story.PAST for _, _, answer in post.comments]
    assert any(answers)
    assert not all(answers)
