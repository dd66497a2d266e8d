"""The files that browsers load: small, ours or with their licence, and without code in the pages."""

import gzip
import re
from pathlib import Path

import dashboard

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
        for form in re.findall(r'<form method="post".*?</form>', text, re.DOTALL):
            assert "hidden(form_token" in form or 'name="form_token"' in form, path.name
