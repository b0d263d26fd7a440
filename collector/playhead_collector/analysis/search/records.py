"""[analysis]: what the search index keeps of a run, as values and as JSON.  Pure.

It keeps the run's decisions. The result of a tool call is kept as one word: see `result_of`.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from playhead.model.canonical import parse_json, text_of
from playhead.model.event import ToolFailed
from playhead.model.state import CANCELLED as RUN_CANCELLED
from playhead.projection.search_rows import number_of
from playhead_collector.analysis.transcript.failures import failure_text
from playhead_collector.analysis.transcript.transcript import ToolRun
from playhead_collector.json_bytes import json_bytes
from playhead_collector.read.values import ContentCache

# Of longer values, only the beginning is kept; they are compared by their hash.
SHOWN_LENGTH = 200


@dataclass(frozen=True, slots=True)
class SearchedValue:
    """An argument of a tool call: its path (`flights[0].date`) and its value as text. `source`, `suspect`: as in
    `ValueOrigin`; `source` None: the value was not traced."""

    path: str
    value: str
    source: str | None = None
    suspect: bool = False
    hash: int | None = None
    """Hash of the whole value if `value` is only its beginning, else None."""

    @classmethod
    def of(cls, path: str, value: str, source: str | None = None, *, suspect: bool = False) -> "SearchedValue":
        """Builds it from a value of any length: cuts a long value and computes its hash."""
        long = len(value) > SHOWN_LENGTH
        return cls(path, value[:SHOWN_LENGTH], source, suspect, number_of(value) if long else None)

    def equals(self, value: str) -> bool:
        """Whether this argument has the value."""
        return self.value == value if self.hash is None else self.hash == number_of(value)

    @property
    def names(self) -> set[str]:
        """Names by which a search can name the argument: its path, the path without indices, and its last key."""
        plain = "".join(part.partition("]")[2] if n else part for n, part in enumerate(self.path.split("[")))
        return {self.path, plain, plain.rpartition(".")[2]}


@dataclass(frozen=True, slots=True)
class SearchedDecision:
    """A decision. `kind` is tool_call, tool_request (a tool call that a model asked for and whose execution was not
    recorded), answer, handoff, branch, approval or stop.

    `result`: result of the tool call, see `result_of`. `after`: result of this agent's tool call that had ended last
    before; `first`: none had ended. `chosen`: the choice of a decision that is not about a tool.
    """

    seq: int
    kind: str
    time_ns: int
    agent: str | None = None
    tool: str | None = None
    attribution: str | None = None
    result: str | None = None
    after: str | None = None
    chosen: str | None = None
    values: Sequence[SearchedValue] = ()


@dataclass(frozen=True, slots=True)
class SearchRecord:
    """What the index keeps of a run."""

    status: str
    decisions: Sequence[SearchedDecision] = ()


# --- as JSON ---------------------------------------------------------------------------------------------------------


def encode(record: SearchRecord, started_ns: int) -> bytes:
    """Encodes a record as JSON. Times are stored relative to `started_ns`."""
    decisions = [_decision_to_json(decision, started_ns) for decision in record.decisions]
    return json_bytes({"status": record.status, "decisions": decisions})


def decode(body: bytes, started_ns: int) -> SearchRecord:
    """Decodes a record that `encode` wrote."""
    value: dict[str, Any] = parse_json(body)  # names and values may hold half a surrogate pair
    decisions = [_decision_from_json(decision, started_ns) for decision in value["decisions"]]
    return SearchRecord(value["status"], decisions)


def _decision_to_json(decision: SearchedDecision, started_ns: int) -> dict[str, Any]:
    fields = asdict(decision) | {"time_ns": decision.time_ns - started_ns}
    fields["values"] = [
        {name: value for name, value in asdict(searched_value).items() if value is not None and value is not False}
        for searched_value in decision.values
    ]
    return {name: value for name, value in fields.items() if value is not None and value != []}


def _decision_from_json(fields: dict[str, Any], started_ns: int) -> SearchedDecision:
    fields["time_ns"] += started_ns
    fields["values"] = [SearchedValue(**value) for value in fields.get("values", ())]
    return SearchedDecision(**fields)


# --- results of tool calls -------------------------------------------------------------------------------------------

OK, ERROR, EMPTY, CANCELLED, OPEN, UNKNOWN = "ok", "error", "empty", "cancelled", "open", "unknown"
FIRST = "first"
"""Value of `after` (not a result): no tool call had ended before."""
_EMPTY_TEXTS = frozenset({"", "[]", "{}", "null", "none", '""', "()"})
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
    if len(text) <= _LONGEST_EMPTY and text.strip().lower() in _EMPTY_TEXTS:
        return EMPTY
    return OK if failure_text(text) is None else ERROR
