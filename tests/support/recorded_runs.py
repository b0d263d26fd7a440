"""Labelled runs as the SDK records them, for tests with and without a database."""

from collections.abc import Sequence
from typing import Any

from playhead.model import names
from playhead.model.canonical import Content, content_of
from playhead.model.message import Message, Part, message_contents, read_message
from playhead.model.ref import ContentRef
from playhead.model.span import STATUS_ERROR, LogEvent, Span
from playhead.model.thread import ThreadNode, thread_of
from playhead.wire.pack import ThreadExtension
from playhead_collector.store.ports.projections import RunWork
from playhead_collector.store.ports.spans import Batch
from tests.support.compressed_runs import Call, LabelledRun

START_NS = 1_760_000_000_000_000_000
MS = 1_000_000


class Recorded:
    """One run, recorded call by call."""

    def __init__(self, run: str, labelled: LabelledRun) -> None:
        self.run = run
        self.spans: list[Span] = []
        self.logs: list[LogEvent] = []
        self.contents: dict[ContentRef, Content] = {}
        self.nodes: dict[ContentRef, ThreadNode] = {}
        self.extensions: list[ThreadExtension] = []
        self._order = self._ends = self._now = 0
        self._agents: dict[str, Span] = {}
        root = self._begin("agent", "support", None, **{names.RUN_ROOT: True, names.AGENT_NAME: "support"})
        for call in labelled.calls:
            self._call(call)
        for span in reversed([root, *(span for span in self._agents.values() if span is not root)]):
            self._end(span)

    def batch(self) -> Batch:
        return Batch(self.spans, self.logs, list(self.contents.values()), self.extensions)

    def work(self) -> RunWork:
        """As the store hands it to the projector, all messages read."""
        messages = {node.message: read_message(self.contents[node.message].data) for node in self.nodes.values()}
        roles = {ref: message["role"] for ref, message in messages.items()}
        return RunWork(self.run, self.spans, self.logs, self.nodes, roles, None, START_NS, messages)

    def _call(self, call: Call) -> None:
        parent = self._agent(call.agent)
        if call.declares is not None:
            self._declare(parent, **call.declares)
        model = {names.OPERATION: "chat", names.PROVIDER: "openai", names.REQUEST_MODEL: "gpt-4o"}
        given = {names.INPUT_MESSAGES_REF: self._thread(call.given)}
        if call.tools:
            tools = content_of([{"type": "function", "function": {"name": name}} for name in call.tools])
            self.contents[tools.ref] = tools
            given[names.TOOL_DEFINITIONS_REF] = tools.ref
        span = self._begin("llm", "chat gpt-4o", parent, **model, **given)
        if call.answer is None:
            span.status, span.status_message = STATUS_ERROR, "context_length_exceeded"
            self._end(span)
            return
        tokens = {} if call.tokens is None else {names.INPUT_TOKENS: call.tokens, names.OUTPUT_TOKENS: 5}
        self._end(span, **tokens, **{names.OUTPUT_MESSAGES_REF: self._thread([call.answer])})
        if call.runs is not None:
            self._run_tool(parent, call.answer["parts"][-1], call.runs)

    def _run_tool(self, parent: Span, request: Part, result: Any) -> None:
        given, gave = content_of(request["arguments"]), content_of(result)
        self.contents |= {given.ref: given, gave.ref: gave}
        named = {names.TOOL_NAME: request["name"], names.TOOL_CALL_ID: request["id"]}
        tool = self._begin("tool", request["name"], parent, **named, **{names.TOOL_ARGUMENTS_REF: given.ref})
        self._end(tool, **{names.TOOL_RESULT_REF: gave.ref})

    def _declare(
        self,
        parent: Span,
        before: Any,
        after: Any,
        summary: Message | None,
        strategy: str,
        tokens_before: int | None = None,
        tokens_after: int | None = None,
    ) -> None:
        self._order += 1
        attributes: dict[str, Any] = {
            names.RUN_ID: self.run,
            names.CALL_ORDER: self._order,
            names.COMPRESSION_STRATEGY: strategy,
            names.COMPRESSION_BEFORE_REF: self._thread(before),
            names.COMPRESSION_AFTER_REF: self._thread(after),
        }
        if tokens_before is not None and tokens_after is not None:
            attributes[names.COMPRESSION_TOKENS_BEFORE] = tokens_before
            attributes[names.COMPRESSION_TOKENS_AFTER] = tokens_after
        if summary is not None:
            attributes[names.COMPRESSION_SUMMARY_REF] = message_contents(summary)[0].ref
        self.logs.append(LogEvent(names.COMPRESSED, self._tick(), self.run, parent.span_id, attributes, names.SCOPE))

    def _agent(self, name: str) -> Span:
        if name not in self._agents:
            root = self.spans[0]
            self._agents[name] = (
                root if name == "support" else self._begin("agent", name, root, **{names.AGENT_NAME: name})
            )
        return self._agents[name]

    def _thread(self, messages: Sequence[Message]) -> ContentRef | None:
        thread = thread_of(messages)
        self.contents |= {content.ref: content for content in thread.contents}
        self.nodes |= {node.ref: node for node in thread.nodes}
        self.extensions.append(ThreadExtension(None, tuple(node.message for node in thread.nodes)))
        return thread.ref

    def _begin(self, kind: str, name: str, parent: Span | None, **attributes: Any) -> Span:
        self._order += 1
        own = {names.KIND: kind, names.RUN_ID: self.run, names.RUN_ATTEMPT: 0, names.CALL_ORDER: self._order}
        span_id = f"{self.run[:8]}{self._order:08x}"
        above = parent.span_id if parent else None
        span = Span(self.run, span_id, above, name, self._tick(), None, own | attributes, scope=names.SCOPE)
        self.spans.append(span)
        return span

    def _end(self, span: Span, **attributes: Any) -> None:
        self._ends += 1
        span.end_ns = self._tick()
        span.attributes |= attributes | {names.CALL_ENDED_AFTER: self._order, names.CALL_END_ORDER: self._ends}

    def _tick(self) -> int:
        self._now += 1
        return START_NS + self._now * MS
