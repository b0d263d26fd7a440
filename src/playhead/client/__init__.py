"""Typed clients of a collector's query API, synchronous and asynchronous.

Each operation is described once, as a request; `Client` and `AsyncClient` differ only in how they send it.  Lists are
iterators that fetch the next page when it is needed.  Answers are the collector's JSON, typed by
`playhead.wire.operations`.

    operations  the operations of the API             operation  requests as objects, and client methods from them
    clients     `Client` and `AsyncClient`            exchange   the collector's address, the key, and errors
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from playhead.client.clients import AsyncClient, Client

__all__ = ["AsyncClient", "Client"]


def __getattr__(name: str) -> Any:
    """Imports the clients on first use, because they import an HTTP library, which the operations do not need."""
    if name not in __all__:
        raise AttributeError(f"module 'playhead.client' has no attribute {name!r}")
    from playhead.client import clients  # noqa: PLC0415 - see above

    return getattr(clients, name)
