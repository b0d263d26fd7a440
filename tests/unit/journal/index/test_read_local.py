"""`playhead.read_local`: a reader that was away gets exactly what it missed, by seq, by time, by priority."""

import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from operator import itemgetter
from pathlib import Path
from typing import Any

import pytest

import playhead
from playhead.errors import NotFound
from playhead.journal.frame import RESOURCE, frame
from playhead.journal.lane import LaneWriter
from playhead.model import names
from playhead.model.event import CRITICAL
from playhead.recording import RecordingProcess
from playhead_collector.store.ports.spans import Batch
from tests.integration.read.recorded import START_NS, conversation
from tests.support.readers.journaled import frames_of, write_journal

RUN, OTHER = "01" * 16, "02" * 16
Event = dict[str, Any]


@pytest.fixture
def journal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    write_journal(tmp_path, [conversation(RUN, 3).batch(), conversation(OTHER, 2).batch()])
    monkeypatch.setenv("PLAYHEAD_JOURNAL_DIR", str(tmp_path))
    monkeypatch.setattr(RecordingProcess, "recording", None)  # else the journal is that of a test before
    return tmp_path


def as_recorded(batch: Batch) -> list[bytes]:
    """The frames of a batch in the order in which a program appends them: spans at their start, and at their end."""
    begun = [replace(span, end_ns=None, attributes=_without_end(span.attributes)) for span in batch.spans]
    records = [(span.start_ns, Batch(spans=[span])) for span in begun]
    records += [(span.end_ns or 0, Batch(spans=[span])) for span in batch.spans]
    records += [(log.time_ns, Batch(logs=[log])) for log in batch.logs]
    contents = Batch(contents=batch.contents, threads=batch.threads)
    return [
        piece for each in (contents, *(b for _, b in sorted(records, key=itemgetter(0)))) for piece in frames_of(each)
    ]


def _without_end(attributes: Mapping[str, Any]) -> dict[str, Any]:
    late = {names.CALL_ENDED_AFTER, names.CALL_END_ORDER, names.OUTPUT_MESSAGES_REF, names.TOOL_RESULT_REF}
    return {name: value for name, value in attributes.items() if name not in late}


def ids(events: Sequence[Event]) -> list[str]:
    return [event["id"] for event in events]


@pytest.mark.usefixtures("journal")
def test_a_run_from_any_seq_on():
    whole = list(playhead.read_local(RUN))
    assert [event["seq"] for event in whole] == list(range(1, len(whole) + 1))
    assert (whole[0]["kind"], whole[-1]["kind"]) == ("run_started", "run_completed")
    for seen in range(len(whole) + 1):
        assert list(playhead.read_local(RUN, after=seen)) == whole[seen:]
    assert list(playhead.read_local(RUN[:6], limit=2)) == whole[:2]


@pytest.mark.usefixtures("journal")
def test_all_runs_by_time_and_from_any_time_on():
    whole = list(playhead.read_local())
    assert {event["run"] for event in whole} == {RUN, OTHER}
    times = [event["time_ns"] for event in whole]
    assert times == sorted(times)
    for seen in (0, len(whole) // 2, len(whole) - 1):
        missed = [event for event in whole if event["time_ns"] > times[seen]]
        assert list(playhead.read_local(since=times[seen] + 1)) == missed
    first = datetime.fromtimestamp(START_NS / 1e9, UTC)
    assert list(playhead.read_local(since=first - timedelta(days=1))) == whole
    assert list(playhead.read_local(since=(first + timedelta(days=1)).isoformat())) == []


@pytest.mark.usefixtures("journal")
def test_by_kind_and_priority():
    whole = list(playhead.read_local())
    critical = [event for event in whole if event["priority"] == CRITICAL]
    assert 0 < len(critical) < len(whole)
    assert list(playhead.read_local(priority="critical")) == critical
    assert list(playhead.read_local(priority="critical", limit=3)) == critical[:3]
    tools = list(playhead.read_local(kinds=["tool_called", "tool_completed"]))
    assert tools == [event for event in whole if event["kind"].startswith("tool_")]
    assert ids(list(playhead.read_local(kinds="run_started"))) == ids([e for e in whole if e["kind"] == "run_started"])


@pytest.mark.usefixtures("journal")
def test_the_last_of_them():
    whole = list(playhead.read_local())
    of_run = list(playhead.read_local(RUN))
    for count in (0, 1, 5, len(of_run), len(whole) + 1):
        assert list(playhead.read_local(last=count)) == whole[max(0, len(whole) - count) :]
        assert list(playhead.read_local(RUN, last=count)) == of_run[max(0, len(of_run) - count) :]
    tools = [event for event in of_run if event["kind"] == "tool_called"]
    assert list(playhead.read_local(RUN, kinds="tool_called", last=1)) == tools[-1:]


def test_the_runs_of_a_session(tmp_path: Path):
    playhead.configure(journal_dir=tmp_path, endpoint="none")
    try:
        ids_of: dict[str | None, list[str | None]] = {"conv-1": [], "conv-2": [], None: []}
        for session in ("conv-1", "conv-2", None, "conv-1"):
            with playhead.run("support", session=session) as run:
                ids_of[session].append(run.id)
        events = list(playhead.read_local(session="conv-1"))
        assert [event["run"] for event in events if event["kind"] == "run_started"] == ids_of["conv-1"]
        assert {event["run"] for event in events} == set(ids_of["conv-1"])
        [end] = playhead.read_local(session="conv-1", last=1)
        assert (end["run"], end["kind"]) == (ids_of["conv-1"][1], "run_completed")
        assert list(playhead.read_local(session="conv-3")) == []
    finally:
        playhead.shutdown()


def test_a_reader_that_comes_back_gets_what_it_missed_while_a_program_writes(journal: Path):
    """Of each run after the last seq that was read, in whatever pieces the records come."""
    lane = LaneWriter(journal, fsync=False, resource_frame=frame(RESOURCE, b"{}"))
    seen = {event["run"]: event["seq"] for event in playhead.read_local()}
    third = "03" * 16
    pieces = as_recorded(conversation(third, 2).batch())
    read: list[Event] = []
    for number, piece in enumerate(pieces):
        lane.append(piece)
        if number % 7 == 0:
            missed = list(playhead.read_local(after=seen))
            seen |= {event["run"]: event["seq"] for event in missed}
            read += missed
    read += playhead.read_local(after=seen)
    lane.close()
    assert {event["run"] for event in read} == {third}
    assert [event["seq"] for event in read] == list(range(1, len(read) + 1))
    assert ids(read) == ids(list(playhead.read_local(third)))


@pytest.mark.usefixtures("journal")
def test_a_hundred_readers_at_once_get_what_each_of_them_missed():
    whole = list(playhead.read_local(RUN))
    together = threading.Barrier(100, timeout=60)

    def read(number: int) -> bool:
        together.wait()
        after = number % len(whole)
        return list(playhead.read_local(RUN, after=after)) == whole[after:]

    with ThreadPoolExecutor(100) as pool:
        assert all(pool.map(read, range(100)))


@pytest.mark.usefixtures("journal")
@pytest.mark.parametrize(
    ("ask", "error"),
    [
        (lambda: playhead.read_local(kinds=["no_such_kind"]), ValueError),
        (lambda: playhead.read_local(last=-1), ValueError),
        (lambda: playhead.read_local(last=1, limit=1), ValueError),
        (lambda: playhead.read_local(RUN, session="s"), ValueError),
        (lambda: playhead.read_local(priority="high"), ValueError),  # pyright: ignore[reportArgumentType]
        (lambda: playhead.read_local(after=3), ValueError),
        (lambda: playhead.read_local(limit=-1), ValueError),
        (lambda: playhead.read_local(since="yesterday"), ValueError),
        (lambda: playhead.read_local(since=1.5), TypeError),  # pyright: ignore[reportArgumentType]
        (lambda: next(playhead.read_local("ff" * 16)), NotFound),
        (lambda: next(playhead.read_local("no run")), NotFound),
    ],
)
def test_what_can_never_match_is_refused(ask: Callable[[], object], error: type[Exception]):
    with pytest.raises(error):
        ask()


def test_it_needs_no_library_beyond_the_sdk(journal: Path):
    blocked = ("fastapi", "starlette", "pydantic", "asyncpg", "alembic", "sqlalchemy", "typer", "rich", "uvicorn")
    program = (
        f"import sys; sys.modules |= dict.fromkeys({blocked!r}); import playhead; "
        f"print(len(list(playhead.read_local({RUN!r}))))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert int(done.stdout) == len(list(playhead.read_local(RUN)))
    assert journal.exists()


def test_importing_the_modules_behind_the_functions_does_not_hide_them():
    program = (
        "import playhead, playhead.replaying.policy, playhead.configuring; assert callable(playhead.read_local)\n"
        "assert callable(playhead.configure)\n"
        "from playhead.replaying.policy import RERUN; assert playhead.RERUN is RERUN"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_a_clock_that_goes_backwards_changes_neither_seqs_nor_what_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    batch = conversation(RUN, 3).batch()
    half = len(batch.spans) // 2
    for span in batch.spans[half:]:  # as if somebody had set the clock back by an hour in the middle of the run
        span.start_ns -= 3_600_000_000_000
        span.end_ns = None if span.end_ns is None else span.end_ns - 3_600_000_000_000
    write_journal(tmp_path, [batch])
    monkeypatch.setattr(RecordingProcess, "recording", None)
    monkeypatch.setenv("PLAYHEAD_JOURNAL_DIR", str(tmp_path))
    whole = list(playhead.read_local(RUN))
    assert [event["seq"] for event in whole] == list(range(1, len(whole) + 1))
    assert list(playhead.read_local(RUN, after=5)) == whole[5:]
    by_time = list(playhead.read_local())
    assert sorted(ids(by_time)) == sorted(ids(whole))
    assert [event["time_ns"] for event in by_time] == sorted(event["time_ns"] for event in whole)
    earliest = min(event["time_ns"] for event in whole)
    assert list(playhead.read_local(since=earliest)) == by_time


def test_a_file_that_is_cut_or_damaged_gives_the_events_around_it(journal: Path):
    whole = ids(list(playhead.read_local(OTHER)))
    (segment,) = journal.glob("*/*.segment")
    data = bytearray(segment.read_bytes())
    data[40:80] = b"\xff" * 40  # a content of the first run
    segment.write_bytes(data[:-5])
    left = ids(list(playhead.read_local(OTHER)))
    assert left
    assert set(left) <= set(whole)
