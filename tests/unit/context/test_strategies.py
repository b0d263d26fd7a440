"""Every strategy and chain, over generated and recorded conversations."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from playhead.context import (
    Chain,
    ClearToolResults,
    Compression,
    CompressionReport,
    Context,
    Entry,
    Hybrid,
    Keep,
    LlmSummary,
    NoCompression,
    Plan,
    SlidingWindow,
    Strategy,
    TokenBudget,
    Turns,
)
from playhead.model.token_estimates import estimate_message
from playhead.models import MockModel, ModelRequest
from playhead.models.apis import ApiName
from playhead.testing.trajectories import Trajectories
from tests.support.managed_contexts import APIS, check_order, check_valid, conversations, play

FOLDER = Path(os.environ.get("PLAYHEAD_TRAJECTORIES", Path(__file__).parents[4] / "shared" / "data"))
UNHURRIED = settings(
    deadline=None, max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)


def shortest(request: ModelRequest) -> str:
    return "said before"


class Odd:
    """A strategy that asks for the impossible: every second entry goes, whatever belongs to it."""

    def plan(self, entries: Sequence[Entry], budget: TokenBudget) -> Plan:
        return Plan.giving(entries, range(0, len(entries), 2), "drop")


def strategies() -> dict[str, Strategy]:
    model = MockModel(shortest)
    return {
        "none": NoCompression(),
        "summary": LlmSummary(model=model),
        "summary that keeps two": LlmSummary(model=model, keep=Keep(messages=2)),
        "window": SlidingWindow(6),
        "hybrid": Hybrid(window=5, summarise_every=3, model=model),
        "clear": ClearToolResults(keep=1),
        "clear, then summary": Chain(ClearToolResults(keep=1), LlmSummary(model=model)),
        "clear, then window": Chain(ClearToolResults(keep=2), SlidingWindow(4)),
        "three": Chain(ClearToolResults(keep=2), LlmSummary(model=model), SlidingWindow(3)),
        "odd": Odd(),
    }


NAMES = sorted(strategies())


def context_of(
    name: str, steps: Any, api: ApiName = "chat", *, limit: int = 300, preserved: Sequence[int] = (), **more: Any
) -> Context:
    policy = Compression(limit=limit, strategy=strategies()[name], auto=False, **more)
    context = Context(system="Be brief and kind.", compression=policy, api=api)
    play(context, steps, api)
    for number in preserved:
        if number < len(context.messages):
            context.preserve(context.messages[number])
    return context


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize("name", NAMES)
@given(steps=conversations(), preserved=st.lists(st.integers(0, 40), max_size=3), in_system=st.booleans())
@UNHURRIED
def test_what_is_left_is_a_valid_conversation(
    name: str, api: ApiName, steps: Any, preserved: list[int], in_system: bool
):
    context = context_of(name, steps, api, preserved=preserved, summary_in="system" if in_system else "message")
    before = context.messages
    report = context.compress()
    after = context.messages
    check_valid(after)
    check_order(after)
    assert [entry for entry in after if entry.is_instruction] == [entry for entry in before if entry.is_instruction]
    assert [entry for entry in before if entry.preserve] == [entry for entry in after if entry.preserve]
    thoughts = [part for entry in after for part in entry.message["parts"] if part.get("type") == "reasoning"]
    known = [part for entry in before for part in entry.message["parts"] if part.get("type") == "reasoning"]
    assert all(part in known for part in thoughts)  # signed: sent back as they came
    assert report.changed == (after != before)
    assert report.kept + report.masked == len([entry for entry in after if entry.kind != "summary"])
    assert report.messages_before == report.kept + report.masked + report.summarised + report.dropped


@pytest.mark.parametrize("name", [name for name in NAMES if name not in ("odd", "none", "clear")])
@given(steps=conversations(), preserved=st.lists(st.integers(0, 40), max_size=3))
@UNHURRIED
def test_the_context_is_small_enough_afterwards_or_the_report_says_why(name: str, steps: Any, preserved: list[int]):
    context = context_of(name, steps, preserved=preserved)
    report = context.compress()
    assert report.tokens_after <= report.tokens_before
    if report.tokens_after >= 0.7 * 300:
        assert report.reason


@pytest.mark.parametrize("name", [name for name in NAMES if name != "odd"])
@given(steps=conversations())
@UNHURRIED
def test_compressing_a_second_time_changes_nothing(name: str, steps: Any):
    context = context_of(name, steps)
    report = context.compress()
    if report.changed and (report.fallback or report.reason):
        return  # there is more to do
    once = context.messages
    assert not context.compress().changed
    assert context.messages == once


@pytest.mark.parametrize("name", NAMES)
@given(steps=conversations())
@UNHURRIED
def test_a_tool_call_in_flight_stays_with_what_follows_it(name: str, steps: Any):
    context = context_of(name, steps)
    call = {"id": "now", "type": "function", "function": {"name": "look_up", "arguments": "{}"}}
    context.raw.add({"role": "assistant", "content": None, "tool_calls": [call]})
    context.compress()
    assert context.messages[-1].calls == ["now"]
    context.add("tool", "found", call="now")
    check_valid(context.messages)


@pytest.mark.parametrize("name", NAMES)
@given(steps=conversations())
@UNHURRIED
def test_a_plan_is_the_same_each_time(name: str, steps: Any):
    first, second = (context_of(name, steps) for _ in range(2))
    assert first.compress() == second.compress()
    assert first.native_messages() == second.native_messages()


THRESHOLDS = st.sampled_from([0.4, 0.7, 120, Turns(4), Turns(6, share=0.5), [0.9, Turns(3)], [200, 0.95]])
KEEPS = st.sampled_from([Keep(share=0.3), Keep(share=0.6), Keep(messages=1), Keep(messages=5), Keep(tokens=60)])


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize("name", NAMES)
@given(steps=conversations(), threshold=THRESHOLDS, keep=KEEPS, at_user=st.booleans(), in_system=st.booleans())
@UNHURRIED
def test_whatever_the_policy_the_model_gets_a_valid_conversation_at_every_call(
    name: str, api: ApiName, steps: Any, threshold: Any, keep: Keep, at_user: bool, in_system: bool
):
    policy = Compression(
        limit=300, threshold=threshold, keep=keep, strategy=strategies()[name], cut_at="user" if at_user else "round",
        summary_in="system" if in_system else "message",
    )  # fmt: skip
    context = Context(system="Be brief and kind.", compression=policy, api=api)
    for number, step in enumerate(steps):
        play(context, [step], api, first=number)
        if context.messages[-1].role == "assistant":
            continue
        context.for_model()
        check_valid(context.messages)
        check_order(context.messages)
        assert context.messages[0].text == "Be brief and kind."
        newest = context.history[-1].number
        assert context.messages[-1].number == newest  # what is asked is never compressed


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize("name", NAMES)
@given(steps=conversations(), threshold=THRESHOLDS)
@UNHURRIED
def test_where_preserved_messages_alone_are_too_much_it_is_tried_once(
    name: str, api: ApiName, steps: Any, threshold: Any
):
    """Once for a context, and again only when it has grown: no loop."""
    made: list[CompressionReport] = []
    policy = Compression(limit=60, threshold=threshold, strategy=strategies()[name], after=made.append)
    context = Context(system="Be brief and kind.", compression=policy, api=api)
    for number, step in enumerate([("user", "word " * 80), *steps]):
        play(context, [step], api, first=number)
        for entry in context.messages:
            context.preserve(entry)
        before = [*context.messages]
        context.for_model()
        tried = len(made)
        for _ in range(3):
            context.for_model()
        assert len(made) == tried
        assert context.messages == before
    assert all(report.reason for report in made)


@pytest.mark.skipif(not FOLDER.is_dir(), reason="PLAYHEAD_TRAJECTORIES names a folder of recorded runs")
@pytest.mark.parametrize("name", NAMES)
def test_recorded_conversations_stay_valid(name: str):
    runs = list(Trajectories.load(FOLDER))
    assert len(runs) >= 100
    for run in runs:
        context = Context(compression=Compression(limit=3_000, strategy=strategies()[name]))
        for message in run.messages:
            if message["role"] == "assistant":
                sent = context.for_model()
                assert sent == context.native_messages()
                waiting = {call for entry in context.messages for call in entry.calls}
                waiting -= {result for entry in context.messages for result in entry.results}
                assert not waiting
            context.raw.add(message)
        check_order(context.messages)
        assert [entry.number for entry in context.history] == list(range(len(run.messages)))


# --- single strategies ------------------------------------------------------------------------------------------------


def talk(count: int, words: int = 20) -> list[tuple[str, Any]]:
    steps: list[tuple[str, Any]] = []
    for number in range(count):
        steps += [
            ("user", f"question {number} " + "word " * words),
            ("assistant", f"answer {number} " + "word " * words),
        ]
    return [*steps, ("user", "and now?")]


def test_a_summary_goes_into_the_next_one():
    model = MockModel(lambda request: f"summary {len(model.requests)}")
    context = Context(compression=Compression(limit=600, strategy=LlmSummary(model=model)), system="s")
    play(context, talk(8))
    context.compress()
    play(context, talk(8))
    context.compress()
    asked = model.requests[1].messages[1]["parts"][0]["content"]
    assert "(earlier summary) summary 1" in asked
    assert [entry.text for entry in context.messages if entry.kind == "summary"] == [
        "Summary of the conversation so far:\n\nsummary 2"
    ]


def test_a_long_conversation_is_summarised_in_parts_each_within_its_bound():
    model = MockModel(lambda request: f"part {len(model.requests)}")
    strategy = LlmSummary(model=model, max_input_tokens=200)
    context = Context(compression=Compression(limit=900, strategy=strategy))
    play(context, [("user", "a" * 4_000), *talk(10)])
    context.compress()
    assert len(model.requests) > 2
    assert "part 1" in model.requests[1].messages[1]["parts"][0]["content"]
    sizes = [len(request.messages[1]["parts"][0]["content"]) for request in model.requests]
    assert max(sizes) < 4 * 200 + 200
    assert "characters left out" in model.requests[0].messages[1]["parts"][0]["content"]


def test_the_prompt_and_the_summary_so_far_are_a_part_of_what_one_call_is_given():
    model = MockModel(lambda request: f"part {len(model.requests)} " + "known " * 250)
    strategy = LlmSummary(model=model, max_input_tokens=800)
    context = Context(compression=Compression(limit=3_000, strategy=strategy))
    play(context, talk(60))
    assert context.compress().summary is not None
    assert len(model.requests) > 3
    for request in model.requests:
        assert sum(estimate_message(message) for message in request.messages) <= 800
    asked = [request.messages[1]["parts"][0]["content"] for request in model.requests]
    gone = [entry.text for entry in context.history if entry not in context.messages]
    assert len(gone) > 50
    assert [text for text in gone if not any(text in question for question in asked)] == []


def test_hybrid_is_due_with_enough_messages_before_its_window():
    model = MockModel("short")
    context = Context(
        compression=Compression(strategy=Hybrid(window=4, summarise_every=6, model=model)), model="gpt-4o"
    )
    for number in range(30):
        context.add("user" if number % 2 == 0 else "assistant", f"message {number} " + "word " * 10)
        context.for_model()
        assert len(context.messages) <= 4 + 6 + 1
    assert len(model.requests) == context.stats.compressions == context.stats.checkpoints == 4


def test_a_chain_asks_no_model_where_cleared_results_are_enough():
    model = MockModel("short")
    strategy = Chain(ClearToolResults(keep=1), LlmSummary(model=model))
    context = Context(compression=Compression(limit=1_000, strategy=strategy, keep=Keep(share=0.5)))
    play(context, [("user", "look"), *[("calls", [("q", "result " * 100)]) for _ in range(5)]])
    report = context.compress()
    assert (report.masked, report.summarised, len(model.requests)) == (4, 0, 0)
    assert report.strategy == "tool_result_masking+summary"
    assert next(entry.text for entry in context.messages if entry.kind == "masked").startswith("[result cleared: ")
    check_valid(context.messages)


def test_the_task_stays_where_a_window_begins_with_an_answer():
    context = Context(compression=Compression(limit=10_000, strategy=SlidingWindow(4)), system="s")
    play(context, [("user", "the task"), *[("calls", [("q", "r")]) for _ in range(5)]])
    context.compress()
    assert [entry.role for entry in context.messages] == ["system", "user", *["assistant", "tool"] * 2]
    assert context.messages[1].text == "the task"


def test_a_chain_whose_summary_was_enough_does_not_drop_it_the_next_time():
    """The summary's own tokens may be more than the target: they were not known when it was planned."""
    model = MockModel("said before")
    chain = Chain(LlmSummary(model=model), SlidingWindow(3))
    context = Context(system="Be brief and kind.", compression=Compression(limit=300, strategy=chain, auto=False))
    play(
        context, [("user", "word " * 24), ("assistant", "a"), ("user", "b"), ("assistant", "c"), ("user", "word " * 46)]
    )
    assert context.compress().summarised == 1
    assert context.stats.tokens > 0.3 * 300
    assert not context.compress().changed


def test_what_the_model_is_to_answer_stays_whatever_a_strategy_says():
    class Everything:
        def plan(self, entries: Sequence[Entry], budget: TokenBudget) -> Plan:
            return Plan.giving(entries, range(len(entries)), "drop")

    context = Context(system="s", compression=Compression(limit=300, strategy=Everything()))
    play(context, talk(3))
    context.compress()
    assert [entry.text for entry in context.messages] == ["s", "and now?"]
