"""Writes the generated modules of clients/python and clients/node from the gateway's endpoints. Needs no running
stack.
"""

import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from client_generator import typescript
from client_generator.descriptions import methods_of
from client_generator.operation_modules import module_name, operations_module, package_module
from client_generator.record_modules import codes_module, inputs_module, records_module
from client_generator.schemas import closure, components_in
from contracts.errors import ERRORS
from gateway.openapi.description import describe
from gateway.routes import ENDPOINTS

_ROOT = Path(__file__).parents[3]
PACKAGE = _ROOT / "clients/python/posthaste"
NODE_PACKAGE = _ROOT / "clients/node/src"
_RUFF = Path(sys.executable).parent / "ruff"
_PYTHON_MODULES = ("records.py", "inputs.py", "error_codes.py")
_NODE_MODULES = ("records.ts", "inputs.ts", "events.ts", "error-codes.ts", "operations.ts")


def generated() -> dict[Path, str]:
    """Returns the text of every generated module of both clients, by its path."""
    description = describe(ENDPOINTS)
    return _python(description) | _node(description)


def current() -> dict[Path, str]:
    """Returns the text of every generated module that the packages contain now, by its path."""
    paths = [
        *PACKAGE.glob("operations/*.py"),
        *(PACKAGE / name for name in _PYTHON_MODULES),
        *(NODE_PACKAGE / name for name in _NODE_MODULES),
    ]
    return {path: path.read_text("utf-8") for path in paths if path.exists()}


def main() -> int:
    """Writes the modules that have changed, and removes modules of groups that no longer exist."""
    new, old = generated(), current()
    for path in sorted(old.keys() - new.keys()):
        path.unlink()
        print(f"removed {path.relative_to(_ROOT)}")
    for path, text in sorted(new.items()):
        if old.get(path) != text:
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, "utf-8")
            print(f"wrote {path.relative_to(_ROOT)}")
    return 0


def _python(description: dict[str, Any]) -> dict[Path, str]:
    components = description["components"]["schemas"]
    methods = methods_of(description)
    answers = closure([method.schema for method in methods], components)
    arguments = [argument.schema for method in methods for argument in (*method.query, *(method.body or ()))]
    tags = list(dict.fromkeys(method.tag for method in methods))
    modules = {
        "records.py": records_module(answers, components),
        "inputs.py": inputs_module(closure(arguments, components), components),
        "error_codes.py": codes_module(_categories()),
        "operations/__init__.py": package_module(tags),
    }
    for tag in tags:
        own = [method for method in methods if method.tag == tag]
        modules[f"operations/{module_name(tag)}.py"] = operations_module(tag, own)
    return {PACKAGE / name: text for name, text in _formatted(modules).items()}


def _node(description: dict[str, Any]) -> dict[Path, str]:
    components = description["components"]["schemas"]
    methods = methods_of(description)
    answers = closure([method.schema for method in methods], components)
    bodies = [components[method.body_component] for method in methods if method.body_component]
    arguments = [argument.schema for method in methods for argument in method.query]
    named = {method.body_component for method in methods} | set(closure([*bodies, *arguments], components))
    events = {
        event: next(components_in(operations["post"]["requestBody"]))
        for event, operations in description["webhooks"].items()
    }
    modules = {
        "records.ts": typescript.records_module(answers, components),
        "inputs.ts": typescript.inputs_module([name for name in components if name in named], components),
        "events.ts": typescript.events_module(events, answers, components),
        "error-codes.ts": typescript.codes_module(_categories()),
        "operations.ts": typescript.operations_module(methods),
    }
    return {NODE_PACKAGE / name: text for name, text in modules.items()}


def _categories() -> dict[str, str]:
    return {code: row.category for code, row in ERRORS.items()}


def _formatted(modules: dict[str, str]) -> dict[str, str]:
    """Returns the modules with sorted imports, without unused ones, and formatted as `./dev lint` expects it."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for path, text in modules.items():
            (folder / path).parent.mkdir(exist_ok=True)
            (folder / path).write_text(text, "utf-8")
        config = ("--config", _ROOT / "clients/python/ruff.toml", "--no-cache", "--quiet")
        for command in (("check", "--fix", "--select", "F401,I,RUF036"), ("format",)):
            subprocess.run([_RUFF, *command, *config, folder], check=True, cwd=_ROOT)
        return {path: (folder / path).read_text("utf-8") for path in modules}


if __name__ == "__main__":
    sys.exit(main())
