"""Asks a collector's query API: typed, synchronous or not.

Each question is described once, as a value; `Client` and `AsyncClient` differ only in how they send it.  Lists are
iterators that fetch the next page when it is needed.  Answers are the collector's JSON, typed by
`playhead.wire.answers`.

    operations  what can be asked                     operation  a question as a value, and as a method
    clients     two ways to ask                       exchange   where to ask, and what failures mean
"""

from playhead.client.clients import AsyncClient, Client

__all__ = ["AsyncClient", "Client"]
