"""Which process may call which method of a service, and send which event.

`@called_by` on each service's Protocol names the callers of its methods; `contracts.events.EVENTS` names the sender of
each event. Keys for signatures and RabbitMQ's permissions are derived from these two (docs/security.md).
"""

from collections.abc import Callable, Mapping
from typing import TypeVar

T = TypeVar("T", bound=type)

GATEWAY = "gateway"
#: The operator's command line: the only sender whose calls may have the scope `operator`.
CTL = "ctl"
#: Senders that may ping a service.
PINGERS = frozenset({GATEWAY, CTL})

_CALLERS = "__callers__"


def called_by(**methods: str) -> Callable[[T], T]:
    """Returns a class decorator for a service's Protocol that stores which senders may call which method.

    Each keyword is a sender, and its value the names of the methods: `@called_by(gateway="get_page list_pages",
    ctl="…")`. The decorator raises TypeError when a method has no sender, or a named method does not exist.
    """

    def mark(api: T) -> T:
        surface = {name for name, value in vars(api).items() if callable(value) and not name.startswith("_")}
        allowed = {sender: names.split() for sender, names in methods.items()}
        named = {name for names in allowed.values() for name in names}
        if missing := sorted(surface - named):
            raise TypeError(f"@called_by of {api.__name__} names no sender for {', '.join(missing)}")
        if unknown := sorted(named - surface):
            raise TypeError(
                f"@called_by of {api.__name__} names {', '.join(unknown)}, which it does not have"
            )
        callers = {
            name: frozenset(sender for sender, names in allowed.items() if name in names) for name in surface
        }
        setattr(api, _CALLERS, callers)
        return api

    return mark


def callers_of(api: type) -> Mapping[str, frozenset[str]]:
    """Returns for each method of a Protocol the senders that may call it. Raises TypeError without `@called_by`."""
    callers: Mapping[str, frozenset[str]] | None = vars(api).get(_CALLERS)
    if callers is None:
        raise TypeError(f"{api.__name__} needs @called_by (contracts.senders)")
    return callers
