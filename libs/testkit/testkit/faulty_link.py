"""A TCP proxy whose connections a test can cut, refuse or freeze. A frozen connection stays open but forwards no
bytes.
"""

import socket
import threading
from contextlib import suppress


class FaultyLink:
    """A running proxy: listens on `port` of 127.0.0.1 and forwards bytes to a target."""

    def __init__(self, target: tuple[str, int] | str) -> None:
        """Starts the proxy on a free port. `target` is a host and a port, or the path of a Unix socket."""
        self._target = target
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._flows = _flowing()
        self._frozen: list[threading.Event] = []
        self._refusing = False
        self._pairs: set[tuple[socket.socket, socket.socket]] = set()
        self._accepting = threading.Thread(target=self._accept, daemon=True)
        self._accepting.start()

    def cut(self) -> None:
        """Breaks all open connections. New connections work."""
        for pair in tuple(self._pairs):
            for end in pair:
                _shut(end)

    def lead_to(self, target: tuple[str, int] | str) -> None:
        """Changes the target for connections that are opened from now on."""
        self._target = target

    def refuse(self, refusing: bool) -> None:
        """Sets whether new connections are closed at once, as if no server were running."""
        self._refusing = refusing

    def freeze(self) -> None:
        """Freezes all open and future connections: they forward no bytes until `thaw`."""
        self._flows.clear()

    def freeze_what_is_open(self) -> None:
        """Freezes the open connections until `thaw`. New connections work."""
        self._frozen.append(self._flows)
        self._flows.clear()
        self._flows = _flowing()

    def thaw(self) -> None:
        for flows in (*self._frozen, self._flows):
            flows.set()

    def close(self) -> None:
        _shut(self._listener)
        self._accepting.join()
        self._listener.close()
        self.thaw()
        self.cut()

    def _accept(self) -> None:
        while True:
            try:
                near, _ = self._listener.accept()
            except OSError:
                return  # closed
            try:
                if self._refusing:
                    raise ConnectionRefusedError
                far = _connect(self._target)
            except OSError:
                near.close()
                continue
            near.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            threading.Thread(target=self._join, args=(near, far, self._flows), daemon=True).start()

    def _join(self, near: socket.socket, far: socket.socket, flows: threading.Event) -> None:
        """Forwards bytes between two sockets until both directions have ended."""
        pair = near, far
        self._pairs.add(pair)
        back = threading.Thread(target=self._pass_on, args=(far, near, flows), daemon=True)
        back.start()
        self._pass_on(near, far, flows)
        back.join()
        self._pairs.discard(pair)
        for end in pair:
            end.close()

    def _pass_on(self, source: socket.socket, sink: socket.socket, flows: threading.Event) -> None:
        with suppress(OSError):  # the other direction may have shut it
            while data := source.recv(65_536):
                flows.wait()
                sink.sendall(data)
        _shut(source)
        _shut(sink)


def _connect(target: tuple[str, int] | str) -> socket.socket:
    if isinstance(target, tuple):
        far = socket.create_connection(target)
        far.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return far
    far = socket.socket(socket.AF_UNIX)
    far.connect(target)
    return far


def _flowing() -> threading.Event:
    flows = threading.Event()
    flows.set()
    return flows


def _shut(end: socket.socket) -> None:
    with suppress(OSError):  # it may be shut already
        end.shutdown(socket.SHUT_RDWR)
