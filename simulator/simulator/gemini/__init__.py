"""The simulated Gemini API (generativelanguage.googleapis.com, v1beta): its routes, and the checks of keys, models and
planned faults.
"""

import json
import re
from collections.abc import Callable
from typing import Any

from flask import Blueprint, Response, redirect, request
from werkzeug.wrappers import Response as AnyResponse

from simulator.gemini import asked as reading
from simulator.gemini import content, errors, videos
from simulator.gemini.errors import GeminiError
from simulator.hosts import HERE, Hosts
from simulator.simulation import Simulation
from simulator.studio.works import Work

#: Patterns of the names of image, text and video models. They match every version, because new ones appear often.
_PICTURE_MODEL = re.compile(r"gemini-[\d.]+-(flash|flash-lite|pro)-image(-preview)?(-[\d-]+)?")
_TEXT_MODEL = re.compile(r"gemini-([\d.]+-)?(flash|flash-lite|pro)(-preview)?(-latest|-[\d-]+)?")
_VIDEO_MODEL = re.compile(r"veo-[\d.]+(-fast|-lite)?-generate-(preview|\d{3})")

Answer = dict[str, Any]


def hosts(sim: Simulation) -> Hosts:
    """Returns the routes of the simulated Gemini API. They answer on every host that is no social platform's."""
    return {HERE: (blueprint(sim),)}


def blueprint(sim: Simulation) -> Blueprint:
    """Returns the routes of the simulated Gemini API, which use the state in `sim`."""
    gemini = Blueprint("gemini", __name__)
    films = videos.Operations(sim.settings.film_seconds)
    sim.on_reset.append(films.clear)
    gemini.before_request(lambda: _check_key(sim.settings.gemini_key))

    @gemini.errorhandler(GeminiError)
    def refused(problem: GeminiError) -> Response:
        return _json(problem.body(), problem.status)

    @gemini.post("/v1beta/models/<model>:generateContent")
    def generate(model: str) -> Response:
        if not (_PICTURE_MODEL.fullmatch(model) or _TEXT_MODEL.fullmatch(model)):
            raise errors.unknown_model(model, "generateContent")
        return _json(_generate(sim, model, content.read(_body())))

    @gemini.post("/v1beta/models/<model>:predictLongRunning")
    def start_video(model: str) -> Response:
        if not _VIDEO_MODEL.fullmatch(model):
            raise errors.unknown_model(model, "predictLongRunning")
        film = videos.read(_body())

        def act() -> Answer:
            operation = films.start(model, film, sim.clock.ticks())
            _keep(sim, "video", model, film.prompt, int(film.picture is not None), 0)
            return {"name": operation.name}

        return _json(_faulted(sim, "video", act))

    @gemini.get("/v1beta/models/<model>/operations/<operation_id>")
    def show_operation(model: str, operation_id: str) -> Response:
        operation = films.find(f"models/{model}/operations/{operation_id}")
        base_url = request.host_url.rstrip("/")

        def reject() -> Answer:
            operation.rejected = True
            return act()

        def act() -> Answer:
            return videos.shown(operation, sim.clock.ticks(), base_url)

        return _json(_faulted(sim, "status", act, reject))

    @gemini.get("/v1beta/files/<file_id>:download")
    def moved(file_id: str) -> AnyResponse:
        """Answers GET of a film's address with a redirect to the file, as Google does."""
        return redirect(f"/download/v1beta/files/{file_id}:download?{request.query_string.decode()}")

    @gemini.get("/download/v1beta/files/<file_id>:download")
    def download(file_id: str) -> Response:
        film: bytes = _faulted(sim, "download", lambda: films.file(file_id))
        return Response(film, mimetype="video/mp4")

    return gemini


def _generate(sim: Simulation, model: str, asked: content.Asked) -> Answer:
    picture = _PICTURE_MODEL.fullmatch(model) is not None
    operation = ("edit" if asked.pictures else "image") if picture else "caption"
    make = content.make_picture if picture else content.write_caption
    if picture:
        asked.size()  # invalid requests are refused before a fault is used up
    withheld = content.blocked(asked)

    def act() -> Answer:
        answer, size_bytes = make(asked, model)
        if size_bytes:
            _keep(sim, operation, model, asked.prompt, len(asked.pictures), size_bytes, asked.system)
        return answer

    return withheld or _faulted(sim, operation, act, (lambda: content.unshown(asked)) if picture else None)


def _faulted(
    sim: Simulation, operation: str, act: Callable[[], Any], on_reject: Callable[[], Any] | None = None
) -> Any:
    mode = sim.faults.take("gemini", operation, None)
    if mode == "reject" and on_reject:
        return on_reject()
    return sim.faults.play(mode, errors.refusal, act)


def _keep(
    sim: Simulation,
    operation: str,
    model: str,
    prompt: str,
    references: int,
    size_bytes: int,
    instructions: str = "",
) -> None:
    sim.works.add(
        Work("gemini", operation, model, prompt, instructions, references, size_bytes, sim.clock.now())
    )


def _check_key(wanted: str) -> None:
    key = request.headers.get("x-goog-api-key") or request.args.get("key")
    if not key:
        raise errors.no_key()
    if key != wanted:
        raise errors.wrong_key()


def _body() -> Any:
    body = request.get_json(force=True, silent=True)
    if not isinstance(body, dict):
        raise errors.invalid("Invalid JSON payload received. Expected an object.")
    return reading.camel(body)


def _json(body: Answer, status: int = 200) -> Response:
    return Response(json.dumps(body), status, content_type="application/json; charset=UTF-8")
