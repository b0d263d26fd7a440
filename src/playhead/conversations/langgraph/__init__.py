"""LangGraph's checkpointer and store, kept where conversations are.

    graph = builder.compile(checkpointer=PlayheadSaver(), store=PlayheadStore())

| module | what |
|---|---|
| `saver` | `PlayheadSaver`: threads, each a log of checkpoints and writes |
| `checkpoints` | that log, folded |
| `stored_values`, `differences` | values and differences, as records have them |
| `codec`, `configs`, `contents` | LangGraph's values, configurations; contents that were read |
| `store`, `items` | `PlayheadStore`: items by namespace and key, and the log of a namespace |
"""

try:
    import langgraph.checkpoint.base  # noqa: F401 # pyright: ignore[reportUnusedImport]
except ImportError as error:
    raise ImportError("playhead.conversations.langgraph needs LangGraph: pip install langgraph") from error

from playhead.conversations.langgraph.saver import PlayheadSaver
from playhead.conversations.langgraph.store import PlayheadStore

__all__ = ["PlayheadSaver", "PlayheadStore"]
