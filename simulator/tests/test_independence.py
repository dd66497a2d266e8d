"""Tests that the simulator and the connectors share no regular expression and no table, because the simulator was
written from the platforms' descriptions alone.

Equal names of scopes, fields and codes come from the platform. But an expression or a list that stands in both was
copied, and a mistake in it would be in both. Equal numbers are permitted: a limit of a platform has one right value,
whoever writes it down.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
PLATFORMS = ROOT / "services" / "publishing" / "publishing" / "platforms"
CONTRACTS = ROOT / "libs" / "contracts" / "contracts"
SIMULATOR = ROOT / "simulator" / "simulator"
#: Patterns this short cannot be written in two ways.
SHORT = 12
#: Lists of fewer names are equal by chance.
FEW = 4
#: Enumerations that have to be equal: who may reply on X, and the codes of the platforms.
SAME = {
    frozenset({"following", "mentionedUsers", "subscribers", "verified"}),
    frozenset({"FB", "IG", "LN", "TT", "TW", "YT"}),
}


def nodes(*places: Path) -> Iterator[ast.AST]:
    for place in places:
        for path in [place] if place.is_file() else place.rglob("*.py"):
            yield from ast.walk(ast.parse(path.read_text()))


def patterns(folder: Path) -> set[str]:
    """Returns the texts of all `re.compile(…)` in a folder."""
    calls = (node for node in nodes(folder) if isinstance(node, ast.Call))
    found = {ast.unparse(call.args[0]) for call in calls if ast.unparse(call.func) == "re.compile"}
    return {text for text in found if len(text) > SHORT}


def tables(*places: Path) -> set[frozenset[object]]:
    """Returns the lists and sets of constants, the keys of dictionaries, and the words of texts that are no sentences,
    in these files.
    """
    found = set()
    for node in nodes(*places):
        values: list[object]
        if isinstance(node, ast.Tuple | ast.List | ast.Set):
            values = [one.value for one in node.elts if isinstance(one, ast.Constant)]
        elif isinstance(node, ast.Dict):
            values = [one.value for one in node.keys if isinstance(one, ast.Constant)]
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and not node.value.endswith("."):
            values = [*node.value.replace(",", " ").split()]
        else:
            continue
        found.add(frozenset(values))
    return {one for one in found if len(one) >= FEW}


def test_no_pattern_stands_in_the_simulator_and_in_a_connector():
    ours, theirs = patterns(PLATFORMS), patterns(SIMULATOR)
    assert len(ours) > 10
    assert len(theirs) > 5
    assert sorted(ours & theirs) == []


def test_no_table_stands_in_the_simulator_and_in_a_connector():
    ours = tables(PLATFORMS, CONTRACTS / "platforms.py", CONTRACTS / "post_settings.py")
    theirs = tables(SIMULATOR)
    assert len(ours) > 100
    assert len(theirs) > 100
    assert ours & theirs == SAME
