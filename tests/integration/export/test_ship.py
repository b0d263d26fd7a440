"""The shipper against a collector's HTTP face that works."""

import logging
import os
import threading
from collections.abc import Callable
from typing import Any

import httpx
import pytest
from opentelemetry.instrumentation.utils import is_http_instrumentation_enabled

from playhead.export.ship import Shipper
from playhead.journal.lane import LaneReader, LaneWriter
from playhead.kernel import bell
from playhead.model.ref import ContentRef
from playhead.model.thread import extend
from tests.integration.export.conftest import ImpatientClock
from tests.integration.export.fake_collector import CONTENT, LOGS, TRACES, WHO, FakeCollector, attributes_of
from tests.support.interrupting import interrupted_at, returns
from tests.unit.export.records import content, log, span, thread

SMALL, LARGE = b"hello", b"a system prompt " * 100


def ref(data: bytes) -> ContentRef:
    return ContentRef.of(data)


def test_what_was_appended_is_at_the_collector_when_flush_returns(
    shipper: Shipper, lane: LaneWriter, collector: FakeCollector
):
    lane.append(content(SMALL) + thread(None, SMALL) + span(1, ended=False) + log("playhead.checkpoint", 1))
    lane.append(content(LARGE) + span(2, parent=1, answer=42))
    assert shipper.flush(60)
    assert collector.contents == {ref(SMALL): SMALL, ref(LARGE): LARGE}
    assert collector.nodes == {node.ref for node in extend([ref(SMALL)])}
    assert [event.event_name for event in collector.logs] == ["playhead.started", "playhead.checkpoint"]
    assert collector.span_names() == ["step 2"]
    assert attributes_of(collector.spans[0]) == {"answer": 42}
    assert collector.resources == [{"service.name": "shop"}]
    assert LaneReader(lane.path).acked() == lane.position


def test_a_flush_may_wait_for_as_long_as_it_takes(shipper: Shipper, lane: LaneWriter, collector: FakeCollector):
    lane.append(span(1))
    assert shipper.flush(float("inf"))
    assert collector.span_names() == ["step 1"]
    assert shipper.stop(float("inf"))


def test_content_goes_before_log_events_and_those_before_spans(
    shipper: Shipper, lane: LaneWriter, collector: FakeCollector
):
    lane.append(span(1) + log("playhead.checkpoint", 1) + content(SMALL))
    assert shipper.flush(60)
    assert collector.paths() == [WHO, CONTENT, LOGS, TRACES]


def test_requests_are_compressed_and_carry_the_users_headers_and_key(
    shipper_for: Callable[..., Shipper], lane: LaneWriter, collector: FakeCollector
):
    shipper = shipper_for(collector.url, headers=(("x-team", "blue"),), api_key="secret")
    lane.append(content(LARGE) + span(1))
    assert shipper.flush(60)
    for request in collector.requests:
        assert request.path == WHO or request.headers["content-encoding"] == "zstd"
        assert request.headers["x-team"] == "blue"
        assert request.headers["authorization"] == "Bearer secret"
    assert sum(len(request.sent) for request in collector.requests) == shipper.counters.wire_bytes


def test_counters_say_what_was_shipped(shipper: Shipper, lane: LaneWriter):
    lane.append(content(SMALL) + content(LARGE) + thread(None, SMALL) + span(1) + span(2, ended=False))
    assert shipper.flush(60)
    counters = shipper.counters
    assert (counters.contents, counters.content_bytes_raw) == (2, len(SMALL) + len(LARGE))
    assert (counters.threads, counters.spans, counters.logs, counters.batches) == (1, 1, 1, 1)
    assert (counters.asked_refs, counters.retries, counters.rejected, counters.skipped_frames) == (1, 0, 0, 0)


def test_an_idle_shipper_makes_no_requests(shipper: Shipper, collector: FakeCollector):
    assert shipper.flush(60)
    assert collector.requests == []


def test_a_span_is_announced_while_it_is_open_and_sent_when_it_has_ended(
    shipper: Shipper, lane: LaneWriter, collector: FakeCollector
):
    lane.append(span(1, ended=False))
    assert shipper.flush(60)
    assert (len(collector.logs), len(collector.spans)) == (1, 0)
    lane.append(span(1))
    assert shipper.flush(60)
    assert (len(collector.logs), len(collector.spans)) == (1, 1)


def test_only_large_content_is_asked_for_and_only_what_is_missing_is_sent(
    shipper: Shipper, lane: LaneWriter, collector: FakeCollector
):
    collector.contents[ref(LARGE)] = LARGE
    lane.append(content(SMALL) + content(LARGE))
    assert shipper.flush(60)
    assert shipper.counters.asked_refs == 1
    assert collector.content_deliveries == [ref(SMALL)]


def test_content_that_was_acknowledged_is_neither_asked_for_nor_sent_again(
    shipper: Shipper, lane: LaneWriter, collector: FakeCollector
):
    for _ in range(2):
        lane.append(content(SMALL) + content(LARGE))
        assert shipper.flush(60)
    assert sorted(collector.content_deliveries) == sorted([ref(SMALL), ref(LARGE)])
    assert shipper.counters.asked_refs == 1


def test_a_new_epoch_makes_everybody_forget_what_was_stored(
    shipper_for: Callable[..., Shipper], lane: LaneWriter, collector: FakeCollector
):
    changes: list[str] = []
    shipper = shipper_for(collector.url, on_epoch_change=lambda: changes.append(collector.epoch))
    lane.append(content(SMALL) + content(LARGE))
    assert shipper.flush(60)
    collector.epoch, collector.contents = "2", {}
    lane.append(content(SMALL) + content(LARGE) + content(b"new"))
    assert shipper.flush(60)
    assert changes == ["2"]
    assert set(collector.contents) == {ref(SMALL), ref(LARGE), ref(b"new")}


def test_what_was_stored_is_believed_for_an_hour(
    shipper_for: Callable[..., Shipper], lane: LaneWriter, collector: FakeCollector, clock: ImpatientClock
):
    """A collector deletes what was not named for longer than its grace period."""
    changes: list[str] = []
    shipper = shipper_for(collector.url, on_epoch_change=lambda: changes.append(collector.epoch))
    lane.append(content(SMALL) + content(LARGE))
    assert shipper.flush(60)
    collector.contents = {}
    clock.time += 3500
    lane.append(content(SMALL) + content(LARGE))
    assert shipper.flush(60)
    assert (collector.contents, changes) == ({}, [])
    clock.time += 200
    lane.append(content(SMALL) + content(LARGE))
    assert shipper.flush(60)
    assert set(collector.contents) == {ref(SMALL), ref(LARGE)}
    assert changes == ["1"]


def test_threads_whose_beginning_the_collector_lacks_are_counted(shipper: Shipper, lane: LaneWriter):
    lane.append(content(SMALL) + thread(ref(b"long gone"), SMALL))
    assert shipper.flush(60)
    assert shipper.counters.unknown_parents == 1


def test_records_of_many_threads_all_arrive_once(shipper: Shipper, lane: LaneWriter, collector: FakeCollector):
    def work(first: int) -> None:
        for number in range(first, first + 200):
            lane.append(span(number))
            shipper.wake()

    shipper.start()
    workers = [threading.Thread(target=work, args=(first,)) for first in range(1, 1601, 200)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert shipper.flush(60)
    assert sorted(collector.span_names()) == sorted(f"step {number}" for number in range(1, 1601))


def test_without_a_flush_records_leave_after_they_lingered(
    shipper_for: Callable[..., Shipper], lane: LaneWriter, collector: FakeCollector, clock: Any
):
    shipper = shipper_for(collector.url, linger_seconds=1.0)
    lane.append(span(1))
    shipper.start()
    shipper.wake()
    assert collector.arrived.wait(60)
    assert sum(clock.waits) >= 1.0


def test_nobody_lingers_when_much_waits_already(
    shipper_for: Callable[..., Shipper], lane: LaneWriter, collector: FakeCollector, clock: Any
):
    shipper = shipper_for(collector.url, linger_seconds=50.0)
    lane.append(content(os.urandom(2 * 2**20)))
    shipper.wake()
    shipper.start()
    assert collector.arrived.wait(60)
    assert sum(clock.waits) < 50.0


@pytest.mark.parametrize(("linger", "size"), [(0.0, 1), (60.0, 2 * 2**20)])
def test_a_program_that_never_pauses_is_not_shipped_for_all_the_time(
    linger: float,
    size: int,
    shipper_for: Callable[..., Shipper],
    lane: LaneWriter,
    collector: FakeCollector,
    clock: Any,
):
    shipper = shipper_for(collector.url, linger_seconds=linger)
    lane.append(span(1))
    assert shipper.flush(60)
    for number in range(2, 7):
        collector.arrived.clear()
        lane.append(span(number, text="x" * size))
        shipper.wake()
        assert collector.arrived.wait(60)
    assert sum(clock.waits) == pytest.approx(5 * 0.1)
    lane.append(span(7))
    assert shipper.flush(60)
    assert sum(clock.waits) == pytest.approx(5 * 0.1)  # a flush does not wait for the end of a rest
    assert collector.span_names() == [f"step {number}" for number in range(1, 8)]


def test_a_call_that_ends_in_the_middle_of_a_flush_does_not_stop_it(shipper: Shipper, lane: LaneWriter):
    def flush_often() -> None:
        for moment in range(1, 30):  # the flags are set first
            lane.append(span(moment))
            assert interrupted_at(moment, shipper.wake, lambda: shipper.flush(60), threading, bell)

    assert returns(flush_often)


def test_a_call_that_the_garbage_collector_ends_in_the_shipping_thread_does_not_stop_it(shipper: Shipper):
    def clear_often() -> None:
        moment = 1
        while interrupted_at(moment, shipper.wake, shipper._ship_own, threading, bell):
            moment += 1
        assert moment > 6

    assert returns(clear_often)


def test_stop_delivers_what_is_left_and_ends_the_thread(shipper: Shipper, lane: LaneWriter, collector: FakeCollector):
    lane.append(span(1))
    before = set(threading.enumerate())
    assert shipper.stop(60)
    assert collector.span_names() == ["step 1"]
    assert "playhead-ship" not in {each.name for each in set(threading.enumerate()) - before}
    assert shipper.flush(60)
    lane.append(span(2))
    assert not shipper.flush(1)


def test_shipping_is_not_observed_by_the_programs_instrumentation_nor_logged(
    shipper: Shipper,
    lane: LaneWriter,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
):
    observed: list[bool] = []
    handle = httpx.HTTPTransport.handle_request

    def instrumented(self: httpx.HTTPTransport, request: httpx.Request) -> httpx.Response:
        observed.append(is_http_instrumentation_enabled())
        return handle(self, request)

    monkeypatch.setattr(httpx.HTTPTransport, "handle_request", instrumented)
    lane.append(content(LARGE) + span(1))
    with caplog.at_level(logging.DEBUG):
        assert shipper.flush(60)
    assert observed
    assert not any(observed)
    assert not [record for record in caplog.records if record.name.startswith("http")]
