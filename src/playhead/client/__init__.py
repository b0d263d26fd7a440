"""Typed clients of a collector's query API, synchronous and asynchronous.

Each operation is described once, as a request; `Client` and `AsyncClient` differ only in how they send it.  Lists are
iterators that fetch the next page when it is needed.  Answers are the collector's JSON, typed by
`playhead.wire.operations`.

    clients     `Client` and `AsyncClient`            operations  the operations of the API, as their methods
    requests    requests as objects                   responses   the collector's address, the key, and errors
    watching    events of a run as they happen        promises    what this process's runs wait for
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
