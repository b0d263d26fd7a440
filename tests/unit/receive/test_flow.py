"""Flow: what is in hand is bounded."""

import threading

import pytest

from playhead_collector.errors import Refused
from playhead_collector.receive.request_limiter import OFF_LOOP_BYTES, RequestLimiter, off_loop


def test_more_requests_than_there_is_room_for_are_asked_to_come_back():
    flow = RequestLimiter(max_requests=2, max_bytes=100)
    with flow.admit(), flow.admit():
        with pytest.raises(Refused, match="2 requests are in work") as refused, flow.admit():
            pass
        assert (refused.value.status, refused.value.headers["Retry-After"]) == (503, "1")
    with flow.admit():
        assert flow.requests == 1


def test_a_project_that_fills_its_places_leaves_some_to_the_others():
    flow = RequestLimiter(max_requests=4, max_bytes=100)
    with flow.admit(1), flow.admit(1), flow.admit(1), flow.admit(1):
        assert flow.is_full(1)
        assert not flow.is_full(2)
        assert not flow.is_full()
        with flow.admit(2):
            assert flow.is_full()
            with pytest.raises(Refused, match="5 requests are in work"), flow.admit(3):
                pass
        with flow.admit(3):
            assert flow.requests == 5
    assert (flow.requests, flow.by_project) == (0, {})


def test_more_bytes_than_there_is_room_for_are_asked_to_come_back():
    flow = RequestLimiter(max_requests=10, max_bytes=100)
    with flow.admit() as first:
        first.hold(60)
        with flow.admit() as second:
            second.hold(30)
            with pytest.raises(Refused, match="60 bytes are in work") as refused:
                second.hold(41)
        assert refused.value.status == 503
        assert flow.bytes == 60
    assert (flow.requests, flow.bytes) == (0, 0)


def test_a_request_that_is_alone_is_never_too_many_bytes():
    flow = RequestLimiter(max_requests=10, max_bytes=100)
    with flow.admit() as share, flow.admit():
        share.hold(1_000)
        assert flow.bytes == 1_000


def test_what_is_held_adds_up_when_threads_tell_it():
    flow = RequestLimiter(max_requests=10, max_bytes=10**9)

    def work() -> None:
        with flow.admit() as share:
            for size in range(20_000):
                share.hold(size)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert flow.bytes == 0


async def test_only_large_bodies_leave_the_event_loop():
    here = threading.get_ident()
    assert await off_loop(OFF_LOOP_BYTES, threading.get_ident) == here
    assert await off_loop(OFF_LOOP_BYTES + 1, threading.get_ident) != here
