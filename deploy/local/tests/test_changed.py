"""Which tests `./dev test --changed` selects, and which servers `./dev test PATH` starts."""

import re
import subprocess
import tomllib
from pathlib import Path

import pytest

from local.paths import ROOT
from local.testing import changed
from local.testing.runs import NEEDS_STACK, servers_for

#: Fixtures of the test kit that need PostgreSQL, or RabbitMQ.
NEED_POSTGRES = re.compile(r"\b(admin_url|admin|database_for|open_database|cloned_databases)\b[:,)]")
NEED_RABBITMQ = re.compile(r"\b(amqp_url|virtual_host|running_service|shared_service)\b[:,)]")
TREE = {
    "libs/tools/tools/__init__.py": "",
    "libs/tools/tools/words.py": "",
    "services/shop/shop/__init__.py": "",
    "services/shop/shop/prices.py": "from tools import words",
    "services/shop/shop/stock.py": "",
    "services/shop/shop/goods/registry.py": "import pkgutil",
    "services/shop/shop/goods/apples.py": "",
    "services/shop/migrations/0001_initial.py": "",
    "services/shop/tests/unit/test_prices.py": "from shop import (\n    prices,\n)",
    "services/shop/tests/unit/test_stock.py": "from shop.stock import count",
    "services/shop/tests/unit/test_goods.py": "import shop.goods.registry",
    "services/shop/tests/service/test_process.py": "",
    "deploy/local/tests/test_docs.py": "",
}


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for name, text in TREE.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def chosen(tree: Path, *names: str) -> set[str]:
    return {path.stem for path in changed.tests(tree, [tree / name for name in names])}


@pytest.mark.parametrize(
    ("name", "tests"),
    [
        ("services/shop/shop/stock.py", {"test_stock", "test_process"}),
        ("libs/tools/tools/words.py", {"test_prices", "test_process"}),
        ("services/shop/tests/unit/test_stock.py", {"test_stock"}),
        ("services/shop/shop/goods/apples.py", {"test_goods", "test_process"}),
        ("services/shop/migrations/0001_initial.py", {"test_prices", "test_stock", "test_goods", "test_process"}),
        ("README.md", {"test_docs"}),
    ],
)  # fmt: skip
def test_a_changed_file_selects_the_tests_that_depend_on_it(tree: Path, name: str, tests: set[str]) -> None:
    assert chosen(tree, name) == tests


def test_a_deleted_test_is_not_selected(tree: Path) -> None:
    assert chosen(tree, "services/shop/tests/unit/test_gone.py") == set()


def git(tree: Path, *commands: str) -> None:
    for command in commands:
        subprocess.run(
            ["git", "-c", "user.name=a", "-c", "user.email=a@b.c", *command.split()], cwd=tree, check=True
        )


def test_files_that_git_does_not_know_yet_count_as_changed(tree: Path) -> None:
    git(tree, "init -qb main", "add .", "commit -qm begin")
    (tree / "services/shop/shop/stock.py").write_text("changed = 1")
    (tree / "services/shop/shop/new.py").write_text("")
    assert changed.files(tree) == [tree / "services/shop/shop/new.py", tree / "services/shop/shop/stock.py"]


def test_commits_on_main_count_as_changed_until_they_are_pushed(tree: Path) -> None:
    git(tree, "init -qb main", "add .", "commit -qm begin", "update-ref refs/remotes/origin/main HEAD")
    (tree / "services/shop/shop/stock.py").write_text("changed = 1")
    git(tree, "commit -qam change")
    assert changed.files(tree) == [tree / "services/shop/shop/stock.py"]


@pytest.mark.parametrize(
    ("path", "servers"),
    [
        ("services/quota/tests/unit/test_windows.py", ()),
        ("services/quota/tests/store", ("postgres", "s3")),
        ("services/quota/tests/service/test_service.py", ("postgres", "rabbitmq", "s3")),
        ("services/quota", ("postgres", "rabbitmq", "s3")),
    ],
)
def test_a_path_starts_only_the_servers_that_its_tests_need(path: str, servers: tuple[str, ...]) -> None:
    assert servers_for([ROOT / path]) == servers


def test_every_folder_of_tests_runs_with_a_stack_or_without() -> None:
    paths = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["pytest"]["ini_options"]["testpaths"]
    with_stack = {str(path.relative_to(ROOT)) for path in NEEDS_STACK}
    assert sorted(paths) == sorted({*changed.TESTED, *with_stack})


@pytest.mark.parametrize("folder", ["unit", "store"])
def test_tests_ask_only_for_servers_that_are_started_for_their_folder(folder: str) -> None:
    files = [path for path in ROOT.glob(f"*/*/tests/{folder}/**/*.py") if path.is_file()]
    assert len(files) > 30
    needless = (
        NEED_RABBITMQ if folder == "store" else re.compile(f"{NEED_POSTGRES.pattern}|{NEED_RABBITMQ.pattern}")
    )
    asked = re.compile(r"^def \w+\((?:[^()]|\([^()]*\))*\)", re.MULTILINE)
    found = {
        str(path.relative_to(ROOT)): needless.search(signature)
        for path in files
        for signature in asked.findall(path.read_text())
        if needless.search(signature)
    }
    assert found == {}
