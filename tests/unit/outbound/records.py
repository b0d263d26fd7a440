"""Spans of a record to send on, and the contents that they refer to."""

from collections.abc import Iterable, Sequence
from typing import Any

from playhead.lift import Lifted
from playhead.model import names
from playhead.model.canonical import Content, content_of
from playhead.model.message import Message
from playhead.model.ref import ContentRef
from playhead.model.span import Span
from playhead.model.thread import thread_of
from playhead.outbound.contents import OutboundContents
from playhead.outbound.encoding import encode
from playhead.outbound.options import OutboundOptions
from playhead.outbound.span import OutboundRun, OutboundSpan, outbound_span

START_NS = 1_760_000_000_000_000_000
SECOND = 1_000_000_000
RUN = OutboundRun("a" * 32, "support", "conversation-42", "customer-7", ("example", "beta"))
RUN_URL = f"https://playhead.example/runs/{RUN.id}?span={'b' * 16}"


class OneRecord:
    """The contents of a record, and its spans; `stored` says what a store would be asked for."""

    def __init__(self) -> None:
        self.contents: dict[ContentRef, Content] = {}
        self.threads: dict[ContentRef, tuple[ContentRef, ...]] = {}

    def value(self, value: Any) -> ContentRef:
        content = content_of(value)
        self.contents[content.ref.plain] = content
        return content.ref

    def thread(self, *messages: Message) -> ContentRef:
        thread = thread_of(messages)
        self.contents |= {content.ref.plain: content for content in thread.contents}
        assert thread.ref is not None
        self.threads[thread.ref] = tuple(node.message for node in thread.nodes)
        return thread.ref

    def take(self, lifted: Lifted) -> None:
        """What a lifted span refers to."""
        self.contents |= {content.ref.plain: content for content in lifted.contents}
        for thread in lifted.threads:
            assert thread.ref is not None
            self.threads[thread.ref] = thread.messages

    def at_hand(self) -> OutboundContents:
        contents = OutboundContents()
        for ref, content in self.contents.items():
            contents.add(ref, content)
        for ref, messages in self.threads.items():
            contents.add_thread(ref, messages)
        return contents

    def encoded(self, span: OutboundSpan, vocabulary: Any = "otlp", **options: Any) -> Span:
        return encode(span, self.at_hand(), OutboundOptions(vocabulary, **options))


def text(role: str, said: str) -> Message:
    return {"role": role, "parts": [{"type": "text", "content": said}]}


def tool_call(call: str, name: str, arguments: Any) -> Message:
    part = {"type": "tool_call", "id": call, "name": name, "arguments": arguments}
    return {"role": "assistant", "parts": [part]}


def tool_result(call: str, response: Any) -> Message:
    return {"role": "tool", "parts": [{"type": "tool_call_response", "id": call, "response": response}]}


def outbound(kind: str, name: str, attributes: dict[str, Any], run: OutboundRun = RUN, **fields: Any) -> OutboundSpan:
    """A span of our own record, with a parent."""
    options: dict[str, Any] = {"url": fields.pop("url", RUN_URL), "cost": fields.pop("cost", None)}
    fields = {"parent_id": "c" * 16, "scope": names.SCOPE, "resource": {"service.name": "shop"}} | fields
    own = {names.KIND: kind, names.RUN_ID: run.id}
    span = Span("a" * 32, "b" * 16, name=name, start_ns=START_NS, end_ns=START_NS + SECOND,
                attributes=own | attributes, **fields)  # fmt: skip
    return outbound_span(span, run, **options)


def conversation() -> Sequence[Message]:
    return (
        text("system", "You are brief."),
        text("user", "Where is my order?"),
        tool_call("call_1", "look_up", {"order": "A1001"}),
        tool_result("call_1", '{"status": "delayed"}'),
    )


def refs_of(contents: Iterable[Content]) -> set[ContentRef]:
    return {content.ref.plain for content in contents}
