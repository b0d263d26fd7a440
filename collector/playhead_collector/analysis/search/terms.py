"""[analysis]: terms: hashes of the properties of a run's decisions, by which the run is found. Pure.

A run has a term for each property of each decision, and for some combinations of properties of one decision, so that
a search finds few runs that do not match. Two properties may have the same hash, very rarely, so a search also compares
the decisions themselves.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations

from playhead.projection.search_rows import number_of
from playhead_collector.analysis.search.records import SearchedDecision, SearchedValue, SearchRecord


@dataclass(frozen=True, slots=True)
class DecisionConditions:
    """Conditions of a search for decisions. All must hold; None: no condition.

    `arguments`: name and value of arguments that the call must all have. `value`: the value of any argument. `source`
    and `suspect` must hold for one of the arguments that `arguments` and `value` name, or for any argument if they name
    none. `status`: status of the run.
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

    def matches(self, decision: SearchedDecision) -> bool:
        """Whether a decision meets the conditions, except `status`, which the caller compares."""
        wanted = ((name, getattr(self, name)) for name in (*_TOGETHER, "kind", "agent"))
        if any(value is not None and getattr(decision, name) != value for name, value in wanted):
            return False
        named = [[argument for argument in decision.values if name in argument.names and argument.equals(value)]
                 for name, value in self.arguments]  # fmt: skip
        if self.value is not None:
            named.append([argument for argument in decision.values if argument.equals(self.value)])
        if not all(named):
            return False
        if self.source is None and self.suspect is None:
            return True
        values = [argument for group in named for argument in group] if named else decision.values
        return any(self._is_from(argument) for argument in values)

    def _is_from(self, value: SearchedValue) -> bool:
        if self.source is not None and value.source != self.source:
            return False
        return self.suspect is None or value.suspect == self.suspect


_TOGETHER = ("tool", "attribution", "result", "after")


def terms_of(record: SearchRecord) -> set[int]:
    """Returns the terms of a run."""
    terms = {_term({"status": record.status})}
    for decision in record.decisions:
        terms.update(map(_term, _properties(decision)))
    return terms


def query_terms(conditions: DecisionConditions) -> list[int]:
    """Returns the terms of these conditions. A run has all of them if one of its decisions meets the conditions."""
    terms: list[dict[str, str]] = []
    if together := _present(conditions, _TOGETHER):
        terms.append(together)
    terms += ({name: value} for name, value in _present(conditions, ("kind", "agent", "status")).items())
    terms += ({f"argument {name}": value} for name, value in conditions.arguments)
    tool = _present(conditions, ("tool",))
    if conditions.value is not None:
        terms.append({"value": conditions.value})
    if conditions.source is not None:
        terms.append({"source": conditions.source, **tool})
    if conditions.suspect:
        terms.append({"suspect": "yes", **tool})
    return [_term(term) for term in terms]


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


def _present(item: SearchedDecision | DecisionConditions, names: tuple[str, ...]) -> dict[str, str]:
    return {name: value for name in names if (value := getattr(item, name)) is not None}


def _whole(value: SearchedValue) -> str:
    """The text of a value; of a long one, the hash of its whole text."""
    return value.value if value.hash is None else f"#{value.hash}"


def _term(properties: Mapping[str, str]) -> int:
    number = number_of("\x1f".join(f"{name}\x1e{_bounded(value)}" for name, value in properties.items()))
    return number or 0


def _bounded(value: str) -> str:
    return _whole(SearchedValue.of("", value))
