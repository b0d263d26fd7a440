"""Runs of any length, as our SDK records them, and how to give them to a collector without it."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from types import MappingProxyType
from typing import Any, TypeVar
from uuid import uuid4

import httpx
import zstandard

from playhead.model import names
from playhead.model.canonical import JSON, Content, canonical_json
from playhead.model.message import Message
from playhead.model.ref import ContentRef
from playhead.model.span import Span
from playhead.model.thread import node_ref
from playhead.outbound.otlp import traces_request
from playhead.wire.pack import PACK, Pack, ThreadExtension, encode_pack

T = TypeVar("T")
_CONTENTS_AT_A_TIME = 5_000
_START_NS = 1_750_000_000_000_000_000
_RESOURCE = {"service.name": "bench"}


@dataclass(slots=True)
class MadeUpRun:
    """One agent that calls a model and a tool in turn; each step adds two messages to its thread.

    `live`: its root has no end, and more steps can be made (`step`).
    """

    steps: int
    live: bool = False
    run: str = field(default_factory=lambda: uuid4().hex)
    spans: list[Span] = field(default_factory=list[Span])
    contents: dict[ContentRef, Content] = field(default_factory=dict[ContentRef, Content])
    threads: list[ThreadExtension] = field(default_factory=list[ThreadExtension])
    _orders: Iterator[int] = field(default_factory=lambda: count(1))
    _ends: Iterator[int] = field(default_factory=lambda: count(1))
    _root: Span = field(init=False)
    _tip: ContentRef = field(init=False)

    def __post_init__(self) -> None:
        self._root = self._span("agent", "invoke_agent bench", None, {names.RUN_ROOT: True, names.RUN_NAME: "bench"})
        system = self._message("system", {"type": "text", "content": f"You are agent {self.run}."})
        self._tip = self._extend(None, system)
        for step in range(self.steps):
            self._tip = self._step(step, self._root, self._tip)
        if self.live:
            self._root.end_ns = None
        else:
            self._end(self._root)

    def step(self) -> tuple[list[Span], Pack]:
        """One more step: its two spans, and the content that they name."""
        known, spans, threads = set(self.contents), len(self.spans), len(self.threads)
        self._tip = self._step(self.steps, self._root, self._tip)
        self.steps += 1
        contents = tuple(content for ref, content in self.contents.items() if ref not in known)
        return self.spans[spans:], Pack(contents, tuple(self.threads[threads:]))

    def _step(self, step: int, root: Span, tip: ContentRef) -> ContentRef:
        said = f"Step {step}: I look at case {step * 7919 % 10007}, which the customer of {self.run[:6]} asked about."
        call_id = f"call_{step:06}"
        asked = self._message(
            "assistant",
            {"type": "text", "content": said},
            {"type": "tool_call", "id": call_id, "name": "look_up", "arguments": {"case": step}},
        )
        result = self._message("tool", {"type": "tool_call_response", "id": call_id, "response": f"case {step}: open"})
        llm = self._span("llm", "chat gpt-4o", root, _LLM | {names.INPUT_MESSAGES_REF: tip})
        llm.attributes |= {names.OUTPUT_MESSAGES_REF: self._extend(None, asked), names.RESPONSE_ID: f"chatcmpl-{step}"}
        llm.attributes |= {names.INPUT_TOKENS: 100 + step, names.OUTPUT_TOKENS: 20}
        self._end(llm)
        tool = self._span("tool", "execute_tool look_up", root, _TOOL | {names.TOOL_CALL_ID: call_id})
        tool.attributes[names.TOOL_ARGUMENTS_REF] = self._content({"case": step})
        tool.attributes[names.TOOL_RESULT_REF] = self._content(f"case {step}: open")
        self._end(tool)
        return self._extend(tip, asked, result)

    def _span(self, kind: str, name: str, parent: Span | None, more: dict[str, Any]) -> Span:
        order = next(self._orders)
        own = {names.KIND: kind, names.RUN_ID: self.run, names.RUN_ATTEMPT: 0, names.CALL_ORDER: order}
        key = {names.CALL_KEY: f"bench/{name}:{kind}#{order}"}
        start, span_id = _START_NS + order * 1_000_000, f"{order:08x}{self.run[:8]}"
        parent_id = parent.span_id if parent else None
        span = Span(self.run, span_id, parent_id, name, start, start + 900_000, {**own, **key, **more})
        span.scope, span.resource = names.SCOPE, _RESOURCE
        self.spans.append(span)
        return span

    def _end(self, span: Span) -> None:
        last = self.spans[-1].attributes[names.CALL_ORDER]
        span.attributes |= {names.CALL_ENDED_AFTER: last, names.CALL_END_ORDER: next(self._ends)}
        span.end_ns = self.spans[-1].start_ns + 950_000

    def _message(self, role: str, *parts: dict[str, Any]) -> ContentRef:
        message: Message = {"role": role, "parts": list(parts)}
        return self._content(message)

    def _content(self, value: Any) -> ContentRef:
        content = Content(canonical_json(value), JSON)
        self.contents[content.ref] = content
        return content.ref

    def _extend(self, parent: ContentRef | None, *messages: ContentRef) -> ContentRef:
        self.threads.append(ThreadExtension(parent, messages))
        for message in messages:
            parent = node_ref(message, parent)
        assert parent is not None
        return parent


_LLM = {
    names.OPERATION: "chat", names.PROVIDER: "openai", names.REQUEST_MODEL: "gpt-4o",
    names.RESPONSE_MODEL: "gpt-4o-2024-08-06", names.FINISH_REASONS: ["tool_calls"],
}  # fmt: skip
_TOOL = {names.OPERATION: "execute_tool", names.TOOL_NAME: "look_up"}


def send(url: str, runs: Sequence[MadeUpRun], *, spans_at_a_time: int = 1_000) -> None:
    """Content first, then spans, as the SDK does."""
    send_content(url, runs)
    with httpx.Client(base_url=url, timeout=120, trust_env=False) as http:
        for spans in _portions(tuple(span for run in runs for span in run.spans), spans_at_a_time):
            post_packed(http, "/v1/traces", packed(traces_request(spans)), PROTOBUF)


def send_content(url: str, runs: Sequence[MadeUpRun], headers: Mapping[str, str] = MappingProxyType({})) -> None:
    """What the spans name.  `headers`: a key, where one is needed."""
    contents = {ref: content for run in runs for ref, content in run.contents.items()}
    threads = tuple(thread for run in runs for thread in run.threads)
    bodies = [Pack(some, ()) for some in _portions(tuple(contents.values()), _CONTENTS_AT_A_TIME)]
    bodies += [Pack((), some) for some in _portions(threads, _CONTENTS_AT_A_TIME)]
    with httpx.Client(base_url=url, headers=headers, timeout=120, trust_env=False) as http:
        for body in bodies:
            post_packed(http, "/v1/content", packed(encode_pack(body)), PACK)


def _portions(items: tuple[T, ...], size: int) -> Iterator[tuple[T, ...]]:
    return (items[start : start + size] for start in range(0, len(items), size))


PROTOBUF = "application/x-protobuf"


def packed(body: bytes) -> bytes:
    """Compressed as our SDK does it."""
    return zstandard.ZstdCompressor(level=7).compress(body)


def post_packed(http: httpx.Client, path: str, body: bytes, media_type: str) -> None:
    """A body that is compressed already."""
    answer = http.post(path, content=body, headers={"content-type": media_type, "content-encoding": "zstd"})
    answer.raise_for_status()
