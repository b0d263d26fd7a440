"""What the tables hold of a run, and the same of another run that differs in its id, its time and its code.  Pure.

Bodies are JSON in which refs, ids and texts stand as they are, so that a copy replaces them there.  Contents with other
texts have other refs, and so have the threads that they are in.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple
from uuid import UUID

from playhead.model.canonical import Content
from playhead.model.ref import ContentRef
from playhead.model.thread import ThreadNode, node_ref
from playhead_collector.analysis.search.indexing import indexed_run
from playhead_collector.analysis.search.records import SearchRecord, decode
from playhead_collector.analysis.search.text_terms import text_terms
from playhead_collector.analysis.search.texts import searchable
from playhead_collector.read.values import ContentCache
from playhead_collector.store.packing import seen_contents
from playhead_collector.store.packing.content_packs import PackedContent, key_of
from playhead_collector.store.packing.roles import role_number
from playhead_collector.store.packing.search_blocks import IndexedContent
from playhead_collector.store.packing.seen_contents import prefix_of
from playhead_collector.store.packing.zstd import compress_json, decompress_json
from playhead_collector.store.ports.search import IndexedRun
from tests.support.many_runs.varied import VariedRun

Texts = Sequence[tuple[bytes, bytes]]
Rows = Sequence[Mapping[str, Any]]
_REF = re.compile(rb"sha256:([0-9a-f]{64})")
_SECOND = 1_000_000_000
# Numbers of media types in rows: JSON; and of the role of a message.
_JSON = 1
_ROLES = {b"system": 1, b"user": 2, b"assistant": 3, b"tool": 4}
_ROLE = re.compile(rb'"role":"([a-z]+)"}\Z')
_MOST_CHARACTERS = 32_768
_TABLES = ("tool_call", "decision", "error", "llm_call")


class StoredRun(NamedTuple):
    """A made-up run, and its rows by table; bodies are decompressed. Its spans and its events are one page each."""

    made: VariedRun
    tables: Mapping[str, Rows]


@dataclass(slots=True)
class CopiedRun:
    """The rows of a copy by table; the contents and nodes that it names, each node after its parent."""

    run: UUID
    tables: dict[str, list[dict[str, Any]]]
    texts: list[IndexedContent]
    """The contents that are searched."""
    seen: dict[ContentRef, int]
    """The seq at which each of these entered the run."""
    items: list[PackedContent | ThreadNode]


class Copier:
    """Makes copies of a run."""

    def __init__(self, template: StoredRun) -> None:
        self._made, self._tables = template.made, template.tables
        self._run = template.made.run
        (run,), (searched,) = self._tables["run"], self._tables["search_run"]
        self._started_ns: int = run["started_ns"]
        self._record = decode(decompress_json(searched["body"]), self._started_ns)
        cache = ContentCache(template.made.contents)
        seen = seen_contents.decode(searched["seen"])
        self._seen = {ref: seen[prefix_of(ref)].seq for ref in template.made.contents if prefix_of(ref) in seen}
        self._texts = {ref: searchable(ref, cache, _MOST_CHARACTERS) for ref in self._seen}

    def copy(self, run: UUID, code: str, started_ns: int, page: int) -> CopiedRun:
        """A run that began at this time, to the second. `page`: a number for its page of spans, which no other has."""
        texts = [
            (self._made.code.encode(), code.encode()),
            (self._run.encode(), run.hex.encode()),
            (self._run[:8].encode(), run.hex[:8].encode()),
        ]
        shift = (started_ns - self._started_ns) // _SECOND * _SECOND
        refs, items = _rewritten(self._made, texts)
        texts.append((b'"base":[%d,' % (self._started_ns // _SECOND), b'"base":[%d,' % (started_ns // _SECOND)))

        def rewritten(body: bytes) -> bytes:
            return _replaced(_REF.sub(lambda found: refs[found[1]], body), texts)

        (spans,), (events,), (row,) = (self._tables[name] for name in ("span_page", "event_page", "run"))
        span_body = rewritten(spans["body"])
        tables: dict[str, list[dict[str, Any]]] = {
            "span_page": [{**spans, "run_id": run, "digest": run, "page": page, "body": compress_json(span_body)}],
            "event_page": [
                {**events, "run_id": run, "beside": page, "body": compress_json(rewritten(events["body"]), span_body)}
            ],
            "run": [self._row(row, run, texts, shift)],
        }
        tables["run_outcome"] = [_outcome(each, run, shift) for each in self._tables["run_outcome"]]
        threads = {_first_bytes(old): _first_bytes(new) for old, new in refs.items()}
        for name in _TABLES:
            tables[name] = [_moved(each, run, shift, threads) for each in self._tables[name]]
        new_refs = {ContentRef("sha256:" + old.decode()): ContentRef(new.decode()) for old, new in refs.items()}
        searched = self._searched(run, shift, new_refs, texts)
        begun = self._started_ns + shift
        tables["search_run"] = [
            {
                "project_id": row["project_id"], "run_id": run, "started_ns": begun,
                "terms": sorted({*searched.terms, *map(key_of, searched.seen)}), "body": compress_json(searched.body),
            }
        ]  # fmt: skip
        given = [
            IndexedContent(
                prefix_of(new_refs[ref]), role_number(each.role), begun, text_terms(_plain(each.text, texts))
            )
            for ref, each in self._texts.items()
            if each is not None
        ]
        return CopiedRun(run, tables, given, dict(searched.seen), items)

    def _searched(self, run: UUID, shift: int, refs: Mapping[ContentRef, ContentRef], texts: Texts) -> IndexedRun:
        decisions = [
            replace(
                each,
                time_ns=each.time_ns + shift,
                values=[replace(value, value=_plain(value.value, texts)) for value in each.values],
            )
            for each in self._record.decisions
        ]
        seen = {refs[ref]: seq for ref, seq in self._seen.items()}
        return indexed_run(run.hex, self._started_ns + shift, SearchRecord(self._record.status, decisions), seen)

    def _row(self, row: Mapping[str, Any], run: UUID, texts: Texts, shift: int) -> dict[str, Any]:
        changed = {"started_ns": row["started_ns"] + shift, "ended_ns": row["ended_ns"] + shift, "run_id": run}
        changed |= {name: _plain(row[name], texts) for name in ("session", "search")}
        return {**row, **changed, "labels": [_plain(each, texts) for each in row["labels"]]}


def decompressed(row: Mapping[str, Any], beside: bytes | None = None) -> dict[str, Any]:
    """The row with a plain body."""
    return {**row, "body": decompress_json(row["body"], beside)}


def _first_bytes(hex_digits: bytes) -> int:
    return int.from_bytes(bytes.fromhex(hex_digits.removeprefix(b"sha256:")[:16].decode()), signed=True)


def _plain(text: str, pairs: Texts) -> str:
    return _replaced(text.encode(), pairs).decode()


def _replaced(text: bytes, pairs: Texts) -> bytes:
    for old, new in pairs:
        text = text.replace(old, new)
    return text


def _rewritten(
    made: VariedRun, texts: Sequence[tuple[bytes, bytes]]
) -> tuple[dict[bytes, bytes], list[PackedContent | ThreadNode]]:
    """The new text of each ref (`sha256:` and its digits) by its old digits; contents and nodes in packs' order."""
    refs: dict[ContentRef, ContentRef] = {}
    items: list[PackedContent | ThreadNode] = []
    for ref, content in made.contents.items():
        data = _replaced(content.data, texts)
        refs[ref] = Content(data, content.media_type).ref
        role = _ROLE.search(data)
        if refs[ref] != ref:  # what all copies have is stored already
            items.append(PackedContent(refs[ref], _JSON, _ROLES[role[1]] if role else 0, data))
    depths: dict[ContentRef | None, int] = {None: 0}
    for thread in made.threads:
        parent, new_parent = thread.parent, None if thread.parent is None else refs[thread.parent]
        for message in thread.messages:
            old, new = node_ref(message, parent), node_ref(refs[message], new_parent)
            if old not in refs:
                depths[old] = depths[parent] + 1
                refs[old] = new
                items.append(ThreadNode(new, new_parent, refs[message], depths[old]))
            parent, new_parent = old, new
    return {str(old)[7:].encode(): str(new).encode() for old, new in refs.items()}, items


def _outcome(row: Mapping[str, Any], run: UUID, shift: int) -> dict[str, Any]:
    """The row without what Postgres computes."""
    changed = {"run_id": run, "started_ns": row["started_ns"] + shift}
    return {name: value for name, value in {**row, **changed}.items() if name != "outcome"}


def _moved(row: Mapping[str, Any], run: UUID, shift: int, threads: Mapping[int, int]) -> dict[str, Any]:
    changed: dict[str, Any] = {"run_id": run}
    if "time_ns" in row:
        changed["time_ns"] = row["time_ns"] + shift
    if "thread" in row:
        changed["thread"] = threads[row["thread"]]
    return {**row, **changed}
