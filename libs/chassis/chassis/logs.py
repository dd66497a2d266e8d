"""Logging: one JSON line an event, on standard output. Never a token, a secret or a message body."""

import logging
import sys

import structlog

_LEVELS = {"debug": 10, "info": 20, "warning": 30, "error": 40}


def _named(service: str) -> structlog.types.Processor:
    """Every line says whose it is, from whichever thread it comes; services that share a process sign their own."""

    def name(_logger: object, _method: str, event: structlog.types.EventDict) -> structlog.types.EventDict:
        event.setdefault("service", service)
        return event

    return name


def configure(service: str, level: str = "info") -> None:
    """Sets up structlog and quietens libraries that log what we log ourselves."""
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            _named(service),
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            structlog.processors.JSONRenderer(),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(_LEVELS.get(level.lower(), 20)),
        logger_factory=structlog.PrintLoggerFactory(sys.stdout),
        cache_logger_on_first_use=True,
    )
    logging.basicConfig(level=logging.WARNING, stream=sys.stdout)
    logging.getLogger("nameko").setLevel(logging.CRITICAL)
    logging.getLogger("pika").setLevel(logging.CRITICAL)
