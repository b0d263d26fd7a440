"""Recordings made by hand: spans, log events and threads as the SDK and others write them, on a clock that ticks."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from playhead.model import names
from playhead.model.canonical import canonical_json
from playhead.model.event import RunEvent
from playhead.model.message import Message, text_message
from playhead.model.ref import ContentRef
from playhead.model.span import STATUS_ERROR, LogEvent, Span
from playhead.model.thread import ThreadNode, extend
from playhead.projection.inputs import Projection
from playhead.projection.projector import ProjectSettings, project
from playhead_collector.store.ports.projections import RunWork

RUN = "0190f5fe" * 4
EPOCH_NS = 1_700_000_000_000_000_000
MS = 1_000_000
SETTINGS = ProjectSettings(seal_after_ns=30_000 * MS)
OPERATIONS = {"agent": "invoke_agent", "llm": "chat", "tool": "execute_tool"}


def content(text: str) -> ContentRef:
    return ContentRef.of(text.encode())


class Recording:
    """A run as it is recorded.  `counting=False`: no numbers, as others write.

    Messages are written `role: text`, and a tool's answer to the call c1 `tool#c1: text`.
    """

    def __init__(
        self, run: str = RUN, *, ours: bool = True, counting: bool = True, attempt: int = 0, process: str = ""
    ) -> None:
        """`process`: another one than the run's own, which was handed a part of it."""
        self.run = run
        self.process = process
        self.ours, self.counting, self.attempt = ours, counting, attempt
        self.spans: list[Span] = []
        self.logs: list[LogEvent] = []
        self.nodes: dict[ContentRef, ThreadNode] = {}
        self.roles: dict[ContentRef, str] = {}
        self.messages: dict[ContentRef, Message] = {}
        self.labels: dict[str, str] = {}
        self.now_ns = EPOCH_NS
        self.order = self.ends = 0
        self.inside: list[Span] = []

    # --- what is recorded --------------------------------------------------------------------------------------------

    def begin(self, kind: str | None, name: str, parent: Span | None = None, **more: Any) -> Span:
        """`more`: attributes, with `__` for the dots in their names."""
        attributes: dict[str, Any] = {}
        if self.ours:
            attributes |= {names.KIND: kind, names.RUN_ID: self.run, names.RUN_ATTEMPT: self.attempt}
            if self.process:
                attributes[names.PROCESS_ID] = self.process
            if self.counting:
                self.order += 1
                attributes[names.CALL_ORDER] = self.order
        if kind in OPERATIONS:
            attributes[names.OPERATION] = OPERATIONS[kind]
        if kind == "agent":
            attributes[names.AGENT_NAME] = name
        if kind == "tool":
            attributes[names.TOOL_NAME] = name
        above = parent or (self.inside[-1] if self.inside else None)
        span = Span(
            trace_id=self.run,
            span_id=f"{self.process[:8] or '0' * 8}{len(self.spans) + 1:08x}",
            parent_id=above.span_id if above else None,
            name=f"{OPERATIONS[kind]} {name}" if kind in OPERATIONS else name,
            start_ns=self._tick(),
            end_ns=None,
            attributes=attributes | _dotted(more),
            scope=names.SCOPE if self.ours else "somebody.else",
        )
        self.spans.append(span)
        return span

    def end(self, span: Span, *, error: str | None = None, **more: Any) -> Span:
        span.end_ns = self._tick()
        span.attributes |= _dotted(more)
        if error is not None:
            span.status, span.status_message = STATUS_ERROR, error
            span.attributes[names.ERROR_TYPE] = "TimeoutError"
        if self.ours and self.counting:
            self.ends += 1
            span.attributes |= {names.CALL_ENDED_AFTER: self.order, names.CALL_END_ORDER: self.ends}
        return span

    @contextmanager
    def call(self, kind: str | None, name: str, **more: Any) -> Iterator[Span]:
        span = self.begin(kind, name, **more)
        self.inside.append(span)
        yield span
        self.inside.pop()
        self.end(span)

    @contextmanager
    def root(self, name: str = "support", kind: str | None = "agent", **more: Any) -> Iterator[Span]:
        mark = {"playhead__run__root": True} if self.ours else {}
        with self.call(kind, name, **mark, **more) as span:
            yield span

    def ask(self, messages: Iterable[str], parent: Span | None = None, **more: Any) -> Span:
        """A model call begins."""
        more = {"gen_ai__request__model": "gpt-4o", "gen_ai__provider__name": "openai"} | more
        return self.begin("llm", "gpt-4o", parent, gen_ai__input__messages_ref=self.thread(*messages), **more)

    def answer(
        self, span: Span, *messages: str, tokens: int | None = None, error: str | None = None, **more: Any
    ) -> Span:
        """A model call ends."""
        if messages:
            more["gen_ai__output__messages_ref"] = self.thread(*messages)
        if tokens is not None:
            more |= {"gen_ai__usage__input_tokens": tokens, "gen_ai__usage__output_tokens": 5}
        return self.end(span, error=error, **more)

    def model(self, messages: Iterable[str], *output: str, tokens: int | None = None, **more: Any) -> Span:
        return self.answer(self.ask(messages, **more), *output, tokens=tokens)

    def tool(self, name: str, *, error: str | None = None, **more: Any) -> Span:
        return self.end(
            self.begin("tool", name, gen_ai__tool__call__arguments_ref=self.kept(f"{name} arguments")),
            error=error,
            **more,
        )

    def log(self, name: str, **more: Any) -> LogEvent:
        self.order += 1
        attributes = {names.RUN_ID: self.run, names.RUN_ATTEMPT: self.attempt, names.CALL_ORDER: self.order}
        inside = self.inside[-1].span_id if self.inside else None
        self.logs.append(LogEvent(name, self._tick(), self.run, inside, attributes | _dotted(more)))
        return self.logs[-1]

    def kept(self, text: str) -> ContentRef:
        """A content, by its text."""
        self.labels[content(text)] = f"content: {text}"
        return content(text)

    def message(self, text: str) -> ContentRef:
        role, _, said = text.partition(": ")
        role, _, call = role.partition("#")
        message = text_message(role, said)
        if call:
            message["parts"] = [{"type": "tool_call_response", "id": call, "response": said}]
        ref = ContentRef.of(canonical_json(message))
        self.roles[ref], self.messages[ref], self.labels[ref] = role, message, text
        return ref

    def thread(self, *messages: str) -> ContentRef | None:
        nodes = extend([self.message(message) for message in messages])
        self.nodes |= {node.ref: node for node in nodes}
        for n, node in enumerate(nodes, 1):
            self.labels[node.ref] = "thread: " + " / ".join(messages[:n])
        return nodes[-1].ref if nodes else None

    def thread_of(self, *messages: Message) -> ContentRef:
        """A thread of messages that are given whole."""
        refs = [ContentRef.of(canonical_json(message)) for message in messages]
        self.messages |= dict(zip(refs, messages, strict=True))
        self.roles |= {ref: message["role"] for ref, message in zip(refs, messages, strict=True)}
        nodes = extend(refs)
        self.nodes |= {node.ref: node for node in nodes}
        return nodes[-1].ref

    def _tick(self) -> int:
        self.now_ns += MS
        return self.now_ns

    # --- what is made of it -----------------------------------------------------------------------------------------

    def work(self, spans: Sequence[Span] | None = None, logs: Sequence[LogEvent] | None = None, **more: Any) -> RunWork:
        return RunWork(
            run=self.run,
            spans=self.spans if spans is None else spans,
            logs=self.logs if logs is None else logs,
            nodes=more.get("nodes", self.nodes),
            roles=more.get("roles", self.roles),
            sealed=more.get("sealed"),
            last_arrival_ns=self.now_ns,
            messages=more.get("messages", self.messages),
        )

    def project(self, *, quiet_ms: int = 0, **more: Any) -> Projection:
        return project(self.work(**more), self.now_ns + quiet_ms * MS, SETTINGS)

    def events(self, **more: Any) -> Sequence[RunEvent]:
        return self.project(**more).events

    def story(self, **more: Any) -> list[str]:
        """The events, each as its kind and what it is about."""
        return [self.tell(event) for event in self.events(**more)]

    def tell(self, event: RunEvent) -> str:
        about = [getattr(event, name, None) for name in ("name", "message", "key", "to", "error_type", "original_kind")]
        said = [self.labels.get(text, text) for text in about if isinstance(text, str) and text]
        kind = event.kind or "unknown"
        return " ".join([kind + (" (late)" if event.late else ""), *said[:1]])


def _dotted(more: dict[str, Any]) -> dict[str, Any]:
    return {name.replace("__", "."): value for name, value in more.items()}
