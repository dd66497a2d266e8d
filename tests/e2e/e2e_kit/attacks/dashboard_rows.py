"""All routes and forms of the dashboard that take an id, to be requested with ids of another owner.

`{kind}` stands for an id of that owner. The routes come from the dashboard's own list; `rows` fails for a route or
form that this module does not mention.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from dashboard.app import create_app
from dashboard.config import Config

Form = dict[str, str | list[str]]

#: Parameter of a route → the kinds of ids that it takes. `code` is the secret in a mailed link, which only the mailbox
#: has.
_PARTS = {
    "post_id": ("{queued}", "{published}"), "page_id": ("{page}",), "brand_id": ("{brand}",), "user_id": ("{user}",),
    "media_id": ("{media}",), "webhook_id": ("{webhook}",), "delivery_id": ("{delivery}",), "token_id": ("{token}",),
    "invitation_id": ("{invitation}",), "job_id": ("{job}",), "reset_id": ("{user}",), "change_id": ("{user}",),
    "request_id": ("{request}",), "code": ("guessed",),
}  # fmt: skip
#: Routes in which a parameter takes other kinds of ids.
_PARTS_OF = {"account.end": {"session_id": ("{signed_in}",)}, "pages.choose": {"session_id": ("{session}",)}}
_ACTIONS = {
    "posts.act": ("retry", "cancel", "dismiss", "release", "edit"),
    "developers.change_token": ("rotate", "revoke"),
    "developers.change_webhook": ("edit", "rotate", "delete", "test", "enable"),
    "brands.archive": ("archive", "restore"),
}
_LATER: Form = {"date": "2099-01-01", "time": "12:00", "zone": "UTC"}
_POST: Form = {"page_id": "{page}", "message": "x", "when": "later", **_LATER}
#: Route → forms to send. They have an id in a field, or fields without which the dashboard does not call the API.
_FORMS: dict[str, tuple[Form, ...]] = {
    "posts.act": ({"message": "x", **_LATER},),
    "calendar.move": ({"post_id": "{queued}", **_LATER},),
    "comments.mark_read": ({"brand_id": "{brand}", "read_until": "2020-01-01T00:00:00Z"},),
    "comments.settle": ({"latest_id": "{comment}"}, {"latest_id": "{comment}", "undo": "1"}),
    "comments.reply": ({"comment_id": "{comment}", "page_id": "{page}", "message": "x"},),
    "compose.send": (
        _POST,
        {**_POST, "when": "now"},
        {**_POST, "text_of_{page}": "y"},
        {**_POST, "do": "check"},
        {**_POST, "media_id": "{media}"},
    ),
    "compose.edit": (_POST, {"media_id": "{media}"}),
    "compose.check": (_POST, {**_POST, "media_id": "{media}"}),
    "assist.caption": ({"ai_brand": "{brand}", "ai_instruction": "x"},),
    "assist.image": ({"ai_brand": "{brand}", "ai_prompt": "x"},),
    "assist.film": ({"ai_brand": "{brand}", "ai_film": "x"},),
    "media.delete": ({"media_id": ["{media}"]},),
    "pages.connect": ({"platform": "FB", "brand_id": "{brand}"},),
    "pages.choose": ({"account_id": "1"},),
    "pages.check": ({},),
    "pages.unlink": ({"cancel": "yes"},),
    "brands.change": ({"name": "x", "zone": "UTC"}, {"caption_guidelines": "x"}),
    "brands.archive": ({},),
    "brands.invite": ({"email": "x@example.test", "role": "full"},),
    "brands.withdraw": ({},),
    "brands.change_role": ({"role": "full"}, {"do": "remove"}),
    "developers.create_token": ({"name": "x", "scope": "read:posts", "brand_id": "{brand}"},),
    "developers.change_token": ({},),
    "developers.change_webhook": ({"name": "x", "url": "https://example.com/", "event": "post.failed"},),
    "developers.replay": ({},),
    "account.end": ({},),
    "shared_work.begin": ({},),
    "sign_up.verify": ({"password": "guessed it"},),
    "sign_up.reset": ({"password": "guessed it"},),
    "sign_up.use_email": ({"password": "guessed it"},),
    "invitations.accept": ({"password": "guessed it"},),
}
#: Route → query parameters with an id.
_QUERIES = {
    "calendar.show": ("page={page}", "brand={brand}", "view=list&state=failed&page={page}"),
    "posts.index": ("page={page}", "brand={brand}", "tab=published&page={page}", "tab=attention&page={page}"),
    "comments.index": ("page={page}", "state=all&brand={brand}"),
    "comments.of_post": ("page={page}&state=all",),
    "compose.show": ("page={page}", "copy={queued}", "copy={published}", "media_id={media}"),
    "compose.library": ("media_id={media}",),
    "compose.files": ("media_id={media}",),
    "pages.linked": ("session_id={session}",),
    "developers.requests": ("token_id={token}",),
    "activity.audit": ("brand={brand}",),
}
#: Routes without an id of an account's objects: they cannot name another owner's.
_NAMELESS = {
    "static", "healthz", "sign_in.show", "sign_in.enter", "sign_in.forgot", "sign_in.ask_for_link", "sign_in.leave",
    "sign_up.show", "sign_up.create", "overview.show", "overview.account", "overview.goes_out_next",
    "compose.upload", "assist.show", "assist.films", "posts.attention",
    "media.index", "media.upload_all", "media.upload", "pages.index", "brands.index", "brands.create", "usage.show",
    "usage.credits", "developers.show", "developers.show_sandbox_token", "developers.create_webhook", "account.show",
    "usage.billing", "activity.index",
    "usage.refill", "account.rename", "account.email", "account.change_email", "account.cancel_email",
    "account.choose_dates", "account.change_password",
    "account.end_all", "codes.show", "codes.begin", "codes.confirm", "codes.off", "shared_work.leave",
    "shared_work.others",
    # They show a form for a password. The id in the link is compared only when the form is sent.
    "sign_up.confirm", "sign_up.choose", "sign_up.confirm_email",
}  # fmt: skip


@dataclass(frozen=True)
class Row:
    """A request to the dashboard with ids of another owner."""

    method: str
    address: str
    form: Form = field(default_factory=dict)
    #: Whether the request is htmx's, for a part of a page.
    is_part: bool = False

    def __str__(self) -> str:
        fields = "&".join(f"{name}={value}" for name, value in self.form.items() if "{" in f"{name}{value}")
        return " ".join(filter(None, (self.method, self.address, fields)))


def rows() -> list[Row]:
    """Returns all such requests. Raises AssertionError for a route that this module does not mention."""
    app = create_app(Config(api_url="http://127.0.0.1:9"))
    found: list[Row] = []
    for rule in app.url_map.iter_rules():
        if rule.endpoint in _NAMELESS:
            continue
        addresses = list(_addresses(rule.endpoint, rule.rule))
        if "POST" in (rule.methods or ()):
            assert rule.endpoint in _FORMS, f"{rule.endpoint}: say in _FORMS what its form names"
            found += [Row("POST", it, form) for it in addresses for form in _FORMS[rule.endpoint]]
            continue
        queries = _QUERIES.get(rule.endpoint, ())
        assert queries or "{" in addresses[0], (
            f"{rule.endpoint}: say in _QUERIES what its query names, or in _NAMELESS"
        )
        found += [Row("GET", it) for it in addresses if "{" in it]
        found += [Row("GET", f"{it}?{query}") for it in addresses for query in queries]
    found.append(Row("GET", "/comments/of/{published}?page={page}&state=all", is_part=True))
    found.append(Row("GET", "/calendar/move/{queued}", is_part=True))
    return found


def _addresses(endpoint: str, rule: str) -> Iterator[str]:
    """Yields the paths of a route, with an id of the other owner in place of each of its parameters."""
    part = re.search(r"<(?:\w+:)?(\w+)>", rule)
    if part is None:
        yield rule
        return
    if part[1] == "action":
        values: tuple[str, ...] = _ACTIONS[endpoint]
    else:
        values = (_PARTS_OF.get(endpoint, {}) | _PARTS)[part[1]]
    for value in values:
        yield from _addresses(endpoint, rule.replace(part[0], value, 1))
