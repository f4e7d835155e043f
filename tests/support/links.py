"""Bytes over a link, for tests of networks of containers and of servers."""

import socket
import threading
import time
from functools import partial

from parity.extensions.network_namespace import Namespace


def send(origin: Namespace, address: str, amount: int, there: Namespace | None = None) -> float:
    """Send bytes over TCP to an address of a namespace or of the host; seconds till all arrived."""
    listen = partial(socket.create_server, (address, 0))
    heard: list[int] = []
    with there.inside(listen) if there else listen() as listening:
        connect = partial(socket.create_connection, listening.getsockname(), 10)
        with origin.inside(connect) as speaker:
            hearer = threading.Thread(target=lambda: heard.append(_hear(listening)))
            began = time.monotonic()
            hearer.start()
            speaker.sendall(bytes(amount))
            speaker.shutdown(socket.SHUT_WR)
            hearer.join()
            took = time.monotonic() - began
    assert heard == [amount]
    return took


def _hear(listening: socket.socket) -> int:
    with listening.accept()[0] as hearer:
        return sum(iter(lambda: len(hearer.recv(1 << 16)), 0))
