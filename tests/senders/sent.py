"""What a sender sent, as the collector takes it: decoded, lifted and projected."""

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from playhead.lift import Lifted, LiftedLog, lift, lift_logs
from playhead.model import names
from playhead.model.canonical import Content, value_of
from playhead.model.event import LlmCalled, RunEvent
from playhead.model.message import Message
from playhead.model.ref import ContentRef
from playhead.model.span import LogEvent, Span
from playhead.model.thread import ThreadNode, extend
from playhead.projection.inputs import Projection, RunInput
from playhead.projection.projector import ProjectSettings, project
from playhead_collector.receive.otlp import json as from_json
from playhead_collector.receive.otlp.decoded import DecodeLimits

GOLDEN = Path(__file__).parents[1] / "golden" / "senders"
_SECOND = 1_000_000_000


def captured() -> list[str]:
    """The senders that were captured."""
    files = (path.relative_to(GOLDEN) for path in GOLDEN.rglob("*.json") if not path.name.endswith(".lifted.json"))
    return sorted(str(path.with_suffix("")) for path in files)


@dataclass
class Sent:
    """A sender's telemetry and what became of it."""

    requests: list[dict[str, Any]]
    """What the model server was asked."""
    spans: list[Span]
    logs: list[LogEvent]
    lifted: list[Lifted]
    lifted_logs: list[LiftedLog]
    contents: dict[ContentRef, Content] = field(default_factory=dict)
    nodes: dict[ContentRef, ThreadNode] = field(default_factory=dict)

    def value(self, ref: Any) -> Any:
        return value_of(self.contents[ref])

    def thread(self, ref: Any) -> list[ContentRef]:
        """The messages of a thread."""
        messages: list[ContentRef] = []
        while ref is not None:
            messages.append(self.nodes[ref].message)
            ref = self.nodes[ref].parent
        return messages[::-1]

    def messages(self, ref: Any) -> list[Message]:
        return [self.value(message) for message in self.thread(ref)]

    def runs(self) -> list[Projection]:
        """Each run, in the order in which they began."""
        return [self._run(trace) for trace in self.traces()]

    def traces(self) -> list[str]:
        """The ids of the runs."""
        spans, logs = [one.span for one in self.lifted], [one.log for one in self.lifted_logs if one.log.trace_id]
        began = [(span.start_ns, span.trace_id) for span in spans] + [(log.time_ns, str(log.trace_id)) for log in logs]
        return list(dict.fromkeys(trace for _, trace in sorted(began)))

    def _run(self, trace: str) -> Projection:
        spans = [one.span for one in self.lifted if one.span.trace_id == trace]
        logs = [one.log for one in self.lifted_logs if one.log.trace_id == trace]
        messages = {node.message: self.value(node.message) for node in self.nodes.values()}
        work = RunInput(
            run=trace,
            spans=spans,
            logs=logs,
            nodes=self.nodes,
            roles={ref: str(message["role"]) for ref, message in messages.items()},
            sealed=None,
            last_arrival_ns=max([*(span.end_ns or 0 for span in spans), *(log.time_ns for log in logs)]),
            messages=messages,
        )
        return project(work, work.last_arrival_ns + _SECOND, ProjectSettings())

    def calls(self) -> list[LlmCalled]:
        """All model calls, in order."""
        return [event for event in self.events() if isinstance(event, LlmCalled)]

    def events(self) -> list[RunEvent]:
        return [event for run in self.runs() for event in run.events]


@lru_cache
def sent(name: str) -> Sent:
    """Reads a sender's file."""
    return taken(json.loads((GOLDEN / f"{name}.json").read_text(encoding="utf-8")))


def taken(captured: dict[str, Any]) -> Sent:
    spans = [span for part in _decoded("traces", captured) for span in part.spans]
    logs = [log for part in _decoded("logs", captured) for log in part.logs]
    lifted, lifted_logs = [lift(span) for span in spans], lift_logs(logs)
    result = Sent(captured["requests"], spans, logs, lifted, lifted_logs)
    _keep(result, lifted)
    _keep(result, lifted_logs)
    return result


def _decoded(signal: str, captured: dict[str, Any]) -> Iterable[Any]:
    return from_json.READERS[signal](json.dumps(captured[signal]).encode(), DecodeLimits())


def _keep(result: Sent, lifted: Iterable[Lifted] | Iterable[LiftedLog]) -> None:
    for one in lifted:
        result.contents |= {content.ref: content for content in one.contents}
        for thread in one.threads:
            result.nodes |= {node.ref: node for node in extend(thread.messages)}


def stored_text(result: Sent) -> str:
    """All that is kept of spans and log records themselves, as text."""
    return repr([one.span for one in result.lifted]) + repr([one.log for one in result.lifted_logs])


def attribute(span: Span, name: str) -> Any:
    return span.attributes.get(name)


def kinds(result: Sent) -> dict[str, Any]:
    """The kind of each span, by name."""
    return {one.span.name: one.span.attributes.get(names.KIND) for one in result.lifted}
