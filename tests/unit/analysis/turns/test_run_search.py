"""Search in one run: the texts themselves, each place once, page by page."""

import json
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from playhead.model import event as ev
from playhead.model.canonical import canonical_json, text_of
from playhead_collector.analysis.turns import run_search
from playhead_collector.analysis.turns.run_search import TextFinder, find_in_run
from playhead_collector.errors import Refused
from tests.support.readers.agents import AgentsRun


async def hits_of(record: Any, wanted: str, limit: int = 50) -> list[Any]:
    hits: list[Any] = []
    cursor: str | None = None
    while True:
        page = await find_in_run(record, wanted, limit, cursor)
        assert len(page["items"]) <= limit
        hits += page["items"]
        cursor = page["next_cursor"]
        if cursor is None:
            return hits


def places(hits: list[Any]) -> list[tuple[str, int | None]]:
    return [(hit["where"], hit["turn"]) for hit in hits]


def shop() -> AgentsRun:
    run = AgentsRun(tools=[{"name": "find_order", "description": "Finds a lantern."}])
    run.says("Sell lanterns only.", role="system")
    run.says("x" * 300 + " Where is my Lantern, ランタン?")
    thought = run.store.keep("The lantern is late.")
    span = run.asks_model()
    run.model_answers(span, "A lantern!", [("find_order", "c1", {"what": "lantern"})], reasoning=thought)
    run.tool_returns(run.tool("find_order", {"what": "lantern"}, "c1"), {"item": "LANTERN", "n": 2})
    run.add(ev.StateChanged, run.root, key="lantern_state", value=run.store.keep({"lantern": True}))
    tool = run.tool("load", {"file": "lantern.json"})
    run.tool_raises(tool, "LanternError", "no lantern")
    run.turn("Your lantern comes on Friday.")
    return run


async def test_each_kind_of_text_is_found_once_and_says_where():
    hits = await hits_of(shop().done(), "lantern")
    assert places(hits) == [
        ("system", 1), ("user", 1), ("system", 1), ("reasoning", 1), ("answer", 1), ("arguments", 1), ("result", 1),
        ("state", None), ("state", None), ("arguments", 1), ("error", 1), ("error", 1), ("answer", 2),
    ]  # fmt: skip
    assert [hit["seq"] for hit in hits] == sorted(hit["seq"] for hit in hits)


async def test_the_place_is_where_the_text_stands_beyond_the_first_characters_and_in_any_script():
    run = shop()
    record = run.done()
    hit = (await hits_of(record, "LANTERN"))[1]
    message = run.store.bodies[hit["ref"].plain].data.decode()
    text = "x" * 300 + " Where is my Lantern, ランタン?"
    assert text in message
    assert text[hit["offset"] : hit["offset"] + hit["length"]] == "Lantern"
    assert "Where is my Lantern" in hit["quote"]
    assert places(await hits_of(record, "ランタン")) == [("user", 1)]
    chinese = AgentsRun()
    chinese.says("请帮我查一下订单的状态")
    chinese.turn("订单已发货")
    assert places(await hits_of(chinese.done(), "订单")) == [("user", 1), ("answer", 1)]
    assert await hits_of(record, "nowhere to be found") == []


@pytest.mark.parametrize("limit", [7, 40])
async def test_pages_join_to_the_whole(limit: int, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(run_search, "REACH", 20)
    run = shop()
    for number in range(60):
        run.turn(f"lantern {number} and lantern", [("find_order", f"n{number}", {"what": number})], result="a lantern")
    record = run.done()
    whole = await hits_of(record, "lantern", 10_000)
    assert await hits_of(record, "lantern", limit) == whole
    # Each turn says it twice, and once in its result, which stands in a message, too.
    assert [hit["where"] for hit in whole[13:19]] == ["answer", "answer", "result"] * 2
    assert len(whole) == 13 + 60 * 3


async def test_a_page_reads_no_more_than_it_may_and_says_where_to_go_on(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(run_search, "MAX_CONTENTS", 10)
    monkeypatch.setattr(run_search, "PORTION", 256)
    run = AgentsRun()
    for number in range(200):
        run.turn(f"answer {number}")
    run.turn("the needle")
    record = run.done()
    first = await find_in_run(record, "needle", 50, None)
    assert (first["items"], first["next_cursor"] is None, 10 <= first["contents"] < 300) == ([], False, True)
    assert places(await hits_of(record, "needle")) == [("answer", 201)]


async def test_a_system_prompt_counts_at_its_first_call_only():
    run = AgentsRun()
    system = run.store.keep("Be kind.")
    for _ in range(3):
        run.model_answers(run.asks_model(system=system), "Yes.")
    assert places(await hits_of(run.done(), "kind")) == [("system", 1)]


@pytest.mark.parametrize("cursor", ["x", "1", "1.2.3", "-1.0", "9999999999.0"])
async def test_a_cursor_that_was_not_given_is_refused(cursor: str):
    with pytest.raises(Refused, match="cursor"):
        await find_in_run(shop().done(), "lantern", 10, cursor)


@given(st.text(min_size=1, max_size=5), st.text(max_size=30), st.text(max_size=30))
@example("i", "İ", "I")
@example("ss", "ß", "SS")
def test_what_stands_there_is_found(wanted: str, before: str, after: str):
    text = before + wanted + after
    ranges = list(TextFinder(wanted).ranges(text))
    assert any(text[start:end] == wanted for start, end in ranges) or ranges
    for (_, end), (start, _) in pairwise(ranges):
        assert end <= start
    for start, end in ranges:
        assert (
            text[start:end].lower() == wanted.lower()
            or text[start:end].upper() == wanted.upper()
            or end - start == len(wanted)
        )


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
        max_leaves=6,
    ),
    st.data(),
)
def test_what_stands_in_a_text_may_be_in_its_bytes(value: Any, data: st.DataObject):
    """Contents that are passed over without being parsed do not have the text."""
    text = text_of(value)
    start = data.draw(st.integers(0, len(text)))
    wanted = text[start : data.draw(st.integers(start, len(text)))]
    for wanted_as in (wanted, wanted.upper(), wanted.lower()):
        finder = TextFinder(wanted_as)
        if wanted_as and any(finder.ranges(text)):
            assert finder.may_be_in(canonical_json(value))
            assert finder.may_be_in(json.dumps(value, indent=1).encode())


def test_contents_without_the_word_are_passed_over():
    finder = TextFinder("a Quartzite?")
    assert not finder.may_be_in(b'{"role":"tool","parts":[{"type":"text","content":"basalt"}]}')
    for may_have in (b'"some QUARTZITE"', '"caf\u00e9"'.encode(), rb'"quart\u007aite"', b'{"type":"playhead.ref"}'):
        assert finder.may_be_in(may_have), may_have
    assert TextFinder("17").may_be_in(b'"basalt"')
    assert TextFinder("nul").may_be_in(b"[NaN]")
