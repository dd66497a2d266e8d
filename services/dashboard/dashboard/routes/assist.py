"""AI in the composer: a caption in the voice of a brand, and an image. Parts of its page; both cost credits."""

from typing import Any

from flask import Blueprint, render_template, request

from dashboard import api, words
from dashboard.routes.shared import Places, recent_places
from posthaste.errors import ApiError, AuthenticationError, NoAnswer, PosthasteError

screens = Blueprint("assist", __name__, url_prefix="/compose/ai")

_WORDS = 40
#: The shapes that the API takes, in words.
SHAPES = {
    "1:1": "Square",
    "4:3": "Landscape",
    "3:4": "Portrait",
    "16:9": "Wide",
    "9:16": "Tall, for stories and reels",
}


@screens.get("")
def show() -> str:
    """The two forms, with what they cost and what is left."""
    client = api.reader()
    balance, places = api.together(client.get_credits, recent_places(client))
    costs = {it.action: it.credits for it in balance.costs}
    return _forms(places, left=balance.credits.available, costs=costs)


@screens.post("/caption")
def caption() -> tuple[str, int]:
    """Writes a text. It is shown beside the form; a button takes it over."""
    form = request.form
    instruction = form.get("ai_instruction", "").strip()
    if not instruction:
        return _made(problem="Say what the text is about."), 400
    return _ask(
        lambda client: _made(
            text=(made := client.write_caption(
                brand_id=form.get("ai_brand", ""), instruction=instruction, words=_number(form.get("ai_words", "")),
                edit_text=form.get("message", "").strip() or None if form.get("ai_edit") == "yes" else None,
                idempotency_key=form.get("caption_key") or None,
            )).text,
            left=made.credits.remaining,
        )
    )  # fmt: skip


@screens.post("/image")
def image() -> tuple[str, int]:
    """Makes an image, which is in the library afterwards whether or not the post takes it."""
    form = request.form
    prompt = form.get("ai_prompt", "").strip()
    if not prompt:
        return _made(problem="Say what the image shows."), 400
    shape: Any = form.get("ai_shape", "")
    return _ask(
        lambda client: _made(
            file=(made := client.generate_image(
                prompt=prompt, aspect_ratio=shape if shape in SHAPES else "1:1",
                brand_id=form.get("ai_brand") or None, idempotency_key=form.get("image_key") or None,
            )).media,
            left=made.credits.remaining,
        )
    )  # fmt: skip


def _ask(call: Any) -> tuple[str, int]:
    """Runs a call that costs credits. Whatever goes wrong is said in place of the result."""
    try:
        return call(api.writer()), 200
    except AuthenticationError:
        raise
    except ApiError as error:
        return _made(problem=words.said(error), is_poor=error.status == 402), error.status
    except NoAnswer:
        return _made(problem="No answer came. Press again: it is made and paid only once."), 503
    except PosthasteError:
        return _made(problem="Posthaste does not answer. Nothing was made; try again in a moment."), 503


def _made(**result: Any) -> str:
    return render_template("assist_made.html", **result)


def _forms(places: Places, *, left: int, costs: dict[str, int]) -> str:
    return render_template("assist.html", places=places, left=left, costs=costs, shapes=SHAPES, words=_WORDS)


def _number(text: str) -> int:
    return int(text) if text.isdecimal() and len(text) < 5 else _WORDS
