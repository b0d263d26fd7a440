"""The labelled runs of `tests/fixtures/suspects/airline.json`, as transcripts: for the tests and the benchmark H1."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean
from typing import Any, cast

from playhead.dialect import openai_chat
from playhead.model import names
from playhead.model.canonical import Content
from playhead.model.message import Message, read_message
from playhead.model.ref import ContentRef
from playhead.model.thread import ThreadNode, extend
from playhead.projection.projector import ProjectSettings, project
from playhead.testing import Trajectory
from playhead_collector.analysis.suspects.findings import run_steps
from playhead_collector.analysis.suspects.suspects import find_all, rank
from playhead_collector.analysis.transcript.transcript import Transcript, build_transcript
from playhead_collector.read.values import ContentCache
from playhead_collector.store.ports.projections import RunWork
from tests.integration.read.recorded import START_NS, Recorder

LABELS = Path(__file__).parents[2] / "fixtures" / "suspects" / "airline.json"


@dataclass(frozen=True, slots=True)
class Label:
    """The step that failed a run, as a reader named it: `step` is the index of an answer among the run's messages."""

    run: str
    task: int
    step: int
    set_aside: bool
    blind: bool


def labels() -> list[Label]:
    """All labels, in the order of the file."""
    rows = cast(list[dict[str, Any]], json.loads(LABELS.read_text("utf-8"))["labels"])
    return [Label(row["run"], row["task"], row["step"], row["set_aside"], row["blind"]) for row in rows]


def transcript_of(trajectory: Trajectory, run: str = "0d" * 16) -> Transcript:
    """A recorded run as the collector reads it."""
    recorder = recorded_chat(run, trajectory.messages, list(trajectory.tools))
    batch = recorder.batch()
    contents = recorder.contents
    nodes = _nodes(recorder)
    messages = _messages(nodes, contents)
    roles = {ref: message["role"] for ref, message in messages.items()}
    work = RunWork(run, batch.spans, batch.logs, nodes, roles, None, recorder.now_ns, messages)
    events = list(project(work, recorder.now_ns + 10**12, ProjectSettings()).events)
    return build_transcript(run, events, ContentCache(contents), nodes)


def recorded_chat(run: str, chat: Iterable[dict[str, Any]], tools: object, after_s: int = 0) -> Recorder:
    """A chat in OpenAI's form, with its tool definitions, as the SDK ships it; it begins so many seconds later."""
    recorder = Recorder(run, start_ns=START_NS + after_s * 10**9)
    offered = recorder.keep(tools)
    messages: list[Message] = []
    asked: dict[str, Any] = {}
    for native in chat:
        message = openai_chat.to_message(native)
        if native["role"] == "assistant":
            recorder.model(messages, message, **{names.TOOL_DEFINITIONS_REF: offered})
            asked |= {call["id"]: call["function"] for call in native.get("tool_calls") or ()}
        elif (function := asked.pop(native.get("tool_call_id") or "", None)) is not None:
            recorder.tool(function["name"], json.loads(function["arguments"]), native["content"])
        messages.append(message)
    return recorder


def _nodes(recorder: Recorder) -> dict[ContentRef, ThreadNode]:
    nodes: dict[ContentRef, ThreadNode] = {}
    for thread in recorder.threads:
        depth = nodes[thread.parent].depth if thread.parent is not None else 0
        nodes |= {node.ref: node for node in extend(thread.messages, thread.parent, depth)}
    return nodes


def _messages(nodes: dict[ContentRef, ThreadNode], contents: dict[ContentRef, Content]) -> dict[ContentRef, Message]:
    return {node.message: read_message(contents[node.message].data) for node in nodes.values()}


def trial(trajectory: Trajectory, number: int) -> Recorder:
    """A recorded run as the SDK ships it, with the tag of its task; `number` gives its id and when it began."""
    recorder = recorded_chat(f"{number + 1:08x}" * 4, trajectory.messages, list(trajectory.tools), number)
    recorder.root.attributes[names.RUN_TAGS] = [f"task:{trajectory.record['task_id']}"]
    return recorder


def succeeded(task: int, all_runs: Iterable[Trajectory]) -> list[Trajectory]:
    """The trials of a task that succeeded, newest first."""
    return [run for run in all_runs if run.record["task_id"] == task and run.record["reward"] >= 1][::-1]


@dataclass(frozen=True, slots=True)
class HitRate:
    """How often the labelled step was the first suspect, and among the first three; and what chance would give."""

    runs: int
    first: float
    first_three: float
    chance_first: float
    chance_first_three: float


def measure(chosen: Sequence[Label], trajectories: Mapping[str, Trajectory], *, with_siblings: bool = False) -> HitRate:
    """Ranks the steps of each labelled run. Chance is that of a step picked from the run's, each as likely."""
    ranks: list[int | None] = []
    steps_of: list[int] = []
    for label in chosen:
        trajectory = trajectories[label.run]
        steps = run_steps(transcript_of(trajectory))
        others = succeeded(label.task, trajectories.values()) if with_siblings else []
        siblings = [run_steps(transcript_of(other)) for other in others]
        found = [each.step.number for each in rank(steps, find_all(steps, siblings))]
        wanted = trajectory.turns.index(label.step)
        ranks.append(found.index(wanted) if wanted in found else None)
        steps_of.append(len(steps.steps))
    return HitRate(
        len(ranks),
        mean(rank == 0 for rank in ranks),
        mean(rank is not None and rank < 3 for rank in ranks),
        mean(1 / steps for steps in steps_of),
        mean(min(1.0, 3 / steps) for steps in steps_of),
    )
