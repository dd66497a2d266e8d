"""Extracts the data for the pages of /docs from the OpenAPI description, for each operation. Pure."""

import json
from collections.abc import Iterator
from typing import Any

Json = dict[str, Any]


class Operations:
    """The operations and events of an OpenAPI description, grouped by tag."""

    def __init__(self, description: Json) -> None:
        self._schemas: Json = description["components"]["schemas"]
        self._found = [
            (tag, self._shown(method.upper(), path, operation))
            for section in ("paths", "webhooks")
            for path, methods in description[section].items()
            for method, operation in methods.items()
            for tag in operation["tags"]
        ]

    def of(self, tag: str) -> list[Json]:
        return [operation for name, operation in self._found if name == tag]

    def _shown(self, method: str, path: str, operation: Json) -> Json:
        return {
            "id": operation["operationId"],
            "method": method,
            "path": path,
            "summary": operation["summary"].rstrip("."),
            "about": operation.get("description", ""),
            "parameters": [
                {
                    "name": each["name"],
                    "type": f"{self._type(each['schema'])}, in the {each['in']}",
                    "required": each["required"],
                    "text": each.get("description") or each["schema"].get("description", ""),
                }
                for each in operation.get("parameters", ())
            ],
            "bodies": list(self._bodies(operation)),
            "records": [
                {"name": name, "fields": list(self._fields(self._schemas[name]))}
                for name in self._records(operation.get("requestBody", {}))
            ],
            "samples": operation.get("x-codeSamples", ()),
            "examples": list(_examples(operation)),
            "errors": [
                (status, answer["description"].split("; "))
                for status, answer in operation["responses"].items()
                if status.startswith(("4", "5"))
            ],
        }

    def _bodies(self, operation: Json) -> Iterator[Json]:
        for content in operation.get("requestBody", {}).get("content", {}).values():
            schema = content["schema"]
            choices = schema.get("oneOf") or schema.get("anyOf") or [schema]
            for choice in choices:
                name = choice.get("$ref", "").rpartition("/")[2]
                yield {"name": name if len(choices) > 1 else "", "fields": list(self._fields(choice))}

    def _fields(self, schema: Json) -> Iterator[Json]:
        body = self._resolved(schema)
        required = body.get("required", ())
        for name, field in body.get("properties", {}).items():
            text = field.get("description", "")
            yield {"name": name, "type": self._type(field), "required": name in required, "text": text}

    def _records(self, body: Json) -> list[str]:
        """Returns the names of the records to which the fields of a body refer."""
        choices = [
            choice
            for content in body.get("content", {}).values()
            for choice in content["schema"].get("oneOf")
            or content["schema"].get("anyOf")
            or [content["schema"]]
        ]
        fields = [self._resolved(choice).get("properties", {}) for choice in choices]
        names = dict.fromkeys(name for field in fields for name in _references(field))
        return [name for name in names if "properties" in self._schemas[name]]

    def _resolved(self, schema: Json) -> Json:
        name = schema.get("$ref", "").rpartition("/")[2]
        found: Json = self._schemas[name] if name else schema
        return found

    def _type(self, schema: Json) -> str:
        """Returns a schema's type in words, such as `string (date-time)` or `list of Post`."""
        if "$ref" in schema:
            resolved = self._resolved(schema)
            name: str = schema["$ref"].rpartition("/")[2]
            return self._type(resolved) if "enum" in resolved else name
        if "enum" in schema:
            return " or ".join(json.dumps(value) for value in schema["enum"])
        if "const" in schema:
            return json.dumps(schema["const"])
        choices = schema.get("anyOf") or schema.get("oneOf")
        if choices:
            return " or ".join(dict.fromkeys(self._type(choice) for choice in choices))
        kind = schema.get("type", "any value")
        if kind == "array":
            return f"list of {self._type(schema.get('items', {}))}"
        words = kind if isinstance(kind, str) else " or ".join(kind)
        return f"{words} ({schema['format']})" if "format" in schema else words


#: Name of an example in the description → the words shown for it.
_EXAMPLES = {"": "", "onePage": "for one page", "severalPages": "for several pages"}


def _references(part: Any) -> Iterator[str]:
    if isinstance(part, dict):
        if isinstance(part.get("$ref"), str):
            yield part["$ref"].rpartition("/")[2]
        for value in part.values():
            yield from _references(value)
    elif isinstance(part, list | tuple):
        for value in part:
            yield from _references(value)


def _examples(operation: Json) -> Iterator[Json]:
    if "x-codeSamples" not in operation:  # the samples show the body
        for content in operation.get("requestBody", {}).get("content", {}).values():
            yield from _titled("Example", content)
    for status, answer in operation["responses"].items():
        for content in answer.get("content", {}).values():
            if status.startswith("2"):
                yield from _titled(f"Answer {status}", content)


def _titled(title: str, content: Json) -> Iterator[Json]:
    named = {name: example["value"] for name, example in content.get("examples", {}).items()}
    unnamed = {"": content["example"]} if "example" in content else {}
    for name, example in (unnamed | named).items():
        text = json.dumps(example, indent=2, ensure_ascii=False)
        yield {"title": f"{title} {_EXAMPLES[name]}".strip(), "text": text}
