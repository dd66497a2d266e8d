"""The call POST /v1/chat/completions, which writes captions."""

import re
import secrets
import time
from dataclasses import dataclass
from typing import Any

from simulator.openai import errors
from simulator.openai.images import UNSAFE_PROMPT
from simulator.studio import captions

MODEL = re.compile(r"(gpt-|chatgpt-|o)\d[\w.-]*|chatgpt-[\w.-]*latest")
Answer = dict[str, Any]

#: The fields that a request may have; any other is refused by its name, as the API does. Most of them have no effect
#: here.
_FIELDS = frozenset(
    ("model", "messages", "max_tokens", "max_completion_tokens", "temperature", "top_p", "n", "stop", "seed",
     "user", "metadata", "store", "stream", "response_format", "presence_penalty", "frequency_penalty",
     "reasoning_effort", "verbosity", "service_tier", "safety_identifier", "prompt_cache_key", "logprobs")
)  # fmt: skip
_INSTRUCTIONS = ("system", "developer")
_ROLES = (*_INSTRUCTIONS, "user", "assistant")


@dataclass(frozen=True, slots=True)
class Asked:
    """The checked fields of a request for a chat completion."""

    model: str
    system: str
    prompt: str
    limit_tokens: int | None


def read(fields: dict[str, Any]) -> Asked:
    """Checks the body of a request and returns its fields. Raises OpenAIError if the request is invalid."""
    for name in fields:
        if name not in _FIELDS:
            raise errors.unknown(name)
    model, messages, limit = fields.get("model"), fields.get("messages"), fields.get("max_completion_tokens")
    if not isinstance(model, str):
        raise errors.missing("model")
    if not MODEL.fullmatch(model) or "image" in model:
        raise errors.unknown_model(model)
    if not isinstance(messages, list) or not messages:
        raise errors.missing("messages")
    texts = [(_role(message), _text(message)) for message in messages]
    limit = fields.get("max_tokens") if limit is None else limit
    if limit is not None and (not isinstance(limit, int) or limit < 1):
        raise errors.invalid("max_completion_tokens", limit, "positive integers")
    return Asked(
        model,
        "\n".join(text for role, text in texts if role in _INSTRUCTIONS),
        "\n".join(text for role, text in texts if role == "user"),
        limit,
    )


def _role(message: Any) -> str:
    role = message.get("role") if isinstance(message, dict) else None
    if role not in _ROLES:
        raise errors.invalid("messages[0].role", role, ", ".join(f"'{role}'" for role in _ROLES))
    return str(role)


def _text(message: dict[str, Any]) -> str:
    content = message.get("content")
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    texts = [part.get("text") for part in parts if isinstance(part, dict) and part.get("type") == "text"]
    if not texts or not all(isinstance(text, str) for text in texts):
        raise errors.invalid("messages[0].content", content, "a string or an array of text parts")
    return "\n".join(map(str, texts))


def write(asked: Asked) -> tuple[Answer, int]:
    """Returns the response and the size of its caption in bytes (0 if the model refuses the prompt)."""
    if UNSAFE_PROMPT in asked.prompt:
        message: Answer = {
            "role": "assistant",
            "content": None,
            "refusal": "I'm sorry, I can't assist with that.",
        }
        return _answer(asked, message, "stop", 9), 0
    made = captions.write(asked.system, asked.prompt, asked.limit_tokens)
    message = {"role": "assistant", "content": made.text, "refusal": None}
    size_bytes = len(made.text.encode("utf-8", "replace"))
    return _answer(asked, message, "length" if made.cut else "stop", len(made.text) // 4), size_bytes


def _answer(asked: Asked, message: Answer, reason: str, tokens: int) -> Answer:
    prompt_tokens = (len(asked.system) + len(asked.prompt)) // 4 + 1
    return {
        "id": "chatcmpl-" + secrets.token_urlsafe(20),
        "object": "chat.completion",
        "created": int(time.time()),
        "model": asked.model,
        "choices": [{"index": 0, "message": message, "logprobs": None, "finish_reason": reason}],
        "usage": {
            "prompt_tokens": prompt_tokens,
            "completion_tokens": tokens,
            "total_tokens": prompt_tokens + tokens,
        },
        "service_tier": "default",
    }
