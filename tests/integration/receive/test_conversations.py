"""Calls of one conversation that arrive together: what they have in common is stored once, and each can be read."""

from typing import Any

import pytest

from playhead.model import names
from playhead.model.ref import ContentRef
from playhead.model.span import Span
from playhead_collector.ingest_pipeline import IngestPipeline
from playhead_collector.store.ports.spans import Batch, Ingested
from playhead_collector.store.postgres.store import connect

TURNS = ["Where is it?", "In Rotterdam.", "And now?", "In Utrecht.", "Thanks!"]
RUN = "c" * 32


def call(number: int) -> Span:
    """A call with the first turns as input, and the next one as its answer."""
    attributes: dict[str, Any] = {"openinference.span.kind": "LLM"}
    for at, text in enumerate(TURNS[: number + 1]):
        attributes[f"llm.input_messages.{at}.message.role"] = ("user", "assistant")[at % 2]
        attributes[f"llm.input_messages.{at}.message.content"] = text
    attributes["llm.output_messages.0.message.role"] = "assistant"
    attributes["llm.output_messages.0.message.content"] = f"answer {number}"
    return Span(RUN, f"{number + 1:016x}", None, "chat", number + 1, number + 2, attributes, scope="theirs")


async def test_what_calls_have_in_common_is_stored_once(database_url: str, monkeypatch: pytest.MonkeyPatch):
    store = await connect(database_url, pool_size=2)
    stores, batches = store.spans.ingest, list[Batch]()

    async def ingest(project_id: int, batch: Batch) -> Ingested:
        batches.append(batch)
        return await stores(project_id, batch)

    monkeypatch.setattr(store.spans, "ingest", ingest)
    pipeline = IngestPipeline(store, 1, 1_000, [])
    try:
        result = await pipeline.ingest([call(number) for number in range(len(TURNS))], [])
        [batch] = batches
        # Five turns and five answers, of 1 + 2 + 3 + 4 + 5 messages that were sent and 5 that were answered.
        assert len(batch.contents) == len({content.ref for content in batch.contents}) == 10
        assert (result.contents.contents, result.contents.new_contents) == (20, 10)
        # The whole conversation and the five answers: the shorter conversations are parts of the whole one.
        assert sorted(len(thread.messages) for thread in batch.threads) == [1, 1, 1, 1, 1, 5]
        for number, span in enumerate(sorted(await store.spans.read(1, RUN), key=lambda span: span.start_ns)):
            thread = await store.contents.thread(1, ContentRef.parse(span.attributes[names.INPUT_MESSAGES_REF]))
            contents = await store.contents.get_many(1, [node.message for node in thread])
            said = [contents[node.message].data.decode() for node in thread]
            assert [text in data for text, data in zip(TURNS, said, strict=False)] == [True] * (number + 1)
    finally:
        await store.close()
