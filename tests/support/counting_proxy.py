"""A way to a server that counts the bytes which are sent there, and that can be cut."""

import socket
import socketserver
import threading
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

_CHUNK = 65_536


class CountingProxy(socketserver.ThreadingTCPServer):
    """Forwards connections to the server at `url`. `sent`: bytes from clients. While `is_cut`, it closes them."""

    daemon_threads = True
    allow_reuse_address = True

    def __init__(self, url: str) -> None:
        super().__init__(("127.0.0.1", 0), _Connection)
        there = urlsplit(url)
        self.there = (there.hostname or "127.0.0.1", there.port or 80)
        self.url = f"http://127.0.0.1:{self.server_address[1]}"
        self.sent = 0
        self.is_cut = False
        self._counting = threading.Lock()

    def count(self, sent: int) -> None:
        with self._counting:
            self.sent += sent

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that is killed in the middle is what this is for."""


class _Connection(socketserver.BaseRequestHandler):
    def handle(self) -> None:
        proxy = self.server
        assert isinstance(proxy, CountingProxy)
        if proxy.is_cut:
            return
        with socket.create_connection(proxy.there) as there:
            answers = threading.Thread(target=_copy, args=(there, self.request))
            answers.start()
            while data := self.request.recv(_CHUNK):
                proxy.count(len(data))
                there.sendall(data)
            there.shutdown(socket.SHUT_WR)
            answers.join()


def _copy(source: socket.socket, target: socket.socket) -> None:
    try:
        while data := source.recv(_CHUNK):
            target.sendall(data)
    except OSError:
        pass


@contextmanager
def counting_proxy(url: str) -> Generator[CountingProxy]:
    with CountingProxy(url) as proxy:
        thread = threading.Thread(target=proxy.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield proxy
        finally:
            proxy.shutdown()
            thread.join()
