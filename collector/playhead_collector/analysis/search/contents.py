"""[analysis]: searches the texts of all indexed runs for words: contents, quotes, and the runs that saw them."""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from playhead.model.canonical import parse_json
from playhead.model.ref import ContentRef
from playhead.model.times import rfc3339
from playhead.wire.operations.search import FoundText, SeenIn, TextQuote, TextsFound
from playhead_collector.analysis.search.decisions import COUNTED
from playhead_collector.analysis.search.texts import BEGIN, END, SearchableText, quotes, searchable
from playhead_collector.errors import Refused
from playhead_collector.read.paging import position_cursor, read_position
from playhead_collector.read.values import fetch
from playhead_collector.store.ports import ReadStore
from playhead_collector.store.ports.search import FoundRun, ParsedWords, RunBounds, SearchIndex, TextHit, WordQuery

# Newest texts that are searched first (takes a few ms), and then (some tens of ms), before all texts.
_LOOKED = (1_000, 10_000)
_MOST_RUNS = 5


async def find_texts(
    store: ReadStore,
    index: SearchIndex,
    project_id: int,
    query: WordQuery,
    where: RunBounds,
    limit: int,
    cursor: str | None,
    characters: int,
) -> TextsFound:
    """Finds contents whose text has the words, the newest first. `characters`: searched characters of a content, as in
    the index. Raises Refused."""
    words = await index.parsed_words(query)
    if words is None:
        raise Refused(
            400, "no_words", "`q` has no word that a text would have to contain: name one, not only `-words` or signs"
        )
    if cursor:
        since_ns, digits, _ = read_position(cursor)
        where = replace(where, before=(since_ns, "sha256:" + digits))
    hits = await _found(index, project_id, words, where, limit + 1)
    page = hits[:limit]
    refs = [entry.ref for entry in page]
    saw = await index.runs_that_saw(project_id, refs, _MOST_RUNS + 1)
    stands = await _quotes(store, index, project_id, words, refs, characters)
    items = [_answer(entry, stands.get(entry.ref, []), saw[entry.ref]) for entry in page]
    last = page[-1] if len(hits) > limit else None
    return {
        "items": [entry for entry in items if entry["seen"]],  # the last run may just have been deleted
        "next_cursor": position_cursor(last.since_ns, str(last.ref).removeprefix("sha256:"), 0) if last else None,
        "unindexed": await index.count_unindexed(project_id, COUNTED),
    }


async def _found(
    index: SearchIndex, project_id: int, query: ParsedWords, where: RunBounds, limit: int
) -> Sequence[TextHit]:
    for looked in _LOOKED:
        hits = await index.newest_texts(project_id, query, where, looked=looked, limit=limit)
        if len(hits) == limit:
            return hits
    return await index.texts_with(project_id, query, where, limit=limit)


async def find_content(index: SearchIndex, project_id: int, ref: ContentRef, limit: int) -> TextsFound:
    """Returns this content with up to `limit` runs that saw it, newest first; no item if no indexed run saw it."""
    runs = (await index.runs_that_saw(project_id, [ref], limit + 1))[ref]
    seen = list(_seen_in(ref, runs))
    hit = await index.searched_text(project_id, ref) if seen else None
    items: list[FoundText] = []
    if hit is not None:
        items.append(_answer(hit, [], runs, limit))
    return {"items": items, "next_cursor": None, "unindexed": await index.count_unindexed(project_id, COUNTED)}


async def _quotes(
    store: ReadStore,
    index: SearchIndex,
    project_id: int,
    query: ParsedWords,
    refs: Sequence[ContentRef],
    characters: int,
) -> dict[ContentRef, list[TextQuote]]:
    cache = await fetch(store, project_id, refs)

    def read() -> dict[ContentRef, SearchableText]:
        candidates = ((ref, searchable(ref, cache, characters)) for ref in refs)
        return {ref: searched for ref, searched in candidates if searched is not None}

    texts = await asyncio.to_thread(read)
    marked = (
        await index.marked_words(query, [searched.text for searched in texts.values()], BEGIN, END) if texts else ()
    )
    pairs = list(zip(texts.items(), marked, strict=True))
    return await asyncio.to_thread(lambda: {ref: quotes(searched, text) for (ref, searched), text in pairs})


def _answer(hit: TextHit, stands: list[TextQuote], runs: Sequence[FoundRun], most: int = _MOST_RUNS) -> FoundText:
    seen = list(_seen_in(hit.ref, runs))
    return {
        "ref": str(hit.ref),
        "role": hit.role,
        "since": rfc3339(hit.since_ns),
        "quotes": stands,
        "seen": seen[:most],
        "more_runs": len(seen) > most,
    }


def _seen_in(ref: ContentRef, runs: Iterable[FoundRun]) -> Iterable[SeenIn]:
    digits = str(ref).removeprefix("sha256:")
    for run in sorted(runs, key=lambda found_run: (found_run.started_ns, found_run.run), reverse=True):
        seen: Mapping[str, int] = parse_json(run.body)["seen"]
        if digits in seen:
            yield {"run": run.run, "seq": seen[digits]}
