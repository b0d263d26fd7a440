import os
from pathlib import Path

import pytest

from playhead.export.counters import ShipCounters
from playhead.export.shipment import MAX_BYTES, MAX_SPANS, LaneCursor, end_of, is_delivered
from playhead.journal.lane import LaneReader, LaneWriter, Position
from tests.unit.export.records import WHO, content, span


@pytest.fixture
def lane(tmp_path: Path):
    writer = LaneWriter(tmp_path, fsync=False, resource_frame=WHO)
    yield writer
    writer.close()


def cursor_of(lane: LaneWriter, *, complete: bool = False) -> LaneCursor:
    return LaneCursor(LaneReader(lane.path), complete=complete)


def names(cursor: LaneCursor) -> list[str]:
    found: list[str] = []
    while True:
        begin, shipment = cursor.at, cursor.load()
        found += [s.name for s in shipment.spans]
        if cursor.at == begin:
            return found


def add_bytes(lane: LaneWriter, data: bytes) -> None:
    """What a crash may leave behind."""
    number = lane.position.segment
    with (lane.path / f"{number:08d}.segment").open("r+b") as file:
        file.seek(LaneReader(lane.path).segment_bytes(number))
        file.write(data)


def test_everything_is_read_once_in_order(lane: LaneWriter):
    cursor = cursor_of(lane)
    lane.append(span(1) + span(2))
    assert names(cursor) == ["step 1", "step 2"]
    lane.append(span(3))
    assert names(cursor) == ["step 3"]
    assert cursor.at == lane.position == end_of(LaneReader(lane.path))


def test_it_begins_after_what_was_acknowledged_and_still_knows_whose_records_these_are(lane: LaneWriter):
    lane.append(span(1))
    LaneReader(lane.path).ack(lane.position)
    lane.append(span(2))
    shipment = cursor_of(lane).load()
    assert [(s.name, s.resource) for s in shipment.spans] == [("step 2", {"service.name": "shop"})]


def test_a_frame_that_is_still_being_written_is_waited_for(lane: LaneWriter):
    cursor = cursor_of(lane)
    whole = span(2)
    lane.append(span(1))
    add_bytes(lane, whole[:20])
    assert names(cursor) == ["step 1"]
    add_bytes(lane, whole[20:])
    assert names(cursor) == ["step 2"]
    assert cursor.skipped == 0


def test_the_cut_end_of_a_dead_lane_is_skipped_and_counted(lane: LaneWriter):
    lane.append(span(1))
    add_bytes(lane, span(2)[:-1])
    cursor = cursor_of(lane, complete=True)
    assert names(cursor) == ["step 1"]
    counters = ShipCounters()
    cursor.report(counters)
    cursor.report(counters)
    assert (counters.skipped_frames, counters.damaged_bytes) == (1, 0), "a crash does that, and no record was promised"
    cursor.lane.ack(cursor.at)
    assert is_delivered(lane.path)


@pytest.mark.parametrize("complete", [True, False])
def test_after_damage_reading_goes_on_with_the_next_frame(tmp_path: Path, complete: bool):
    lane = LaneWriter(tmp_path, fsync=False, resource_frame=WHO, segment_bytes=1000)
    lane.append(span(1))
    damaged = bytearray(span(2))
    damaged[40] ^= 1
    lane.append(bytes(damaged) + span(3, filler="x" * 1000))
    lane.append(span(4))
    cursor = cursor_of(lane, complete=complete)
    assert names(cursor) == ["step 1", "step 3", "step 4"]
    assert (cursor.skipped, cursor.damaged_bytes) == (1, len(damaged))
    lane.close()


@pytest.mark.parametrize("complete", [True, False])
@pytest.mark.parametrize("at", [0.1, 0.5, 0.9])
def test_fifty_damaged_bytes_cost_the_frames_that_they_are_in(tmp_path: Path, complete: bool, at: float):
    lane = LaneWriter(tmp_path, fsync=False, resource_frame=WHO)
    for number in range(2_000):
        lane.append(span(number, filler="x" * 1_000))
    file = lane.path / "00000001.segment"
    data = bytearray(file.read_bytes())
    where = int(len(data) * at)
    data[where : where + 50] = os.urandom(50)
    file.write_bytes(data)
    cursor = cursor_of(lane, complete=complete)
    found = names(cursor)
    assert len(set(found)) >= 1_997
    assert cursor.skipped == 1
    assert 1_000 < cursor.damaged_bytes < 4_500
    assert cursor.at == end_of(cursor.lane)
    lane.close()


def test_damage_that_promises_more_than_there_is_holds_up_a_living_lane_for_one_look_only(lane: LaneWriter):
    """It could be a frame that is being written."""
    lane.append(span(1) + b"\x00\xff\xff\xff____S" + span(2))
    cursor = cursor_of(lane)
    assert cursor.load().spans[0].name == "step 1"
    assert names(cursor) == ["step 2"]
    assert cursor.damaged_bytes == 9


def test_a_header_that_promises_gigabytes_does_not_take_gigabytes(lane: LaneWriter):
    lane.append(b"\xff\xff\xff\xff____C" + bytes(1000))
    cursor = cursor_of(lane, complete=True)
    assert names(cursor) == []
    assert cursor.skipped == 1


def test_a_content_larger_than_what_is_read_at_once_arrives_whole(lane: LaneWriter):
    large = os.urandom(MAX_BYTES + 2**20)
    lane.append(span(1) + content(large) + span(2))
    cursor = cursor_of(lane)
    first, second, third = cursor.load(), cursor.load(), cursor.load()
    assert [s.name for s in first.spans] == ["step 1"]
    assert [c.data for c in second.contents.values()] == [large]
    assert not second.spans
    assert [s.name for s in third.spans] == ["step 2"]


def test_a_backlog_is_read_in_shipments_of_bounded_size(lane: LaneWriter):
    for number in range(12):
        lane.append(
            content(number.to_bytes(1, "big") * 2**20) + b"".join(map(span, range(1000 * number, 1000 * number + 250)))
        )
    cursor, sizes = cursor_of(lane), []
    while shipment := cursor.load():
        sizes.append((shipment.payload_bytes, len(shipment.spans)))
    assert all(taken <= MAX_BYTES and spans <= MAX_SPANS for taken, spans in sizes)
    assert sum(spans for _, spans in sizes) == 3000


def test_segments_that_were_deleted_to_make_room_are_passed_over(tmp_path: Path):
    lane = LaneWriter(tmp_path, fsync=False, resource_frame=WHO, segment_bytes=100)
    for number in range(1, 4):
        lane.append(span(number, filler="x" * 100))
    LaneReader(lane.path).delete_segment(1)
    assert names(cursor_of(lane)) == ["step 2", "step 3"]
    lane.close()


def test_a_dead_lane_that_ends_with_an_empty_segment_counts_as_delivered(lane: LaneWriter):
    lane.append(span(1))
    (lane.path / "00000002.segment").touch()
    cursor = cursor_of(lane, complete=True)
    assert names(cursor) == ["step 1"]
    assert cursor.at == Position(2, 0)
    cursor.lane.ack(cursor.at)
    assert is_delivered(lane.path)


def cut(lane: LaneWriter, size: int, number: int = 1) -> None:
    os.truncate(lane.path / f"{number:08d}.segment", size)


def test_what_is_appended_behind_a_cut_is_read_wherever_the_cursor_was(lane: LaneWriter):
    """The file grows again past the position up to which it was read."""
    cursor = cursor_of(lane)
    lane.append(b"".join(map(span, range(10))))
    assert len(names(cursor)) == 10
    cut(lane, 100)
    lane.append(b"".join(map(span, range(10, 30))))  # not noticed yet
    lane.check_cut()
    lane.append(span(30))
    found = names(cursor)
    assert {f"step {number}" for number in range(10, 31)} <= set(found)
    counters = ShipCounters()
    assert cursor.report(counters)
    assert counters.damaged_bytes > 0
    assert cursor.at == lane.position


def test_a_cut_of_what_was_read_already_is_damage_too(lane: LaneWriter):
    cursor = cursor_of(lane)
    lane.append(b"".join(map(span, range(10))))
    names(cursor)
    cut(lane, 0)
    lane.check_cut()
    lane.append(span(10))
    assert names(cursor) == ["step 10"]
    assert cursor.report(ShipCounters())


@pytest.mark.parametrize("acknowledged", [0, 3])
def test_a_dead_lane_that_has_lost_its_end_is_read_as_far_as_it_goes_and_then_delivered(
    lane: LaneWriter, acknowledged: int
):
    for number in range(5):
        if number == acknowledged:
            LaneReader(lane.path).ack(lane.position)
        lane.append(span(number))
    written = lane.position
    lane.close()
    cut(lane, written.offset - 10)
    assert not is_delivered(lane.path)
    cursor = cursor_of(lane, complete=True)
    assert {f"step {number}" for number in range(acknowledged, 4)} <= set(names(cursor))
    counters = ShipCounters()
    assert cursor.report(counters)
    assert counters.damaged_bytes >= 10
    assert cursor.at == written
    LaneReader(lane.path).ack(cursor.at)
    assert is_delivered(lane.path)


def test_a_dead_lane_that_lost_what_was_delivered_is_delivered(lane: LaneWriter):
    lane.append(span(1) + span(2))
    LaneReader(lane.path).ack(lane.position)
    lane.close()
    cut(lane, 100)
    assert is_delivered(lane.path)
