"""Typed clients of a collector's query API, synchronous and asynchronous.

Each operation is declared once; `Client` and `AsyncClient` differ only in how they send it.  Lists that come page by
page are iterators, which fetch the next page when it is needed.  All other answers are the collector's JSON, typed by
`playhead.wire.operations`; a list in one is its `items`.

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
