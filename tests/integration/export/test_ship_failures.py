"""The shipper against a collector that fails in every way we know."""

import threading
import time
from collections.abc import Callable
from typing import Any

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse

from playhead.export.ship import Shipper
from playhead.journal.lane import LaneReader, LaneWriter, Position
from playhead.model.pack import Pack
from tests.integration.export.fake_collector import (
    CONTENT,
    LOGS,
    MISSING,
    TRACES,
    Answer,
    FakeCollector,
    closed_port,
)
from tests.unit.export.records import content, log, span


def names_in(request: Any) -> list[str]:
    return [s.name for group in request.resource_spans for scope in group.scope_spans for s in scope.spans]


@pytest.mark.parametrize("status", [408, 429, 502, 503, 504])
@pytest.mark.parametrize("path", [MISSING, CONTENT, LOGS, TRACES])
def test_a_collector_that_is_busy_is_asked_again_until_it_takes_everything_once(
    shipper: Shipper, lane: LaneWriter, collector: FakeCollector, status: int, path: str
):
    collector.answer_next(path, Answer(status), Answer(status))
    lane.append(content(b"x") + log("playhead.checkpoint", 1) + span(1))
    assert shipper.flush(10)
    assert shipper.counters.retries == 2
    assert (collector.span_names(), len(collector.logs), len(collector.content_deliveries)) == (["step 1"], 1, 1)


def test_retry_after_is_honoured(shipper: Shipper, lane: LaneWriter, collector: FakeCollector, clock: Any):
    collector.answer_next(TRACES, Answer(503, {"retry-after": "7"}))
    lane.append(span(1))
    shipper.wake()
    shipper.start()
    assert wait_until(lambda: collector.spans)
    assert max(clock.waits) == 7


def test_waits_grow_while_the_collector_stays_down(
    shipper: Shipper, lane: LaneWriter, collector: FakeCollector, clock: Any, told: list[str]
):
    collector.answer_next(TRACES, *[Answer(503)] * 6)
    lane.append(span(1))
    shipper.wake()
    shipper.start()
    assert wait_until(lambda: collector.spans)
    assert len(clock.waits) == 6
    assert all(later > earlier / 2 for earlier, later in zip(clock.waits, clock.waits[1:], strict=False))
    assert clock.waits[-1] >= 3.2
    assert len(told) == 1


def test_nothing_is_acknowledged_in_the_journal_before_all_of_it_is_by_the_collector(
    shipper_for: Callable[..., Shipper], lane: LaneWriter, collector: FakeCollector
):
    collector.hang = threading.Event()
    shipper = shipper_for(collector.url)
    lane.append(content(b"x") + span(1))
    shipper.wake()
    shipper.start()
    assert collector.arrived.wait(10)
    assert LaneReader(lane.path).acked() == Position(1, 0)
    collector.hang.set()
    assert shipper.flush(10)
    assert LaneReader(lane.path).acked() == lane.position


def test_flush_gives_up_at_once_when_nobody_listens_and_the_records_arrive_later(
    shipper_for: Callable[..., Shipper], lane: LaneWriter, told: list[str]
):
    port = closed_port()
    shipper = shipper_for(f"http://127.0.0.1:{port}")
    lane.append(content(b"x") + span(1))
    began = time.monotonic()
    assert not shipper.flush(30)
    assert time.monotonic() - began < 10
    assert len(told) == 1
    assert "playhead serve" in told[0]
    with FakeCollector(port=port) as collector:
        assert wait_until(lambda: shipper.flush(10))
        assert collector.span_names() == ["step 1"]


def test_flush_gives_up_at_once_when_the_collector_asks_for_more_time_than_there_is(
    shipper: Shipper, lane: LaneWriter, collector: FakeCollector
):
    collector.refuse = lambda path, decoded: Answer(503, {"retry-after": "60"})
    lane.append(span(1))
    assert not shipper.flush(30)
    collector.refuse = lambda path, decoded: None
    assert shipper.flush(30)


def test_flush_returns_in_time_when_the_collector_hangs(shipper: Shipper, lane: LaneWriter, collector: FakeCollector):
    collector.hang = threading.Event()
    lane.append(span(1))
    began = time.monotonic()
    assert not shipper.flush(0.2)
    assert time.monotonic() - began < 5


def test_one_span_that_the_collector_refuses_is_left_out_and_all_others_arrive(
    shipper: Shipper, lane: LaneWriter, collector: FakeCollector, told: list[str]
):
    def poison(path: str, decoded: Any) -> Answer | None:
        return Answer(400, body=b"\x08\x03\x12\x03bad") if path == TRACES and "step 77" in names_in(decoded) else None

    collector.refuse = poison
    lane.append(b"".join(span(number) for number in range(1, 201)))
    assert shipper.flush(10)
    assert sorted(collector.span_names()) == sorted(f"step {n}" for n in range(1, 201) if n != 77)
    assert (shipper.counters.rejected, shipper.counters.spans) == (1, 199)
    assert len(collector.requests) < 25
    assert len(told) == 1
    assert "400: bad" in told[0]


def test_one_content_that_the_collector_refuses_is_left_out_and_its_span_arrives(
    shipper: Shipper, lane: LaneWriter, collector: FakeCollector, told: list[str]
):
    def poison(path: str, decoded: Any) -> Answer | None:
        if isinstance(decoded, Pack) and any(c.data == b"poison" for c in decoded.contents):
            return Answer(413, {"content-type": "application/json"}, b'{"error": {"message": "too large"}}')
        return None

    collector.refuse = poison
    lane.append(content(b"a") + content(b"poison") + content(b"b") + span(1))
    assert shipper.flush(10)
    assert sorted(collector.contents.values()) == [b"a", b"b"]
    assert collector.span_names() == ["step 1"]
    assert shipper.counters.rejected == 1
    assert len(told) == 1
    assert "too large" in told[0]


def test_a_span_that_cannot_be_encoded_is_left_out(shipper: Shipper, lane: LaneWriter, collector: FakeCollector):
    lane.append(span(1) + span(2, trace_id="no hex") + span(3))
    assert shipper.flush(10)
    assert collector.span_names() == ["step 1", "step 3"]
    assert shipper.counters.rejected == 1


def test_a_collector_that_refuses_everything_loses_nothing(
    shipper: Shipper, lane: LaneWriter, collector: FakeCollector, told: list[str]
):
    collector.refuse = lambda path, decoded: Answer(400) if path == TRACES else None
    lane.append(b"".join(span(number) for number in range(1, 101)))
    assert not shipper.flush(30)
    assert LaneReader(lane.path).acked() == Position(1, 0)
    assert any("refuses everything" in sentence for sentence in told)
    collector.refuse = lambda path, decoded: None
    assert shipper.flush(30)
    assert len(collector.spans) == 100


def test_a_wrong_key_is_said_once_and_the_records_are_kept(
    shipper_for: Callable[..., Shipper], lane: LaneWriter, collector: FakeCollector, told: list[str]
):
    collector.key = "right"
    shipper = shipper_for(collector.url, api_key="wrong")
    lane.append(span(1))
    assert not shipper.flush(30)
    assert not shipper.flush(30)
    assert len(told) == 1
    assert "PLAYHEAD_API_KEY" in told[0]
    collector.key = "wrong"
    assert shipper.flush(30)
    assert collector.span_names() == ["step 1"]


def test_an_endpoint_that_is_no_playhead_collector_is_sent_spans_with_gzip(
    shipper: Shipper, lane: LaneWriter, collector: FakeCollector, told: list[str]
):
    collector.plain = True
    lane.append(content(b"x") + log("playhead.checkpoint", 1) + span(1))
    lane.append(content(b"y") + span(2))
    assert shipper.flush(10)
    assert collector.span_names() == ["step 1", "step 2"]
    assert collector.contents == {}
    assert {r.headers["content-encoding"] for r in collector.requests if r.path == TRACES} == {"gzip"}
    assert len(told) == 1
    assert "no Playhead collector" in told[0]


def test_an_endpoint_that_takes_no_logs_is_still_sent_spans(
    shipper: Shipper, lane: LaneWriter, collector: FakeCollector, told: list[str]
):
    collector.plain = True
    collector.answer_next(LOGS, Answer(404))
    lane.append(log("playhead.checkpoint", 1) + span(1))
    assert shipper.flush(10)
    assert collector.span_names() == ["step 1"]
    assert len(told) == 2


def test_an_address_that_takes_no_spans_keeps_them_in_the_journal(
    shipper_for: Callable[..., Shipper], lane: LaneWriter, collector: FakeCollector, told: list[str]
):
    collector.plain = True
    collector.refuse = lambda path, decoded: Answer(404)
    shipper = shipper_for(collector.url)
    lane.append(span(1))
    assert not shipper.flush(30)
    assert any("there is no collector" in sentence for sentence in told)
    collector.refuse = lambda path, decoded: None
    assert shipper.flush(30)
    assert collector.span_names() == ["step 1"]


def test_what_the_collector_rejects_in_part_is_counted_and_said_once(
    shipper: Shipper, lane: LaneWriter, collector: FakeCollector, told: list[str]
):
    answer = ExportTraceServiceResponse()
    answer.partial_success.rejected_spans = 2
    answer.partial_success.error_message = "no room"
    for first in (1, 11):
        collector.answer_next(TRACES, Answer(200, body=answer.SerializeToString()))
        lane.append(b"".join(span(number) for number in range(first, first + 10)))
        assert shipper.flush(10)
    assert (shipper.counters.rejected, shipper.counters.spans) == (4, 16)
    assert len(told) == 1
    assert "no room" in told[0]


def test_a_collector_that_forgets_how_to_take_content_is_greeted_anew(
    shipper: Shipper, lane: LaneWriter, collector: FakeCollector
):
    lane.append(content(b"x"))
    assert shipper.flush(10)
    collector.answer_next(CONTENT, Answer(404))
    lane.append(content(b"y") + span(1))
    assert shipper.flush(10)
    assert sorted(collector.contents.values()) == [b"x", b"y"]


def test_a_bug_of_ours_is_said_once_and_loses_nothing(
    shipper: Shipper, lane: LaneWriter, collector: FakeCollector, told: list[str], monkeypatch: pytest.MonkeyPatch
):
    import playhead.export.delivery

    def broken(spans: object) -> bytes:
        raise RuntimeError("a bug")

    with monkeypatch.context() as patch:
        patch.setattr(playhead.export.delivery, "traces_request", broken)
        lane.append(span(1))
        assert not shipper.flush(30)
    assert len(told) == 1
    assert shipper.flush(30)
    assert collector.span_names() == ["step 1"]


def wait_until(condition: Callable[[], Any], seconds: float = 15) -> bool:
    """For what another thread does; looks often, so that it costs no time once it is so."""
    deadline = time.monotonic() + seconds
    pause = threading.Event()
    while time.monotonic() < deadline:
        if condition():
            return True
        pause.wait(0.005)
    return False
