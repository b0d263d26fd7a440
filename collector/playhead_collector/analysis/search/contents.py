"""[analysis]: searches the texts of all indexed runs for words: contents, quotes, and the runs that saw them."""

import asyncio
from collections.abc import Sequence, Set
from dataclasses import dataclass, replace

from playhead.model.ref import ContentRef
from playhead.model.times import rfc3339
from playhead.wire.operations.search import FoundText, SeenIn, TextQuote, TextsFound
from playhead_collector.analysis.search.decisions import COUNTED
from playhead_collector.analysis.search.indexing import read_lexemes
from playhead_collector.analysis.search.query import TextQuery, parse, places_in, wanted_terms, without_common_words
from playhead_collector.analysis.search.settings import AS_THEY_ARE, SearchSettings
from playhead_collector.analysis.search.texts import quotes, searchable
from playhead_collector.analysis.search.words import NO_LEXEMES, Lexemes, worded
from playhead_collector.errors import Refused
from playhead_collector.read.paging import position_cursor, read_position
from playhead_collector.read.values import fetch
from playhead_collector.store.ports import ReadStore
from playhead_collector.store.ports.search import RunBounds, RunThatSaw, SearchIndex, TextHit

# Contents whose text is looked at for one page; a page that needs more has a cursor, and may be empty.
_MOST_LOOKED = 1_024
_FEW = 16
_MOST_ALTERNATIVES = 64
_MOST_RUNS = 5


@dataclass(frozen=True, slots=True)
class _Words:
    """The words of a search, in the language of the index."""

    query: TextQuery
    lexemes: Lexemes
    wanted: Sequence[Set[int]]


@dataclass(frozen=True, slots=True)
class _Match:
    """A content that has the words, and where."""

    ref: ContentRef
    hit: TextHit
    quotes: list[TextQuote]


async def find_texts(
    store: ReadStore,
    index: SearchIndex,
    project_id: int,
    text: str,
    role: str | None,
    where: RunBounds,
    limit: int,
    cursor: str | None,
    settings: SearchSettings,
) -> TextsFound:
    """Finds contents whose text has the words, the newest first. `role`: only messages of this role. Raises Refused."""
    words = await _read_words(index, text, settings.language)
    if cursor:
        since_ns, digits, _ = read_position(cursor)
        where = replace(where, before=(since_ns, digits))
    matches: list[_Match] = []
    looked, more = 0, True
    while more and len(matches) <= limit and looked < _MOST_LOOKED:
        # Almost all that the index finds match, unless it is for a phrase or an exclusion.
        needed = limit + 1 - len(matches)
        size = needed if looked == 0 else max(_FEW, 2 * needed)
        hits = await index.texts_with(project_id, words.wanted, where, role, limit=size)
        matches += await _matching(store, index, project_id, words, hits, settings)
        looked, more = looked + len(hits), len(hits) == size
        if hits:
            where = replace(where, before=(hits[-1].since_ns, hits[-1].prefix.hex()))
    page, last = matches[:limit], None
    if len(matches) > limit:
        last = position_cursor(page[-1].hit.since_ns, page[-1].hit.prefix.hex(), 0)
    elif more and where.before is not None:
        last = position_cursor(*where.before, 0)
    saw = await index.runs_that_saw(project_id, [match.ref for match in page], _MOST_RUNS + 1)
    items = [_answer(match.ref, match.hit, match.quotes, saw[match.ref]) for match in page]
    return {
        "items": [entry for entry in items if entry["seen"]],  # the last run may just have been deleted
        "next_cursor": last,
        "unindexed": await index.count_unindexed(project_id, COUNTED),
    }


async def find_content(index: SearchIndex, project_id: int, ref: ContentRef, limit: int) -> TextsFound:
    """Returns this content with up to `limit` runs that saw it, newest first; no item if no indexed run saw it."""
    runs = (await index.runs_that_saw(project_id, [ref], limit + 1))[ref]
    hit = await index.searched_text(project_id, ref) if runs else None
    items: list[FoundText] = []
    if hit is not None:
        items.append(_answer(ref, hit, [], runs, limit))
    return {"items": items, "next_cursor": None, "unindexed": await index.count_unindexed(project_id, COUNTED)}


async def _read_words(index: SearchIndex, text: str, language: str) -> _Words:
    query = parse(text)
    lexemes = NO_LEXEMES if language == AS_THEY_ARE else await index.lexemes(language, query.forms)
    query = without_common_words(query, lexemes)
    wanted = wanted_terms(query, lexemes)
    if not wanted:
        raise Refused(
            400, "no_words", "`q` has no word that a text would have to contain: name one, not only `-words` or signs"
        )
    if len(wanted) > _MOST_ALTERNATIVES:
        raise Refused(400, "bad_words", f"`q` has too many alternatives: name at most {_MOST_ALTERNATIVES}")
    return _Words(query, lexemes, wanted)


async def _matching(
    store: ReadStore,
    index: SearchIndex,
    project_id: int,
    words: _Words,
    hits: Sequence[TextHit],
    settings: SearchSettings,
) -> list[_Match]:
    """Reads the texts of these hits, and returns the hits that match."""
    stored = [(hit.ref, hit) for hit in hits if hit.ref is not None]
    cache = await fetch(store, project_id, [ref for ref, _ in stored])
    read = [(ref, hit, searchable(ref, cache, settings.characters)) for ref, hit in stored]
    texts = [(ref, hit, text) for ref, hit, text in read if text is not None]
    lexemes = {**words.lexemes, **await read_lexemes(index, settings.language, (text for _, _, text in texts))}

    def matches() -> list[_Match]:
        places = [places_in(worded(text.text, lexemes), words.query, lexemes) for _, _, text in texts]
        return [
            _Match(ref, hit, quotes(text, at))
            for (ref, hit, text), at in zip(texts, places, strict=True)
            if at is not None
        ]

    return await asyncio.to_thread(matches)


def _answer(
    ref: ContentRef, hit: TextHit, stands: list[TextQuote], runs: Sequence[RunThatSaw], most: int = _MOST_RUNS
) -> FoundText:
    newest_first = sorted(runs, key=lambda run: (run.started_ns, run.run), reverse=True)
    seen: list[SeenIn] = [{"run": run.run, "seq": run.seq} for run in newest_first]
    return {
        "ref": str(ref),
        "role": hit.role,
        "since": rfc3339(hit.since_ns),
        "quotes": stands,
        "seen": seen[:most],
        "more_runs": len(seen) > most,
    }
