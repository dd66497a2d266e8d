"""The checks of `posthaste platform check`: each compares a fact that we rely on with what the platform says about our
app or a page."""

from collections.abc import Callable
from dataclasses import dataclass

from publishing.platforms.base import OutcomeUnknown, PlatformRefusal


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """The result of one check of a platform: the expected fact and the found one."""

    check: str
    expected: str
    found: str
    #: None: the platform did not tell now.
    holds: bool | None
    #: What to do if it does not hold.
    advice: str = ""


def ask(check: str, expected: str, advice: str, question: Callable[[], tuple[bool, str]]) -> Fact:
    """Runs one check of a platform. `question` returns whether all is as expected, and a text with the found fact.

    If the platform refuses the question, or answers in an unknown format, the found fact says so.
    """
    try:
        holds, found = question()
        return Fact(check=check, expected=expected, found=found, holds=holds, advice=advice)
    except PlatformRefusal as refusal:
        found, holds_now = f"{refusal.message} ({refusal.code})", None if refusal.retryable else False
    except OutcomeUnknown as error:
        found, holds_now = str(error), None
    except (
        ValueError,
        TypeError,
        KeyError,
        AttributeError,
    ) as error:  # an answer in a form that we do not know
        found, holds_now = f"an unexpected answer ({type(error).__name__})", None
    return Fact(check=check, expected=expected, found=found, holds=holds_now, advice=advice)
