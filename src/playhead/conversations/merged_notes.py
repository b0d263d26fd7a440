"""Two versions of a scope's notes, put together note by note. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from playhead.model.canonical import canonical_json
from playhead.model.digest import sha256
from playhead.model.json_value import Json, list_of, text_at

_DIGITS: Final = 8
_Key = tuple[str, str]


@dataclass(frozen=True, slots=True)
class MergedNotes:
    """`notes`: what both writers have, oldest first. `disputed`: kind and id of the notes that both have changed."""

    notes: list[Json]
    disputed: list[_Key]


def merged_notes(base: Sequence[Json], ours: Sequence[Json], theirs: Sequence[Json]) -> MergedNotes:
    """Returns the notes of both writers, who began with `base`.

    What only one has changed or removed is changed or removed. A note that both have changed keeps the aliases of both;
    if title or text differ, `ours` stands beside `theirs` as another note, with `#` and a digest after its id, so that
    both are found. A note that one has changed and the other has removed stays.
    """
    before, mine, others = _by_key(base), _by_key(ours), _by_key(theirs)
    notes = dict(others)
    disputed: list[_Key] = []
    for key in [key for key in before if key not in mine]:
        if key in others and others[key] != before[key]:
            disputed.append(key)
        else:
            notes.pop(key, None)
    for key, note in mine.items():
        if note == before.get(key):
            continue
        other = others.get(key)
        if other is None:
            if key in before:
                disputed.append(key)
            _put_last(notes, key, note)
        elif other == before.get(key):
            _put_last(notes, key, note)
        elif other != note:
            _put_both(notes, key, note, other, disputed)
    return MergedNotes([*notes.values()], disputed)


def _put_both(notes: dict[_Key, Json], key: _Key, ours: Json, theirs: Json, disputed: list[_Key]) -> None:
    aliases = [*dict.fromkeys([*list_of(theirs.get("aliases")), *list_of(ours.get("aliases"))])]
    if (ours.get("title"), ours.get("text")) != (theirs.get("title"), theirs.get("text")):
        disputed.append(key)
        digest = sha256(canonical_json(ours)).hexdigest()[:_DIGITS]
        beside = (key[0], f"{key[1]}#{digest}")
        _put_last(notes, beside, {**ours, "id": beside[1]})
    elif aliases != theirs.get("aliases"):
        _put_last(notes, key, {**theirs, "aliases": aliases})


def _put_last(notes: dict[_Key, Json], key: _Key, note: Json) -> None:
    notes.pop(key, None)
    notes[key] = note


def _by_key(notes: Sequence[Json]) -> Mapping[_Key, Json]:
    return {(text_at(note, "kind"), text_at(note, "id")): note for note in notes}
