"""A turn late in a long managed conversation costs what an early one does, counted in calls of functions and in
recorded bytes. Times are measured by the benchmark M1."""

import os
import sys
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import pytest

import playhead
from playhead.context import Chain, ClearToolResults, Compression, Context, Hybrid, Keep, LlmSummary, Strategy
from playhead.models import MockModel
from tests.support.journal_reader import Recording

TURNS = int(os.environ.get("PLAYHEAD_CONTEXT_TURNS", "1000"))
TENTH = TURNS // 10
SUMMARY = "A summary of what was said so far, in which nothing of importance is left out."


def size_of(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def calls_in(work: Callable[[], None]) -> int:
    """How many functions this thread calls, in Python and in C."""
    count = 0

    def saw(_: Any, event: str, __: Any) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(saw)
    try:
        work()
    finally:
        sys.setprofile(before)
    return count


def strategies() -> dict[str, Strategy]:
    model = MockModel(SUMMARY)
    return {
        "summary": LlmSummary(model=model),
        "hybrid": Hybrid(window=10, summarise_every=10, model=model),
        "clear, then summary": Chain(ClearToolResults(keep=1), LlmSummary(model=model)),
    }


@pytest.mark.slow
@pytest.mark.parametrize("name", strategies())
def test_a_turn_late_in_a_long_conversation_costs_what_an_early_one_does(name: str, recording: Recording):
    # The numbers that are counted have as many digits from the first turn on.
    policy = Compression(limit=4_000, keep=Keep(share=0.3), strategy=strategies()[name])
    called: list[int] = []
    grown: list[int] = []
    with playhead.run("chat"):
        context = Context(system="Be brief.", compression=policy)
        for tenth in range(10):
            before = size_of(recording.folder)
            called.append(calls_in(lambda tenth=tenth: turns(context, tenth)))
            grown.append(size_of(recording.folder) - before)
    assert len(context.history) == 1 + 4 * TURNS
    assert context.stats.compressions > TURNS / 50
    assert len(context.messages) < 200
    # Compressions do not fall evenly on the tenths, and a segment of the journal is closed in one of them. What grows
    # with the turns would be three times as much.
    assert median(called[5:]) < 1.1 * median(called[:5]), called
    assert median(grown[5:]) < 1.1 * median(grown[:5]), grown


def turns(context: Context, tenth: int) -> None:
    for number in range(tenth * TENTH, (tenth + 1) * TENTH):
        turn(context, 1_000_000 + number)


def turn(context: Context, number: int) -> None:
    """A question, a tool call with its result, and an answer."""
    context.add("user", f"question {number} {'word ' * 20}")
    call = {"id": f"c{number}", "type": "function", "function": {"name": "look_up", "arguments": '{"q": 1}'}}
    answered(context, {"role": "assistant", "content": None, "tool_calls": [call]})
    context.add("tool", f"found {number} {'word ' * 10}", call=f"c{number}")
    answered(context, {"role": "assistant", "content": f"answer {number} {'word ' * 20}"})


def answered(context: Context, message: dict[str, Any]) -> None:
    messages = context.for_model()
    with playhead.observe("ask", kind="llm") as call:
        call.output({"messages": len(messages)})
    usage = {"prompt_tokens": context.stats.tokens, "completion_tokens": 20}
    context.answered({"choices": [{"message": message, "finish_reason": "stop"}], "usage": usage, "model": "m"})
