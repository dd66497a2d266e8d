"""Names and phrases that were replaced must not come back. The test knows only the expressions in its list.

To add one: replace it everywhere, then add a line with the expression and what to write instead.
"""

import re
import subprocess
from pathlib import Path

import pytest

from local.paths import ROOT

#: Expression → what to write instead.
REPLACED = {
    # names
    r"\bWorkshop\b": "SandboxPool",
    r"\bnursery\b": "fork server",
    r"\bLookUps\b|\blook_ups\b": "Resolver, DNS lookups",
    r"\bguarded_http\b": "chassis.http.guarded_client",
    r"\bclass Others\b": "ConnectivityTracker",
    r"\bchassis\.(?:testkit|interleaving|faulty_link|any_sender)\b": "the package testkit",
    r"chassis\.(?:posting|confined|others|measured)\b": "chassis.http.webhook_connection, chassis.sandbox.pool, …",
    r"\bBrakes\b": "RateLimitedTokenCache",
    r"\bstowaways?\b": "embedded content",
    r"\bfarewell\b": "OAuth result page",
    r"\bgreed\b": "max_share",
    r"\bhouse_of\b": "context_of",
    r"\b(?:claim|run|plan)_lanes?\b": "claim_queues, send_queue, plan_queue",
    r"\bpublishing[./](?:telling|looking|lookups|naming|expiring|receiving|rotating|scribe|house|rivals)\b": (
        "publishing.post_events, publishing.sending.reconciliation, …"
    ),
    # phrases
    r"\bcan be given nothing\b": "may not receive …",
    r"\bthat which is\b": "name the thing",
    r"\bwhence\b": "from which queue",
    r"\bnobody need\b": "is not needed",
}
TEXTS = {".py", ".md", ".toml", ".yml", ".yaml", ".sh", ".html", ".json"}


def tracked() -> list[Path]:
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return [
        path
        for path in map(ROOT.joinpath, listed.splitlines())
        if path.suffix in TEXTS and path != Path(__file__) and path.is_file()
    ]


def found(expression: str, texts: dict[str, str]) -> list[str]:
    pattern = re.compile(expression)
    return [
        f"{name}:{number}"
        for name, text in texts.items()
        if pattern.search(text)  # line by line, a million lines take seconds
        for number, line in enumerate(text.splitlines(), 1)
        if pattern.search(line)
    ]


@pytest.fixture(scope="module")
def texts() -> dict[str, str]:
    return {str(path.relative_to(ROOT)): path.read_text() for path in tracked()}


@pytest.mark.parametrize("expression", REPLACED)
def test_a_replaced_name_or_phrase_does_not_come_back(expression: str, texts: dict[str, str]) -> None:
    assert len(texts) > 1_000
    assert found(expression, texts) == [], f"write instead: {REPLACED[expression]}"


def test_the_check_finds_a_phrase() -> None:
    assert found(r"\bnursery\b", {"a.py": "x\nthe nursery\n", "b.py": "nurseries\n"}) == ["a.py:2"]
