"""The time of what is asked about long runs grows with their length, and no faster.  Work is counted."""

from collections.abc import Callable
from typing import Any

import pytest

from playhead.model import event as ev
from playhead_collector.analysis.transcript.loading import read_transcript, refs_in_events
from playhead_collector.analysis.transcript.transcript import build_transcript
from playhead_collector.analysis.turns.outline import Outline
from playhead_collector.analysis.turns.requested import AskedCall, assign, requests_in
from playhead_collector.read.values import ContentCache, fetch
from tests.support.readers.agents import AgentsRun
from tests.support.readers.chat import Chat
from tests.support.readers.fake import FakeStore
from tests.support.work import work_of

FEW, TIMES = 50, 4
# Linear work takes 4 times as much, quadratic work 16 times.
MOST = 1.5 * TIMES


async def a_conversation(turns: int) -> Callable[[], Any]:
    """Each turn asks for a tool, whose result is in the next context."""
    chat = Chat(FakeStore(), "You look at cases.")
    chat.user("Look at all cases.")
    for number in range(turns):
        chat.asks("look_up", {"case": number}, f"case {number} is open")
    transcript = await read_transcript(chat.done())
    return lambda: build_transcript(transcript.run, transcript.events, transcript.cache, transcript.nodes)


async def tools_without_ids(turns: int) -> Callable[[], Any]:
    """Each turn asks for five tools, which a program calls itself; their results are not in the next context."""
    run = AgentsRun()
    for turn in range(turns):
        run.turn(calls=[("read_sample", None, {"number": 5 * turn + each}) for each in range(5)])
    record = run.done()
    events, cache = await read(record, run.events)
    return lambda: build_transcript(record.run, events, cache, {})


async def calls_before_their_page(turns: int) -> Callable[[], Any]:
    """A page that begins amid a turn: its first tool calls were asked for before it."""
    run = AgentsRun()
    run.turn(calls=[("read_sample", None, {"number": -each}) for each in range(1, turns)])
    for turn in range(turns):
        run.turn(calls=[("read_sample", None, {"number": turn})])
    events, cache = await read(run.done(), run.events)
    outline = Outline()
    outline.take(event for event in events if not isinstance(event, ev.MessageAdded) or event.seq > 4)
    made = [(tool, cache.parsed(tool.begin.arguments)) for tool in outline.tools]

    def assigned() -> None:
        assert assign(list(requests(outline, cache)), made)

    return assigned


def requests(outline: Outline, cache: ContentCache) -> list[AskedCall]:
    return [
        request
        for model in outline.models
        for request in requests_in(model, {out.seq: cache.parsed_message(out.message) for out in model.outputs})
    ]


async def read(record: Any, events: list[Any]) -> tuple[list[Any], ContentCache]:
    return events, await fetch(record.store, record.project_id, refs_in_events(events))


@pytest.mark.parametrize("run", [a_conversation, tools_without_ids, calls_before_their_page])
async def test_four_times_as_many_turns_take_four_times_the_work(run: Callable[[int], Any]):
    few, many = [work_of(await run(turns)) for turns in (FEW, TIMES * FEW)]
    assert few > 0
    assert many < MOST * few, (few, many)
