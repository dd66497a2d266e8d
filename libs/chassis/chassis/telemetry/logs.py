"""Logging: one JSON line an event, on standard output. Never a token, a secret or a message body.

Lines of libraries and of Python itself (warnings, what nobody caught) come the same way. An exception is told with
the lines of code it passed and its own words, except a database's: those quote the row.
"""

import logging
import sys
import threading
import traceback
from collections.abc import Iterator
from types import TracebackType
from typing import Any

import structlog
from structlog.stdlib import ProcessorFormatter
from structlog.types import EventDict, Processor

from chassis.telemetry import tracing

_LEVELS = {"debug": 10, "info": 20, "warning": 30, "error": 40}
#: They log what we log ourselves; urllib3's warnings quote addresses with their queries.
_QUIET = ("nameko", "pika", "urllib3")

log = structlog.get_logger()


def _named(service: str) -> Processor:
    """Every line says whose it is, from whichever thread it comes; services that share a process sign their own."""

    def name(_logger: object, _method: str, event: EventDict) -> EventDict:
        event.setdefault("service", service)
        return event

    return name


def configure(service: str, level: str = "info") -> None:
    """Sets up structlog, and hands it what others log."""
    shared: list[Processor] = [
        structlog.contextvars.merge_contextvars,
        tracing.add_ids,
        _named(service),
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.ExceptionRenderer(told),
    ]
    structlog.configure(
        processors=[*shared, structlog.processors.JSONRenderer()],
        wrapper_class=structlog.make_filtering_bound_logger(_LEVELS.get(level.lower(), 20)),
        logger_factory=structlog.WriteLoggerFactory(sys.stdout),  # a line at once: processes share it
        cache_logger_on_first_use=True,
    )
    handler = logging.StreamHandler(sys.stdout)
    handler.setFormatter(
        ProcessorFormatter(
            processors=[ProcessorFormatter.remove_processors_meta, structlog.processors.JSONRenderer()],
            foreign_pre_chain=shared,
        )
    )
    logging.basicConfig(level=logging.WARNING, handlers=[handler], force=True)
    logging.captureWarnings(True)
    for name in _QUIET:
        logging.getLogger(name).setLevel(logging.CRITICAL)
    sys.excepthook = _uncaught
    threading.excepthook = lambda args: _uncaught(args.exc_type, args.exc_value, args.exc_traceback)


def told(exc_info: Any) -> str:
    """An exception and those behind it: where each was, and its words as far as they quote nobody."""
    return "\n".join(_lines(exc_info[1]))


def _lines(error: BaseException | None) -> Iterator[str]:
    if error is None:
        return
    behind = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    if behind is not None:
        yield from _lines(behind)
        yield "which led to:"
    yield from (line.rstrip() for line in traceback.format_tb(error.__traceback__))
    yield summary_of(error)


def summary_of(error: BaseException) -> str:
    """An error in one line."""
    return f"{type(error).__name__}: {words_of(error)}"


def words_of(error: BaseException) -> str:
    """What may be told of an error: of a database's its first line and code, without the row it quotes."""
    found: BaseException | None = getattr(error, "orig", error)  # SQLAlchemy's are around the driver's
    diagnosis = getattr(found, "diag", None)
    if diagnosis is not None:
        return f"{diagnosis.message_primary} [{getattr(found, 'pgcode', None)}]"
    return str(error)


def _uncaught(
    kind: type[BaseException], error: BaseException | None, trace: TracebackType | None = None
) -> None:
    if issubclass(kind, KeyboardInterrupt) or error is None:
        return
    log.error("uncaught", exc_info=(kind, error, trace))
