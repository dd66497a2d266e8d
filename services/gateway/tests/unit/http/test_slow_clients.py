"""The gateway closes the connection of a client that keeps it waiting."""

import socket

from gateway.http.body import SlowClients


def test_a_slow_client_is_cut_off_and_a_quick_one_is_not() -> None:
    now = [0.0]
    clients = SlowClients(socket.SHUT_RD, monotonic=lambda: now[0])
    slow, slow_peer = socket.socketpair()
    quick, quick_peer = socket.socketpair()
    with slow, slow_peer, quick, quick_peer:
        clients.watch(slow)
        clients.watch(quick)
        clients.forget(quick)
        now[0] = 15.5
        assert clients.cut_late(15.0) == 1
        assert slow.recv(1) == b""
        quick_peer.send(b"x")
        assert quick.recv(1) == b"x"
