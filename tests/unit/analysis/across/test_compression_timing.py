"""How runs end by the strategy and the moment of their compressions, asked of a journal's runs."""

from pathlib import Path

import pytest

from playhead.local.client import JournalClient
from playhead.model.message import Message, text_message
from playhead_collector.analysis.across.compression import moment_of
from playhead_collector.store.ports.spans import Batch
from tests.support.compressed_runs import Call, LabelledRun
from tests.support.readers.journaled import write_journal
from tests.support.recorded_runs import Recorded

TURNS = 9


def said(number: int) -> Message:
    return text_message("user", f"Question number {number}, about the order.")


def compressed_run(number: int, before: int | None, strategy: str, *, fails: bool = False) -> Batch:
    """A run of nine model calls; the context is cut to its last message, declared before the call of this index."""
    calls: list[Call] = []
    context: list[Message] = []
    for turn in range(TURNS):
        declares = None
        context.append(said(turn))
        if turn == before:
            whole, context = context, context[-1:]
            declares = {"before": whole, "after": context, "summary": None, "strategy": strategy}
        answer = None if fails and turn == TURNS - 1 else text_message("assistant", f"Answer {turn}.")
        calls.append(Call(list(context), answer, declares=declares))
        context.append(text_message("assistant", f"Answer {turn}."))
    recorded = Recorded(f"{number:032x}", LabelledRun("made", calls))
    if fails:
        recorded.spans[0].status = 2
    return recorded.batch()


def test_runs_are_grouped_by_strategy_and_by_when_they_were_compressed_first(tmp_path: Path):
    runs = [compressed_run(number, 1, "summarise") for number in range(1, 7)]
    runs += [compressed_run(number, 7, "truncate", fails=True) for number in range(11, 17)]
    runs += [compressed_run(21, 4, "summarise"), compressed_run(22, None, "")]
    write_journal(tmp_path, runs)
    with JournalClient(tmp_path, print) as client:
        answer = client.compression_timing()
    assert answer["population"]["runs"] == 14
    assert answer["read"] == 13
    counted = {name: (rate["succeeded"], rate["failed"]) for name, rate in answer["by_moment"].items()}
    assert counted == {"early": (6, 0), "middle": (1, 0), "late": (0, 6)}
    by_strategy = {name: (rate["succeeded"], rate["failed"]) for name, rate in answer["by_strategy"].items()}
    assert by_strategy == {"summarise": (7, 0), "truncate": (0, 6)}
    assert answer["p"] == pytest.approx(8 / 1716)  # of the C(13, 6) ways, 7 have six early successes, 1 has none
    assert len(answer["evidence"]) == 5


def test_a_moment_is_a_third_of_the_model_calls():
    calls = [2, 4, 6, 8, 10, 12]
    assert [moment_of(calls, seq) for seq in (1, 3, 5, 7, 9, 13)] == [
        "early",
        "early",
        "middle",
        "middle",
        "late",
        "late",
    ]
    assert moment_of([], 5) == "early"
