"""The declared outcomes of all messages are those that a collector infers from the calls alone.

Recorded runs are compressed while they are played, and the declaration is left out of the record.
"""

import os
from collections import Counter
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any
from zlib import crc32

import pytest

from playhead.context import ClearToolResults, Compression, Context, Entry, Keep, LlmSummary, SlidingWindow, Strategy
from playhead.model.event import ContextCompressed
from playhead.model.message import Message, message_contents
from playhead.model.ref import ContentRef
from playhead.models import MockModel, ModelRequest
from playhead.projection.projector import ProjectSettings, project
from playhead.testing import Trajectories, Trajectory
from tests.support.compressed_runs import Call, LabelledRun
from tests.support.recorded_runs import Recorded

FOLDER = Path(os.environ.get("PLAYHEAD_TRAJECTORIES", Path(__file__).parents[4] / "shared" / "data"))
pytestmark = pytest.mark.skipif(not FOLDER.is_dir(), reason="PLAYHEAD_TRAJECTORIES names a folder of recorded runs")


@cache
def trajectories() -> tuple[Trajectory, ...]:
    return tuple(Trajectories.load(FOLDER))


@dataclass(frozen=True)
class Outcome:
    """What became of the messages: refs, each as often as it occurs. `left`: messages afterwards, without the system
    prompt. `is_said_again`: a removed message is also one of those that are left."""

    summarised: Counter[ContentRef]
    dropped: Counter[ContentRef]
    left: int = field(default=0, compare=False)
    is_said_again: bool = field(default=False, compare=False)


def ref_of(message: Message) -> ContentRef:
    return message_contents(message)[0].ref


def by_rule(request: ModelRequest) -> str:
    """A summary that is another one for another conversation, and repeats nothing of it."""
    asked = str(request.messages[1]["parts"][0]["content"])
    return f"The customer said {len(asked)} characters, with the check sum {crc32(asked.encode())}."


def outcome(before: list[Entry], after: list[Entry]) -> Outcome:
    """What a compression did, by the entries that the context has before and after."""
    left = {id(entry) for entry in after}
    removed = [entry for entry in before if id(entry) not in left]
    masked = {entry.number for entry in after if entry.kind == "masked"}
    has_summary = any(entry.kind == "summary" and id(entry) not in {id(old) for old in before} for entry in after)
    refs: dict[bool, Counter[ContentRef]] = {True: Counter(), False: Counter()}
    for entry in removed:
        refs[has_summary and entry.number not in masked][ref_of(entry.message)] += 1
    talk = [entry for entry in after if not entry.is_instruction]
    gone = refs[True] + refs[False]
    return Outcome(refs[True], refs[False], len(talk), any(ref_of(entry.message) in gone for entry in talk))


def played(run: Trajectory, strategy: Strategy, share: float) -> tuple[list[Call], list[Outcome]]:
    """Plays a recorded run through a managed context. Returns the calls that the model got, and the declared
    outcomes."""
    snapshots: list[list[Entry]] = []
    made: list[Outcome] = []
    whole = Context()
    whole.raw.extend(run.messages)
    system = whole.messages[0].tokens
    most = share * (whole.stats.tokens - system)
    policy = Compression(
        limit=100_000,
        threshold=int(system + most),
        keep=Keep(tokens=int(system + most / 2)),
        strategy=strategy,
        fallback=None,
        before=lambda _: snapshots.append(context.messages),
    )
    context: Context = Context(compression=policy)
    calls: list[Call] = []
    for position, message in enumerate(run.messages):
        if position in run.turns:
            count = context.stats.compressions
            context.for_model()
            if context.stats.compressions > count:
                made.append(outcome(snapshots[-1], context.messages))
            native: Any = dict(message)
            answer = Context()
            answer.raw.add(native)
            calls.append(Call([entry.message for entry in context.messages], answer.messages[0].message))
        context.raw.add(message)
    return calls, made


def inferred(name: str, calls: list[Call]) -> list[Outcome]:
    recorded = Recorded("01" * 16, LabelledRun(name, calls))
    events = project(recorded.work(), 0, ProjectSettings()).events
    found = [event for event in events if isinstance(event, ContextCompressed)]
    return [Outcome(Counter(event.summarised), Counter(event.dropped)) for event in found]


STRATEGIES: dict[str, Strategy] = {
    "summary": LlmSummary(model=MockModel(by_rule)),
    "window": SlidingWindow(12),
    "clear": ClearToolResults(keep=1),
}
# Of the 200 recorded runs, those of which the calls cannot tell. Where 30 % of a short run are half a question, a
# window keeps the next question only: it looks like the first one of another conversation.
LEFT_OUT = {
    ("summary", 0.3): 7,
    ("summary", 0.6): 2,
    ("window", 0.3): 58,
    ("window", 0.6): 4,
    ("clear", 0.3): 0,
    ("clear", 0.6): 0,
}


@pytest.mark.parametrize("share", [0.3, 0.6])
@pytest.mark.parametrize("name", STRATEGIES)
def test_the_outcomes_that_are_inferred_are_those_that_are_declared(name: str, share: float):
    differing: dict[str, Any] = {}
    compared = left_out = 0
    for run in trajectories():
        calls, declared = played(run, STRATEGIES[name], share)
        if any(map(tells_too_little, declared)):
            left_out += 1
            continue
        compared += len(declared)
        found = inferred(run.key, calls)
        if found != declared:
            differing[run.key] = (len(found), len(declared))
    assert differing == {}
    assert compared > 140
    assert left_out <= LEFT_OUT[name, share]


def tells_too_little(outcome: Outcome) -> bool:
    """Whether nobody could tell from the calls: nothing of the conversation is left but what is said next, after a
    window, or after a summary of two messages; or somebody says what was removed once more."""
    is_next_only = outcome.left <= (1 if not outcome.summarised else 2)
    told = sum(outcome.summarised.values()) > 2
    return (is_next_only and not told) or outcome.is_said_again
