"""Runs, events, spans and content: filters, pages, times."""

from contextlib import suppress
from datetime import UTC, datetime

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from playhead.model import event as ev
from playhead.model.canonical import BYTES, JSON, TEXT, Content
from playhead.model.message import text_message
from playhead.model.span import Span
from playhead.model.times import parse_time, rfc3339
from playhead.projection.run_row import RunRow
from playhead_collector.errors import ContentMissing, Refused
from playhead_collector.read.content import content_value, parse_ref, read_batch, read_thread
from playhead_collector.read.events import EventFilter, list_events, list_last_events
from playhead_collector.read.paging import list_cursor, read_list_cursor, read_row_cursor, read_seq
from playhead_collector.read.prices import shipped
from playhead_collector.read.runs import list_runs, run_detail
from playhead_collector.read.spans import in_tree_order
from playhead_collector.store.ports.runs import NEWEST_FIRST, RunFilter
from tests.support.readers.fake import EPOCH_NS, RUN, FakeStore, Story, record_of


@pytest.fixture
def store():
    return FakeStore()


# --- times -----------------------------------------------------------------------------------------------------------


@given(st.integers(0, 2**63 - 1))
def test_a_time_written_is_the_time_read(time_ns: int):
    assert parse_time(rfc3339(time_ns)) == time_ns


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("2026-01-31", "2026-01-31T00:00:00.000000000Z"),
        ("2026-01-31T12:00", "2026-01-31T12:00:00.000000000Z"),
        ("2026-01-31 12:00:00.5+02:00", "2026-01-31T10:00:00.500000000Z"),
        ("2026-01-31t12:00:00z", "2026-01-31T12:00:00.000000000Z"),
        ("1900-01-01", "1970-01-01T00:00:00.000000000Z"),
    ],
)
def test_times_may_be_written_in_short(text: str, same: str):
    assert rfc3339(parse_time(text)) == same


@pytest.mark.parametrize(
    "text", ["", "yesterday", "2026-13-01", "2026-01-31T25:00", "1700000000", "2026-01-31T12:00:00.1234567891Z"]
)
def test_what_is_no_time_is_refused_with_an_example(text: str):
    with pytest.raises(ValueError, match="write it like 2026-01-31T12:00:00Z"):
        parse_time(text)


@given(st.text(max_size=40))
def test_reading_a_time_never_fails_in_another_way(text: str):
    with suppress(ValueError):
        assert 0 <= parse_time(text) < 2**63


@given(st.datetimes(timezones=st.timezones()))
def test_every_time_of_a_calendar_can_be_read(moment: datetime):
    text = moment.isoformat()
    if moment.utcoffset() and moment.utcoffset().seconds % 60:  # pyright: ignore[reportOptionalMemberAccess]
        return  # RFC 3339 has no seconds in an offset
    expected = (moment - datetime(1970, 1, 1, tzinfo=UTC)) // (moment.resolution)
    assert parse_time(text) == max(0, min(expected * 1_000, 2**63 - 1))


# --- runs ------------------------------------------------------------------------------------------------------------


async def test_pages_of_runs_join_to_the_whole_list_newest_first(store: FakeStore):
    for n in range(23):
        run = f"{n:032x}"
        store.rows[run] = RunRow(run=run, name=None, status="running", started_ns=EPOCH_NS + n // 3, ended_ns=None)
    seen, cursor = [], None
    while True:
        page = await list_runs(store, 1, RunFilter(), 5, cursor, shipped())
        seen += [row["run"] for row in page["items"]]
        cursor = page["next_cursor"]
        if cursor is None:
            break
    assert seen == [f"{n:032x}" for n in reversed(range(23))]


def test_a_cursor_leads_back_to_its_row():
    row = RunRow(run=RUN, name=None, status="running", started_ns=EPOCH_NS, ended_ns=None)
    assert read_list_cursor(list_cursor(row, NEWEST_FIRST), NEWEST_FIRST) == (EPOCH_NS, RUN, 0.0)


@given(st.text(max_size=60))
def test_what_is_no_cursor_is_refused_and_nothing_else_happens(text: str):
    for read in (read_row_cursor, read_seq):
        with suppress(Refused):
            read(text)


async def test_a_run_says_how_whole_its_record_is_and_where_to_ask_on(store: FakeStore):
    store.keep_run([], spans_missing=2, fork_of="f" * 32, fork_at=7, parent_missing=True)
    store.keep_run([], "e" * 32, fork_of=RUN, fork_at=3, attempt=2)
    detail = await run_detail(record_of(store), shipped())
    whole = {
        "complete": False, "spans_missing": 2, "content_pending": 0, "parent_missing": True, "sealed": False,
        "retained": "hot",
    }  # fmt: skip
    assert detail["completeness"] == whole
    assert [(fork["run"], fork["at"]) for fork in detail["forks"]] == [("e" * 32, 3)]
    assert detail["links"]["forks"] == f"/api/v1/runs?fork_of={RUN}"
    assert (detail["attempts"], (await run_detail(record_of(store, "e" * 32), shipped()))["attempts"]) == (1, 3)
    assert detail["links"]["tool_calls"] == f"/api/v1/runs/{RUN}/tool-calls"
    assert detail["links"]["fork_of"] == f"/api/v1/runs/{'f' * 32}"


async def test_a_run_names_the_run_that_it_continues_and_those_that_continue_it(store: FakeStore):
    other = "e" * 32
    started = ev.RunStarted(id="1", seq=1, name="next", continues=other, run=RUN, time_ns=EPOCH_NS)
    store.keep_run([started], continued_by=("2" * 32, "3" * 32))
    detail = await run_detail(record_of(store), shipped())
    assert (detail["continues"], detail["continued_by"]) == (other, ["2" * 32, "3" * 32])
    assert detail["links"]["continues"] == f"/api/v1/runs/{other}"


# --- events ----------------------------------------------------------------------------------------------------------


def five_hundred(store: FakeStore):
    story = Story(store)
    story.add(ev.RunStarted, "root", name="support")
    for n in range(498):
        story.add(ev.StepStarted, f"s{n}", name="step")
    story.add(ev.RunCompleted, "root", elapsed_ms=1.0)
    return story.done()


@pytest.mark.parametrize("limit", [1, 7, 100, 499, 500, 501])
async def test_pages_of_events_join_to_the_whole_log(store: FakeStore, limit: int):
    record = five_hundred(store)
    seen, after = [], 0
    while True:
        page = await list_events(record, EventFilter(), limit, after)
        seen += [event["seq"] for event in page["items"]]
        assert len(page["items"]) <= limit
        if page["next_cursor"] is None:
            break
        after = int(page["next_cursor"])
    assert seen == list(range(1, 501))


async def test_behind_the_last_event_there_is_an_empty_page(store: FakeStore):
    record = five_hundred(store)
    for after in (500, 501, 700):
        assert await list_events(record, EventFilter(), 10, after) == {"items": [], "next_cursor": None}


async def test_events_can_be_asked_for_by_kind_priority_and_time(store: FakeStore):
    record = five_hundred(store)

    async def seqs(**where):
        page = await list_events(record, EventFilter(**where), 1_000, 0)
        assert page["next_cursor"] is None
        return [event["seq"] for event in page["items"]]

    assert await seqs(kinds={"run_completed"}) == [500]
    assert await seqs(priority="critical") == [1, 500]
    assert await seqs(since_ns=EPOCH_NS + 499) == [499, 500]


async def test_kinds_that_no_event_has_give_an_empty_list_and_a_hint(store: FakeStore):
    story = Story(store)
    story.add(ev.RunStarted, "root", name="x")
    record = story.done()
    page = await list_events(record, EventFilter(kinds={"run_begun"}), 10, 0)
    assert page["items"] == []
    assert "'run_begun'" in page.get("hint", "")
    assert "run_started" in page.get("hint", "")
    assert "hint" not in await list_events(record, EventFilter(kinds={"run_failed"}), 10, 0)


async def test_an_event_of_a_kind_from_the_future_is_listed_as_it_came(store: FakeStore):
    story = Story(store)
    original = {"kind": "from_2030", "data": {"x": 1}, "refs": {}, "priority": "critical"}
    story.add(ev.UnknownEvent, original_kind="from_2030", original=original)
    (event,) = (await list_events(story.done(), EventFilter(priority="critical"), 10, 0))["items"]
    assert (event["kind"], event["data"], event["seq"]) == ("from_2030", {"x": 1}, 1)


# --- spans -----------------------------------------------------------------------------------------------------------


def span(span_id: str, parent: str | None, start: int = 0) -> Span:
    return Span("t", span_id, parent, span_id, start, None, {})


def test_each_span_comes_after_its_parent_and_siblings_by_their_start():
    tree = in_tree_order([span("c", "a", 3), span("b", "a", 2), span("a", "elsewhere", 1), span("d", "b", 9)])
    assert [(one.span_id, depth) for one, depth in tree] == [("a", 0), ("b", 1), ("d", 2), ("c", 1)]


def test_spans_that_are_each_others_parents_are_shown_once():
    tree = in_tree_order([span("a", "b", 1), span("b", "a", 2), span("c", "c", 3)])
    assert [(one.span_id, depth) for one, depth in tree] == [("a", 0), ("b", 1), ("c", 0)]


def test_a_tree_may_be_deeper_than_python_may_recurse():
    tree = in_tree_order([span(f"{n}", f"{n - 1}" if n else None, n) for n in range(5_000)])
    assert [depth for _, depth in tree] == list(range(5_000))


# --- content ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "answer"),
    [
        (Content(b'{"a":123456789012345678901}', JSON), {"value": {"a": 123456789012345678901}}),
        (Content(b'"\\ud800"', JSON), {"value": "\ud800"}),
        (Content("é".encode(), TEXT), {"value": "é"}),
        (Content(b"{broken", JSON), {"base64": "e2Jyb2tlbg=="}),
        (Content(b"\x00\x01", BYTES), {"base64": "AAE="}),
        (Content(b"null", JSON), {"value": None}),
    ],
)
def test_a_content_within_json_is_exact(content: Content, answer, read_json):
    assert read_json(content_value(content)) == {
        "media_type": content.media_type,
        "size": len(content.data),
        **answer,
    }


async def test_a_batch_leaves_out_what_is_not_stored(store: FakeStore):
    here, gone = store.keep({"x": 1}), store.keep("gone")
    del store.bodies[gone]
    answer = await read_batch(store, 1, [here, gone, here])
    assert list(orjson.loads(orjson.dumps(answer))) == [here]


@pytest.mark.parametrize("text", ["", "sha256:abc", "SHA256:" + "0" * 64, "gs://bucket/x", "sha256:" + "A" * 64])
def test_what_is_no_ref_is_refused(text: str):
    with pytest.raises(Refused, match="is not a content ref"):
        parse_ref(text)


async def test_a_thread_can_be_read_as_its_messages(store: FakeStore, read_json):
    thread = store.keep_thread([text_message("user", "a"), text_message("assistant", "b")])
    assert thread.ref is not None
    answer = read_json(await read_thread(store, 1, thread.ref))
    assert [m["role"] for m in answer["messages"]] == ["user", "assistant"]
    with pytest.raises(ContentMissing):
        await read_thread(store, 1, store.keep("no thread"))


@pytest.mark.parametrize("last", [1, 7, 700])
async def test_the_last_events_are_those_at_the_end(store: FakeStore, last: int):
    story = Story(store)
    for n in range(600):
        story.add(ev.StateChanged if n % 3 else ev.RunStarted, "root", **({"key": "k"} if n % 3 else {"name": "x"}))
    record = story.done()
    page = await list_last_events(record, EventFilter(), last)
    assert [item["seq"] for item in page["items"]] == list(range(max(1, 601 - last), 601))
    assert page["next_cursor"] is None
    started = [event.seq for event in store.events_of[RUN] if event.kind == "run_started"]
    page = await list_last_events(record, EventFilter(frozenset({"run_started"})), last)
    assert [item["seq"] for item in page["items"]] == started[-last:]
