"""uvicorn's HTTP/1.1 connection, with names for the state of it that `network.protocol` needs.

uvicorn documents no members of its protocol class, so all that is used of them is used here. Tested with uvicorn 0.54.
`tests/unit/compat/test_uvicorn.py` fails when a new version names or orders something in another way.
"""

from types import SimpleNamespace
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

# The cycle of a request that the application does not get: uvicorn asks it whether it is answered, and wakes it.
_ANSWERED: Any = SimpleNamespace(response_complete=True, message_event=SimpleNamespace(set=lambda: None))

Headers = tuple[tuple[bytes, bytes], ...]


class HttpConnection(HttpToolsProtocol):
    """One connection. Subclasses extend the callbacks of httptools: `on_message_begin`, `on_header`,
    `on_headers_complete`, `on_body`, `on_message_complete`."""

    # --- what comes in ------------------------------------------------------------------------------------------------

    def feed(self, data: bytes) -> None:
        """Parses received bytes, which calls the callbacks, and stops waiting for the next request.

        Raises HttpParserError of httptools for malformed bytes, and HttpParserUpgrade after a head that asks for
        another protocol. Errors of callbacks are the context of an HttpParserError.
        """
        self._unset_keepalive_if_required()
        self._parser().feed_data(data)

    @property
    def client_host(self) -> str:
        """The client's address without its port; empty if it is not known."""
        return self.client[0] if self.client else ""

    @property
    def method(self) -> bytes:
        """The method of the request that arrives, once its head is complete."""
        return self._parser().get_method()

    @property
    def path(self) -> bytes:
        """The path of the request that arrives, still quoted and without the query."""
        return self.url.partition(b"?")[0]

    @property
    def head_size(self) -> int:
        """Bytes of the head of the request that arrives: its URL and its headers."""
        return len(self.url) + sum(len(name) + len(value) + 4 for name, value in self.headers)

    @property
    def content_type(self) -> str:
        """The content type of the request that arrives, in lower case; empty if it has none."""
        found = next((value for name, value in self.headers if name == b"content-type"), b"")
        return found.decode("latin-1").lower()

    @property
    def is_kept_alive(self) -> bool:
        """Whether the request that arrives lets the connection stay open after its answer. To be asked in
        `on_headers_complete`: the parser forgets it at the end of the request."""
        parser = self._parser()
        return parser.get_http_version() != "1.0" and parser.should_keep_alive()

    def _parser(self) -> Any:
        return self.parser  # None only after the connection is lost

    # --- requests in progress -----------------------------------------------------------------------------------------

    @property
    def is_answering(self) -> bool:
        """Whether the application has a request of this connection that it has not answered completely."""
        return self.cycle is not None and not self.cycle.response_complete  # pyright: ignore[reportUnnecessaryComparison] - None before the first request

    @property
    def has_begun_answer(self) -> bool:
        """Whether the application has sent a part of an answer that is not complete."""
        return self.is_answering and self.cycle.response_started

    @property
    def requests_ahead(self) -> int:
        """Number of requests that wait until those before them are answered."""
        return len(self.pipeline)

    def close_after_answer(self) -> None:
        """Makes the answer of the application to the newest request the last one."""
        self.cycle.keep_alive = False

    def drop_requests_ahead(self) -> None:
        """Forgets the requests that wait. The answer to the newest request is the last one."""
        self.close_after_answer()
        self.pipeline.clear()

    def wake_application(self) -> None:
        """Tells an application that waits for the rest of a body that the client is gone."""
        if self.is_answering:
            self.cycle.disconnected = True
            self.cycle.message_event.set()

    # --- answers in place of the application --------------------------------------------------------------------------

    @property
    def default_headers(self) -> Headers:
        """Headers that every answer has: the date."""
        return tuple(self.server_state.default_headers)

    @property
    def is_answered_here(self) -> bool:
        """Whether the newest request was answered by `answer_here`."""
        return self.cycle is _ANSWERED

    def answer_here(self, answer: bytes) -> None:
        """Answers the request that arrives, whose head is complete, in place of the application. Its body is dropped by
        the caller. The connection then waits for the next request."""
        self.cycle = _ANSWERED
        self.transport.write(answer)
        self.on_response_complete()
