"""/docs/postman.json: the API as a collection for Postman (Collection Format v2.1), made from its description. Pure."""

import json
import re
from collections.abc import Iterator
from typing import Any

Json = dict[str, Any]

_SCHEMA = "https://schema.getpostman.com/json/collection/v2.1.0/collection.json"
#: Postman fills it in with a new UUID at each sending.
_NEW_KEY = "{{$guid}}"
#: As in `Operations`: the names of an operation's examples.
_EXAMPLES = {"onePage": "one page", "severalPages": "several pages"}


def collection_of(description: Json) -> Json:
    """Returns a Postman collection with a folder for each tag and a request for each operation.

    If the description has two example bodies for an operation (a post on one page, a post on several pages), the
    operation gets two requests. The collection has the variables `baseUrl`, `rootUrl` and `token`.
    """
    server = description["servers"][0]["url"]
    folders = [
        {
            "name": tag["name"],
            "description": tag.get("description", ""),
            "item": [
                item
                for path, methods in description["paths"].items()
                for method, operation in methods.items()
                if tag["name"] in operation["tags"]
                for item in _items(method.upper(), path, operation)
            ],
        }
        for tag in description["tags"]
    ]
    return {
        "info": {
            "name": "Posthaste API",
            "description": description["info"]["description"],
            "version": description["info"]["version"],
            "schema": _SCHEMA,
        },
        "item": [folder for folder in folders if folder["item"]],
        "auth": {"type": "bearer", "bearer": [{"key": "token", "value": "{{token}}", "type": "string"}]},
        "variable": [
            {"key": "baseUrl", "value": server, "type": "string"},
            {"key": "rootUrl", "value": server.removesuffix("/api/v1"), "type": "string"},
            {"key": "token", "value": "", "type": "string"},
        ],
    }


def _items(method: str, path: str, operation: Json) -> Iterator[Json]:
    content = operation.get("requestBody", {}).get("content", {})
    examples = content.get("application/json", {}).get("examples")
    name = operation["summary"].rstrip(".")
    if not examples:
        example = content.get("application/json", {}).get("example")
        yield {"name": name, "request": _request(method, path, operation, example)}
        return
    for kind, example in examples.items():
        request = _request(method, path, operation, example["value"])
        yield {"name": f"{name}: {_EXAMPLES[kind]}", "request": request}


def _request(method: str, path: str, operation: Json, example: Any) -> Json:
    headers = [
        {"key": each["name"], "value": _NEW_KEY, "disabled": not each["required"]}
        for each in operation.get("parameters", ())
        if each["in"] == "header"
    ]
    request: Json = {
        "method": method,
        "header": headers,
        "url": _url(path, operation),
        "description": operation.get("description", ""),
    }
    content = operation.get("requestBody", {}).get("content", {})
    if "multipart/form-data" in content:
        request["body"] = {"mode": "formdata", "formdata": [{"key": "file", "type": "file", "src": []}]}
    elif content:
        text = json.dumps({} if example is None else example, indent=2, ensure_ascii=False)
        request["body"] = {"mode": "raw", "raw": text, "options": {"raw": {"language": "json"}}}
    if operation.get("security") == []:
        request["auth"] = {"type": "noauth"}
    return request


def _url(path: str, operation: Json) -> Json:
    """Returns the address of an operation's request, as Postman writes it.

    A parameter in the path becomes a variable such as `:post_id`. Optional query parameters are listed, but disabled.
    """
    host = "{{rootUrl}}" if "servers" in operation else "{{baseUrl}}"
    pieces = re.sub(r"{(\w+)}", r":\1", path).strip("/").split("/")
    url: Json = {"raw": "/".join((host, *pieces)), "host": [host], "path": pieces}
    names = re.findall(r"{(\w+)}", path)
    if names:
        url["variable"] = [{"key": name, "value": ""} for name in names]
    queries = [each for each in operation.get("parameters", ()) if each["in"] == "query"]
    if queries:
        url["query"] = [
            {
                "key": each["name"],
                "value": "",
                "description": each["schema"].get("description", ""),
                "disabled": not each["required"],
            }
            for each in queries
        ]
    return url
