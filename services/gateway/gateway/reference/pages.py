"""Makes each page of /docs once per process, from the OpenAPI description and the guides, without calling other
services."""

import hashlib
import json
import re
from functools import cached_property
from typing import TYPE_CHECKING, Any

from markupsafe import Markup, escape

from gateway.http.answers import Answer
from gateway.reference import guides
from gateway.reference.operations import Operations
from gateway.reference.postman import collection_of
from gateway.reference.templates import PAGE, STYLE

if TYPE_CHECKING:
    from jinja2 import Environment, Template


HTML, CSS, TEXT = "text/html; charset=utf-8", "text/css; charset=utf-8", "text/plain; charset=utf-8"
_HEADERS = {
    # The browser asks each time whether its copy is current: an upgrade of the server shows at once.
    "Cache-Control": "public, no-cache",
    "Content-Security-Policy": "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'",
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
}


class Reference:
    """Answers requests for pages of /docs. A page is made when it is first requested, in some hundredths of a
    second."""

    def __init__(self, description: dict[str, Any], templates: "Environment") -> None:
        self._description = description
        self._templates = templates
        self._made: dict[str, Answer] = {}

    def answer(self, path: str, known: str | None) -> Answer | None:
        """Returns a page, or 304 if the browser has it already; None if there is no such page. `known`: the request's
        If-None-Match."""
        page = self._made.get(path) or self._make(path)
        if page is None:
            return None
        self._made[path] = page
        if known is not None and page.headers["ETag"] in known:
            return Answer(304, b"", page.headers, page.content_type)
        return page

    def _make(self, path: str) -> Answer | None:
        about = self._description["info"]["description"].partition(".")[0] + "."
        if path == "/docs":
            return self._made_of("Posthaste API", "", about=about)
        if path == "/docs/style.css":
            return _page(STYLE, CSS)
        if path == "/docs/postman.json":
            text = json.dumps(collection_of(self._description), ensure_ascii=False, indent=1)
            return _page(text, "application/json")
        if path == "/llms.txt":
            return _page(_contents(about, self._shared, self._tags), TEXT)
        if path.startswith(guides.PATH) and (guide := self._guides.get(path.removeprefix(guides.PATH))):
            html = Markup(guides.render(guide, self._guides))  # our own text, not a visitor's
            return self._made_of(guide.title, path, guide=html)
        for tag in self._tags:
            if path == f"/docs/{tag['slug']}":
                return self._made_of(tag["name"], path, about=tag["about"], operations=tag["operations"])
        return None

    def _made_of(self, title: str, path: str, **shown: Any) -> Answer:
        return _page(self._template.render(self._shared, title=title, path=path, **shown))

    @cached_property
    def _template(self) -> "Template":
        self._templates.filters["prose"] = _prose
        return self._templates.from_string(PAGE)

    @cached_property
    def _shared(self) -> dict[str, Any]:
        server = self._description["servers"][0]["url"]
        listed = guides.contents(self._guides)
        return {
            "version": self._description["info"]["version"],
            "server": server,
            "tags": self._tags,
            "guides": listed,
        }

    @cached_property
    def _guides(self) -> dict[str, guides.Guide]:
        return guides.read_guides()

    @cached_property
    def _tags(self) -> list[dict[str, Any]]:
        operations = Operations(self._description)
        return [
            {
                "name": tag["name"],
                "slug": _slug(tag["name"]),
                "about": tag.get("description", ""),
                "operations": operations.of(tag["name"]),
            }
            for tag in self._description["tags"]
        ]


def _page(text: str, content_type: str = HTML) -> Answer:
    body = text.encode()
    etag = f'"{hashlib.sha256(body).hexdigest()[:32]}"'
    return Answer(200, body, {**_HEADERS, "ETag": etag}, content_type)


def _slug(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", name.lower())


def _prose(text: str) -> Markup:
    """Returns a text as HTML: escaped, with the parts between backticks as code."""
    return Markup(re.sub(r"`([^`]+)`", r"<code>\1</code>", str(escape(text))))


def _contents(about: str, shared: dict[str, Any], tags: list[dict[str, Any]]) -> str:
    """Returns the text of /llms.txt (llmstxt.org): what this API is, and where each part is described."""
    server = shared["server"]
    root = server.removesuffix("/api/v1")
    lines = [
        "# Posthaste API",
        "",
        f"> {about}",
        "",
        f"- [OpenAPI 3.1]({server}/openapi.json): everything, for programs",
    ]
    lines.append(f"- [Postman collection]({root}/docs/postman.json)")
    lines.append(f"- [Errors]({server}/errors): every code with what to do")
    lines += ["", "## Guides", ""]
    lines += [f"- [{guide['name']}]({root}{guide['path']})" for guide in shared["guides"]]
    for tag in tags:
        lines += ["", f"## [{tag['name']}]({root}/docs/{tag['slug']})", ""]
        lines += [f"- {each['method']} {each['path']}: {each['summary']}" for each in tag["operations"]]
    return "\n".join(lines) + "\n"
