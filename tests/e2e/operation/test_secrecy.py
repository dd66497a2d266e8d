"""Tests the search for secrets and texts in logs with logs made for it, because the real logs hold none."""

import json
from pathlib import Path

import pytest
from e2e_kit import secrecy

TOKEN, TEXT = "sk_live_0123456789abcdefghij", 'Fresh "bread" für alle,\nat eight'


@pytest.fixture
def run(tmp_path: Path) -> Path:
    (tmp_path / "logs").mkdir()
    return tmp_path


@pytest.mark.parametrize(
    "line",
    [
        json.dumps({"event": "x", "header": f"Bearer {TOKEN}"}),
        json.dumps({"event": "x", "url": f"https://a.test/?token={TOKEN}&b"}),
        json.dumps({"event": "x", "words": TEXT}),
        json.dumps({"event": "x", "words": TEXT}, ensure_ascii=False),
        json.dumps({"event": "x", "words": f"INSERT '{TEXT}'"}),
    ],
)
def test_what_is_in_a_line_is_found(line: str) -> None:
    assert len(list(secrecy.leaks(line.encode(), {TOKEN, TEXT, "sk_live_another0123456789"}))) == 1


def test_a_line_without_them_is_clean() -> None:
    assert list(secrecy.leaks(b'{"event": "request", "path": "/me"}', {TOKEN, TEXT})) == []


def test_secrets_and_texts_are_remembered_as_they_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    known: set[str] = set()
    monkeypatch.setattr(secrecy, "_known", known)
    secrecy.note_request({"message": TEXT, "page_id": "pag_0123456789abcdef", "first_comment": None})
    secrecy.note_answer(json.dumps({"webhook": {"id": "whk_0123456789"}, "secret": "whsec_0123456789"}))
    assert known == {TEXT, "whsec_0123456789"}


def test_a_stack_is_searched_with_its_own_keys_and_each_line_is_json(
    run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(secrecy, "_known", set())
    (run / "secrets").write_text("TOKEN_SECRET=c2VjcmV0LXNlY3JldA==\n")
    (run / "logs" / "quota.log").write_text('{"event": "fine"}\n')
    secrecy.check(run)
    (run / "logs" / "quota.log").write_text('{"event": "fine"}\nTraceback\n')
    with pytest.raises(AssertionError, match="not a line of JSON: 'Traceback'"):
        secrecy.check(run)
    (run / "logs" / "quota.log").write_text('{"event": "c2VjcmV0LXNlY3JldA=="}\n')
    with pytest.raises(AssertionError, match="holds"):
        secrecy.check(run)
