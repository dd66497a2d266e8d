"""Every outbound HTTP call has a time limit. Calls to configured servers go through `chassis.http.outbound`."""

import ast
from collections.abc import Iterator
from pathlib import Path

from local.paths import ROOT

_EVERYTHING = ("libs", "services", "simulator", "deploy", "bench", "tests")
#: What opens connections without a ceiling of its own; `requests` is kept out by the import rules.
_UNBOUNDED = {"PoolManager", "ProxyManager", "HTTPConnectionPool", "HTTPSConnectionPool", "urlopen"}
#: Where the ceilings are made.
_MAKER = ROOT / "libs/chassis/chassis/http/outbound.py"


def modules(*folders: str) -> list[Path]:
    return [
        path
        for folder in folders
        for path in sorted((ROOT / folder).rglob("*.py"))
        if ".venv" not in path.parts
    ]


def calls(source: str) -> Iterator[tuple[str, ast.Call]]:
    """Yields each call, with the name of the function that it calls."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call):
            named = node.func
            yield named.attr if isinstance(named, ast.Attribute) else getattr(named, "id", ""), node


def positional_timeouts(source: str) -> list[int]:
    """Returns the lines with a call like urllib3.Timeout(5, 30), which means total=5 and connect=30. eventlet's Timeout
    takes seconds, so it is allowed.
    """
    return [
        call.lineno for name, call in calls(source) if name == "Timeout" and call.args and "urllib3" in source
    ]


def unbounded_pools(source: str) -> list[int]:
    """Returns the lines of outbound calls without a time limit. `urlopen` of a pool has the limit of the pool."""
    return [
        call.lineno
        for name, call in calls(source)
        if name in _UNBOUNDED and not (name == "urlopen" and isinstance(call.func, ast.Attribute))
    ]


def test_the_check_sees_what_it_is_there_for() -> None:
    assert positional_timeouts("x = urllib3.Timeout(5, 30)\ny = Timeout(connect=5, read=30)") == [1]
    assert positional_timeouts("from eventlet import Timeout\nwith Timeout(5):\n    pass") == []
    assert unbounded_pools("a = urllib3.PoolManager()\nb = PoolManager()\nc = urlopen('x')") == [1, 2, 3]
    assert unbounded_pools("self._pool.urlopen('GET', url)") == []


def test_no_timeout_is_given_by_position() -> None:
    found = {str(path): positional_timeouts(path.read_text()) for path in modules(*_EVERYTHING)}
    assert {path: lines for path, lines in found.items() if lines} == {}


def test_no_service_calls_out_without_a_ceiling() -> None:
    ours = [path for path in modules("libs", "services") if "tests" not in path.parts and path != _MAKER]
    found = {str(path): unbounded_pools(path.read_text()) for path in ours}
    assert {path: lines for path, lines in found.items() if lines} == {}
