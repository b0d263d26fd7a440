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

# Contents that are read at a time.
_AT_ONCE = 500


@dataclass(frozen=True, slots=True)
class SearchSettings:
    """Settings of the search. `language`: text search configuration of Postgres; `characters`: searched characters of
    one content; `seconds`: longest time of one search."""

    language: str = "simple"
    characters: int = 32_768
    seconds: float = 10.0


async def index_runs(
    *records: RunRecord, index: SearchStore, attribute: bool, language: str, characters: int
) -> dict[str, Any]:
    """Puts these runs into the index. Returns the ids of those that were indexed, since they are still sealed.

    `attribute`: see `searched_decisions`; `language`, `characters`: see `SearchSettings`. Raises StoreUnavailable, and
    the errors of damaged contents.
    """
    settings = SearchSettings(language, characters)
    return {"indexed": [record.run for record in records if await _index(record, index, settings, attribute=attribute)]}


async def _index(record: RunRecord, index: SearchStore, settings: SearchSettings, *, attribute: bool) -> bool:
    transcript = await read_transcript(record)
    decisions = await asyncio.to_thread(searched_decisions, transcript, attribute=attribute)
    seen = searched_refs(transcript)
    texts: dict[ContentRef, SearchableText] = {}
    refs = list(seen)
    for start in range(0, len(refs), _AT_ONCE):
        cache = await fetch(record.store, record.project_id, refs[start : start + _AT_ONCE])
        texts |= await asyncio.to_thread(_texts, refs[start : start + _AT_ONCE], cache, settings.characters)
    distinct = dict(without_repeats(refs, texts.get))
    already_indexed = await index.indexed_texts(record.project_id, list(distinct))
    row = indexed_run(record.run, record.row.started_ns, record_of(record.row.status, decisions, seen, distinct))
    new = [SearchedText(ref, text.role, text.text) for ref, text in distinct.items() if ref not in already_indexed]
    return await index.index_run(record.project_id, row, new, settings.language)


def indexed_run(run: str, started_ns: int, record: SearchRecord) -> IndexedRun:
    """Converts a record to the store's form. Pure."""
    returned = {
        decision.seq: decision.result == ERROR for decision in record.decisions if decision.result in (OK, EMPTY, ERROR)
    }
    body = encode(record, started_ns)
    return IndexedRun(run, started_ns, sorted(terms_of(record)), list(record.seen), body, returned)


def _texts(refs: Sequence[ContentRef], cache: ContentCache, most: int) -> dict[ContentRef, SearchableText]:
    candidates = ((ref, searchable(ref, cache, most)) for ref in refs)
    return {ref: text for ref, text in candidates if text is not None}
