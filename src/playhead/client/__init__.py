"""Typed clients of a collector's query API, synchronous and asynchronous.

Each operation is described once, as a request; `Client` and `AsyncClient` differ only in how they send it.  Lists are
iterators that fetch the next page when it is needed.  Answers are the collector's JSON, typed by
`playhead.wire.answers`.

    operations  the operations of the API             operation  requests as objects, and client methods from them
    clients     `Client` and `AsyncClient`            exchange   the collector's address, the key, and errors
"""

from playhead.client.clients import AsyncClient, Client

__all__ = ["AsyncClient", "Client"]
