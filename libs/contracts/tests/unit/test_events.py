"""The table of events names the sender of each event."""

from pathlib import Path

import pytest

from contracts.events import EVENTS

SERVICES = Path(__file__).parents[4] / "services"


@pytest.mark.parametrize("event", EVENTS)
def test_an_event_is_sent_by_the_service_that_the_table_names(event: str) -> None:
    sender = SERVICES / EVENTS[event].sender / EVENTS[event].sender
    assert any(f'"{event}"' in path.read_text() for path in sender.rglob("*.py"))
