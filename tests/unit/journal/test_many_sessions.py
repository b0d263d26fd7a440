"""A thousand sessions of one process, all open at a time, over one journal and over the memory store."""

import asyncio
import gc
import os
import weakref
from collections.abc import Iterator
from pathlib import Path

import pytest

import playhead
from playhead import observe
from playhead.calls.lifecycle import current_span
from playhead.calls.run import ActiveRun
from playhead.journal.lane import lanes
from playhead.local.journal_records import JournalRecords
from playhead.model import names
from playhead.model.canonical import value_of
from playhead.model.ref import ContentRef
from playhead.testing.recorder import RunRecorder
from tests.support.journal_reader import Recording, start_recording

SESSIONS, CALLS = 1_000, 2
FDS = Path("/proc/self/fd")


@pytest.fixture
def recording(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Recording]:
    yield from start_recording(tmp_path / "journal", monkeypatch)


@observe(kind="tool")
async def look(session: int, call: int) -> str:
    await asyncio.sleep(0)  # whoever else is there comes first
    return f"what session {session} found in call {call}"


class Sessions:
    """Runs that are all open before the first of them makes a call."""

    def __init__(self) -> None:
        self.ids: list[str] = []
        self.open: list[weakref.ref[ActiveRun]] = []
        self.most_files = 0
        self._all_open = asyncio.Event()

    async def run(self) -> None:
        await asyncio.gather(*(self._session(number) for number in range(SESSIONS)))

    async def _session(self, number: int) -> None:
        with playhead.run(f"agent-{number}", session=f"conv-{number}") as run:
            span = current_span()
            assert span is not None
            self.ids.append(str(run.id))
            self.open.append(weakref.ref(span.run))
            if len(self.ids) == SESSIONS:
                self.most_files = len(os.listdir(FDS))  # noqa: PTH208
                self._all_open.set()
            await self._all_open.wait()
            for call in range(CALLS):
                await look(number, call)


def expected(number: int) -> list[tuple[dict[str, int], str]]:
    return [({"session": number, "call": call}, f"what session {number} found in call {call}") for call in range(CALLS)]


@pytest.mark.skipif(not FDS.exists(), reason="counts descriptors as Linux shows them")
def test_a_thousand_sessions_at_a_time_are_read_back_from_one_journal(recording: Recording):
    before = len(os.listdir(FDS))  # noqa: PTH208
    sessions = Sessions()
    asyncio.run(sessions.run())
    assert sessions.most_files - before < 20, "files do not grow with sessions"
    assert len(lanes(recording.folder)) == 1
    gc.collect()
    assert not any(ref() for ref in sessions.open), "an ended session is kept in memory"
    records = JournalRecords(recording.folder)
    assert sorted(records.runs()) == sorted(sessions.ids)
    for number, run in enumerate(sessions.ids):
        spans = records.records(run).spans
        root = next(span for span in spans if span.parent_id is None and span.end_ns is not None)
        assert (root.name, root.attributes[names.CONVERSATION]) == (f"invoke_agent agent-{number}", f"conv-{number}")
        tools = [span for span in spans if span.end_ns is not None and span is not root]
        assert {span.parent_id for span in tools} == {root.span_id}
        refs = [
            (ContentRef(span.attributes[names.TOOL_ARGUMENTS_REF]), ContentRef(span.attributes[names.TOOL_RESULT_REF]))
            for span in tools
        ]
        contents = records.contents([ref for pair in refs for ref in pair])
        assert [(value_of(contents[given]), value_of(contents[result])) for given, result in refs] == expected(number)


def test_a_thousand_sessions_at_a_time_are_read_back_from_memory(playhead_recorder: RunRecorder):
    sessions = Sessions()
    asyncio.run(sessions.run())
    runs = playhead_recorder.runs
    assert [run.id for run in runs] == sessions.ids
    for number, run in enumerate(runs):
        assert run.name == f"agent-{number}"
        assert [(call.arguments, call.result) for call in run.tool_calls] == expected(number)
