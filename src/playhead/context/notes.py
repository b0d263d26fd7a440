"""Notes outside the context window: what an agent should find again by a name that somebody uses for it.

    notes = playhead.notes("user-7")
    notes.put("workflow", "wf-123", title="Daily task report", aliases=["my task workflow"])
    notes.find("my task workflow")[0].id       # "wf-123"
    notes.render(max_tokens=300)               # for a prompt

Notes are kept as conversations are: at the collector while it answers, else in the journal's folder, one file for each
scope. In a run, what is read of them is recorded, so that a resumed run reads what it read before, and nothing is
written twice.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, cast

from playhead.api.note_store import note_store
from playhead.api.observe import observe
from playhead.calls.lifecycle import current_span
from playhead.context.context import in_thread
from playhead.model.json_value import Json, float_at, list_of, object_at, text_at
from playhead.model.token_estimates import estimate_value

_WORD = re.compile(r"\w{1,100}+")
_MOST_NOTES, _MOST_CHARACTERS = 10_000, 20_000
# How well a name fits: the whole name, its beginning, all words of the query, or this share of them.
_WHOLE, _BEGINNING, _ALL_WORDS, _LEAST_SHARE = 1.0, 0.9, 0.8, 0.5


@dataclass(frozen=True, slots=True)
class TitledNote:
    """A note. `kind` and `id` say what it is about, and which one; `text` is what else is known."""

    kind: str
    id: str
    title: str
    aliases: tuple[str, ...] = ()
    text: str = ""


@dataclass(frozen=True, slots=True)
class NoteMatch:
    """A note that was found. `score`: how well the name fits, above 0 up to 1; `matched`: the title or alias."""

    note: TitledNote
    score: float
    matched: str

    @property
    def id(self) -> str:
        """The id of the note."""
        return self.note.id


class Notes:
    """The notes of one scope, for all programs with this collector, or with this journal. Methods raise JournalUnusable
    if its folder is needed and cannot be used, and ClientError if the collector refuses a note as invalid."""

    def __init__(self, scope: str) -> None:
        self.scope = scope

    def put(
        self,
        kind: str,
        id: str,  # noqa: A002 - the word for it
        *,
        title: str,
        aliases: Iterable[str] = (),
        text: str = "",
    ) -> TitledNote:
        """Stores a note, durably once this returns. One with the same kind and id is replaced, and keeps its aliases
        beside the new ones. Returns it as stored, after the redaction hook. Raises ValueError for texts that are too
        long, or too many notes."""
        note = TitledNote(str(kind), str(id), str(title), tuple(dict.fromkeys(map(str, aliases))), str(text))
        if len(note.title) + len(note.text) + sum(map(len, note.aliases)) > _MOST_CHARACTERS:
            raise ValueError(f"a note has at most {_MOST_CHARACTERS} characters: keep a longer text elsewhere")
        return _note(self._in_run("put", lambda given: _json(self._put(_note(given))), _json(note)))

    async def put_async(
        self,
        kind: str,
        id: str,  # noqa: A002 - the word for it
        *,
        title: str,
        aliases: Iterable[str] = (),
        text: str = "",
    ) -> TitledNote:
        """The same, in another thread: the event loop goes on."""
        return await in_thread(lambda: self.put(kind, id, title=title, aliases=aliases, text=text))

    def remove(self, kind: str, id: str) -> bool:  # noqa: A002 - the word for it
        """Removes the note with this kind and id. Returns whether there was one."""
        return bool(self._in_run("remove", lambda given: self._remove(*given), [str(kind), str(id)]))

    async def remove_async(self, kind: str, id: str) -> bool:  # noqa: A002 - the word for it
        """The same, in another thread."""
        return await in_thread(lambda: self.remove(kind, id))

    def all(self, kind: str | None = None) -> list[TitledNote]:
        """Returns the notes, of this kind if one is given; the one that was stored last is the last."""
        return [*map(_note, self._in_run("all", lambda _: [*map(_json, self._read(kind))], kind))]

    async def all_async(self, kind: str | None = None) -> list[TitledNote]:
        """The same, in another thread."""
        return await in_thread(lambda: self.all(kind))

    def find(self, query: str, *, kind: str | None = None, limit: int = 5) -> list[NoteMatch]:
        """Returns the notes whose title or alias fits the query, the best first: an equal name, one that begins with
        it, one with all its words, one with half of them. Case and punctuation do not count. Of equals, the note that
        was stored last comes first.

        Several notes may have one name: these are candidates, and the program (or a person) chooses."""

        def search(_: object) -> list[Json]:
            return [_match_json(match) for match in _found(query, self._read(kind))[:limit]]

        return [*map(_match_of, self._in_run("find", search, [query, kind, limit]))]

    async def find_async(self, query: str, *, kind: str | None = None, limit: int = 5) -> list[NoteMatch]:
        """The same, in another thread."""
        return await in_thread(lambda: self.find(query, kind=kind, limit=limit))

    def render(self, *, max_tokens: int = 300, kind: str | None = None) -> str:
        """Returns the notes as lines for a prompt, of at most so many (estimated) tokens. The notes that were stored
        last are taken first; if some have no room, a last line says how many."""
        return str(self._in_run("render", lambda _: _rendered(self._read(kind), max_tokens), [max_tokens, kind]))

    async def render_async(self, *, max_tokens: int = 300, kind: str | None = None) -> str:
        """The same, in another thread."""
        return await in_thread(lambda: self.render(max_tokens=max_tokens, kind=kind))

    # --- inside ------------------------------------------------------------------------------------------------------

    def _read(self, kind: str | None) -> list[TitledNote]:
        return [note for note in map(_note, note_store().read(self.scope)) if kind in (None, note.kind)]

    def _in_run(self, name: str, work: Callable[[Any], Any], given: Any) -> Any:
        """Calls the function; in a run, as a step whose result is recorded."""
        if current_span() is None:
            return work(given)

        def recorded(scope: str, given: Any) -> Any:
            return work(given)

        return observe(f"notes.{name}", kind="step", replay=True)(recorded)(self.scope, given)

    def _put(self, given: TitledNote) -> TitledNote:
        note = _note({**_json(given), **note_store().redacted(_json(given))})
        stored = note

        def change(notes: list[Json]) -> list[Json]:
            nonlocal stored
            before = next((each for each in map(_note, notes) if _key(each) == _key(note)), None)
            if before is None and len(notes) >= _MOST_NOTES:
                raise ValueError(f"the scope {self.scope!r} has {_MOST_NOTES} notes: remove some")
            aliases = dict.fromkeys((*note.aliases, *(() if before is None else before.aliases)))
            stored = TitledNote(note.kind, note.id, note.title, tuple(aliases), note.text)
            return [*(each for each in notes if _key(_note(each)) != _key(note)), _json(stored)]

        note_store().change(self.scope, change)
        return stored

    def _remove(self, kind: str, note_id: str) -> bool:
        removed = False

        def change(notes: list[Json]) -> list[Json]:
            nonlocal removed
            left = [each for each in notes if _key(_note(each)) != (kind, note_id)]
            removed = len(left) < len(notes)
            return left

        note_store().change(self.scope, change)
        return removed


def notes(scope: str) -> Notes:
    """Returns the notes of a scope, such as a user's id or a project's name: `playhead.notes("user-7")`."""
    return Notes(scope)


def _key(note: TitledNote) -> tuple[str, str]:
    return note.kind, note.id


def _json(note: TitledNote) -> Json:
    return cast(Json, {**asdict(note), "aliases": list(note.aliases)})


def _note(stored: Json) -> TitledNote:
    aliases = tuple(alias for alias in list_of(stored.get("aliases")) if isinstance(alias, str))
    return TitledNote(
        text_at(stored, "kind"), text_at(stored, "id"), text_at(stored, "title"), aliases, text_at(stored, "text")
    )


def _match_json(match: NoteMatch) -> Json:
    return {"note": _json(match.note), "score": match.score, "matched": match.matched}


def _match_of(stored: Json) -> NoteMatch:
    return NoteMatch(_note(object_at(stored, "note")), float_at(stored, "score"), text_at(stored, "matched"))


# --- finding and rendering: pure --------------------------------------------------------------------------------------


def _found(query: str, notes: Sequence[TitledNote]) -> list[NoteMatch]:
    wanted = _words(query)
    matches = [match for note in reversed(notes) if (match := _match(wanted, note)) is not None]
    return sorted(matches, key=lambda match: -match.score)  # keeps the order of equals


def _match(wanted: Sequence[str], note: TitledNote) -> NoteMatch | None:
    scores = {name: _score(wanted, _words(name)) for name in (note.title, *note.aliases, note.id)}
    best = max(scores, key=lambda name: scores[name])
    return NoteMatch(note, scores[best], best) if scores[best] else None


def _score(wanted: Sequence[str], name: Sequence[str]) -> float:
    if not wanted or not name:
        return 0.0
    if wanted == name:
        return _WHOLE
    if [*name[: len(wanted)]] == [*wanted]:
        return _BEGINNING
    share = len(set(wanted) & set(name)) / len(set(wanted))
    return share * _ALL_WORDS if share >= _LEAST_SHARE else 0.0


def _words(text: str) -> list[str]:
    return _WORD.findall(text[:_MOST_CHARACTERS].casefold())


def _rendered(notes: Sequence[TitledNote], max_tokens: int) -> str:
    lines: list[str] = []
    for note in reversed(notes):
        line = _line(note)
        left = len(notes) - len(lines) - 1
        more = [_more(left)] if left else []
        if _tokens([*lines, line, *more]) > max_tokens:
            break
        lines.append(line)
    left = len(notes) - len(lines)
    if left and _tokens([*lines, _more(left)]) <= max_tokens:
        lines.append(_more(left))
    return "\n".join(lines)


def _line(note: TitledNote) -> str:
    also = f" (also: {', '.join(note.aliases)})" if note.aliases else ""
    text = f": {' '.join(note.text.split())}" if note.text else ""
    return f"- {note.kind} {note.id}: {note.title}{also}{text}"


def _more(count: int) -> str:
    return f"- ({count} more)"


def _tokens(lines: Sequence[str]) -> float:
    return estimate_value("\n".join(lines))
