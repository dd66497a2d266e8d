"""The gunicorn worker: threads, with a bound on slow clients and the API's own words for what is not HTTP."""

from http import HTTPStatus
from typing import Any

from gunicorn import util
from gunicorn.http.errors import ParseException
from gunicorn.workers.gthread import ThreadWorker

from chassis.ids import new_id
from contracts.errors import SERVER_ERROR, ApiError, invalid
from gateway.answers import refusal
from gateway.arrivals import ARRIVALS


class Worker(ThreadWorker):  # type: ignore[misc]
    """gthread; see the module."""

    def handle(self, conn: Any) -> Any:
        ARRIVALS.begins(conn.sock)
        try:
            return super().handle(conn)
        finally:
            ARRIVALS.arrived(conn.sock)

    def handle_error(self, req: Any, client: Any, addr: Any, exc: BaseException) -> None:
        """Answers what never became a request: malformed lines and headers, heads that are too long."""
        if isinstance(exc, ParseException):
            error = invalid("request", str(exc)[:200])
        else:
            self.log.exception("Error handling request")
            error = ApiError(SERVER_ERROR)
        request_id = new_id("req")
        answer = refusal(error, request_id)
        head = (
            f"HTTP/1.1 {answer.status} {HTTPStatus(answer.status).phrase}\r\n"
            f"Connection: close\r\nContent-Type: application/json\r\nX-Request-Id: {request_id}\r\n"
            f"Content-Length: {len(answer.body)}\r\n\r\n"
        )
        try:
            util.write_nonblock(client, head.encode("latin-1") + answer.body)
        except OSError:
            self.log.debug("The client did not wait for the error.")
