"""[analysis]: puts sealed runs into the index."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from playhead.model.ref import ContentRef
from playhead_collector.analysis.search.recording import (
    record_of,
    searched_decisions,
    searched_refs,
    without_repeats,
)
from playhead_collector.analysis.search.records import SearchRecord, encode
from playhead_collector.analysis.search.results import EMPTY, ERROR, OK
from playhead_collector.analysis.search.terms import terms_of
from playhead_collector.analysis.search.texts import SearchableText, searchable
from playhead_collector.analysis.transcript.loading import read_transcript
from playhead_collector.read.record import RunRecord
from playhead_collector.read.values import ContentCache, fetch
from playhead_collector.store.ports.search import IndexedRun, SearchedText, SearchStore

# Contents of a long run are read in portions of so many.
_AT_ONCE = 500


@dataclass(frozen=True, slots=True)
class SearchSettings:
    """The text search configuration, how many characters of one content are searched, and how long one search may
    take."""

    language: str = "simple"
    characters: int = 32_768
    seconds: float = 10.0


async def index_runs(
    *records: RunRecord, index: SearchStore, attribute: bool, language: str, characters: int
) -> dict[str, Any]:
    """Puts these runs into the index; returns the ids of those that are sealed. `attribute`: see `searched_decisions`;
    the others: see `SearchSettings`.  Raises StoreUnavailable, and what damaged contents raise."""
    settings = SearchSettings(language, characters)
    return {"indexed": [each.run for each in records if await _index(each, index, settings, attribute=attribute)]}


async def _index(record: RunRecord, index: SearchStore, settings: SearchSettings, *, attribute: bool) -> bool:
    transcript = await read_transcript(record)
    found = await asyncio.to_thread(searched_decisions, transcript, attribute=attribute)
    seen = searched_refs(transcript)
    texts: dict[ContentRef, SearchableText] = {}
    refs = list(seen)
    for at in range(0, len(refs), _AT_ONCE):
        cache = await fetch(record.store, record.project_id, refs[at : at + _AT_ONCE])
        texts |= await asyncio.to_thread(_texts, refs[at : at + _AT_ONCE], cache, settings.characters)
    kept = dict(without_repeats(refs, texts.get))
    known = await index.indexed_texts(record.project_id, list(kept))
    row = indexed_run(record.run, record.row.started_ns, record_of(record.row.status, found, seen, kept))
    new = [SearchedText(ref, each.role, each.text) for ref, each in kept.items() if ref not in known]
    return await index.index_run(record.project_id, row, new, settings.language)


def indexed_run(run: str, started_ns: int, record: SearchRecord) -> IndexedRun:
    """A record as the store keeps it. Pure."""
    returned = {each.seq: each.result == ERROR for each in record.decisions if each.result in (OK, EMPTY, ERROR)}
    body = encode(record, started_ns)
    return IndexedRun(run, started_ns, sorted(terms_of(record)), list(record.seen), body, returned)


def _texts(refs: Sequence[ContentRef], cache: ContentCache, most: int) -> dict[ContentRef, SearchableText]:
    found = ((ref, searchable(ref, cache, most)) for ref in refs)
    return {ref: each for ref, each in found if each is not None}
