"""[analysis]: finds where facts of removed messages still occur after a compression.  Pure."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from playhead.wire.operations.compression import KeptIn
from playhead_collector.analysis.compression.facts import Fact, FactIndex
from playhead_collector.analysis.texts.passages import Passage

IN_SUMMARY, IN_SYSTEM, IN_KEPT = "summary", "system", "kept"
_SORTS = (IN_SUMMARY, IN_SYSTEM, IN_KEPT)
# Texts of each sort that are searched for a fact word by word. In further texts, only the sort is reported.
_MAX_TEXTS = 1_000


@dataclass(slots=True)
class ContextLeft:
    """The texts of the context after a compression, by sort: the summary, the system instructions, and messages that
    were kept or are new."""

    whole: FactIndex = field(default_factory=FactIndex)
    """Index of all texts."""
    _texts: dict[str, list[Passage]] = field(default_factory=lambda: {where: list[Passage]() for where in _SORTS})
    _indexes: dict[str, FactIndex] = field(default_factory=lambda: {where: FactIndex() for where in _SORTS})

    def add(self, where: str, passage: Passage) -> None:
        """Adds a text of the sort `where`."""
        self.whole.add(passage.text)
        self._indexes[where].add(passage.text)
        self._texts[where].append(passage)

    def places_of(self, fact: Fact) -> list[KeptIn]:
        """Returns one place for each sort that has the fact: its first literal occurrence, else (in another form) only
        the sort."""
        return [
            next(self._literally(where, fact), _somewhere(where)) for where in _SORTS if self._indexes[where].has(fact)
        ]

    def _literally(self, where: str, fact: Fact) -> Iterator[KeptIn]:
        for passage in self._texts[where][:_MAX_TEXTS]:
            start = passage.text.find(fact.text)
            if start >= 0:
                place = _somewhere(where)
                end = start + len(fact.text)
                yield {**place, "ref": passage.content, "part": passage.part, "start": start, "end": end}


def _somewhere(where: str) -> KeptIn:
    return {"where": where, "ref": None, "part": None, "start": None, "end": None}
