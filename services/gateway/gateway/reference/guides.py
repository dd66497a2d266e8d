"""The guides of docs/ as pages of /docs: Markdown to HTML, with links that lead to other guides. Pure.

`gateway/guides` has symbolic links to the guides, so that the package finds them in the same place in a checkout, a
wheel and an image.
"""

import posixpath
import re
from collections.abc import Iterator, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from markdown_it import MarkdownIt
from markdown_it.token import Token

FOLDER = Path(__file__).parents[1] / "guides"
#: Where a guide's links start from: the path of its file, in the repository.
_PLACES = {"api": "docs/api", ".": "docs"}
PATH = "/docs/guides/"


class Guide(NamedTuple):
    """A guide: a Markdown file and its place in /docs. `source` is its path in the repository."""

    slug: str
    title: str
    source: str
    text: str


def read_guides(folder: Path = FOLDER) -> dict[str, Guide]:
    """Reads the guides, by slug, in the order of the list in docs/api/README.md."""
    found = {}
    for place, source in _PLACES.items():
        for path in sorted((folder / place).glob("*.md")):
            if path.name != "README.md":
                text = path.read_text()
                title = text.partition("\n")[0].removeprefix("# ")
                found[path.stem] = Guide(path.stem, title, f"{source}/{path.name}", text)
    named = re.findall(r"\]\([./]*(\w[\w-]*)\.md\)", (folder / "api" / "README.md").read_text().lower())
    return {slug: found[slug] for slug in dict.fromkeys([*named, *found]) if slug in found}


def render(guide: Guide, guides: Mapping[str, Guide]) -> str:
    """Returns a guide as HTML, without its title and without blocks of HTML, which in guides are only comments."""
    markdown = MarkdownIt("commonmark").enable("table")
    paths = {other.source: f"{PATH}{other.slug}" for other in guides.values()}
    after_title = markdown.parse(guide.text)[3:]  # a heading is three tokens
    tokens = [token for token in after_title if token.type != "html_block"]
    _name_headings(tokens)
    for token in tokens:
        if token.children is not None:
            token.children = list(_led(token.children, guide, paths))
        if token.type == "table_open":
            # A wide table is scrolled by itself, also with the keyboard.
            token.attrSet("tabindex", "0")
    html: str = markdown.renderer.render(tokens, markdown.options, {})
    return html.replace("<pre>", '<pre tabindex="0">')


def _name_headings(tokens: list[Token]) -> None:
    """Gives headings the same ids as GitHub does."""
    for opening, inline in pairwise(tokens):
        if opening.type == "heading_open":
            words = re.sub(r"[^\w\- ]", "", _plain(inline).lower())
            opening.attrSet("id", words.replace(" ", "-"))


def _plain(inline: Token) -> str:
    return "".join(child.content for child in inline.children or ())


def _led(children: list[Token], guide: Guide, paths: Mapping[str, str]) -> Iterator[Token]:
    """Changes links to other guides into links to the guides' pages in /docs. Replaces a link to a file that the
    gateway does not serve by the link's text and the file's path."""
    lost: list[str] = []
    for child in children:
        if child.type == "link_open":
            target = _target(str(child.attrs["href"]), guide, paths)
            if target.startswith(("/", "#", "http:", "https:")):
                child.attrSet("href", target)
                lost.append("")
            else:
                lost.append(target)
                continue
        elif child.type == "link_close" and (path := lost.pop()):
            yield _text(f" ({path})" if path else "")
            continue
        yield child


def _target(href: str, guide: Guide, paths: Mapping[str, str]) -> str:
    parts = urlsplit(href)
    if parts.scheme or not parts.path:
        return href
    path = posixpath.normpath(posixpath.join(posixpath.dirname(guide.source), parts.path))
    place = f"#{parts.fragment}" if parts.fragment else ""
    return f"{paths[path]}{place}" if path in paths else path


def _text(content: str) -> Token:
    return Token("text", "", 0, content=content)


def contents(guides: Mapping[str, Guide]) -> list[dict[str, Any]]:
    return [{"name": guide.title, "path": f"{PATH}{guide.slug}"} for guide in guides.values()]
