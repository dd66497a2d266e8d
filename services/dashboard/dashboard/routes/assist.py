"""AI in the form for a post: a caption in the style of a brand, an image, and a video. All cost credits."""

from typing import Any

from flask import Blueprint, render_template, request

from dashboard import api, words
from dashboard.routes.shared import recent_brands
from posthaste.errors import ApiError, AuthenticationError, NoAnswer, PosthasteError
from posthaste.records import AiJob

screens = Blueprint("assist", __name__, url_prefix="/compose/ai")

_WORDS = 40
#: How many images and videos that are being made come with the forms, the newest ones: each asks the API every few
#: seconds.
_UNDER_WAY = 2
#: How many videos that are being made are loaded separately if more jobs run. They ask the API 30 times a minute, which
#: is half of what the smallest plan permits whose credits pay as many videos.
_FILMS = 5
#: The shapes that the API takes, in words.
SHAPES = {
    "1:1": "Square (1:1)",
    "4:3": "Landscape (4:3)",
    "3:4": "Portrait (3:4)",
    "16:9": "Wide (16:9)",
    "9:16": "Tall (9:16), for stories and reels",
}
#: The shapes of films.
FILM_SHAPES = {it: SHAPES[it] for it in ("16:9", "9:16")}


@screens.get("")
def show() -> str:
    """Shows the forms for AI, with the costs and the remaining credits: as a part of the form for a post, or as a
    screen of its own.

    Also shows the newest images and videos that are still being made: together at most two. If there are more, the
    screen loads the videos separately (`films`): otherwise newer images could take their places.
    """
    client = api.reader()
    balance, brands, listed = api.together(
        client.get_credits,
        recent_brands(client),
        lambda: client.list_ai_jobs(status="processing", limit=_UNDER_WAY),
    )
    jobs = listed.jobs
    return _shown(
        "assist.html", brands=brands, left=balance.credits.available, shapes=SHAPES, film_shapes=FILM_SHAPES,
        costs={it.action: it.credits for it in balance.costs}, words=_WORDS,
        pictures=[it for it in jobs if it.media_type != "video"], films=[it for it in jobs if it.media_type == "video"],
        is_cut=listed.next_cursor is not None,
    )  # fmt: skip


@screens.get("/films")
def films() -> str:
    """Shows the newest videos that are being made, up to five. The screen with the forms loads them separately if many
    images and videos are being made.
    """
    found = api.reader().list_ai_jobs(kind="video", status="processing", limit=_FILMS)
    return _shown("assist_films.html", films=found.jobs, is_cut=found.next_cursor is not None)


@screens.post("/caption")
def caption() -> tuple[str, int]:
    """Has AI write a caption and shows it beside the form; a button puts it into the post."""
    form = request.form
    instruction = form.get("ai_instruction", "").strip()
    if not instruction:
        return _made(problem="Say what the text is about."), 400
    return _ask(
        lambda client: _made(
            text=(made := client.write_caption(
                brand_id=form.get("ai_brand", ""), instruction=instruction, words=_number(form.get("ai_words", "")),
                idempotency_key=form.get("caption_key") or None,
            )).text,
            left=made.credits.remaining,
        )
    )  # fmt: skip


@screens.post("/image")
def image() -> tuple[str, int]:
    """Has AI make an image and shows it. The image stays in the library, whether or not the post uses it."""
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


@screens.post("/film")
def film() -> tuple[str, int]:
    """Begins to make a video, which takes minutes.

    This part of the screen asks the API until the video is ready. If the person leaves the screen, the work goes on.
    """
    form = request.form
    prompt = form.get("ai_film", "").strip()
    if not prompt:
        return _made(problem="Say what the video shows."), 400
    shape: Any = form.get("ai_film_shape", "")
    return _ask(
        lambda client: _under_way((made := client.generate_video(
            prompt=prompt, aspect_ratio=shape if shape in FILM_SHAPES else "16:9",
            brand_id=form.get("ai_brand") or None, idempotency_key=form.get("film_key") or None,
        )).job, left_after=made.credits.remaining)
    )  # fmt: skip


@screens.get("/jobs/<job_id>")
def job_of(job_id: str) -> str:
    """Shows the state of an image or a video: still being made, ready to be used, or failed. A failed one costs
    nothing."""
    found = api.reader().get_ai_job(job_id)
    if found.job.status == "processing":
        return _under_way(found.job)
    if found.media is None:
        kind = "video" if found.job.media_type == "video" else "image"
        problem = found.job.error or f"The {kind} could not be created."
        return _made(problem=f"{problem} Its credits are returned.")
    return _made(file=found.media, left=found.credits.remaining)


def _under_way(job: AiJob, *, left_after: int | None = None) -> str:
    """Shows an image or a video that is being made. `left_after`: how many credits are left, if it has just been begun.
    The figure is shown above the forms.
    """
    return _shown("assist_under_way.html", job=job, left_after=left_after)


def _ask(call: Any) -> tuple[str, int]:
    """Runs `call`, which asks the API for something that costs credits, and renders the result. Returns the rendered
    result and 200. If the API call fails, returns the rendered reason and the HTTP status.
    """
    try:
        return call(api.patient()), 200
    except AuthenticationError:
        raise
    except ApiError as error:
        return _made(problem=words.said(error), is_poor=error.status == 402), error.status
    except NoAnswer:
        return _made(problem="No answer came. Press again: it is made and paid only once."), 503
    except PosthasteError:
        return _made(problem="Posthaste is not responding. Nothing was made; try again in a moment."), 503


def _made(**result: Any) -> str:
    return _shown("assist_made.html", **result)


def _shown(part: str, **more: Any) -> str:
    """Renders the template `part`: for htmx as a fragment of the form for a post, without JavaScript as a page of its
    own. The page has a link that begins a post with the made text or picture.
    """
    is_asked_for = "HX-Request" in request.headers
    is_page = not is_asked_for or "page" in request.args
    template = part if is_asked_for else "assist_page.html"
    return render_template(template, part=part, is_page=is_page, **more)


def _number(text: str) -> int:
    return int(text) if text.isdecimal() and len(text) < 5 else _WORDS
