"""The simulator was written from the platforms' descriptions: it shares no regular expression with the connectors.

Equal names of scopes, fields and codes are the platform's own; an expression that stands in both places
was copied, and a mistake in it would be on both sides.
"""

import ast
from pathlib import Path

ROOT = Path(__file__).parents[2]
#: Patterns this short cannot be written in two ways.
SHORT = 12


def patterns(folder: Path) -> set[str]:
    """The texts of all `re.compile(…)` below a folder."""
    found = set()
    for path in folder.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "re.compile":
                found.add(ast.unparse(node.args[0]))
    return {text for text in found if len(text) > SHORT}


def test_no_pattern_stands_in_the_simulator_and_in_a_connector():
    ours = patterns(ROOT / "services" / "publishing" / "publishing" / "platforms")
    theirs = patterns(ROOT / "simulator" / "simulator")
    assert len(ours) > 10
    assert len(theirs) > 5
    assert sorted(ours & theirs) == []
