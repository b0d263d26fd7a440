"""A conversation of 10,000 turns in a managed context: time and recorded bytes per turn do not grow."""

import os
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import playhead
from playhead.context import Compression, Context, Keep, LlmSummary
from playhead.models import MockModel
from tests.support.journal_reader import Recording

TURNS = int(os.environ.get("PLAYHEAD_CONTEXT_TURNS", "10000"))


def size_of(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


@pytest.mark.slow
def test_a_turn_late_in_a_long_conversation_costs_what_an_early_one_does(recording: Recording):
    summary = "A summary of what was said so far, in which nothing of importance is left out."
    policy = Compression(limit=4_000, keep=Keep(share=0.3), strategy=LlmSummary(model=MockModel(summary)))
    tenth = TURNS // 10
    seconds: list[float] = []
    sizes: list[int] = [size_of(recording.folder)]
    with playhead.run("chat"):
        context = Context(system="Be brief.", compression=policy)
        for _ in range(10):
            began = time.process_time()
            for _ in range(tenth):
                turn(context)
            seconds.append(time.process_time() - began)
            sizes.append(size_of(recording.folder))
    grown = [after - before for before, after in pairwise(sizes)]
    assert len(context.history) == 1 + 2 * TURNS
    assert context.stats.compressions > TURNS / 100
    assert len(context.messages) < 200
    assert grown[-1] < 1.3 * grown[1]
    assert min(seconds[-3:]) < 1.5 * max(seconds[1:4])


def turn(context: Context) -> None:
    number = len(context.history)
    context.add("user", f"question {number} {'word ' * 20}")
    messages = context.for_model()
    answer: Any = {"role": "assistant", "content": f"answer {number} {'word ' * 20}"}
    with playhead.observe("ask", kind="llm") as call:
        call.output({"messages": len(messages)})
    usage = {"prompt_tokens": context.stats.tokens, "completion_tokens": 20}
    context.answered({"choices": [{"message": answer, "finish_reason": "stop"}], "usage": usage, "model": "m"})
