"""[analysis]: the result of a tool call, in one word. Pure."""

from playhead.model.event import ToolFailed
from playhead.model.state import CANCELLED as RUN_CANCELLED
from playhead_collector.analysis.transcript.failures import failure_text
from playhead_collector.analysis.transcript.transcript import ToolRun
from playhead_collector.read.values import ContentCache, text_of

OK, ERROR, EMPTY, CANCELLED, OPEN, UNKNOWN = "ok", "error", "empty", "cancelled", "open", "unknown"
FIRST = "first"
"""Value of `after` (not a result): no tool call had ended before."""
_NOTHING = frozenset({"", "[]", "{}", "null", "none", '""', "()"})
# Longer texts are not empty.
_LONGEST_EMPTY = 100


def result_of(tool: ToolRun, cache: ContentCache) -> str:
    """Classifies a tool call: `ok`, `error` (it raised, or its result reports an error), `empty` (nothing, or an empty
    list, object or text), `cancelled`, `open` (it has not ended) or `unknown` (its result was not recorded)."""
    if tool.end is None:
        return OPEN
    if isinstance(tool.end, ToolFailed):
        return CANCELLED if tool.end.outcome == RUN_CANCELLED else ERROR
    if tool.end.result is None:
        return UNKNOWN
    return result_in(cache.parsed(tool.end.result), missing=bool(cache.missing and tool.end.result in cache.missing))


def result_in(value: object, *, missing: bool = False) -> str:
    """Classifies a returned value: `ok`, `error`, `empty` or `unknown`."""
    if missing:
        return UNKNOWN
    text = text_of(value)
    if len(text) <= _LONGEST_EMPTY and text.strip().lower() in _NOTHING:
        return EMPTY
    return OK if failure_text(text) is None else ERROR
