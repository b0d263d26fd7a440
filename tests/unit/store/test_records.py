"""Records in memory as a store: what arrives late, in another order, or never."""

from dataclasses import replace

import pytest

from playhead.model.event import LlmCalled
from playhead_collector.errors import ContentMissing
from playhead_collector.store.ports.runs import RunFilter
from playhead_collector.store.records.memory import MemoryRecords
from playhead_collector.store.records.store import RecordStore
from tests.integration.read.recorded import START_NS, conversation

RUN = "01" * 16
HOUR_NS = 3_600 * 10**9


def _store(source: MemoryRecords, now_ns: int = START_NS) -> RecordStore:
    return RecordStore(source, clock=lambda: now_ns)


async def test_content_that_comes_after_its_spans_is_a_part_of_the_run_as_if_it_had_come_before():
    batch = conversation(RUN, 2).batch()
    source, whole = MemoryRecords(), MemoryRecords()
    source.add(batch.spans, batch.logs)
    store = _store(source)
    early = await store.runs.get(1, RUN)
    assert early is not None
    assert early.content_pending > 0
    source.add(contents=batch.contents, threads=reversed(batch.threads))
    whole.add(batch.spans, batch.logs, batch.contents, batch.threads)
    row = await store.runs.get(1, RUN)
    assert row is not None
    assert row.content_pending == 0
    assert await store.events.read(1, RUN) == await _store(whole).events.read(1, RUN)


async def test_a_growing_run_is_projected_again_and_an_announced_call_ends_once():
    batch = conversation(RUN, 1).batch()
    root, *others = batch.spans
    open_root = replace(root, end_ns=None)
    source = MemoryRecords()
    source.add([open_root, *others], batch.logs, batch.contents, batch.threads)
    store = _store(source)
    running = await store.runs.get(1, RUN)
    assert running is not None
    assert running.status == "running"
    source.add([root])
    ended = await store.runs.get(1, RUN)
    assert ended is not None
    assert ended.status == "completed"
    assert [span.span_id for span in await store.spans.read(1, RUN)].count(root.span_id) == 1


async def test_a_run_that_has_ended_and_is_quiet_is_sealed():
    batch = conversation(RUN, 1).batch()
    source = MemoryRecords()
    source.add(batch.spans, batch.logs, batch.contents, batch.threads)
    now = [START_NS]
    store = RecordStore(source, clock=lambda: now[0])
    (row,) = await store.runs.page(1, RunFilter(), limit=5)
    assert not row.sealed
    now[0] += HOUR_NS
    (row,) = await store.runs.page(1, RunFilter(), limit=5)
    assert row.sealed


async def test_what_was_never_recorded_is_missing():
    batch = conversation(RUN, 1).batch()
    source = MemoryRecords()
    source.add(batch.spans, batch.logs)
    store = _store(source)
    assert await store.runs.get(1, "02" * 16) is None
    called = next(event for event in await store.events.read(1, RUN) if isinstance(event, LlmCalled))
    assert called.thread is not None
    with pytest.raises(ContentMissing):
        await store.contents.thread(1, called.thread)
    with pytest.raises(ContentMissing):
        await store.contents.get(1, called.thread)
