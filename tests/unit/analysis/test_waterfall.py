"""Calls in time: their own time, the longest path, answers that were lost, and what is new since an event."""

import random
from typing import Any

import pytest

from playhead.model import event as ev
from playhead_collector.analysis.waterfall import answer_waterfall, calls_in_time, covered_ms, mark_longest_path
from playhead_collector.read.record import RunRecord
from tests.support.readers.fake import EPOCH_NS, RUN, FakeStore, record_of

MS = 1_000_000


class Written:
    """Events of calls, given by their times in ms."""

    def __init__(self) -> None:
        self.moments: list[tuple[float, int, type[Any], dict[str, Any]]] = []
        self.add(0, ev.RunStarted, span="root", name="run")

    def add(self, at_ms: float, kind: type[Any], **fields: Any) -> None:
        self.moments.append((at_ms, len(self.moments), kind, fields))

    def agent(self, span: str, begin: float, end: float, parent: str = "root", error: str | None = None) -> None:
        self.add(begin, ev.StepStarted, span=span, name=span, step_kind="agent", parent=parent)
        self.add(
            end,
            ev.StepCompleted,
            span=span,
            name=span,
            step_kind="agent",
            elapsed_ms=end - begin,
            error_type=error,
        )

    def model(self, span: str, begin: float, end: float | None, parent: str) -> None:
        self.add(begin, ev.LlmCalled, span=span, model="gpt-4o", parent=parent, actor=parent)
        if end is not None:
            self.add(end, ev.LlmCompleted, span=span, elapsed_ms=end - begin, actor=parent)

    def tool(self, span: str, begin: float, end: float, parent: str, error: str | None = None) -> None:
        self.add(begin, ev.ToolCalled, span=span, name=span, parent=parent, actor=parent)
        kind, more = (ev.ToolCompleted, {}) if error is None else (ev.ToolFailed, {"error_type": error})
        self.add(end, kind, span=span, name=span, elapsed_ms=end - begin, actor=parent, **more)

    def events(self) -> list[ev.RunEvent]:
        return [
            kind(id=f"e{seq}", run=RUN, seq=seq, time_ns=EPOCH_NS + round(at * MS), **fields)
            for seq, (at, _, kind, fields) in enumerate(sorted(self.moments, key=lambda each: each[:2]), 1)
        ]


def record_of_events(events: list[ev.RunEvent]) -> RunRecord:
    store = FakeStore()
    store.keep_run(events)
    return record_of(store)


async def ask(written: Written, after: int = 0, limit: int = 100, cursor: int = 0) -> Any:
    return await answer_waterfall(record_of_events(written.events()), after=after, limit=limit, cursor=cursor)


def review() -> Written:
    """Three agents at the same time, of which the slowest raises."""
    written = Written()
    written.agent("review", 0, 10_000, error="ConnectionError")
    written.agent("performance", 480, 9_990, "review", error="ConnectionError")
    written.model("m1", 520, 5_500, "performance")
    written.tool("count_rows", 5_510, 5_960, "performance")
    written.model("m2", 5_970, 7_800, "performance")
    written.tool("query_plan", 7_810, 9_980, "performance", error="ConnectionError")
    written.agent("security", 10, 8_500, "review")
    written.model("m3", 15, 5_000, "security")
    written.tool("callers_of", 5_010, 5_200, "security")
    written.model("m4", 5_210, 8_490, "security")
    return written


async def test_the_longest_path_goes_through_the_agent_for_which_the_run_waited():
    answer = await ask(review())
    by_name = {call["name"] if call["kind"] != "model" else call["seq"]: call for call in answer["items"]}
    on_path = [call["name"] for call in answer["items"] if call["on_path"]]
    assert on_path == ["review", "performance", "gpt-4o", "count_rows", "gpt-4o", "query_plan"]
    assert answer["path"]["agents"] == ["performance"]
    assert answer["path"]["model_ms"] == pytest.approx(4_980 + 1_830)
    assert answer["path"]["tool_ms"] == pytest.approx(450 + 2_170)
    assert by_name["performance"]["own_ms"] == pytest.approx(9_510 - (4_980 + 450 + 1_830 + 2_170))
    assert by_name["review"]["own_ms"] == pytest.approx(20)  # before the first agent and behind the last
    assert (by_name["security"]["lost"], by_name["performance"]["lost"]) == (True, False)
    assert (by_name["query_plan"]["status"], by_name["query_plan"]["error"]) == ("failed", "ConnectionError")


async def test_a_tool_belongs_to_the_turn_of_its_own_agent():
    answer = await ask(review())
    turns = {call["name"]: call["turn"] for call in answer["items"] if call["kind"] == "tool"}
    models = [(call["turn"], call["actor"]) for call in answer["items"] if call["kind"] == "model"]
    assert models == [(1, "security"), (2, "performance"), (3, "security"), (4, "performance")]
    assert turns == {"callers_of": 1, "count_rows": 2, "query_plan": 4}
    agents = {call["seq"]: call["name"] for call in answer["items"] if call["kind"] == "agent"}
    assert {agents[call["agent"]] for call in answer["items"] if call["kind"] == "tool"} == {"performance", "security"}


async def test_an_open_call_has_no_duration_and_is_always_new():
    written = review()
    written.agent("late", 9_000, 9_100, "review")
    written.model("open", 9_050, None, "late")
    last = len(written.events())
    [new] = (await ask(written, after=last))["items"]
    assert (new["name"], new["status"], new["elapsed_ms"], new["own_ms"]) == ("gpt-4o", "open", None, None)
    ended = next(event.seq for event in written.events() if isinstance(event, ev.ToolFailed))
    names = [call["name"] for call in (await ask(written, after=ended - 1))["items"]]
    assert names == ["review", "performance", "query_plan", "gpt-4o"]


async def test_pages_have_every_call_once():
    whole = await ask(review())
    assert whole["next_cursor"] is None
    assert whole["calls"] == len(whole["items"]) == 10
    found: list[Any] = []
    cursor = 0
    while True:
        page = await ask(review(), limit=3, cursor=cursor)
        found += page["items"]
        if page["next_cursor"] is None:
            break
        cursor = int(page["next_cursor"])
    assert found == whole["items"]


async def test_a_run_without_calls_and_one_without_events():
    assert (await ask(Written()))["items"] == []
    answer = await answer_waterfall(record_of_events([]), after=0, limit=5, cursor=0)
    assert (answer["items"], answer["path"]["elapsed_ms"]) == ([], 0)


def test_calls_that_follow_each_other_are_all_on_the_path_though_clocks_differ_a_little():
    written = Written()
    written.agent("a", 0, 5_000)
    for n in range(20):
        written.model(f"m{n}", n * 200, n * 200 + 201, "a")  # ends 1 ms after the next one began
    calls = calls_in_time(written.events())
    mark_longest_path(calls)
    assert all(call.on_path for call in calls)


@pytest.mark.parametrize("seed", range(20))
def test_covered_time_is_that_of_a_count_by_milliseconds(seed: int):
    chance = random.Random(seed)
    written = Written()
    for n in range(chance.randrange(1, 12)):
        begin = chance.randrange(0, 300)
        written.model(f"m{n}", begin, begin + chance.randrange(0, 120), "root")
    calls = calls_in_time(written.events())
    counted = sum(any(call.start_ms <= ms < call.end_ms for call in calls) for ms in range(50, 250))
    assert covered_ms(calls, 50, 250) == pytest.approx(counted)
