"""Counting the words of a caption, and cutting it to fit."""

import re
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ai.rules import caption_text


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", 0),
        ("One two three.", 3),
        ("It's 5 o'clock — don't wait!", 5),
        ("#summer @brand 50% off 🎉 ✨", 4),
        ("well-known  brands\n\nof\tthe world", 5),
        ("今日は良い天気", 7),
        ("Hello 世界", 3),
        ("안녕하세요 세계", 2),
        ("… — !!! 🎉", 0),
    ],
)
def test_words_are_counted_as_people_count_them(text: str, words: int) -> None:
    assert caption_text.count(text) == words


@pytest.mark.parametrize(("words", "low", "high"), [(10, 8, 12), (60, 48, 72), (61, 49, 73), (300, 240, 360)])
def test_a_fifth_more_or_less_passes(words: int, low: int, high: int) -> None:
    assert caption_text.bounds(words) == (low, high)
    assert caption_text.fits("word " * low, words)
    assert caption_text.fits("word " * high, words)
    assert not caption_text.fits("word " * (low - 1), words)
    assert not caption_text.fits("word " * (high + 1), words)


def test_a_long_text_is_cut_after_the_last_sentence_that_fits() -> None:
    sentence = "This sentence has exactly six words. "
    assert caption_text.cut_to_fit(sentence * 5, 20) == (sentence * 4).strip()
    assert caption_text.cut_to_fit("no end in sight " * 20, 20) is None
    assert caption_text.cut_to_fit("Short.", 20) is None


def test_a_sentence_ends_with_its_quotation_mark_and_with_its_line() -> None:
    quoted = 'She said "come and see it for yourself." ' + "more " * 30
    assert caption_text.cut_to_fit(quoted, 8) == 'She said "come and see it for yourself."'
    assert caption_text.cut_to_fit("eight words that stand alone on a line\n" + "more " * 30, 8) == (
        "eight words that stand alone on a line"
    )


class Scanned:
    """A pattern that records the length of each text that it searches."""

    def __init__(self, pattern: re.Pattern[str]) -> None:
        self.pattern, self.lengths = pattern, list[int]()

    def finditer(self, text: str) -> Iterator[re.Match[str]]:
        self.lengths.append(len(text))
        return self.pattern.finditer(text)


def test_a_text_is_searched_once_however_many_sentences_it_has(monkeypatch: pytest.MonkeyPatch) -> None:
    """The search blocks the event loop. When it began anew for each sentence, 54 KB took a minute and claims lapsed."""
    patterns = [Scanned(caption_text._WORD), Scanned(caption_text._SENTENCE_END)]
    monkeypatch.setattr(caption_text, "_WORD", patterns[0])
    monkeypatch.setattr(caption_text, "_SENTENCE_END", patterns[1])
    text = "A b. " * 1_000
    assert caption_text.cut_to_fit(text, 60) == ("A b. " * 36).strip()
    assert [pattern.lengths for pattern in patterns] == [[len(text)], [len(text)]]


@pytest.mark.parametrize("sign", ["!", ".", "_", '"', "・"])
def test_a_long_run_of_symbols_is_searched_once(sign: str) -> None:
    """If the search began anew for each symbol, these texts would take minutes."""
    text = "Six words are in this sentence. " * 2 + sign * 200_000 + "x"
    assert caption_text.count(text) == 13 + (200_000 if sign == "・" else 0)
    assert (
        caption_text.cut_to_fit(text + " more" * 50, 12) == ("Six words are in this sentence. " * 2).strip()
    )


def test_a_url_does_not_end_a_sentence() -> None:
    text = "one two three four five six seven www.example.com/a " + "more " * 30
    assert caption_text.cut_to_fit(text, 10) is None


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        ('  "Hello there."  ', "Hello there."),
        ("“Hello there.”", "Hello there."),
        ("```\nHello\n```", "Hello"),
        ("```text\nHello\n```", "Hello"),
        ('"One" and "two"', '"One" and "two"'),
        ("It's fine", "It's fine"),
        ("nul\0 byte", "nul byte"),
    ],
)
def test_what_models_put_around_a_text_is_removed(raw: str, text: str) -> None:
    assert caption_text.tidied(raw) == text


@given(st.text(alphabet="ab .!?\n「。世」\"'", max_size=400), st.integers(10, 300))
def test_a_cut_text_fits_and_is_a_beginning(text: str, words: int) -> None:
    cut = caption_text.cut_to_fit(text, words)
    if cut is not None:
        assert caption_text.fits(cut, words)
        assert text.startswith(cut)
