"""Tests what the simulated AI providers make: pictures of the right size, films with their index first, captions of
the right length.
"""

import time
from io import BytesIO

import pytest
from PIL import Image

from simulator import inspection
from simulator.samples import photo
from simulator.studio import captions, film, poster


def opened(data):
    with Image.open(BytesIO(data)) as picture:
        picture.load()
        return picture.convert("RGB")


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "WEBP"])
def test_a_poster_has_the_size_and_the_format_it_was_asked_for(kind):
    made = inspection.photo(poster.draw("A bakery at dawn", 1376, 768, (), kind))
    assert (made.format, made.width, made.height) == (kind, 1376, 768)


def test_another_prompt_is_another_picture_and_the_same_one_the_same():
    first, second = poster.draw("A bakery", 256, 256), poster.draw("A brewery", 256, 256)
    assert first != second
    assert poster.draw("A bakery", 256, 256) == first


@pytest.mark.parametrize(
    "prompt", ["x" * 2000, "word " * 400, "面包店的早晨", "half an emoji \ud83d", "\n", ""]
)
def test_any_prompt_can_be_drawn(prompt):
    assert inspection.photo(poster.draw(prompt, 512, 512)).aspect == 1


def test_an_edit_draws_on_the_picture_that_was_given():
    red = BytesIO()
    Image.new("RGB", (300, 300), (200, 10, 10)).save(red, "PNG")
    made = opened(poster.draw("Write on it", 400, 400, (red.getvalue(),)))
    assert made.getpixel((200, 100)) == (200, 10, 10)
    assert made.getpixel((390, 395)) != (200, 10, 10)


def test_a_poster_takes_little_time():
    poster.draw("warm up the font", 1024, 1024)
    start = time.thread_time()
    for number in range(10):
        poster.draw(f"Ten posters, number {number}", 1024, 1024)
    assert (time.thread_time() - start) / 10 < 0.15  # 25 ms where it was written; room for slow machines


@pytest.mark.parametrize(("width", "height", "seconds"), [(1280, 720, 8), (720, 1280, 4)])
def test_a_film_has_its_size_and_length_and_its_index_first(width, height, seconds):
    data = film.make("A bakery at dawn", width, height, seconds)
    made = inspection.video(data)
    assert (made.seconds, made.moov_first) == (pytest.approx(seconds, abs=0.1), True)
    assert frame_size(data) == (width, height)
    assert made.bytes < 2 << 20


def test_a_film_can_begin_with_a_picture():
    with_picture = film.make("Pan over it", 720, 1280, 4, photo.draw(1200, 800, "jpg"))
    assert inspection.video(with_picture).seconds == pytest.approx(4, abs=0.1)
    assert with_picture != film.make("Pan over it", 720, 1280, 4)


def frame_size(data):
    """Returns width and height from the track header of a film, in whole pixels."""
    start = data.index(b"tkhd") + 4
    return tuple(int.from_bytes(data[start + at : start + at + 2]) for at in (76, 80))


@pytest.mark.parametrize(
    "request_text", ["Our new sourdough is out of the oven", "Rye", "", "A " * 900, "面包" * 90, "- & 🎉 Rye"]
)
def test_a_caption_has_as_many_words_as_were_asked_for(request_text):
    for words in range(10, 301):
        text = captions.write(f"Write about {words} words.", request_text).text
        assert captions.count(text) == words
        assert text.endswith((".", "!"))


def test_the_instructions_go_before_the_request_and_the_last_number_counts():
    assert captions.words_asked("At most 90 words, about 40 words", "in 10 words") == 40
    assert captions.words_asked("Be kind.", "in a 25-word caption") == 25
    assert captions.words_asked("Be kind.", "3 loaves") == captions.DEFAULT_WORDS


def test_a_caption_is_about_what_was_asked_and_never_the_same_for_all():
    sourdough = captions.write("", "Sourdough on Saturday").text
    assert "Sourdough on Saturday" in sourdough
    assert captions.write("", "Rye on Sunday").text != sourdough


def test_a_limit_of_tokens_cuts_a_caption_short():
    made = captions.write("about 60 words", "Sourdough", 30)
    assert (made.cut, len(made.text.split())) == (True, 20)
    assert not captions.write("about 60 words", "Sourdough", 200).cut
