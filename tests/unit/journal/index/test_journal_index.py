"""The index beside the journal's segments: reading a run costs what the run is, and the index may be lost."""

import sqlite3
from collections.abc import Iterator
from io import FileIO
from pathlib import Path

import pytest

from playhead.journal.frame import RESOURCE, SPAN, frame
from playhead.journal.index import database, reading
from playhead.journal.index.reading import JournalIndex
from playhead.journal.index.updating import START_BYTES
from playhead.journal.lane import LaneReader, LaneWriter, lock_dead_lane
from playhead.local.journal_records import JournalRecords
from playhead.model.canonical import content_of
from playhead.model.ref import ContentRef
from playhead_collector.store.ports.spans import Batch
from tests.integration.read.recorded import conversation
from tests.support.readers.journaled import frames_of, write_journal

RUN, OTHER, LATER = "01" * 16, "02" * 16, "03" * 16


@pytest.fixture
def journal(tmp_path: Path) -> Path:
    write_journal(tmp_path, [conversation(RUN, 2).batch()])
    write_journal(tmp_path, [conversation(OTHER, 1).batch()])
    return tmp_path


def looked_at(journal: Path) -> JournalIndex:
    """An index as the next process has it."""
    index = JournalIndex(journal)
    index.update()
    return index


def records_of(turns: int) -> int:
    batch = conversation(RUN, turns).batch()
    return len(batch.spans) + len(batch.logs)


def spans_of(index: JournalIndex, run: str) -> int:
    return len(index.records(run))


def test_a_second_process_reads_only_the_run_that_it_is_asked_for(tmp_path: Path):
    own = sum(map(len, frames_of(conversation(RUN, 2).batch())))
    write_journal(tmp_path, [conversation(RUN, 2).batch()])
    for number in range(40):
        write_journal(tmp_path, [conversation(f"{number + 16:02x}" * 16, 2).batch()])
    first = looked_at(tmp_path)
    assert first.bytes_read > 40 * own
    second = looked_at(tmp_path)
    assert second.bytes_read == 0
    assert spans_of(second, RUN) == spans_of(first, RUN) > 0
    assert second.bytes_read <= 2 * own
    assert len(second.runs()) == 41


def test_it_goes_on_while_a_program_writes(tmp_path: Path):
    lane = LaneWriter(tmp_path, fsync=False, resource_frame=frame(RESOURCE, b"{}"))
    pieces = frames_of(conversation(RUN, 3).batch())
    reader = looked_at(tmp_path)
    seen = 0
    for piece in pieces:
        lane.append(piece[:-3])  # as a reader may find an append that is under way
        reader.update()
        lane.append(piece[-3:])
        reader.update()
        assert spans_of(reader, RUN) >= seen
        seen = spans_of(reader, RUN)
    lane.close()
    assert seen == spans_of(looked_at(tmp_path), RUN) == records_of(3)
    assert reader.damaged() == {}


def test_two_processes_share_one_index(journal: Path):
    one, two = looked_at(journal), looked_at(journal)
    write_journal(journal, [conversation(LATER, 1).batch()])
    one.update()
    two.update()
    assert set(one.runs()) == set(two.runs()) == {RUN, OTHER, LATER}
    assert two.bytes_read == 0, "the other one has read the new file already"


def _is_busy(journal: Path) -> Iterator[None]:
    db = sqlite3.connect(database.path_of(journal), isolation_level=None)
    db.execute("begin exclusive")
    yield
    db.execute("rollback")
    db.close()


def test_while_the_index_is_locked_it_is_made_in_memory(journal: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(database, "_BUSY_SECONDS", 0.0)
    looked_at(journal).close()
    busy = _is_busy(journal)
    next(busy)
    assert set(looked_at(journal).runs()) == {RUN, OTHER}
    next(busy, None)


@pytest.mark.parametrize(
    "damage", ["deleted", "empty", "cut", "zeros in the middle", "text", "of another version", "without its tables"]
)
def test_a_damaged_index_is_made_anew(journal: Path, damage: str):
    looked_at(journal).close()
    path = database.path_of(journal)
    data = path.read_bytes()
    match damage:
        case "deleted":
            path.unlink()
        case "empty":
            path.write_bytes(b"")
        case "cut":
            path.write_bytes(data[: len(data) // 2])
        case "zeros in the middle":
            path.write_bytes(data[:4096] + bytes(len(data) - 8192) + data[-4096:])
        case "text":
            path.write_text("this is no database\n" * 1000)
        case "of another version":
            with sqlite3.connect(path) as db:
                db.execute("pragma user_version = 999")
        case _:
            with sqlite3.connect(path) as db:
                db.execute("drop table record")
    index = looked_at(journal)
    assert set(index.runs()) == {RUN, OTHER}
    assert spans_of(index, RUN) == records_of(2)
    assert spans_of(looked_at(journal), RUN) == spans_of(index, RUN)


def test_a_folder_that_cannot_be_written_to_is_read(journal: Path, monkeypatch: pytest.MonkeyPatch):
    def read_only(*_: object) -> int:
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr(database, "open_private", read_only)
    assert set(looked_at(journal).runs()) == {RUN, OTHER}
    assert not database.path_of(journal).exists()


def test_a_full_disk_leaves_what_is_there_readable(journal: Path, monkeypatch: pytest.MonkeyPatch):
    looked_at(journal).close()
    write_journal(journal, [conversation(LATER, 1).batch()])
    opened = database.open_file

    def full(journal_dir: Path) -> sqlite3.Connection:
        db = opened(journal_dir)
        pages = db.execute("pragma page_count").fetchone()[0]
        db.execute(f"pragma max_page_count = {pages}")  # SQLite's own way to have a full disk
        return db

    monkeypatch.setattr(database, "open_file", full)
    index = looked_at(journal)
    assert set(index.runs()) == {RUN, OTHER, LATER}
    assert index.bytes_read < sum(path.stat().st_size for path in journal.glob("*/*.segment")), "it began with the file"


def test_a_segment_that_was_changed_behind_the_index_is_read_again(journal: Path):
    index = looked_at(journal)
    (segment, *_) = sorted(journal.glob("*/*.segment"))
    data = segment.read_bytes()
    changed = frame(RESOURCE, b"{}") + data  # everything stands elsewhere now
    segment.write_bytes(changed)
    assert spans_of(index, RUN) == records_of(2)
    assert set(looked_at(journal).runs()) == {RUN, OTHER}


def test_what_was_damaged_later_is_left_out_and_said(journal: Path):
    looked_at(journal).close()
    (segment, *_) = sorted(journal.glob("*/*.segment"))
    state, data = segment.stat(), bytearray(segment.read_bytes())
    middle = len(data) // 2
    data[middle : middle + 50] = b"\xff" * 50
    segment.write_bytes(data)
    index = looked_at(journal)
    assert index.damaged()[segment] >= 50
    assert state.st_size == segment.stat().st_size


def test_deleted_lanes_are_forgotten(journal: Path):
    looked_at(journal).close()
    first, _ = (path.parent for path in sorted(journal.glob("*/*.segment")))
    adopted = lock_dead_lane(first)
    assert adopted is not None
    LaneReader(first).delete()
    adopted.close()
    assert looked_at(journal).runs() == [OTHER]
    with sqlite3.connect(database.path_of(journal)) as db:
        for table in ("lane", "segment"):
            assert db.execute(f"select count(*) from {table}").fetchone() == (1,), table
        left = {row[0] for row in db.execute("select distinct segment from content union select segment from record")}
        assert len(left) == 1


def test_contents_and_threads_are_those_that_were_recorded(journal: Path):
    batch = conversation(RUN, 2).batch()
    records = JournalRecords(journal)
    refs = [content.ref for content in batch.contents]
    found = records.contents(refs)
    assert [found[ref].data for ref in refs] == [content.data for content in batch.contents]
    tips = [ref for span in batch.spans for name, ref in span.attributes.items() if name.endswith("messages_ref")]
    nodes = records.nodes([ContentRef(tip) for tip in tips])
    assert set(tips) <= nodes.keys()
    depths = [nodes[ContentRef(tip)].depth for tip in tips]
    assert max(depths) > 1
    assert all(node.parent is None or nodes[node.parent].depth == node.depth - 1 for node in nodes.values())


def _start(ref: ContentRef | None) -> bytes:
    assert ref is not None
    return ref.digest[:START_BYTES]


def test_what_many_processes_wrote_costs_as_much_as_what_one_wrote(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    batch = conversation(RUN, 2).batch()
    starts = {_start(content.ref) for content in batch.contents}
    steps: list[int] = []
    opened = database.open_file

    def counting(journal_dir: Path) -> sqlite3.Connection:
        db = opened(journal_dir)
        db.set_progress_handler(lambda: steps.append(1), 1)
        return db

    def steps_of_reading() -> int:
        index = looked_at(tmp_path)
        steps.clear()
        assert index.contents(starts).keys() == starts
        assert index.thread(_start(batch.threads[-1].ref)) is not None
        index.close()
        return len(steps)

    monkeypatch.setattr(database, "open_file", counting)
    write_journal(tmp_path, [batch])
    alone = steps_of_reading()
    for _ in range(30):
        write_journal(tmp_path, [batch])
    assert steps_of_reading() <= 1.1 * alone


def test_a_question_opens_a_file_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    contents = [content_of(f"{number} " * 50_000) for number in range(10)]  # more than is read at a time
    write_journal(tmp_path, [Batch([], [], contents, [])])
    index = looked_at(tmp_path)
    opened: list[FileIO] = []

    def opening(path: Path) -> FileIO:
        opened.append(FileIO(path))
        return opened[-1]

    monkeypatch.setattr(reading, "FileIO", opening)
    found = index.contents([_start(content.ref) for content in contents])
    assert len(found) == 10
    assert [file.closed for file in opened] == [True]


def test_content_is_read_from_another_file_where_the_first_is_gone(journal: Path):
    batch = conversation(RUN, 2).batch()
    write_journal(journal, [batch])
    index = looked_at(journal)
    (first, *_) = sorted(journal.glob("*/*.segment"))
    first.unlink()
    found = index.contents([_start(content.ref) for content in batch.contents])
    assert found.keys() == {_start(content.ref) for content in batch.contents}
    assert index.thread(_start(batch.threads[-1].ref)) is not None


def test_a_record_that_names_no_run_belongs_to_its_trace(tmp_path: Path):
    lane = LaneWriter(tmp_path, fsync=False, resource_frame=frame(RESOURCE, b"{}"))
    lane.append(frame(SPAN, b'["%s","%s",null,"x",1,1,2,0,"",{},[],[]]' % (LATER.encode(), b"0" * 16)))
    lane.close()
    assert looked_at(tmp_path).runs() == [LATER]
