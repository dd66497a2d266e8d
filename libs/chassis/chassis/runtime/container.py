"""nameko's service containers, without the features that this project does not use."""

import sys
from collections.abc import Callable
from typing import Any

import structlog
from nameko.containers import ServiceContainer


class Container(ServiceContainer):
    """Runs each call in a worker, without nameko's call ids, timings and debug lines.

    This project reads none of these, and they took a seventh of the CPU time that the publishing service needs to
    schedule a post (November 2026).
    """

    def _run_worker(self, worker: Any, handle_result: Callable[..., tuple[Any, Any]] | None) -> None:
        self._inject_dependencies(worker)
        self._worker_setup(worker)
        result, failure = None, None
        try:
            result = getattr(worker.service, worker.entrypoint.method_name)(*worker.args, **worker.kwargs)
        except Exception:  # noqa: BLE001 - the entrypoint answers the caller with it
            failure = sys.exc_info()
        if handle_result is not None:
            result, failure = handle_result(worker, result, failure)
        self._worker_result(worker, result, failure)
        del failure  # with its traceback, which refers to this frame
        self._worker_teardown(worker)


class NamedContainer(Container):
    """The container of a service that shares its process: its log lines carry the service's name."""

    def spawn_managed_thread(self, fn: Callable[[], Any], identifier: str | None = None) -> Any:
        def named() -> Any:
            self._sign()
            return fn()

        return super().spawn_managed_thread(named, identifier)

    def _run_worker(self, worker: Any, handle_result: Callable[..., tuple[Any, Any]] | None) -> None:
        self._sign()
        super()._run_worker(worker, handle_result)

    def _sign(self) -> None:
        structlog.contextvars.bind_contextvars(service=self.service_name)
