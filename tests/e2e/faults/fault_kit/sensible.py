"""Changes generated requests so that a person could have sent them: with known ids, times in the future and short
texts.

Requests that are generated from the schemas alone find few posts and are mostly refused. So half of them are changed.
"""

import datetime as dt
import json
import random
import re
from collections import defaultdict, deque
from collections.abc import Callable
from typing import Any

from contracts.platforms import PLATFORMS

_ID = re.compile(r'"(([a-z]{3})_[0-9a-hjkmnp-tv-z]{26})"')
#: Remembered ids of one type: only the newest, because older objects are more often deleted.
_REMEMBERED = 30
#: Path segment before an id → the prefix of the id.
_IN_PATHS = {
    "/brands/{id}": "brd",
    "/pages/connect/{session_id}": "lnk",
    "/pages/{id}": "pag",
    "/posts/scheduled/{id}": "pst",
    "/posts/published/{id}": "pst",
    "/posts/{id}": "pst",
    "/media/uploads/{id}": "upl",
    "/media/{id}": "med",
    "/ai/jobs/{id}": "job",
    "/webhooks/{id}": "whk",
}
#: Field of a query or a body → the prefix of its ids.
_IN_FIELDS = {"page_id": "pag", "brand_id": "brd", "media_id": "med", "post_id": "pst"}
_MANY_IN_FIELDS = {"page_ids": "pag", "brand_ids": "brd", "media_ids": "med", "post_ids": "pst"}
_FILE = {"filename": "harbour.png", "mime_type": "image/png", "size_bytes": 2048}


class Seen:
    """The ids in the API's responses to one account."""

    def __init__(self, told: Any) -> None:
        """Begins with the ids in `told`."""
        self._ids: dict[str, deque[str]] = defaultdict(lambda: deque(maxlen=_REMEMBERED))
        self.note(json.dumps(told))

    def note(self, text: str) -> None:
        """Adds the ids in a text: the body of a response, or any text with ids in quotation marks."""
        for found, kind in _ID.findall(text):
            if found not in self._ids[kind]:
                self._ids[kind].append(found)

    def forget(self, path: str) -> None:
        """Removes the ids in this path, because the object was deleted."""
        for ids in self._ids.values():
            for gone in [one for one in ids if one in path]:
                ids.remove(gone)

    def put_right(self, case: Any, now: dt.datetime, chance: random.Random) -> None:
        """Changes the request in place: fills in known ids, times in the future and short texts, where it has a field
        for them.
        """
        for start, kind in _IN_PATHS.items():
            if case.path.startswith(start) and self._ids[kind]:
                name = start[start.index("{") + 1 : -1]
                case.path_parameters[name] = chance.choice(self._ids[kind])
        if "{delivery_id}" in case.path and self._ids["dlv"]:
            case.path_parameters["delivery_id"] = chance.choice(self._ids["dlv"])
        for given in (case.query, case.body):
            if isinstance(given, dict):
                self._fill(given, now, chance)

    def _fill(self, given: dict[str, Any], now: dt.datetime, chance: random.Random) -> None:
        for name in list(given):
            if name in _IN_FIELDS and self._ids[_IN_FIELDS[name]]:
                given[name] = chance.choice(self._ids[_IN_FIELDS[name]])
            elif name in _MANY_IN_FIELDS:
                known = self._ids[_MANY_IN_FIELDS[name]]
                given[name] = chance.sample(known, min(len(known), 2))
            elif name in _TOLD:
                given[name] = _TOLD[name](now, chance)
            elif name in _LEFT_OUT:
                del given[name]


def _soon(now: dt.datetime, chance: random.Random) -> str:
    at = now + dt.timedelta(minutes=chance.randint(15, 40_000))
    return at.strftime("%Y-%m-%dT%H:%M:00Z")


def _text(_now: dt.datetime, chance: random.Random) -> str:
    return f"A walk along the harbour, number {chance.randint(1, 1_000_000)}"


def _prompt(_now: dt.datetime, chance: random.Random) -> str:
    """Returns one of a few prompts. There are few because the simulator keeps every picture and video that it has
    made.
    """
    return f"A lighthouse, number {chance.randint(1, 5)}"


_TOLD: dict[str, Callable[[dt.datetime, random.Random], Any]] = {
    "scheduled_at": _soon,
    "message": _text,
    "prompt": _prompt,
    "instruction": _text,
    "edit_text": _text,
    "name": _text,
    "platform": lambda _now, chance: chance.choice(sorted(PLATFORMS)),
    "since": lambda now, _: now.strftime("%Y-%m-%dT%H:%M:00Z"),
    "url": lambda _, chance: f"https://hooks.example.com/{chance.randint(1, 1_000_000)}",
    **{name: lambda _now, _chance, value=value: value for name, value in _FILE.items()},
}
#: Rules of their own, and of no account: what a made-up value of them does, the other half of the requests shows.
_LEFT_OUT = (
    *("first_comment", "media_urls", "image_url", "reference_image_urls", "cursor"),
    *(f"{name}_settings" for name in ("facebook", "instagram", "linkedin", "tiktok", "x", "youtube")),
)
