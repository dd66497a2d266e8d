"""The files that browsers load: small, ours or with their licence, and without code in the pages."""

import gzip
import re
from pathlib import Path

import dashboard
from dashboard import words

FOLDER = Path(dashboard.__file__).parent
TEMPLATES = sorted((FOLDER / "templates").glob("*.html"))


def packed(pattern: str) -> int:
    return sum(len(gzip.compress(path.read_bytes())) for path in (FOLDER / "static").glob(pattern))


def test_scripts_and_styles_are_small() -> None:
    assert 0 < packed("*.js") <= 100_000
    assert 0 < packed("*.css") <= 30_000


def test_what_others_wrote_has_its_version_and_licence() -> None:
    [htmx] = (FOLDER / "static").glob("htmx-*.min.js")
    version = re.findall(r"htmx-(\d+\.\d+\.\d+)\.min\.js", htmx.name)
    assert f'version="{version[0]}"' in htmx.read_text()
    assert "Zero-Clause BSD" in (FOLDER / "static/htmx-LICENSE.txt").read_text()


def test_pages_hold_no_code_and_no_style_and_every_form_its_token() -> None:
    assert len(TEMPLATES) > 10
    for path in TEMPLATES:
        text = path.read_text()
        assert not re.search(r"<script(?![^>]*\bsrc=)|<style|\sstyle=|\son\w+=|hx-on|js:|\|safe", text), (
            path.name
        )
        assert "autoescape" not in text, path.name
        for form in re.findall(r'<form method="post".*?</form>', text, re.DOTALL):
            assert "hidden(form_token" in form or 'name="form_token"' in form, path.name


def test_each_platform_has_one_colour_which_is_written_once() -> None:
    sheets = "".join(path.read_text() for path in (FOLDER / "static").glob("*.css"))
    colours = {}
    for code in words.PLATFORMS:
        [token] = re.findall(rf"\.{code} {{ --of-platform: var\((--\w+)\); }}", sheets)
        [colours[code]] = re.findall(rf"{token}: (#\w+);", sheets)
    assert len(set(colours.values())) == len(words.PLATFORMS)
    for colour in colours.values():
        assert len(re.findall(rf"{colour}\b", sheets)) == 1, colour
