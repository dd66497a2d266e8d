"""The simulated OpenAI API (api.openai.com, v1): its routes, and the checks of keys and planned faults."""

import json
import secrets
from typing import Any

from flask import Blueprint, Response, request

from simulator.hosts import HERE, Hosts
from simulator.openai import chat, errors, images
from simulator.openai.errors import OpenAIError
from simulator.simulation import Simulation
from simulator.studio.works import Work

Answer = dict[str, Any]


def hosts(sim: Simulation) -> Hosts:
    """Returns the routes of the simulated OpenAI API. They answer on every host that is no social platform's."""
    return {HERE: (blueprint(sim),)}


def blueprint(sim: Simulation) -> Blueprint:
    """Returns the routes of the simulated OpenAI API, which use the state in `sim`."""
    openai = Blueprint("openai", __name__, url_prefix="/v1")
    openai.before_request(lambda: _check_key(sim.settings.openai_key))

    @openai.errorhandler(OpenAIError)
    def refused(problem: OpenAIError) -> Response:
        response = _json({"error": problem.error}, problem.status)
        response.headers.update(problem.headers)
        return response

    @openai.after_request
    def number(response: Response) -> Response:
        response.headers["x-request-id"] = "req_" + secrets.token_hex(16)
        return response

    @openai.post("/images/generations")
    def generate() -> Response:
        return _json(_pictures(sim, images.read(_body())))

    @openai.post("/images/edits")
    def edit() -> Response:
        if request.mimetype != "multipart/form-data":
            message = "Unsupported content type. Expected 'multipart/form-data'."
            raise OpenAIError(400, message, "unsupported_content_type")
        files = [*request.files.getlist("image"), *request.files.getlist("image[]")]
        pictures = images.check_pictures([(file.read(), file.mimetype) for file in files])
        return _json(_pictures(sim, images.read(request.form.to_dict(), pictures)))

    @openai.post("/chat/completions")
    def complete() -> Response:
        asked = chat.read(_body())

        def act() -> Answer:
            answer, size_bytes = chat.write(asked)
            if size_bytes:
                _keep(sim, "caption", asked.model, asked.prompt, 0, size_bytes, asked.system)
            return answer

        return _json(_faulted(sim, "caption", act))

    return openai


def _pictures(sim: Simulation, asked: images.Asked) -> Answer:
    images.refuse_unsafe(asked)

    def act() -> Answer:
        answer, size_bytes = images.make(asked)
        for _ in range(asked.count):
            _keep(sim, asked.operation, asked.model, asked.prompt, len(asked.pictures), size_bytes)
        return answer

    return _faulted(sim, asked.operation, act)


def _faulted(sim: Simulation, operation: str, act: Any) -> Answer:
    mode = sim.faults.take("openai", operation, None)
    answer: Answer = sim.faults.play(
        mode, lambda refused: errors.refusal(refused, operation, sim.settings.openai_key), act
    )
    return answer


def _keep(
    sim: Simulation,
    operation: str,
    model: str,
    prompt: str,
    references: int,
    size: int,
    instructions: str = "",
) -> None:
    sim.works.add(Work("openai", operation, model, prompt, instructions, references, size, sim.clock.now()))


def _check_key(wanted: str) -> None:
    key = request.headers.get("Authorization", "").removeprefix("Bearer ").strip()
    if not key:
        raise errors.no_key()
    if key != wanted:
        raise errors.wrong_key(key)


def _body() -> dict[str, Any]:
    body = request.get_json(force=True, silent=True)
    if not isinstance(body, dict):
        raise OpenAIError(400, "We could not parse the JSON body of your request.")
    return body


def _json(body: Answer, status: int = 200) -> Response:
    return Response(json.dumps(body), status, content_type="application/json")
