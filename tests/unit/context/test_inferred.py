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
    prompt."""

    summarised: Counter[ContentRef]
    dropped: Counter[ContentRef]
    left: int = field(default=0, compare=False)


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
    return Outcome(refs[True], refs[False], len([entry for entry in after if not entry.is_instruction]))


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


@pytest.mark.parametrize(
    "strategy",
    [LlmSummary(model=MockModel(by_rule)), SlidingWindow(12), ClearToolResults(keep=1)],
    ids=["summary", "window", "clear"],
)
@pytest.mark.parametrize("share", [0.3, 0.6])
def test_the_outcomes_that_are_inferred_are_those_that_are_declared(strategy: Strategy, share: float):
    differing: dict[str, Any] = {}
    compared = 0
    for run in trajectories():
        calls, declared = played(run, strategy, share)
        if tells_too_little(calls, declared):
            continue
        compared += len(declared)
        found = inferred(run.key, calls)
        if found != declared:
            differing[run.key] = (len(found), len(declared))
    assert compared > 40
    assert differing == {}


def tells_too_little(calls: list[Call], declared: list[Outcome]) -> bool:
    """Whether nobody could tell from the calls: one has nothing of the exchange before it, or the model gave one id to
    two tool calls."""
    ids = Counter(entry for call in calls for entry in calls_in(call.answer))
    return min((each.left for each in declared), default=4) < 4 or max(ids.values(), default=1) > 1


def calls_in(message: Message | None) -> list[str]:
    return [str(part.get("id")) for part in (message or {"parts": []})["parts"] if part.get("type") == "tool_call"]
