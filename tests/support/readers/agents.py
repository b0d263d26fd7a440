"""A run of several agents, tools, waits and cuts, whose events are written by hand: for what reads it turn by turn."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from playhead.model import event as ev
from playhead.model import names
from playhead.model.canonical import content_of
from playhead.model.event import RunEvent
from playhead.model.message import Message, text_message
from playhead.model.ref import ContentRef
from playhead.model.span import Span
from tests.support.readers.fake import EPOCH_NS, RUN, FakeStore, record_of

MS = 1_000_000


class AgentsRun:
    """Adds events as the projector would, one millisecond apart. `root`: the span of the run."""

    root = "root"

    def __init__(self, store: FakeStore | None = None, run: str = RUN, tools: Any = None) -> None:
        self.store = store or FakeStore()
        self.run = run
        self.events: list[RunEvent] = []
        self.tools = None if tools is None else self.store.keep(tools)
        self._spans = 0
        self.threads: dict[str | None, list[Message]] = {}
        self._pending: dict[str | None, list[Message]] = {}
        self.add(ev.RunStarted, self.root, name="support")

    def add(self, cls: type[Any], span: str | None = None, actor: str | None = "support", **fields: Any) -> Any:
        seq = len(self.events) + 1
        head = {"id": f"{span}.{cls.kind}.{seq}", "run": self.run, "seq": seq, "time_ns": EPOCH_NS + seq * MS}
        self.events.append(cls(**head, span=span, actor=actor, **fields))
        return self.events[-1]

    def span(self) -> str:
        self._spans += 1
        return f"{self._spans:016x}"

    def says(self, text: str, role: str = "user", to: str | None = None) -> None:
        """A message that is new in the next context of the agent `to`."""
        self._pending.setdefault(to, []).append(text_message(role, text))

    def agent(self, name: str, parent: str = "root") -> str:
        span = self.span()
        self.add(ev.StepStarted, span, name, name=name, step_kind="agent", parent=parent)
        return span

    def agent_ends(self, span: str, error: tuple[str, str] | None = None) -> ev.StepCompleted:
        begin = self._begin(span)
        more = {} if error is None else {"error_type": error[0], "message": error[1]}
        fields = {"name": begin.name, "step_kind": "agent", "elapsed_ms": self._elapsed(begin), **more}
        return self.add(ev.StepCompleted, span, begin.actor, **fields)

    def asks_model(self, agent: str | None = None, **fields: Any) -> str:
        """A model call begins. Returns its span."""
        span = self.span()
        actor = "support" if agent is None else self._begin(agent).actor
        new = self._pending.pop(agent, [])
        thread = self.threads.setdefault(agent, [])
        thread += new
        kept = self.store.keep_thread(thread) if thread else None
        nodes = kept.nodes if kept else ()
        for node, message in list(zip(nodes, thread, strict=True))[len(thread) - len(new) :]:
            self.add(ev.MessageAdded, span, actor, role=message["role"], message=node.message)
        facts = {"model": "gpt-4o", "messages": len(thread), "parent": agent or self.root, "tools": self.tools}
        self.add(ev.LlmCalled, span, actor, thread=kept and kept.ref, **{**facts, **fields})
        return span

    def model_answers(
        self, span: str, text: str = "", calls: Sequence[tuple[str, str | None, Any]] = (), **fields: Any
    ) -> ev.LlmCompleted:
        """A model call ends. `calls`: name, id and arguments of the tool calls that the answer asks for."""
        begin = self._begin(span)
        asked = [
            {"type": "tool_call", "name": name, "arguments": arguments, **({} if call_id is None else {"id": call_id})}
            for name, call_id, arguments in calls
        ]
        parts = [*([{"type": "text", "content": text}] if text else []), *asked]
        output: Message = {"role": "assistant", "parts": parts}
        kept = self.store.keep_thread([output])
        usage = ev.TokenUsage(input_tokens=100, output_tokens=10)
        more = {"usage": usage, "elapsed_ms": self._elapsed(begin), **fields}
        end = self.add(ev.LlmCompleted, span, begin.actor, model="gpt-4o", thread=kept.ref, **more)
        self.add(ev.MessageAdded, span, begin.actor, role="assistant", source="output", message=kept.nodes[0].message)
        agent = begin.parent if begin.parent != self.root else None
        self.threads.setdefault(agent, []).append(output)
        return end

    def model_fails(self, span: str, error_type: str, message: str) -> ev.LlmFailed:
        begin = self._begin(span)
        more = {"error_type": error_type, "message": message, "elapsed_ms": self._elapsed(begin)}
        return self.add(ev.LlmFailed, span, begin.actor, model="gpt-4o", **more)

    def tool(self, name: str, arguments: Any, call_id: str | None = None, parent: str = "root") -> str:
        span = self.span()
        actor = "support" if parent == self.root else self._begin(parent).actor
        kept = self.store.keep(arguments)
        self.add(ev.ToolCalled, span, actor, name=name, call_id=call_id, parent=parent, arguments=kept)
        return span

    def tool_returns(self, span: str, result: Any = "done", to: str | None = None) -> ev.ToolCompleted:
        begin = self._begin(span)
        kept = self.store.keep(result)
        if begin.call_id is not None:
            part = {"type": "tool_call_response", "id": begin.call_id, "response": result}
            self._pending.setdefault(to, []).append({"role": "tool", "parts": [part]})
        more = {"name": begin.name, "call_id": begin.call_id, "elapsed_ms": self._elapsed(begin)}
        return self.add(ev.ToolCompleted, span, begin.actor, result=kept, **more)

    def tool_raises(self, span: str, error_type: str, message: str, outcome: str | None = None) -> ev.ToolFailed:
        begin = self._begin(span)
        more = {"name": begin.name, "call_id": begin.call_id, "elapsed_ms": self._elapsed(begin), "outcome": outcome}
        return self.add(ev.ToolFailed, span, begin.actor, error_type=error_type, message=message, **more)

    def turn(
        self,
        text: str = "",
        calls: Sequence[tuple[str, str | None, Any]] = (),
        agent: str | None = None,
        result: Any = "done",
    ) -> int:
        """A whole turn: its tools are called and return. Returns the seq of the model call."""
        span = self.asks_model(agent)
        self.model_answers(span, text, calls)
        for name, call_id, arguments in calls:
            self.tool_returns(self.tool(name, arguments, call_id, agent or self.root), result, agent)
        return self._begin(span).seq

    def done(self, output: ContentRef | None = None) -> Any:
        self.add(ev.RunCompleted, self.root, elapsed_ms=float(len(self.events)), output=output)
        return self.record(status="completed")

    def fails(self, error_type: str, message: str) -> Any:
        self.add(ev.RunFailed, self.root, error_type=error_type, message=message, elapsed_ms=float(len(self.events)))
        return self.record(status="failed")

    def record(self, status: str = "running") -> Any:
        self.store.keep_run(self.events, self.run)
        calls = sum(isinstance(event, ev.LlmCalled) for event in self.events)
        self.store.rows[self.run] = replace(self.store.rows[self.run], status=status, llm_calls=calls)
        return record_of(self.store, self.run)

    def _begin(self, span: str) -> Any:
        kinds = (ev.LlmCalled, ev.ToolCalled, ev.StepStarted)
        return next(event for event in self.events if event.span == span and isinstance(event, kinds))

    def _elapsed(self, begin: RunEvent) -> float:
        return float(len(self.events) + 1 - begin.seq)


# --- what spans recorded of an error ---------------------------------------------------------------------------------

TYPE, MESSAGE = "ConnectionError", "db-staging:5432 did not answer"
STACK = """Traceback (most recent call last):
  File "/app/review.py", line 52, in plan
    await connect()
TimeoutError: timed out

The above exception was the direct cause of the following exception:

Traceback (most recent call last):
  File "/app/review.py", line 71, in review
    await plan()
  File "/venv/lib/python3.12/site-packages/agents/run.py", line 9, in wrapper
  File "/app/review.py", line 54, in plan
    raise ConnectionError(why) from error
ConnectionError: db-staging:5432 did not answer
"""


def span_with_error(run: AgentsRun, span: str, stack: str, type_: str = TYPE, message: str = MESSAGE) -> None:
    """Keeps the span of a call with the exception that our SDK described."""
    described = {"type": type_, "message": message, "stacktrace": stack}
    attributes = {names.ERROR_REF: str(run.store.keep(content_of(described)))}
    run.store.spans_of.setdefault(RUN, []).append(Span(RUN, span, None, "x", 1, 2, attributes))
