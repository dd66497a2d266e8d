"""Writes the generated modules of clients/python/posthaste from the gateway's rows; needs no running stack."""

import subprocess
import sys
import tempfile
from pathlib import Path

from client_generator.descriptions import methods_of
from client_generator.operation_modules import module_name, operations_module, package_module
from client_generator.record_modules import codes_module, inputs_module, records_module
from client_generator.schemas import closure
from contracts.errors import ERRORS
from gateway.openapi.description import describe
from gateway.routes import ENDPOINTS

PACKAGE = Path(__file__).parents[1] / "posthaste"
_ROOT = Path(__file__).parents[3]
_RUFF = Path(sys.executable).parent / "ruff"


def generated() -> dict[str, str]:
    """The text of every generated module, by its path in the package."""
    description = describe(ENDPOINTS)
    components = description["components"]["schemas"]
    methods = methods_of(description)
    answers = closure([method.schema for method in methods], components)
    arguments = [argument.schema for method in methods for argument in (*method.query, *(method.body or ()))]
    tags = list(dict.fromkeys(method.tag for method in methods))
    modules = {
        "records.py": records_module(answers, components),
        "inputs.py": inputs_module(closure(arguments, components), components),
        "error_codes.py": codes_module({code: row.category for code, row in ERRORS.items()}),
        "operations/__init__.py": package_module(tags),
    }
    for tag in tags:
        own = [method for method in methods if method.tag == tag]
        modules[f"operations/{module_name(tag)}.py"] = operations_module(tag, own)
    return _formatted(modules)


def current() -> dict[str, str]:
    """The generated modules that the package holds."""
    alone = (PACKAGE / name for name in ("records.py", "inputs.py", "error_codes.py"))
    paths = [*PACKAGE.glob("operations/*.py"), *alone]
    return {path.relative_to(PACKAGE).as_posix(): path.read_text("utf-8") for path in paths if path.exists()}


def main() -> int:
    """Writes what has changed, and removes modules of groups that are no more."""
    new, old = generated(), current()
    for name in sorted(old.keys() - new.keys()):
        (PACKAGE / name).unlink()
        print(f"removed {name}")
    for name, text in sorted(new.items()):
        if old.get(name) != text:
            (PACKAGE / name).parent.mkdir(exist_ok=True)
            (PACKAGE / name).write_text(text, "utf-8")
            print(f"wrote {name}")
    return 0


def _formatted(modules: dict[str, str]) -> dict[str, str]:
    """Removes imports that are not needed, sorts the others and formats the text, as `./dev lint` expects it."""
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
