"""The video model Veo: a request starts an operation, and the client polls the operation until it is done. Then the
client fetches the file, with its API key.
"""

import secrets
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from simulator.gemini.asked import UNSAFE_PROMPT, UNSAFE_RESULT, number, only_known, picture
from simulator.gemini.errors import GeminiError, invalid
from simulator.studio import film

_ANSWER_TYPE = "type.googleapis.com/google.ai.generativelanguage.v1beta.PredictLongRunningResponse"
#: Name of a resolution → the shorter side in pixels.
_RESOLUTIONS = {"720p": 720, "1080p": 1080}
_DURATIONS = (4, 6, 8)
_LONGEST = 8

_FIELDS = frozenset(("instances", "parameters"))
_INSTANCE = frozenset(("prompt", "image", "lastFrame", "video", "referenceImages"))
_PARAMETERS = frozenset(
    ("aspectRatio", "durationSeconds", "resolution", "negativePrompt", "personGeneration", "sampleCount",
     "seed", "enhancePrompt")
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Asked:
    """The checked fields of a request for a film."""

    prompt: str
    width: int
    height: int
    seconds: int
    picture: bytes | None


@dataclass(slots=True)
class Operation:
    """A film that is being made or is finished."""

    name: str
    asked: Asked
    file_id: str
    #: When a poll first reports the film as done (`Clock.ticks`).
    done_at: float
    film: "Future[bytes]"
    #: Set by a `reject` fault of a poll: the film is then withheld.
    rejected: bool = False


class Operations:
    """All operations of one simulator, by name and by file id. A reset deletes them."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._workers = ThreadPoolExecutor(max_workers=2, thread_name_prefix="film")
        self.clear()

    def clear(self) -> None:
        self._by_name: dict[str, Operation] = {}
        self._by_file: dict[str, Operation] = {}

    def start(self, model: str, asked: Asked, ticks: float) -> Operation:
        """Starts to make a film, and returns its operation. `ticks` is the present time of `Clock.ticks`."""
        work = self._workers.submit(
            film.make, asked.prompt, asked.width, asked.height, asked.seconds, asked.picture
        )
        name = f"models/{model}/operations/{secrets.token_hex(6)}"
        operation = Operation(name, asked, secrets.token_hex(6), ticks + self._seconds, work)
        self._by_name[name] = self._by_file[operation.file_id] = operation
        return operation

    def find(self, name: str) -> Operation:
        """Returns the operation with this name. Raises GeminiError 404 if there is none."""
        if name not in self._by_name:
            raise GeminiError(404, "Requested entity was not found.")
        return self._by_name[name]

    def file(self, file_id: str) -> bytes:
        """Waits until ffmpeg has made a film, and returns its bytes. Raises GeminiError 403 for an unknown file."""
        operation = self._by_file.get(file_id)
        if operation is None:
            message = f"You do not have permission to access the File {file_id} or it may not exist."
            raise GeminiError(403, message)
        return operation.film.result()


def read(body: Any) -> Asked:
    """Checks the body of a request and returns its fields. Raises GeminiError if the request is invalid."""
    only_known(body, _FIELDS)
    instances = body.get("instances")
    if not isinstance(instances, list) or len(instances) != 1:
        raise invalid("The request has to have exactly one instance.")
    instance = only_known(instances[0], _INSTANCE, "instances[0]")
    prompt, image = instance.get("prompt"), instance.get("image")
    if not isinstance(prompt, str) or not prompt:
        raise invalid("Prompt should not be empty for text to video generation.")
    wanted = only_known(body.get("parameters") or {}, _PARAMETERS, "parameters")
    shorter = _RESOLUTIONS.get(wanted.get("resolution", "720p"))
    seconds = number(wanted, "durationSeconds") or _LONGEST
    if shorter is None:
        raise invalid(f"`resolution` supports {', '.join(_RESOLUTIONS)}.")
    if seconds not in _DURATIONS or (shorter > _RESOLUTIONS["720p"] and seconds != _LONGEST):
        raise invalid("The number value for `durationSeconds` is out of bound.")
    width, height = _shape(wanted.get("aspectRatio", "16:9"), shorter)
    return Asked(prompt, width, height, seconds, _image(image) if image is not None else None)


def _shape(ratio: Any, shorter: int) -> tuple[int, int]:
    if ratio not in ("16:9", "9:16"):
        raise invalid(f"Aspect ratio {ratio} is not supported. Supported: 16:9, 9:16.")
    longer = shorter * 16 // 9
    return (longer, shorter) if ratio == "16:9" else (shorter, longer)


def _image(value: Any) -> bytes:
    if isinstance(value, dict) and "inlineData" in value:
        raise invalid("`inlineData` isn't supported by this model. Please remove it or refer to the Gemini "
                      "API documentation for supported usage.")  # fmt: skip
    image = only_known(value, frozenset(("bytesBase64Encoded", "mimeType")), "instances[0].image")
    return picture(image.get("bytesBase64Encoded"), image.get("mimeType"))


def shown(operation: Operation, ticks: float, base_url: str) -> dict[str, Any]:
    """Returns the answer to a poll of the operation: running, done with the film's URL, failed, or withheld by the
    safety filter.
    """
    if operation.rejected or (ticks >= operation.done_at and UNSAFE_RESULT in operation.asked.prompt):
        return _done(operation, {"raiMediaFilteredCount": 1, "raiMediaFilteredReasons": [_FILTERED]})
    if ticks < operation.done_at:
        return {"name": operation.name}
    if UNSAFE_PROMPT in operation.asked.prompt:
        return {"name": operation.name, "done": True, "error": {"code": 3, "message": _REFUSED}}
    uri = f"{base_url}/v1beta/files/{operation.file_id}:download?alt=media"
    return _done(operation, {"generatedSamples": [{"video": {"uri": uri}}]})


_FILTERED = (
    "Veo could not generate 1 videos based on the prompt provided. You will not be charged for this request. "
    "Try rephrasing the prompt. If you think this was an error, send feedback."
)
_REFUSED = (
    "The prompt could not be submitted. This prompt contains sensitive words that violate Google's "
    "Responsible AI practices. Try rephrasing the prompt. If you think this was an error, send feedback."
)


def _done(operation: Operation, response: dict[str, Any]) -> dict[str, Any]:
    return {
        "name": operation.name,
        "done": True,
        "response": {"@type": _ANSWER_TYPE, "generateVideoResponse": response},
    }
