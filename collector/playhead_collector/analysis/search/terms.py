"""[analysis]: terms: numbers that stand for what the decisions of a run are. Pure.

A run has a term for each property of each of its decisions, and for combinations of some of them in one decision, so
that most questions lead to few runs besides those that are asked for. Terms are hashes: two properties may have the
same one, very rarely, so whoever asks compares the decisions themselves.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations

from playhead.project.search_rows import number_of
from playhead_collector.analysis.search.records import SearchedDecision, SearchedValue, SearchRecord


@dataclass(frozen=True, slots=True)
class DecisionConditions:
    """Which decisions are asked for: all conditions must hold, None means any.

    `arguments`: names and values, each of which the call must have; `value`: a value of any argument. `source` and
    `suspect` say where a value is from: one of those that `arguments` and `value` name, or any if they name none.
    `status`: of the run.
    """

    kind: str | None = None
    tool: str | None = None
    arguments: tuple[tuple[str, str], ...] = ()
    value: str | None = None
    attribution: str | None = None
    source: str | None = None
    suspect: bool | None = None
    result: str | None = None
    after: str | None = None
    agent: str | None = None
    status: str | None = None

    def meet(self, decision: SearchedDecision) -> bool:
        """Whether the conditions hold for a decision of a run with the right status."""
        asked = ((name, getattr(self, name)) for name in (*_TOGETHER, "kind", "agent"))
        if any(value is not None and getattr(decision, name) != value for name, value in asked):
            return False
        named = [[each for each in decision.values if name in each.names and each.equals(value)]
                 for name, value in self.arguments]  # fmt: skip
        if self.value is not None:
            named.append([each for each in decision.values if each.equals(self.value)])
        if not all(named):
            return False
        if self.source is None and self.suspect is None:
            return True
        values = [each for some in named for each in some] if named else decision.values
        return any(self._is_from(each) for each in values)

    def _is_from(self, value: SearchedValue) -> bool:
        if self.source is not None and value.source != self.source:
            return False
        return self.suspect is None or value.suspect == self.suspect


_TOGETHER = ("tool", "attribution", "result", "after")


def terms_of(record: SearchRecord) -> set[int]:
    """The terms of a run."""
    terms = {_term({"status": record.status})}
    for decision in record.decisions:
        terms.update(map(_term, _properties(decision)))
    return terms


def terms_asked(asked: DecisionConditions) -> list[int]:
    """The terms that a run has if one of its decisions meets these conditions."""
    terms: list[dict[str, str]] = []
    if together := _present(asked, _TOGETHER):
        terms.append(together)
    terms += ({name: value} for name, value in _present(asked, ("kind", "agent", "status")).items())
    terms += ({f"argument {name}": value} for name, value in asked.arguments)
    tool = _present(asked, ("tool",))
    if asked.value is not None:
        terms.append({"value": asked.value})
    if asked.source is not None:
        terms.append({"source": asked.source, **tool})
    if asked.suspect:
        terms.append({"suspect": "yes", **tool})
    return [_term(each) for each in terms]


def _properties(decision: SearchedDecision) -> Iterator[dict[str, str]]:
    together = _present(decision, _TOGETHER)
    for size in range(1, len(together) + 1):
        yield from map(dict, combinations(together.items(), size))
    yield from ({name: value} for name, value in _present(decision, ("kind", "agent")).items())
    tool = _present(decision, ("tool",))
    for value in decision.values:
        yield {"value": _whole(value)}
        yield from ({f"argument {name}": _whole(value)} for name in value.names)
        if value.source is not None:
            yield {"source": value.source}
            yield {"source": value.source, **tool}
        if value.suspect:
            yield {"suspect": "yes"}
            yield {"suspect": "yes", **tool}


def _present(given: SearchedDecision | DecisionConditions, names: tuple[str, ...]) -> dict[str, str]:
    return {name: value for name in names if (value := getattr(given, name)) is not None}


def _whole(value: SearchedValue) -> str:
    """The text of a value; of a long one, the number of its whole text."""
    return value.value if value.hash is None else f"#{value.hash}"


def _term(properties: Mapping[str, str]) -> int:
    number = number_of("\x1f".join(f"{name}\x1e{_bounded(value)}" for name, value in properties.items()))
    return number or 0


def _bounded(value: str) -> str:
    return _whole(SearchedValue.of("", value))
