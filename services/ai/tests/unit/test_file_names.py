"""Names of generated files."""

import pytest

from ai.rules.file_names import file_name


@pytest.mark.parametrize(
    ("prompt", "name"),
    [
        ("A baker lifts a loaf", "A baker lifts a loaf.mp4"),
        ("A baker's half-price loaf, at dawn!", "A baker's half-price loaf at dawn.mp4"),
        ("../../etc/passwd\\x\r\nBread", "etc passwd x Bread.mp4"),
        ("a_b:c*d?e", "a_b c d e.mp4"),
        ("word " * 30, "word " * 11 + "word.mp4"),
        ("x" * 200, "x" * 60 + ".mp4"),
        ("面包师从烤箱里拿出面包。早上", "面包师从烤箱里拿出面包 早上.mp4"),
        ("\u202etxt.exe", "txt exe.mp4"),
        ("… — !!!", "job_1.mp4"),
    ],
)
def test_a_file_has_the_first_words_of_its_prompt(prompt: str, name: str) -> None:
    assert file_name(prompt, "mp4", "job_1") == name
