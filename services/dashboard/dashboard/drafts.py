"""A post that a person is writing: the content of the form for a post, and the API call that is made from it. Pure."""

import secrets
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from werkzeug.datastructures import MultiDict

from dashboard import settings, times
from posthaste.inputs import PageOverride

#: The API takes one text on at most so many pages at once.
MOST_PAGES = 20
#: Prefix of the fields with the text of one page.
_OWN = "text_of_"

Form = settings.Form


@dataclass(frozen=True)
class Draft:
    page_ids: tuple[str, ...] = ()
    message: str = ""
    #: Page → its own text instead of the shared one.
    own_texts: dict[str, str] = field(default_factory=dict)
    media_ids: tuple[str, ...] = ()
    first_comment: str = ""
    is_later: bool = False
    date: str = ""
    time: str = ""
    zone: str = ""
    #: Names this post: sent twice, it goes out once.
    key: str = ""
    #: The settings per platform as they were typed: `set.youtube_settings.privacy`.
    settings: Form = field(default_factory=MultiDict)

    @classmethod
    def empty(cls, zone: str, page_ids: tuple[str, ...] = ()) -> "Draft":
        date, time = times.proposed(datetime.now(UTC), zone)
        return cls(page_ids=page_ids, zone=zone, date=date, time=time, key=secrets.token_hex(16))

    @classmethod
    def from_form(cls, form: Form) -> "Draft":
        page_ids = tuple(dict.fromkeys(form.getlist("page_id")))
        own = {name.removeprefix(_OWN): _text(form, name) for name in form if name.startswith(_OWN)}
        return cls(
            page_ids=page_ids,
            message=_text(form, "message"),
            own_texts={page: text for page, text in own.items() if text},
            media_ids=tuple(dict.fromkeys(form.getlist("media_id"))),
            first_comment=_text(form, "first_comment"),
            is_later=form.get("when", "now") == "later",
            date=form.get("date", ""),
            time=form.get("time", ""),
            zone=form.get("zone", ""),
            key=form.get("key", "")[:64] or secrets.token_hex(16),
            settings=settings.raw(form),
        )

    def on(self, date: str) -> "Draft":
        """Returns this draft, scheduled for the day `date` (`2026-12-08`) at the draft's time of day.

        If `date` is not a day, returns the draft unchanged.
        """
        try:
            day = datetime.fromisoformat(date).date() if len(date) == 10 else None
        except ValueError:
            day = None
        return self if day is None else replace(self, is_later=True, date=day.isoformat())

    def text_for(self, page_id: str) -> str:
        return self.own_texts.get(page_id) or self.message

    def at(self) -> datetime | None:
        """Returns the time at which the post is to be published. None means now. Raises TimeRefused if the chosen time
        does not exist in its zone, or exists twice.
        """
        return times.read(self.date, self.time, self.zone) if self.is_later else None

    def time_of(self) -> datetime | None:
        """Returns the time at which the post is to be published, as `at` does, but never raises TimeRefused. Returns
        None for a post that is to be published now, and for a chosen time that does not exist or exists twice.
        """
        return times.chosen(self.date, self.time, self.zone) if self.is_later else None

    def problem(self) -> str:
        """Returns a sentence about what the person must still fill in or correct before the API is called; empty if
        there is nothing.
        """
        if not self.page_ids:
            return "Choose at least one page."
        if len(self.page_ids) > MOST_PAGES:
            return f"Choose at most {MOST_PAGES} pages."
        try:
            self.at()
        except times.TimeRefused as refused:
            return str(refused)
        return ""

    def overrides(self) -> list[PageOverride]:
        """Returns page and text of each page that has its own text, as the API's parameter `overrides`."""
        return [
            {"page_id": page, "message": self.own_texts[page]}
            for page in self.page_ids
            if page in self.own_texts
        ]


def _text(form: Form, name: str) -> str:
    return form.get(name, "").replace("\r\n", "\n").strip()
