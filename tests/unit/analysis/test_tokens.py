"""Tokens: reported, calibrated, estimated; limits, compressions, cost."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from playhead.model import event as ev
from playhead.model.message import Message, message_contents, text_message
from playhead.model.models import ModelFacts
from playhead.model.token_estimates import estimate_message
from playhead_collector.analysis.tokens.split import counted_parts, shares
from playhead_collector.analysis.tokens.tokens import answer_tokens
from playhead_collector.errors import BadSetting
from playhead_collector.read.prices import Prices, read_prices, shipped
from playhead_collector.read.token_estimates import Sample, Scale, calibrate
from tests.support.readers.fake import FakeStore, Story, record_of

SMALL = Prices("2026-01-01", "a test", "EUR", {"gpt-4o": ModelFacts("gpt-4o", 40, 2.0, 10.0, 0.5)})
COMPACTED = {"compaction_input_tokens": 1_000, "compaction_output_tokens": 50}
QUESTION, ANSWER = text_message("user", "Where is my order?"), text_message("assistant", "On its way.")


def usage(**tokens: int) -> ev.TokenUsage:
    return ev.TokenUsage(**tokens)


async def ask(story: Story, prices: Prices = SMALL, limit: int = 100, after: int = 0) -> Any:
    return await answer_tokens(story.done(), prices, limit, after)


def call(
    story: Story, span: str, before: list[Message], new: list[Message], reported: ev.TokenUsage, **fields: Any
) -> None:
    """A model call whose answer is ANSWER; what it reports is as given."""
    thread = story.store.keep_thread([*before, *new])
    for node in thread.nodes[len(before) :]:
        story.add(ev.MessageAdded, span, role="user", message=node.message)
    story.add(ev.LlmCalled, span, model="gpt-4o", thread=thread.ref, **fields)
    answer = story.store.keep_thread([ANSWER])
    story.add(ev.LlmCompleted, span, model="gpt-4o-2024-08-06", usage=reported, thread=answer.ref)
    story.add(ev.MessageAdded, span, role="assistant", source="output", message=answer.nodes[0].message)


async def test_what_the_provider_reported_anchors_every_point():
    story = Story(FakeStore())
    call(story, "a", [], [text_message("system", "Be kind."), QUESTION], usage(input_tokens=30, output_tokens=4))
    call(story, "b", [QUESTION, ANSWER], [QUESTION], usage(input_tokens=44, output_tokens=5, reasoning_tokens=2))
    answer = await ask(story)
    totals = [(point["kind"], point["context"], point["context_basis"]) for point in answer["items"]]
    assert totals[1:5] == [
        ("message_added", 30, "reported"),
        ("llm_called", 30, "reported"),
        ("llm_completed", 30, "reported"),
        ("message_added", 34, "reported"),
    ]
    assert totals[0][2] == "calibrated"
    assert [(p["added"], p["added_basis"]) for p in answer["items"] if p["role"] == "assistant"] == [
        (4, "reported"),
        (3, "reported"),  # what was thought does not enter the context
    ]
    assert answer["totals"]["context_peak"] == 44


async def test_of_model_calls_only_the_points_where_they_begin_and_end_and_splits_of_these():
    story = Story(FakeStore())
    before: list[Message] = []
    for n in range(5):
        call(story, f"s{n}", before, [QUESTION], usage(input_tokens=100 - abs(n - 3), output_tokens=4))
        before = [*before, QUESTION, ANSWER]
    record = story.done()
    whole = await answer_tokens(record, SMALL, 100, 0, split=True)
    expected = [point for point in whole["items"] if point["kind"].startswith("llm_")]
    found: list[Any] = []
    after = 0
    while True:
        page = await answer_tokens(record, SMALL, 3, after, split=True, calls=True)
        assert "split" not in page["totals"]
        found += page["items"]
        if page["next_cursor"] is None:
            break
        after = int(page["next_cursor"])
    assert found == expected
    assert len(found) == 10
    peak = next(point for point in expected if point["seq"] == whole["totals"]["peak_call"])
    assert (peak["context"], whole["totals"]["context_peak"]) == (100, 100)


TOOL_TEXT = "The order is on its way, and comes on Friday."


def talk() -> list[Message]:
    asks = {"type": "tool_call", "id": "c1", "name": "look_up", "arguments": {"order": 7}}
    gives = {"type": "tool_call_response", "id": "c1", "response": TOOL_TEXT}
    return [
        text_message("system", "Be kind, and be brief."),
        QUESTION,
        {"role": "assistant", "parts": [asks]},
        {"role": "tool", "parts": [gives]},
    ]


async def split_of(story: Story) -> tuple[list[Any], Any]:
    """The splits of the calls, and their sum."""
    answer = await answer_tokens(story.done(), SMALL, 100, 0, split=True)
    return [point["split"] for point in answer["items"] if "split" in point], answer["totals"].get("split")


async def test_the_parts_of_a_context_add_up_to_what_the_provider_counted():
    story = Story(FakeStore())
    tools, system = story.store.keep([{"name": "look_up"}]), story.store.keep("Answer in English.")
    call(story, "a", [], talk()[:2], usage(input_tokens=101, output_tokens=7), tools=tools, system=system)
    call(story, "b", talk()[:2], talk()[2:], usage(input_tokens=203, output_tokens=9), tools=tools)
    first, second = (await split_of(story))[0]
    for split, whole, output in ((first, 101, 7), (second, 203, 9)):
        assert sum(split[name] for name in ("system", "tools", "history", "retrieved")) == whole
        assert (split["output"], split["basis"]) == (output, "calibrated")
    assert (first["retrieved"], second["retrieved"] > 0) == (0, True)
    assert first["system"] > second["system"] / 203 * 101
    total = (await split_of(story))[1]
    parts = ("system", "tools", "history", "retrieved", "output")
    assert total == {name: first[name] + second[name] for name in parts} | {"basis": "calibrated", "calls": 2}


async def test_the_same_system_prompt_and_tools_count_the_same_at_each_call():
    story = Story(FakeStore())
    tools, system = story.store.keep([{"name": "look_up"}] * 20), story.store.keep("Answer in English. " * 50)
    same = {"tools": tools, "system": system}
    call(story, "a", [], talk()[:2], usage(input_tokens=412, output_tokens=7), **same)
    call(story, "b", talk()[:2], talk()[2:], usage(input_tokens=470, output_tokens=9), **same)
    call(story, "c", talk(), talk()[1:], usage(input_tokens=623, output_tokens=9), **same)
    call(story, "d", talk(), talk()[1:2], usage(), **same)  # under way, or not reported
    splits = (await split_of(story))[0]
    assert len({(split["system"], split["tools"]) for split in splits}) == 1
    assert [sum(split[name] for name in ("system", "tools", "history", "retrieved")) for split in splits[:3]] == [
        412, 470, 623,
    ]  # fmt: skip


@given(
    st.integers(0, 10_000),
    st.lists(st.floats(0, 1e4), min_size=2, max_size=2),
    st.lists(st.floats(0, 1e4), min_size=2, max_size=4),
    st.floats(0.1, 10),
)
def test_counted_parts_add_up_and_none_is_negative(whole: int, fixed: list[float], rest: list[float], factor: float):
    parts = counted_parts(whole, fixed, rest, factor)
    assert sum(parts) == whole
    assert min(parts) >= 0
    assert len(parts) == len(fixed) + len(rest)


async def test_without_reports_the_parts_are_estimates_and_say_so():
    story = Story(FakeStore())
    call(story, "a", [], talk(), usage())
    ((split,), total) = await split_of(story)
    system, question, asks, gives = map(estimate_message, talk())
    assert (split["system"], split["retrieved"], split["tools"]) == (round(system), round(gives), 0)
    assert split["history"] == pytest.approx(question + asks, abs=1)
    assert (split["output"], split["basis"]) == (round(estimate_message(ANSWER)), "estimated")
    assert total["calls"] == 1


async def test_nothing_is_said_of_a_context_that_is_not_stored_as_a_whole():
    story = Story(FakeStore())
    call(story, "a", [], talk(), usage(input_tokens=9, output_tokens=1))
    del story.store.bodies[message_contents(talk()[1])[0].ref]
    assert await split_of(story) == ([None], None)


async def test_the_parts_are_left_out_unless_they_are_asked_for():
    story = Story(FakeStore())
    call(story, "a", [], talk(), usage(input_tokens=9, output_tokens=1))
    answer = await ask(story)
    assert not any("split" in each for each in (*answer["items"], answer["totals"]))


@given(st.integers(0, 10**9), st.lists(st.floats(0, 1e6), min_size=4, max_size=4))
def test_shares_add_up_and_are_in_proportion(whole: int, estimates: list[float]):
    found = shares(whole, estimates)
    assert sum(found) == whole
    total = sum(estimates)
    assert total == 0 or all(abs(n - whole * each / total) <= 1 for n, each in zip(found, estimates, strict=True))


async def test_the_level_is_a_warning_from_four_fifths_of_the_limit_on():
    story = Story(FakeStore())
    for span, tokens in (("a", 31), ("b", 32)):
        call(story, span, [], [QUESTION], usage(input_tokens=tokens, output_tokens=1))
    answer = await ask(story)
    called = [point for point in answer["items"] if point["kind"] == "llm_called"]
    assert [(point["limit"], point["ratio"], point["level"]) for point in called] == [
        (40, 0.775, "ok"),
        (40, 0.8, "warning"),
    ]
    assert (answer["totals"]["warnings"], answer["totals"]["peak_ratio"], answer["warn_at"]) == (1, 0.8, 0.8)


async def test_an_estimate_is_calibrated_by_the_run_s_own_calls_and_says_so():
    story = Story(FakeStore())
    call(story, "a", [], [QUESTION], usage(input_tokens=17, output_tokens=1))
    call(story, "b", [], [QUESTION], usage())
    answer = await ask(story)
    assert estimate_message(QUESTION) == 8.5
    (model,) = answer["models"]
    assert model["calibration"] == {"factor": 2.0, "calls": 1, "scope": "run"}
    called = [(p["context"], p["context_basis"]) for p in answer["items"] if p["kind"] == "llm_called"]
    assert called == [(17, "reported"), (17, "calibrated")]
    assert (answer["totals"]["unreported_calls"], answer["totals"]["unpriced_calls"]) == (1, 1)


async def test_without_own_reports_other_runs_of_the_project_calibrate():
    store = FakeStore()
    other = Story(store)
    call(other, "a", [], [QUESTION], usage(input_tokens=17))
    store.keep_run(other.events, "f" * 32, models=("gpt-4o",))
    own = Story(store)
    call(own, "b", [], [QUESTION], usage())
    answer = await ask(own)
    assert answer["models"][0]["calibration"] == {"factor": 2.0, "calls": 1, "scope": "project"}


async def test_with_nothing_reported_anywhere_an_estimate_is_an_estimate():
    story = Story(FakeStore())
    tools = story.store.keep([{"name": "find"}])
    call(story, "a", [], [QUESTION], usage(), tools=tools)
    answer = await ask(story)
    assert answer["models"][0]["calibration"] is None
    called = next(point for point in answer["items"] if point["kind"] == "llm_called")
    assert (called["context"], called["context_basis"]) == (round(8.5 + len('[{"name":"find"}]') / 4), "estimated")


async def test_a_compression_takes_away_what_it_dropped_unless_it_says_better():
    story = Story(FakeStore())
    call(story, "a", [], [QUESTION, ANSWER], usage(input_tokens=15))
    dropped = tuple(story.store.keep(message) for message in (QUESTION, ANSWER))
    story.add(ev.ContextCompressed, "b", origin="inferred", dropped=dropped)
    call(story, "b", [], [QUESTION], usage(input_tokens=9))
    story.add(ev.ContextCompressed, "c", origin="declared", tokens_before=900, tokens_after=100)
    answer = await ask(story)
    inferred, declared = (point for point in answer["items"] if point["kind"] == "context_compressed")
    assert (inferred["added_basis"], inferred["context"]) == ("calibrated", 0)
    assert -17 < inferred["added"] < -8
    assert (declared["added"], declared["added_basis"], declared["context"]) == (-800, "reported", 100)
    assert answer["totals"]["compressions"] == [inferred["seq"], declared["seq"]]


async def test_what_a_declared_compression_saved_and_its_summary_cost():
    """Two calls wrote the summary, in parts, in the step of the managed context."""
    story = Story(FakeStore())
    call(story, "a", [], [QUESTION], usage(input_tokens=900, output_tokens=1))
    story.add(ev.StepStarted, "step", name="compress")
    call(story, "s1", [], [QUESTION], usage(input_tokens=500, output_tokens=10), parent="step")
    call(story, "s2", [], [QUESTION], usage(input_tokens=300, output_tokens=20), parent="step")
    story.add(ev.StepCompleted, "step", name="compress")
    story.add(
        ev.ContextCompressed, None, origin="declared", strategy="summary", trigger="threshold", note="done",
        tokens_before=800, tokens_after=90, summariser="s2", policy=story.store.keep({"limit": 1_000}),
    )  # fmt: skip
    call(story, "b", [], [QUESTION], usage(input_tokens=200, output_tokens=1))
    story.add(ev.ContextCompressed, None, origin="declared", strategy="sliding_window", fallback="it failed")
    answer = await ask(story)
    first, second = (point["compression"] for point in answer["items"] if "compression" in point)
    seqs = {point["call"]: point["seq"] for point in answer["items"] if point["kind"] == "llm_called"}
    assert (first["before"], first["after"], first["saved"]) == (900, 200, 700)
    assert (first["trigger"], first["note"], first["fallback"]) == ("threshold", "done", None)
    assert first["policy"] is not None
    assert first["summary_calls"] == sorted(seqs)[1:3]
    assert (first["summary_input_tokens"], first["summary_output_tokens"]) == (800, 30)
    assert first["summary_cost"] == pytest.approx((800 * 2.0 + 30 * 10.0) / 1e6)
    assert (second["saved"], second["fallback"], second["summary_calls"]) == (None, "it failed", [])
    assert answer["totals"]["compressed"] == {
        "compressions": 2, "declared": 2, "saved": 700, "unknown": 1, "summary_calls": 2,
        "summary_input_tokens": 800, "summary_output_tokens": 30, "summary_cost": first["summary_cost"],
    }  # fmt: skip


async def test_without_counts_around_it_a_declared_compression_saved_what_it_says():
    story = Story(FakeStore())
    call(story, "a", [], [QUESTION], usage())
    story.add(ev.ContextCompressed, None, origin="declared", tokens_before=800, tokens_after=90)
    [point] = [each for each in (await ask(story))["items"] if "compression" in each]
    assert (point["compression"]["before"], point["compression"]["saved"]) == (800, 710)


async def test_a_providers_own_summary_costs_what_it_counts_apart():
    story = Story(FakeStore())
    call(story, "a", [], [QUESTION], usage(input_tokens=100, output_tokens=5, **COMPACTED))
    story.add(ev.ContextCompressed, "a", origin="provider", summariser="a", tokens_before=1_000, tokens_after=100)
    answer = await ask(story)
    [made] = [each["compression"] for each in answer["items"] if "compression" in each]
    assert (made["saved"], made["summary_input_tokens"], made["summary_output_tokens"]) == (900, 1_000, 50)
    assert made["summary_cost"] == pytest.approx((1_000 * 2.0 + 50 * 10.0) / 1e6)
    totals = answer["totals"]
    assert (totals["input_tokens"], totals["output_tokens"]) == (1_100, 55)
    assert totals["cost"] == pytest.approx((1_100 * 2.0 + 55 * 10.0) / 1e6)


async def test_what_a_provider_counts_together_is_not_known_apart():
    story = Story(FakeStore())
    call(story, "a", [], [QUESTION], usage(input_tokens=100, output_tokens=5))
    story.add(ev.ContextCompressed, "a", origin="provider", summariser="a", tokens_before=100)
    [made] = [each["compression"] for each in (await ask(story))["items"] if "compression" in each]
    assert (made["saved"], made["summary_cost"], len(made["summary_calls"])) == (None, None, 1)


async def test_a_cost_counts_cached_tokens_by_their_own_price_and_unknown_ones_not_at_all():
    story = Story(FakeStore())
    call(story, "a", [], [QUESTION], usage(input_tokens=1_000, output_tokens=100, cache_read_tokens=400))
    call(story, "b", [], [QUESTION], usage(input_tokens=1_000))
    answer = await ask(story)
    totals = answer["totals"]
    assert totals["cost"] == pytest.approx((600 * 2 + 400 * 0.5 + 100 * 10) / 1e6)
    assert (totals["unpriced_calls"], totals["cache_hit_share"], totals["cache_read_tokens"]) == (1, 0.4, 400)
    assert answer["prices"] == {"date": "2026-01-01", "source": "a test", "currency": "EUR"}


async def test_a_model_without_a_price_costs_null_and_never_zero():
    story = Story(FakeStore())
    call(story, "a", [], [QUESTION], usage(input_tokens=10, output_tokens=1))
    answer = await ask(story, Prices("", "", "", {}))
    assert (answer["totals"]["cost"], answer["totals"]["unpriced_calls"]) == (None, 1)
    assert (answer["models"][0]["limit"], answer["models"][0]["price"]) == (None, None)
    assert {point["level"] for point in answer["items"]} == {None}
    assert answer["totals"]["cache_hit_share"] is None


async def test_pages_join_to_the_whole_timeline():
    story = Story(FakeStore())
    for span in "abcdef":
        call(story, span, [], [QUESTION], usage(input_tokens=10))
    whole = (await ask(story))["items"]
    seen, cursor = [], "0"
    while cursor is not None:
        page = await answer_tokens(record_of(story.store), SMALL, 5, int(cursor))
        seen += page["items"]
        cursor = page["next_cursor"]
    assert seen == whole


async def test_messages_that_are_not_stored_have_no_tokens_and_make_none_up():
    story = Story(FakeStore())
    call(story, "a", [], [QUESTION, text_message("user", "lost")], usage(input_tokens=10))
    for ref in [event.message for event in story.events if isinstance(event, ev.MessageAdded)][:2]:
        story.store.bodies.pop(ref)  # pyright: ignore[reportArgumentType]
    points = (await ask(story))["items"]
    assert [(point["added"], point["context"]) for point in points[:2]] == [(None, None), (None, 10)]


async def test_an_empty_run_has_an_empty_timeline():
    store = FakeStore()
    store.keep_run([])
    answer = await answer_tokens(record_of(store), SMALL, 10, 0)
    assert (answer["items"], answer["models"], answer["totals"]["cost"]) == ([], [], None)


# --- prices and estimates --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "line"),
    [
        ("gpt-4o", "gpt-4o"),
        ("gpt-4o-2024-08-06", "gpt-4o"),
        ("gpt-4o-2024-05-13", "gpt-4o-2024-05-13"),
        ("GPT-4o-mini-2024-07-18", "gpt-4o-mini"),
        ("openai/gpt-4.1", "gpt-4.1"),
        ("claude-sonnet-4-20250514", "claude-sonnet-4"),
        ("us.anthropic.claude-sonnet-4-20250514-v1:0", "claude-sonnet-4"),
        ("claude-3-5-haiku-latest", "claude-3-5-haiku"),
        ("gpt-3.5-turbo-0125", "gpt-3.5-turbo"),
        ("gpt-4o-audio", None),
        ("my-own-model", None),
        (None, None),
    ],
)
def test_a_model_is_found_by_its_name_whoever_serves_it(model: str | None, line: str | None):
    found = shipped().of(model)
    assert (found and found.name) == line


def test_the_table_that_comes_along_says_when_and_from_where():
    prices = shipped()
    assert prices.date >= "2025"
    assert prices.source
    assert all(line.limit for line in prices.models.values())
    assert all((line.input is None) == (line.output is None) for line in prices.models.values())
    assert "unverified" in prices.source
    checked, unchecked = prices.of("gpt-4o"), prices.of("claude-3-opus")
    assert checked is not None
    assert "2026" in (checked.source or "")
    assert unchecked is not None
    assert unchecked.source is None


def test_an_operator_s_table_takes_its_place(tmp_path: Path):
    path = tmp_path / "prices.json"
    path.write_text(json.dumps({"date": "2026-02-02", "source": "our contract", "models": {"Mine": {"limit": 9}}}))
    prices = read_prices(path)
    assert (prices.of("mine"), prices.currency) == (ModelFacts("mine", 9), "USD")
    assert prices.of("gpt-4o") is None


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("{", "PLAYHEAD_PRICES cannot be"),
        ("[]", "PLAYHEAD_PRICES"),
        ('{"date": "x"}', "does not say 'models'"),
        ('{"date": "x", "source": "", "models": {"m": {"input": "free"}}}', "input of m is not a number"),
        ('{"date": "x", "source": "", "models": {"m": {"input": -1}}}', "0 or more"),
        (None, "No such file"),
    ],
)
def test_a_table_that_cannot_be_used_says_why(tmp_path: Path, text: str | None, says: str):
    path = tmp_path / "prices.json"
    if text is not None:
        path.write_text(text)
    with pytest.raises(BadSetting, match=says):
        read_prices(path)


def test_a_call_that_did_not_report_has_no_cost():
    price = ModelFacts("m", None, 1.0, 1.0)
    assert price.cost(ev.TokenUsage(input_tokens=5)) is None
    assert price.cost(ev.TokenUsage(output_tokens=5)) is None
    assert ModelFacts("m", 5).cost(ev.TokenUsage(1, 1)) is None
    assert price.cost(ev.TokenUsage(1_000_000, 0)) == 1.0


def test_calibration_fits_all_samples_together_and_leaves_out_the_useless():
    assert calibrate([Sample(10, 5.0), Sample(30, 15.0), Sample(0, 5.0), Sample(5, 0.0)], "run") == Scale(2.0, 2, "run")
    assert calibrate([], "run").basis == "estimated"
