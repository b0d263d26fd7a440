"""[analysis]: finds values that belong to another subject: a call names one order, but passes a card that occurs only
in the record of another order. Pure.

The subjects of a call are the identifiers among its outermost arguments (`order_id`). Each occurrence of a value has
records: the JSON objects around it, and the arguments of the call in whose result it occurs. The value belongs to
another subject if all of this holds:

- at each occurrence, a record has another value than the call under the subject's name (the argument's name, or the
  name by which results have the subject);
- no record has the subject of the call;
- no user or system message contains the value.

One occurrence without a subject, such as a user's list of cards, is enough to clear the value.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice

from playhead_collector.analysis.texts.json_records import JsonRecord
from playhead_collector.analysis.texts.passages import MAX_HITS, RESULT, SYSTEM, USER, ContextIndex, Hit
from playhead_collector.analysis.texts.words import fold, name_words, read_date, words_in, written
from playhead_collector.analysis.transcript.arguments import Scalar, TracedCall, is_distinctive, is_identifier, scalars

# Generic keys: they name a subject only together with the key of the object that they are in.
_GENERIC = {"id", "key", "code", "name", "number", "no", "ref", "uuid", "value", "type", "status"}
_MAX_SUBJECTS, _MAX_ARGUMENTS = 8, 64
# Longer texts are no identifiers. str() refuses integers of more than 4,300 digits.
_MAX_NAME_LENGTH, _LARGEST = 128, 10**64

Name = tuple[str, str]
"""Name of an identifier: its key and, if the key is generic, the key of the object that it is in (else ""). For an
identifier that is itself the key of an object (`orders: {"W1": {...}}`): "" and the key of the outer object."""


@dataclass(frozen=True, slots=True)
class SubjectMismatch:
    """The traced value occurs only in records of the subjects `others`; the call has the subject `value` at `path`."""

    path: str
    value: str
    others: tuple[str, ...]

    @property
    def note(self) -> str:
        """The mismatch as a sentence."""
        return f"stands in the context only with {', '.join(self.others[:3])}, and the call names {self.value}"


@dataclass(slots=True)
class Subjects:
    """The subjects of one call, and their names in the context."""

    index: ContextIndex
    traced: TracedCall
    _named: list[tuple[str, str]] | None = None
    _names: dict[str, set[Name]] = field(default_factory=dict[str, set[Name]])

    def mismatch(self, path: str, value: Scalar, hits: Sequence[Hit]) -> SubjectMismatch | None:
        """Returns the other subjects to which the value belongs, or None. `hits`: all occurrences of the value."""
        in_results = [hit for hit in hits if hit.passage.source == RESULT]
        if isinstance(value, int) and abs(value) >= _LARGEST:
            return None
        if not in_results or len(hits) >= MAX_HITS or any(hit.passage.source in (USER, SYSTEM) for hit in hits):
            return None
        around = [list(self._around(hit)) for hit in in_results]
        subjects = [(other, named) for other, named in self._subjects() if other != path and named != str(value)]
        if any(_has(record, named) for records in around for record in records for _, named in subjects):
            return None
        for other, named in subjects:
            owners = [self._owner(records, other, named, str(value)) for records in around]
            if all(owners):
                return SubjectMismatch(other, named, tuple(dict.fromkeys(owner for owner in owners if owner)))
        return None

    def _subjects(self) -> list[tuple[str, str]]:
        """Path and value of the identifiers among the outermost arguments."""
        if self._named is None:
            identifiers = [
                (path, written(value)) for path, value in self.traced.values if _is_identifying(_leaf(path), value)
            ]
            depths = [_depth(path) for path, _ in identifiers]
            least = min(depths, default=0)
            outer = [identifier for identifier, depth in zip(identifiers, depths, strict=True) if depth == least]
            self._named = outer[:_MAX_SUBJECTS]
        return self._named

    def _around(self, hit: Hit) -> Iterator[JsonRecord]:
        """The JSON objects around an occurrence, and the arguments of the call whose result it is in."""
        record = self.index.records(hit.passage).at(hit.start)
        if record is not None:
            yield from record.chain()
        arguments = self.traced.arguments_behind(hit.passage)
        if isinstance(arguments, dict):
            arguments_record = JsonRecord(0, "", None, in_list=False)
            for path, value in islice(scalars(arguments), _MAX_ARGUMENTS):
                if isinstance(value, str) or _is_identifying(path, value):
                    arguments_record.members.setdefault(path, written(value))
            yield arguments_record

    def _owner(self, records: Sequence[JsonRecord], path: str, named: str, value: str) -> str | None:
        """The value of another subject that one of these objects has, or None."""
        for record in records:
            for name in self._names_of(path, named):
                owner = _called(record, name)
                if owner is not None and fold(owner) != fold(value) and _is_identifying(name[0] or _leaf(path), owner):
                    return owner
        return None

    def _names_of(self, path: str, named: str) -> set[Name]:
        """The names of this identifier: the name of the argument, and its names in results."""
        if path not in self._names:
            names = {(_leaf(path), "")} if _is_specific(_leaf(path)) else set[Name]()
            words = [word for word, _, _ in words_in(named)]
            for hit in self.index.find(words, self.traced.visible):
                record = self.index.records(hit.passage).at(hit.start) if hit.passage.source == RESULT else None
                for name in _names_in(record, named) if record is not None else ():
                    names.add(name)
            self._names[path] = names
        return self._names[path]


def _names_in(record: JsonRecord, named: str) -> Iterator[Name]:
    for key, value in record.members.items():
        if value == named and (_is_specific(key) or record.key):
            yield (key, "" if _is_specific(key) else record.key)
    if named in record.inner and record.key:
        yield ("", record.key)


def _called(record: JsonRecord, name: Name) -> str | None:
    """The object's value under this name, or None."""
    key, within = name
    if key:
        return record.members.get(key) if not within or record.key == within else None
    around = record.around
    return record.key if around is not None and around.key == within and not record.in_list else None


def _has(record: JsonRecord, named: str) -> bool:
    return (record.key == named and not record.in_list) or named in record.members.values()


def _is_specific(key: str) -> bool:
    return bool(key) and not set(name_words(key)) <= _GENERIC


def _leaf(path: str) -> str:
    return path.rpartition(".")[2].partition("[")[0]


def _depth(path: str) -> int:
    return path.count(".") + path.count("[")


def _is_identifying(key: str, value: Scalar) -> bool:
    """Whether the value looks like an identifier, or its key ends in `id` or `uuid`. A date is no identifier."""
    text = str(value) if isinstance(value, int) and not isinstance(value, bool) and abs(value) < _LARGEST else value
    if not isinstance(text, str) or len(text) > _MAX_NAME_LENGTH or read_date(text) is not None:
        return False
    called = name_words(key)[-1:]
    return is_identifier(text) or (called in (["id"], ["uuid"]) and is_distinctive(text) and " " not in text)
