"""Builds HTML pages without scripts and external files. Every text is escaped here. Pure."""

import base64
import hashlib
from dataclasses import dataclass
from html import escape

from gateway.http.answers import Answer

_STYLE = (
    ":root{color-scheme:light dark}body{font:1.1rem/1.5 system-ui,sans-serif;margin:12vh auto;max-width:36rem;"
    "padding:0 1rem}main{border-left:.3rem solid #888;padding:.2rem 0 .2rem 1.4rem;overflow-wrap:anywhere}"
    "main[data-outcome=linked],main[data-outcome=choose],main[data-outcome=verified]{border-color:#2a7d46}"
    "main[data-outcome=failed]{border-color:#b3372f}main[data-outcome=start],main[data-outcome=confirm],"
    "main[data-outcome=verify]{border-color:#2457a6}h1{font-size:1.5rem;margin:0 0 .4rem}p{margin:0 0 .8rem}"
    "ul{margin:0 0 .8rem;padding-left:1.2rem}form{display:flex;flex-wrap:wrap;gap:.6rem}"
    ".action{font:inherit;display:inline-block;min-height:2.75rem;box-sizing:border-box;padding:.5rem 1.1rem;"
    "border:2px solid #2457a6;border-radius:.4rem;"
    "background:#2457a6;color:#fff;text-decoration:none;cursor:pointer;overflow-wrap:anywhere}"
    "label{display:block;width:100%}label input{font:inherit;display:block;width:100%;box-sizing:border-box;"
    "min-height:2.75rem;padding:.4rem .6rem;border:2px solid #888;border-radius:.4rem;background:transparent;"
    "color:inherit}"
    ".other{background:transparent;color:inherit}.action:focus-visible{outline:3px solid #d98f00;outline-offset:2px}"
)
_STYLE_HASH = base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()
_PAGE = (
    '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
    '<meta name="viewport" content="width=device-width">{move}<style>{style}</style></head>'
    '<body><main data-outcome="{outcome}"><h1>{title}</h1>{rest}</main></body></html>'
)
_HEADERS = {
    "Cache-Control": "no-store",
    # The addresses of these pages contain session ids and, in the callback, the platform's code.
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}


@dataclass(frozen=True, slots=True)
class Link:
    """A link that looks like a button."""

    href: str
    text: str


@dataclass(frozen=True, slots=True)
class Form:
    """A form that posts to its page's own address. `buttons` are (name, value, text)."""

    hidden: dict[str, str]
    buttons: tuple[tuple[str, str, str], ...]
    #: The label of its password field; None: it has none.
    asks_for: str | None = None
    #: Tells the browser's password manager what the field is.
    autocomplete: str = "current-password"
    #: The label of its field for a code of an authenticator app; None: it has none.
    asks_for_code: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BrowserPage:
    """The content of an HTML page, from top to bottom. `outcome` is for programs that read the page."""

    status: int
    outcome: str
    title: str
    texts: tuple[str, ...]
    items: tuple[str, ...] = ()
    link: Link | None = None
    form: Form | None = None
    #: Where the browser goes at once by itself; `link` leads there too.
    moves_to: str | None = None

    def answer(self) -> Answer:
        # Not an HTTP redirect: the policy's form-action would block one that leaves this server.
        move = f'<meta http-equiv="refresh" content="0;url={escape(self.moves_to)}">' if self.moves_to else ""
        body = _PAGE.format(
            move=move, style=_STYLE, title=escape(self.title), outcome=escape(self.outcome), rest=self._rest()
        )
        posts_to = "'self'" if self.form else "'none'"
        policy = (
            f"default-src 'none'; style-src 'sha256-{_STYLE_HASH}'; base-uri 'none'; form-action {posts_to}; "
            "frame-ancestors 'none'"
        )
        headers = {**_HEADERS, "Content-Security-Policy": policy}
        return Answer(self.status, body.encode("utf-8", "replace"), headers, "text/html; charset=utf-8")

    def _rest(self) -> str:
        parts = [f"<p>{escape(self.texts[0])}</p>"]
        if self.items:
            parts.append(f"<ul>{''.join(f'<li>{escape(item)}</li>' for item in self.items)}</ul>")
        parts += [f"<p>{escape(text)}</p>" for text in self.texts[1:]]
        if self.link is not None:
            parts.append(
                f'<p><a class="action" href="{escape(self.link.href)}">{escape(self.link.text)}</a></p>'
            )
        if self.form is not None:
            parts.append(_form(self.form))
        return "".join(parts)


def _form(form: Form) -> str:
    fields = "".join(
        f'<input type="hidden" name="{escape(name)}" value="{escape(value)}">'
        for name, value in form.hidden.items()
    )
    if form.asks_for is not None:
        fields += (
            f'<label>{escape(form.asks_for)}<input type="password" name="password" '
            f'autocomplete="{escape(form.autocomplete)}"></label>'
        )
    if form.asks_for_code is not None:
        fields += (
            f'<label>{escape(form.asks_for_code)}<input type="text" name="totp_code" '
            'autocomplete="one-time-code"></label>'
        )
    buttons = "".join(
        f'<button class="action{" other" if number else ""}" name="{escape(name)}" value="{escape(value)}">'
        f"{escape(text)}</button>"
        for number, (name, value, text) in enumerate(form.buttons)
    )
    return f'<form method="post">{fields}{buttons}</form>'


def text_page(status: int, outcome: str, title: str, text: str, form: Form | None = None) -> Answer:
    """Returns a web page with one paragraph, and a form if one is given."""
    return BrowserPage(status=status, outcome=outcome, title=title, texts=(text,), form=form).answer()
