"""Logging: one JSON line per event on standard output. Never a token, a secret or a message body.

Log lines of libraries and of Python itself (warnings, uncaught exceptions) use the same format. An exception is logged
with its traceback and message. The message of a database's error is shortened, because it quotes the row.
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
#: Libraries whose lines would repeat ours, or, from urllib3, contain URLs with their queries.
_QUIET = ("nameko", "pika", "urllib3")

log = structlog.get_logger()


def _named(service: str) -> Processor:
    """Returns a structlog processor that adds `service` to log lines. A service that shares its process with others
    binds its own name, which is kept.
    """

    def name(_logger: object, _method: str, event: EventDict) -> EventDict:
        event.setdefault("service", service)
        return event

    return name


def configure(service: str, level: str = "info") -> None:
    """Configures structlog, and routes the log lines of libraries to it."""
    shared: list[Processor] = [
        structlog.contextvars.merge_contextvars,
        tracing.add_ids,
        _named(service),
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.ExceptionRenderer(format_exception),
    ]
    structlog.configure(
        processors=[*shared, structlog.processors.JSONRenderer()],
        wrapper_class=structlog.make_filtering_bound_logger(_LEVELS.get(level.lower(), 20)),
        logger_factory=structlog.WriteLoggerFactory(sys.stdout),  # whole lines, because processes share it
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


def format_exception(exc_info: Any) -> str:
    """Formats an exception and its causes, with tracebacks and messages. From a database's error it leaves out the row
    that the message quotes.
    """
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
    """Formats an error in one line."""
    return f"{type(error).__name__}: {message_of(error)}"


def message_of(error: BaseException) -> str:
    """Returns an error's message. For an error of the database, returns only the first line and the code, without the
    quoted row.
    """
    found: BaseException | None = getattr(error, "orig", error)  # SQLAlchemy's errors wrap the driver's
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
