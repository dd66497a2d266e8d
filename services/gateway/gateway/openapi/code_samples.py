"""Writes the `x-codeSamples` of an operation: its example as a call with curl, Python (httpx) and TypeScript (fetch).
Pure.
"""

import json
from dataclasses import dataclass, field
from pprint import pformat
from typing import Any


@dataclass(frozen=True)
class Call:
    """One HTTP request that a code sample shows."""

    method: str
    url: str
    #: Without those of the body and the token.
    headers: dict[str, str] = field(default_factory=dict)
    needs_token: bool = True
    body: dict[str, Any] | None = None
    #: The name of a file that is sent as multipart/form-data.
    file: str | None = None


def samples_of(call: Call) -> list[dict[str, str]]:
    return [
        {"lang": "Shell", "label": "curl", "source": _curl(call)},
        {"lang": "Python", "label": "Python", "source": _python(call)},
        {"lang": "TypeScript", "label": "TypeScript", "source": _typescript(call)},
    ]


def _curl(call: Call) -> str:
    lines = [f"curl -X {call.method} '{call.url}'"]
    if call.needs_token:
        lines.append('-H "Authorization: Bearer $API_TOKEN"')
    lines += [f"-H '{name}: {value}'" for name, value in call.headers.items()]
    if call.body is not None:
        text = json.dumps(call.body, ensure_ascii=False).replace("'", "'\\''")
        lines += ["-H 'Content-Type: application/json'", f"-d '{text}'"]
    if call.file is not None:
        lines.append(f"-F 'file=@{call.file}'")
    return " \\\n  ".join(lines)


def _python(call: Call) -> str:
    headers = [f'"{name}": "{value}"' for name, value in call.headers.items()]
    lines = ["import httpx"]
    if call.needs_token:
        lines.insert(0, "import os\n")
        headers.insert(0, '"Authorization": f"Bearer {os.environ[\'API_TOKEN\']}"')
    lines += ["", f'answer = httpx.request(\n    "{call.method}",\n    "{call.url}",']
    if headers:
        lines.append(f"    headers={{{', '.join(headers)}}},")
    if call.body is not None:
        text = pformat(call.body, sort_dicts=False, width=88).replace("\n", "\n         ")
        lines.append(f"    json={text},")
    if call.file is not None:
        lines.append(f'    files={{"file": open("{call.file}", "rb")}},')
    return "\n".join([*lines, ")", "answer.raise_for_status()", "print(answer.text)"])


def _typescript(call: Call) -> str:
    headers = [f'"{name}": "{value}"' for name, value in call.headers.items()]
    if call.needs_token:
        headers.insert(0, "Authorization: `Bearer ${process.env.API_TOKEN}`")
    lines, options = [], [f'  method: "{call.method}",']
    if call.file is not None:
        lines += ['import { openAsBlob } from "node:fs";', "", "const form = new FormData();"]
        lines += [f'form.append("file", await openAsBlob("{call.file}"), "{call.file}");']
        options.append("  body: form,")
    if call.body is not None:
        headers.append('"Content-Type": "application/json"')
        text = json.dumps(call.body, indent=2, ensure_ascii=False).replace("\n", "\n  ")
        options.append(f"  body: JSON.stringify({text}),")
    if headers:
        options.insert(1, f"  headers: {{ {', '.join(headers)} }},")
    lines += [f'const answer = await fetch("{call.url}", {{', *options, "});"]
    return "\n".join(
        [*lines, "if (!answer.ok) throw new Error(await answer.text());", "console.log(await answer.text());"]
    )
