"""The gunicorn worker: green threads, a limit on slow clients, and the API's own error for invalid HTTP."""

import socket
import time
from functools import partial
from http import HTTPStatus
from typing import Any

import gevent
from gevent.pool import Pool
from gevent.server import StreamServer
from gunicorn.glogging import Logger
from gunicorn.http.errors import ParseException
from gunicorn.workers.ggevent import GeventWorker

from chassis.ids import new_id
from contracts.errors import SERVER_ERROR, ApiError, invalid
from gateway.http.answers import refusal
from gateway.http.body import SENDING

#: How long, and how many bytes of, a request that is not HTTP are still read before its connection is closed: enough
#: for the rest of a usual request, little for an attacker.
_LINGER_SECONDS, _LINGER_BYTES = 1.0, 2**20
#: How often a worker tells gunicorn's main process that it lives, and looks whether it should stop.
_PULSE_SECONDS = 1.0


class Log(Logger):  # type: ignore[misc]
    """Sends gunicorn's own log lines through the same handler as all other log lines (`chassis.telemetry.logs`)."""

    def setup(self, cfg: Any) -> None:
        super().setup(cfg)
        self.error_log.propagate = True


class Worker(GeventWorker):  # type: ignore[misc]
    """gunicorn's worker with gevent. It also cuts off clients that send a body too slowly. When it is told to stop, it
    ends as soon as its last connection is closed.

    gunicorn's `keepalive` closes connections that are idle or still send a request's head.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._idle: set[socket.socket] = set()

    def run(self) -> None:
        """Accepts connections until the process is told to stop. Then waits for those that are open, at most until the
        graceful timeout.

        gunicorn's own method checks only once a second whether they are closed, and nothing listens on the port
        meanwhile.
        """
        connections = Pool(self.worker_connections)
        servers = []
        for listener in self.sockets:
            listener.setblocking(True)
            server = StreamServer(listener, handle=partial(self.handle, listener), spawn=connections)
            if self.cfg.workers > 1:
                server.max_accept = 1  # leaves the next connection to the other workers
            server.start()
            servers.append(server)
        while self.alive:
            self.notify()
            gevent.sleep(_PULSE_SECONDS)
        for server in servers:
            server.close()
        give_up_at = time.monotonic() + self.cfg.graceful_timeout
        while not connections.join(timeout=_PULSE_SECONDS) and time.monotonic() < give_up_at:
            self.notify()
        if connections:
            self.log.warning("Open connections are cut after the graceful timeout (pid:%s)", self.pid)
            connections.kill(timeout=_PULSE_SECONDS)

    def handle(self, listener: Any, client: socket.socket, address: Any) -> None:
        self._idle.add(client)
        try:
            super().handle(listener, client, address)
        finally:
            self._idle.discard(client)

    def handle_request(self, listener_name: Any, req: Any, sock: socket.socket, address: Any) -> None:
        self._idle.discard(sock)
        SENDING.watch(sock)
        try:
            super().handle_request(listener_name, req, sock, address)
        finally:
            SENDING.forget(sock)
            self._idle.add(sock)
            if not self.alive:
                _end_reading(sock)

    def handle_exit(self, sig: int, frame: Any) -> None:
        """Begins the shutdown: connections that wait for their next request are closed at once."""
        super().handle_exit(sig, frame)
        for client in tuple(self._idle):
            _end_reading(client)

    def handle_error(self, req: Any, client: Any, addr: Any, exc: BaseException) -> None:
        """Answers a request that cannot be parsed: malformed lines or headers, or a head that is too long."""
        if isinstance(exc, ParseException):
            error = invalid("request", str(exc)[:200])
        else:
            self.log.exception("Error handling request")
            error = ApiError(SERVER_ERROR)
        request_id = new_id("req")
        answer = refusal(error, request_id)
        headers = {
            "Connection": "close",
            "Content-Type": answer.content_type,
            "Content-Length": str(len(answer.whole)),
            **answer.http_headers(request_id),
        }
        lines = [f"HTTP/1.1 {answer.status} {HTTPStatus(answer.status).phrase}"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        head = "\r\n".join([*lines, "", ""])
        try:
            client.sendall(head.encode("latin-1") + answer.whole)
            _linger(client)
        except OSError:
            self.log.debug("The client did not wait for the error.")


def _linger(client: socket.socket) -> None:
    """Reads for a moment what the client still sends, because closing a connection with unread bytes resets it before
    the client sees the answer."""
    client.shutdown(socket.SHUT_WR)
    client.settimeout(_LINGER_SECONDS)
    read = 0
    while read < _LINGER_BYTES and (piece := client.recv(65_536)):
        read += len(piece)


def _end_reading(client: Any) -> None:
    """Ends the socket's reading side without gevent: gevent's shutdown raises an error in the reader, and gunicorn
    would log it."""
    try:
        client._sock.shutdown(socket.SHUT_RD)
    except OSError:
        return  # the connection is closed already
