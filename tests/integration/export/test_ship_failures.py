"""The shipper against a collector that fails in every way we know."""

import gc
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse

from playhead.export.dead_lane_delivery import ship_orphans
from playhead.export.dead_letters import DeadLetters, count_letters, dead_letters, read_letters
from playhead.export.ship import Shipper
from playhead.export.shipment import Shipment
from playhead.journal.frame import frames_in
from playhead.journal.lane import LaneReader, LaneWriter, Position
from playhead.settings.sdk import Settings
from playhead.wire.pack import Pack
from tests.integration.export.conftest import ImpatientClock
from tests.integration.export.fake_collector import (
    CONTENT,
    HANG_SECONDS,
    LOGS,
    MISSING,
    TRACES,
    WHO,
    Answer,
    FakeCollector,
    attributes_of,
    closed_port,
)
from tests.unit.export.records import WHO as RESOURCE
from tests.unit.export.records import content, log, span, thread


def names_in(request: Any) -> list[str]:
    return [s.name for group in request.resource_spans for scope in group.scope_spans for s in scope.spans]


@pytest.mark.parametrize("status", [408, 429, 502, 503, 504])
@pytest.mark.parametrize("path", [MISSING, CONTENT, LOGS, TRACES])
def test_a_collector_that_is_busy_is_asked_again_until_it_takes_everything_once(
    shipper: Shipper, lane: LaneWriter, collector: FakeCollector, status: int, path: str
):
    collector.answer_next(path, Answer(status), Answer(status))
    lane.append(content(b"x" * 2000) + log("playhead.checkpoint", 1) + span(1))
    assert shipper.flush(60)
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
    assert collector.arrived.wait(60)
    assert LaneReader(lane.path).acked() == Position(1, 0)
    collector.hang.set()
    assert shipper.flush(60)
    assert LaneReader(lane.path).acked() == lane.position


def test_flush_gives_up_at_once_when_nobody_listens_and_the_records_arrive_later(
    shipper_for: Callable[..., Shipper], lane: LaneWriter, told: list[str]
):
    with closed_port() as port:
        shipper = shipper_for(f"http://127.0.0.1:{port}")
        lane.append(content(b"x") + span(1))
        began = time.monotonic()
        assert not shipper.flush(30)
        assert time.monotonic() - began < 60
        assert len(told) == 1
        assert "playhead serve" in told[0]
        with FakeCollector(port=port) as collector:
            assert wait_until(lambda: shipper.flush(60))
            assert collector.span_names() == ["step 1"]


# Python leaves the socket of a TLS handshake that failed to its garbage collector, which warns: here, and not in a test
# that comes later.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_collector_without_tls_that_is_asked_for_tls_is_told_of(
    shipper_for: Callable[..., Shipper], lane: LaneWriter, collector: FakeCollector, told: list[str]
):
    shipper = shipper_for(collector.url.replace("http:", "https:"))
    lane.append(span(1))
    assert not shipper.flush(60)
    assert any("begins with http:// where the collector has no TLS" in sentence for sentence in told), told
    shipper.stop(60)
    gc.collect()


def test_flush_gives_up_at_once_when_the_collector_asks_for_more_time_than_there_is(
    shipper: Shipper, lane: LaneWriter, collector: FakeCollector
):
    collector.refuse = lambda path, decoded: Answer(503, {"retry-after": "60"})
    lane.append(span(1))
    assert not shipper.flush(30)
    collector.refuse = lambda path, decoded: None
    assert shipper.flush(60)


def test_flush_returns_in_time_when_the_collector_hangs(shipper: Shipper, lane: LaneWriter, collector: FakeCollector):
    collector.hang = threading.Event()
    lane.append(span(1))
    began = time.monotonic()
    assert not shipper.flush(0.2)
    assert time.monotonic() - began < HANG_SECONDS / 2


def test_one_span_that_the_collector_refuses_is_left_out_and_all_others_arrive(
    shipper: Shipper, lane: LaneWriter, collector: FakeCollector, told: list[str]
):
    def poison(path: str, decoded: Any) -> Answer | None:
        return Answer(400, body=b"\x08\x03\x12\x03bad") if path == TRACES and "step 77" in names_in(decoded) else None

    collector.refuse = poison
    lane.append(b"".join(span(number) for number in range(1, 201)))
    assert not shipper.flush(60), "one of them has not been delivered"
    assert LaneReader(lane.path).acked() == lane.position
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
    assert not shipper.flush(60)
    assert sorted(collector.contents.values()) == [b"a", b"b"]
    assert collector.span_names() == ["step 1"]
    assert shipper.counters.rejected == 1
    assert len(told) == 1
    assert "too large" in told[0]


def test_a_span_that_cannot_be_encoded_is_left_out(shipper: Shipper, lane: LaneWriter, collector: FakeCollector):
    lane.append(span(1) + span(2, trace_id="no hex") + span(3))
    assert not shipper.flush(60)
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
    assert shipper.flush(60)
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
    assert shipper.flush(60)
    assert collector.span_names() == ["step 1"]


@pytest.mark.parametrize("path", [MISSING, CONTENT, LOGS, TRACES])
@pytest.mark.parametrize(("status", "by"), [(400, "proxy"), (413, "proxy"), *[(s, "") for s in (418, 500, 507, 520)]])
def test_a_while_of_odd_answers_loses_nothing(
    shipper: Shipper, lane: LaneWriter, collector: FakeCollector, status: int, by: str, path: str
):
    collector.answer_next(path, *[Answer(status, by=by or "proxy")] * 4)
    lane.append(content(b"x" * 2000) + b"".join(log("playhead.checkpoint", n) + span(n) for n in range(1, 6)))
    assert shipper.flush(60)
    assert {each.name for each in collector.spans} == {f"step {n}" for n in range(1, 6)}
    assert (len(collector.logs), len(collector.content_deliveries)) == (5, 1)
    assert shipper.counters.rejected == 0


def test_an_error_of_the_collector_itself_is_waited_out(shipper: Shipper, lane: LaneWriter, collector: FakeCollector):
    collector.answer_next(TRACES, *[Answer(500)] * 4)
    lane.append(span(1) + span(2))
    assert shipper.flush(60)
    assert (shipper.counters.retries, shipper.counters.rejected) == (4, 0)


@settings(max_examples=25, deadline=None)
@given(
    outages=st.lists(
        st.tuples(st.sampled_from([400, 413, 429, 500, 503, 520]), st.integers(1, 40), st.integers(0, 30)), max_size=3
    ),
    spans=st.integers(1, 40),
)
def test_outages_of_any_length_lose_nothing(outages: list[tuple[int, int, int]], spans: int):
    """An outage is so many requests that something in between answers; then so many arrive.  What is put aside because
    one outage ended and the next began at just that record is still there, and is sent again."""
    script = [answer for status, bad, good in outages for answer in [Answer(status, by="proxy")] * bad + [None] * good]
    with FakeCollector() as collector, tempfile.TemporaryDirectory() as folder:
        collector.refuse = lambda path, decoded: script.pop(0) if script else None
        writer = LaneWriter(Path(folder), fsync=False, resource_frame=RESOURCE)
        writer.append(content(b"x") + b"".join(span(number) for number in range(1, spans + 1)))
        mine = Settings(endpoint=collector.url, linger_seconds=0.0, journal_dir=Path(folder))
        told: list[str] = []
        shipper = Shipper(mine, writer.path, clock=ImpatientClock(), on_problem=told.append)
        # What was put aside, which `flush` does not count as delivered, is acknowledged after what came with it.
        all_there = wait_until(lambda: shipper.flush(10) or LaneReader(writer.path).acked() == writer.position)
        shipper.stop(60)
        assert all_there, told
        assert LaneReader(writer.path).acked() == writer.position
        writer.close()
        if len(outages) < 2:
            assert shipper.counters.rejected == 0
        else:
            script.clear()  # the outages are over: an attempt to send again gives up after some requests
            ship_orphans(Path(folder), mine, letters=True, clock=ImpatientClock())
        assert {each.name for each in collector.spans} == {f"step {number}" for number in range(1, spans + 1)}
        assert collector.content_deliveries
        assert dead_letters(Path(folder)) == []


@pytest.mark.parametrize("by", ["collector", "proxy"])
def test_a_record_that_alone_is_refused_is_kept_and_can_be_sent_again(
    shipper: Shipper, lane: LaneWriter, collector: FakeCollector, told: list[str], by: str
):
    def poison(path: str, decoded: Any) -> Answer | None:
        bad = (path == TRACES and "step 7" in names_in(decoded)) or (
            path == LOGS and b"poison" in decoded.SerializeToString()
        )
        return Answer(400, by=by) if bad else None

    collector.refuse = poison
    lane.append(b"".join(span(number, a=number) for number in range(1, 20)))
    lane.append(log("poison", 1) + log("playhead.checkpoint", 2) + content(b"c"))
    assert not shipper.flush(60)
    assert wait_until(lambda: LaneReader(lane.path).acked() == lane.position)
    assert (shipper.counters.rejected, len(collector.spans)) == (2, 18)
    assert len([sentence for sentence in told if "--dead-letters" in sentence]) == 1
    journal = lane.path.parent
    assert count_letters(journal) == 2

    mine = Settings(endpoint=collector.url, journal_dir=journal)
    still = ship_orphans(journal, mine, letters=True, clock=ImpatientClock(), on_problem=told.append)
    assert (still.dead_letters, still.left) == (2, 0)
    collector.refuse = lambda path, decoded: None
    assert ship_orphans(journal, mine).dead_letters == 2, "not asked for"
    sent = ship_orphans(journal, mine, letters=True)
    assert (sent.spans, sent.dead_letters, sent.problem) == (1, 0, "")
    again = collector.spans[-1]
    assert (again.name, attributes_of(again)) == ("step 7", {"a": 7})
    assert [each.event_name for each in collector.logs] == ["playhead.checkpoint", "poison"]
    assert collector.resources[-1] == {"service.name": "shop"}
    assert shipper.flush(60), "now all of it is there"


def test_every_kind_of_record_survives_being_put_aside(tmp_path: Path):
    shipment = Shipment(resource={"service.name": "shop"})
    for each in (span(1, ended=True, parent=2, a=[1, "x"]), log("l", 1, b=2.5), content(b"\xff"), thread(None, b"m")):
        ((kind, payload, _),) = frames_in(each)
        shipment.add(kind, payload)
    items = [*shipment.spans, *shipment.log_events(), *shipment.contents.values(), *shipment.threads]
    DeadLetters(tmp_path, 10_000).keep([(item, "no") for item in items])
    (path,) = dead_letters(tmp_path)
    kept = read_letters(path)
    said = [*kept.spans, *kept.log_events(), *kept.contents.values(), *kept.threads]
    for before, after in zip(items, said, strict=True):
        assert orjson.dumps(before, default=repr) == orjson.dumps(after, default=repr)
    assert kept.unreadable == 0
    assert path.stat().st_mode & 0o077 == 0


def test_where_there_is_no_room_to_put_records_aside_they_stay_in_the_journal(
    shipper_for: Callable[..., Shipper], lane: LaneWriter, collector: FakeCollector, told: list[str]
):
    collector.refuse = lambda path, decoded: Answer(400) if path == TRACES and "step 2" in names_in(decoded) else None
    shipper = shipper_for(collector.url, journal_max_bytes=800)
    lane.append(span(1) + span(2) + span(3))
    assert not shipper.flush(30)
    assert LaneReader(lane.path).acked() == Position(1, 0)
    assert "cannot be put aside" in told[-1]


def test_an_endpoint_that_is_no_playhead_collector_is_sent_nothing(
    shipper_for: Callable[..., Shipper], lane: LaneWriter, collector: FakeCollector, told: list[str]
):
    collector.plain = True
    shipper = shipper_for(collector.url, endpoint_is_otel=True, api_key="ours", headers=(("x-key", "theirs"),))
    lane.append(content(b"x") + log("playhead.checkpoint", 1) + span(1))
    assert not shipper.flush(30)
    assert not shipper.flush(30)
    assert {(request.path, request.body) for request in collector.requests} == {(WHO, b"")}
    assert {request.headers.get("authorization") for request in collector.requests} == {None}
    assert {request.headers.get("x-key") for request in collector.requests} == {"theirs"}
    assert LaneReader(lane.path).acked() == Position(1, 0)
    assert len(told) == 1
    for word in ("no Playhead collector", "OTEL_EXPORTER_OTLP_ENDPOINT", "PLAYHEAD_ENDPOINT", "playhead serve"):
        assert word in told[0]
    collector.plain = False
    assert shipper.flush(60)
    assert collector.span_names() == ["step 1"]
    assert {r.headers.get("authorization") for r in collector.requests if r.path == TRACES} == {"Bearer ours"}


def test_a_server_that_took_the_collector_s_place_acknowledges_nothing(
    shipper: Shipper, lane: LaneWriter, collector: FakeCollector, told: list[str]
):
    lane.append(span(1))
    assert shipper.flush(60)
    acked = LaneReader(lane.path).acked()
    collector.plain = True
    lane.append(span(2))
    assert not shipper.flush(30)
    assert LaneReader(lane.path).acked() == acked
    assert "does not answer as a Playhead collector any more" in told[0]
    collector.plain = False
    assert shipper.flush(60)
    assert "step 2" in collector.span_names()


def test_what_the_collector_leaves_out_of_a_request_is_found_and_kept(
    shipper: Shipper, lane: LaneWriter, collector: FakeCollector, told: list[str]
):
    def leave_out(path: str, decoded: Any) -> Answer | None:
        bad = {"step 3", "step 8"} & set(names_in(decoded)) if path == TRACES else set[str]()
        if not bad:
            return None
        answer = ExportTraceServiceResponse()
        answer.partial_success.rejected_spans = len(bad)
        answer.partial_success.error_message = "no room"
        return Answer(200, body=answer.SerializeToString())

    collector.refuse = leave_out
    lane.append(b"".join(span(number) for number in range(1, 11)))
    assert not shipper.flush(60)
    assert LaneReader(lane.path).acked() == lane.position
    assert (shipper.counters.rejected, shipper.counters.spans) == (2, 8)
    assert sorted(collector.span_names()) == sorted(f"step {n}" for n in range(1, 11) if n not in {3, 8})
    assert count_letters(lane.path.parent) == 2
    assert len(told) == 1
    assert "no room" in told[0]


def test_a_path_that_is_gone_for_a_moment_is_tried_again(shipper: Shipper, lane: LaneWriter, collector: FakeCollector):
    lane.append(content(b"x"))
    assert shipper.flush(60)
    collector.answer_next(CONTENT, Answer(404, by="proxy"))
    lane.append(content(b"y") + span(1))
    assert shipper.flush(60)
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
    assert shipper.flush(60)
    assert collector.span_names() == ["step 1"]


def wait_until(condition: Callable[[], Any], seconds: float = 60) -> bool:
    """For what another thread does; looks often, so that it costs no time once it is so."""
    deadline = time.monotonic() + seconds
    pause = threading.Event()
    while time.monotonic() < deadline:
        if condition():
            return True
        pause.wait(0.005)
    return False
