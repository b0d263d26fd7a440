"""[analysis]: the decisions of a run, and where its texts entered it: as values, and as JSON of the index. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from playhead.model.canonical import parse_json
from playhead.model.ref import ContentRef
from playhead.project.search_rows import number_of
from playhead_collector.json_bytes import json_bytes

# Longer values are compared by their hash; of these, the beginning is shown.
SHOWN_LENGTH = 200


@dataclass(frozen=True, slots=True)
class SearchedValue:
    """An argument of a tool call: its path (`flights[0].date`), its value as text, and where that is from; None where
    that was not traced. `suspect`: see `ValueOrigin`."""

    path: str
    value: str
    source: str | None = None
    suspect: bool = False
    hash: int | None = None
    """Of the whole value, where `value` is only its beginning."""

    @classmethod
    def of(cls, path: str, value: str, source: str | None = None, *, suspect: bool = False) -> "SearchedValue":
        """A value of any length."""
        long = len(value) > SHOWN_LENGTH
        return cls(path, value[:SHOWN_LENGTH], source, suspect, number_of(value) if long else None)

    def equals(self, value: str) -> bool:
        """Whether this is the value."""
        return self.value == value if self.hash is None else self.hash == number_of(value)

    @property
    def names(self) -> set[str]:
        """By what it can be asked for: its path, the path without indices, and its last key."""
        plain = "".join(part.partition("]")[2] if n else part for n, part in enumerate(self.path.split("[")))
        return {self.path, plain, plain.rpartition(".")[2]}


@dataclass(frozen=True, slots=True)
class SearchedDecision:
    """A decision. `kind` is tool_call, tool_request (a tool call that a model asked for and whose execution was not
    recorded), answer, handoff, branch, approval or stop.

    `result`: what a tool call came to; `after`: the result of the tool call of this agent that ended last before it,
    `first` if there was none. `chosen`: what was decided, if no tool.
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
    """What the index keeps of a run. `seen`: the seq with which each searched content entered the run."""

    status: str
    decisions: Sequence[SearchedDecision] = ()
    seen: Mapping[ContentRef, int] = field(default_factory=dict[ContentRef, int])


def encode(record: SearchRecord, started_ns: int) -> bytes:
    """The record as JSON. Times are kept from `started_ns` on."""
    decisions = [_short(each, started_ns) for each in record.decisions]
    seen = {str(ref).removeprefix("sha256:"): seq for ref, seq in record.seen.items()}
    return json_bytes({"status": record.status, "decisions": decisions, "seen": seen})


def decode(body: bytes, started_ns: int) -> SearchRecord:
    """Reads what `encode` wrote."""
    value: dict[str, Any] = parse_json(body)  # names and values may hold half a surrogate pair
    decisions = [_long(each, started_ns) for each in value["decisions"]]
    seen = {ContentRef("sha256:" + digits): seq for digits, seq in value["seen"].items()}
    return SearchRecord(value["status"], decisions, seen)


def _short(decision: SearchedDecision, started_ns: int) -> dict[str, Any]:
    given = asdict(decision) | {"time_ns": decision.time_ns - started_ns}
    given["values"] = [
        {name: value for name, value in asdict(each).items() if value is not None and value is not False}
        for each in decision.values
    ]
    return {name: value for name, value in given.items() if value is not None and value != []}


def _long(given: dict[str, Any], started_ns: int) -> SearchedDecision:
    given["time_ns"] += started_ns
    given["values"] = [SearchedValue(**value) for value in given.get("values", ())]
    return SearchedDecision(**given)
