"""Makes docs/screenshots: `SCREENSHOTS=1 ./dev test tests/e2e/dashboard/test_screenshots.py`. Without it, does nothing.

Each screen by day, by night and on a phone, of an account with some posts.
"""

import datetime as dt
import os
from pathlib import Path
from typing import Any

import pytest
from e2e_kit.files import uploaded
from e2e_kit.operator import Operator
from e2e_kit.simulator import Simulator
from e2e_kit.waiting import until
from PIL import Image

from local.paths import ROOT

pytestmark = pytest.mark.skipif(
    "SCREENSHOTS" not in os.environ, reason="makes pictures for the docs: SCREENSHOTS=1"
)
FOLDER = ROOT / "docs" / "screenshots"
#: How many parts of the page htmx has still to load.
UNLOADED = "return document.querySelectorAll('[hx-trigger=load], .threads:not(:has(.conversations))').length"
#: Name → width, scheme.
LOOKS = {"light": (1280, "light"), "dark": (1280, "dark"), "phone": (360, "light")}
TEXTS = (
    ("FB", 3, "Fresh sourdough is out of the oven. Come by before noon, it never lasts longer."),
    ("TW", 7, "Tonight: the last mulled wine of the week at the market."),
    ("IG", 26, "Good morning! Today we bake rye bread with caraway."),
    ("FB", 49, "Save the date: an Advent evening with carols, cinnamon buns and a very tired baker."),
    ("TW", 73, "We are looking for somebody who likes bread and early mornings."),
    ("FB", 120, "Closed on Sunday. We sleep."),
)


COMMENTS = (
    ("Vera Visitor", "Do you still have the rye with caraway?"),
    ("Tom Baker", "The best cinnamon buns in town. When do you open on Sundays?"),
)


@pytest.fixture
def filled(
    person: Any, simulator: Simulator, operator: Operator, photo: str, jpeg: bytes, png: bytes, mp4: bytes
) -> Any:
    """A person with posts that are out, waiting and failed."""
    api, now = person.account.api, dt.datetime.now(dt.UTC).replace(minute=0, second=0, microsecond=0)
    media = {"media_urls": [photo]}
    post = {"page_id": person.account.page_id("FB"), "message": "We are open.", **media}
    out = api.post("/posts/publish", post)["platform_post_id"]
    for visitor, text in COMMENTS:
        simulator.comment("FB", out, text, visitor)
    for sample, name, kind in (
        (jpeg, "Bread.jpg", "image/jpeg"), (png, "Shop window.png", "image/png"), (mp4, "The oven.mp4", "video/mp4"),
    ):  # fmt: skip
        uploaded(api, sample, name, kind)
    for platform, hours, text in TEXTS:
        body = {"page_id": person.account.page_id(platform), "message": text}
        body |= {"scheduled_at": (now + dt.timedelta(hours=hours)).isoformat()}
        made = api.post("/posts/schedule", body | (media if platform == "IG" else {}))
        if hours == 7:
            person.post_id = made["scheduled_post"]["id"]
    simulator.fault("reject", person.account.pages["TW"], operation="publish")
    operator("post", "due", person.post_id)
    until(lambda: api.get(f"/posts/{person.post_id}")["post"]["status"] == "failed", 30, "one fails")
    return person


def write_a_post(person: Any) -> None:
    """Fills the composer, so that it has findings."""
    window = person.window
    for platform in ("FB", "IG"):
        window.click(f"input[name=page_id][value={person.account.page_id(platform)}]")
    window.click("input[name=when][value=later]")
    window.type("#message", "Gingerbread is back. Ask for the broken ones, they are half the price.")
    until(lambda: window.has("#findings .good") and window.has("#findings .bad"), 20, "there are findings")


def test_each_screen_is_photographed(filled: Any, tmp_path: Path) -> None:
    window = filled.window
    screens = {
        "overview": "/",
        "posts": "/posts",
        "post": f"/posts/{filled.post_id}",
        "calendar": "/calendar",
        "calendar-week": "/calendar?view=week",
        "calendar-list": "/calendar?view=list",
        "composer": "/compose",
        "comments": "/comments",
        "library": "/library",
        "activity": "/activity",
        "pages": "/pages",
        "brand": f"/brands/{filled.account.brand_id}",
        "developers": "/developers",
        "account": "/account",
    }
    FOLDER.mkdir(exist_ok=True)
    for look, (width, scheme) in LOOKS.items():
        for name, path in screens.items():
            window.emulate_phone(width, 800, scheme)
            filled.open(path)
            if name == "composer":
                window.run("sessionStorage.clear()")
                filled.open(path)
                write_a_post(filled)
            until(lambda: window.run(UNLOADED) == 0, 20, "the page is complete")
            height = window.run("return document.documentElement.scrollHeight")
            window.emulate_phone(width, min(height, 1600), scheme)
            window.keep_picture(tmp_path / "made.png")
            with Image.open(tmp_path / "made.png") as made:
                small = made.convert("RGB").resize(
                    (made.width // 2, made.height // 2), Image.Resampling.LANCZOS
                )
                small.save(FOLDER / f"{name}-{look}.webp", quality=80, method=6)
    window.emulate_phone(0, 0, "")
