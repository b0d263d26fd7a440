"""The shipper against the collector itself: what it sends is what is stored, by the same refs."""

import asyncio
from collections.abc import Callable, Iterator

import httpx
import pytest

from playhead.export.ship import Shipper
from playhead.journal.lane import LaneWriter
from playhead.model.message import message_contents
from playhead.model.names import INPUT_MESSAGES_REF, KIND, RUN_ID
from playhead.model.span import LogEvent, Span
from playhead.model.thread import extend
from playhead_collector.process import CollectorProcess
from playhead_collector.store.postgres.store import connect
from tests.unit.export.records import content, log, span, thread

RUN = "018f3d2a6b7c7def8123456789abcdef"


@pytest.fixture
def real_collector(database_url: str) -> Iterator[CollectorProcess]:
    with CollectorProcess(database_url=database_url) as collector:
        yield collector
        assert "Traceback" not in collector.log()


def test_spans_threads_and_contents_are_stored_as_they_were_journaled(
    real_collector: CollectorProcess, database_url: str, shipper_for: Callable[..., Shipper], lane: LaneWriter
):
    (message,) = message_contents(
        {"role": "user", "parts": [{"type": "text", "content": "where is my parcel? " * 100}]}
    )
    tip = extend([message.ref])[-1].ref
    shipper = shipper_for(real_collector.url)
    run = {RUN_ID: RUN, "playhead.call.order": 1, "playhead.run.root": True, KIND: "agent"}
    lane.append(span(1, ended=False, **run) + log("playhead.checkpoint", 1, **{RUN_ID: RUN, "playhead.call.order": 3}))
    assert shipper.flush(60)
    call = {RUN_ID: RUN, "playhead.call.order": 2, KIND: "llm", INPUT_MESSAGES_REF: tip}
    lane.append(content(message.data, message.media_type) + thread(None, message.data) + span(2, parent=1, **call))
    lane.append(span(1, **run))
    assert shipper.flush(60)
    assert (shipper.counters.rejected, shipper.counters.unknown_parents) == (0, 0)

    missing = httpx.post(f"{real_collector.url}/v1/content/missing", json={"refs": [message.ref, tip]}, timeout=60)
    assert missing.json()["missing"] == []
    kept = httpx.get(f"{real_collector.url}/api/v1/content/{message.ref}", timeout=60)
    assert (kept.status_code, kept.content) == (200, message.data)
    spans, logs = asyncio.run(stored(database_url))
    assert {s.name: s.attributes.get(INPUT_MESSAGES_REF) for s in spans if s.end_ns} == {"step 1": None, "step 2": tip}
    assert "playhead.checkpoint" in {event.name for event in logs}


async def stored(database_url: str) -> tuple[list[Span], list[LogEvent]]:
    store = await connect(database_url, pool_size=1)
    try:
        return [*await store.spans.read(1, RUN)], [*await store.spans.logs(1, RUN)]
    finally:
        await store.close()
