"""The client's side of a live stream: messages are read from any portions of bytes, lost connections are made again."""

from itertools import pairwise
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from playhead.client.requests import WatchRequest
from playhead.client.watching import MessageDecoder, Watch
from playhead.errors import CollectorUnreachable
from playhead_collector.live.messages import HEARTBEAT, StreamPosition, message

VALUES = st.dictionaries(st.text(max_size=5), st.text(max_size=20), max_size=3)
MESSAGES = st.lists(st.tuples(VALUES, st.integers(1, 10**9), st.sampled_from([None, "changed", "end"])), max_size=6)


@given(sent=MESSAGES, cuts=st.lists(st.integers(0, 400), max_size=8), crlf=st.booleans())
def test_messages_are_read_however_their_bytes_arrive(
    sent: list[tuple[dict[str, str], int, str | None]], cuts: list[int], crlf: bool
):
    data = HEARTBEAT + b"".join(message(value, StreamPosition(number), kind) for value, number, kind in sent)
    data += b"id: 7\n\n"
    whole = data.replace(b"\n", b"\r\n") if crlf else data
    edges = sorted({0, len(whole), *(cut for cut in cuts if cut < len(whole))})
    decoder = MessageDecoder()
    found = [
        each for start, stop in pairwise(edges) for each in decoder.feed(whole[start:stop])
    ]  # fmt: skip
    expected = [(kind or "", message(value, None).removeprefix(b"data: ").rstrip(b"\n")) for value, _, kind in sent]
    assert [(each.kind, each.data.rstrip(b"\n")) for each in found] == expected
    assert decoder.last_id == "7"


def test_a_message_that_was_cut_off_counts_for_nothing():
    decoder = MessageDecoder()
    assert len(list(decoder.feed(b"id: 1\ndata: {}\n\nid: 2\ndata: {"))) == 1
    decoder.cut()
    assert decoder.last_id == "1"
    (again,) = decoder.feed(b'id: 2\ndata: {"a":1}\n\n')
    assert again.data == b'{"a":1}'
    assert decoder.last_id == "2"


def watch(limit: int | None = None, **more: Any) -> tuple[Watch, list[float]]:
    now = [0.0]
    request = WatchRequest(None, more, limit, None, None, 60.0)
    return Watch(request, None, lambda: now[0]), now


def test_what_never_answered_is_told_at_once_and_what_was_lost_is_tried_again_for_a_while():
    gone = CollectorUnreachable("no collector answers")
    never, _ = watch()
    with pytest.raises(CollectorUnreachable):
        never.lost(gone)
    lost, now = watch()
    assert list(lost.feed(b": still here\n\n")) == []
    delays: list[float] = []
    while now[0] < 50:
        delays.append(lost.lost(gone))
        now[0] += delays[-1]
    now[0] = 61
    with pytest.raises(CollectorUnreachable):
        lost.lost(gone)
    assert delays[0] < 0.3
    assert max(delays) <= 10


def test_a_connection_goes_on_behind_the_last_id_with_what_is_left_of_the_limit():
    watched, _ = watch(limit=3, kinds="tool_called")
    with httpx.Client(base_url="http://localhost/api/v1/") as http:
        first = watched.request(http)
        assert first.url.params["limit"] == "3"
        assert "last-event-id" not in first.headers
        assert len(list(watched.feed(b'id: 4.2\ndata: {"seq":1}\n\nid: 4.3\ndata: {"seq":2}\n\nid: 5\n\n'))) == 2
        watched.lost()
        again = watched.request(http)
    assert again.headers["last-event-id"] == "5"
    assert dict(again.url.params) == {"kinds": "tool_called", "limit": "1"}
    assert not watched.is_done
    assert (
        len(list(watched.feed(b'data: {"seq":3}\n\nevent: end\ndata: {"reason":"limit","reconnect":false}\n\n'))) == 1
    )
    assert watched.is_done
