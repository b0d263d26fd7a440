from playhead.export.shipment import MAX_BYTES, MAX_SPANS, Shipment
from playhead.journal.frame import CONTENT, RESOURCE, SPAN, frame, frames_in
from tests.unit.export.records import WHO, content, log, span, span_id, thread


def shipment_of(*frames: bytes) -> Shipment:
    shipment = Shipment()
    for kind, payload, _ in frames_in(b"".join(frames)):
        shipment.add(kind, payload)
    return shipment


def test_frames_become_contents_threads_spans_and_log_events():
    shipment = shipment_of(
        WHO, content(b"hello"), thread(None, b"hello"), span(1, answer=42), log("playhead.handoff", 1)
    )
    assert [c.data for c in shipment.contents.values()] == [b"hello"]
    assert [len(t.messages) for t in shipment.threads] == [1]
    assert [(s.name, s.attributes, s.scope, s.resource) for s in shipment.spans] == [
        ("step 1", {"answer": 42}, "playhead", {"service.name": "shop"})
    ]
    assert [(e.name, e.scope, e.resource) for e in shipment.log_events()] == [
        ("playhead.handoff", "playhead", {"service.name": "shop"})
    ]


def test_a_span_that_ends_in_the_shipment_is_not_announced():
    shipment = shipment_of(span(1, ended=False), span(2, ended=False), span(2))
    assert [event.span_id for event in shipment.log_events()] == [span_id(1)]


def test_an_announcement_says_the_name_and_the_parent_and_what_was_known_at_the_start():
    (event,) = shipment_of(span(2, ended=False, parent=1, kind="tool")).log_events()
    assert event.name == "playhead.started"
    assert event.attributes == {
        "kind": "tool",
        "playhead.span.name": "step 2",
        "playhead.span.parent_id": span_id(1),
    }


def test_announcements_and_log_events_keep_the_order_of_the_journal():
    events = shipment_of(span(1, ended=False), log("a", 1), span(2, ended=False), log("b", 2)).log_events()
    assert [event.name for event in events] == ["playhead.started", "a", "playhead.started", "b"]


def test_the_same_content_twice_travels_once():
    assert len(shipment_of(content(b"hello"), content(b"hello")).contents) == 1


def test_a_frame_that_makes_no_sense_is_counted_and_left_out():
    shipment = shipment_of(frame(SPAN, b"[1]"), frame(b"?", b"of a later version"), frame(CONTENT, b"short"), span(1))
    assert shipment.unreadable == 3
    assert [s.name for s in shipment.spans] == ["step 1"]


def test_a_frame_beyond_the_limit_of_bytes_travels_alone():
    shipment = Shipment()
    assert shipment.fits(CONTENT, bytes(MAX_BYTES + 1))
    shipment.add(RESOURCE, b"{}")
    assert shipment.fits(CONTENT, bytes(MAX_BYTES + 1))
    shipment.add(CONTENT, next(frames_in(content(b"x")))[1])
    assert not shipment.fits(CONTENT, bytes(MAX_BYTES))


def test_a_shipment_has_no_more_spans_than_the_limit_says():
    shipment = shipment_of(*map(span, range(1, MAX_SPANS + 1)))
    assert not shipment.fits(SPAN, b"[]")
    assert shipment.fits(RESOURCE, b"{}")
