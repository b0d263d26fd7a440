"""Runs as the SDK ships them: spans, log events, contents and threads in one batch."""

from collections.abc import Sequence
from typing import Any

from playhead.model import names
from playhead.model.canonical import Content, content_of
from playhead.model.message import Message, message_contents, text_message
from playhead.model.ref import ContentRef
from playhead.model.span import LogEvent, Span
from playhead.wire.pack import ThreadExtension
from playhead_collector.store.ports.spans import Batch

START_NS = 1_760_000_000_000_000_000
MS = 1_000_000


def tool_call(call_id: str, name: str, **arguments: Any) -> Message:
    return {
        "role": "assistant",
        "parts": [{"type": "tool_call", "id": call_id, "name": name, "arguments": arguments}],
    }


class Recorder:
    """Records one run, call after call; `batch` is what it ships."""

    def __init__(self, run: str, *, name: str = "support", session: str = "s1", start_ns: int = START_NS) -> None:
        self.run, self.now_ns = run, start_ns
        self.spans: list[Span] = []
        self.logs: list[LogEvent] = []
        self.contents: dict[ContentRef, Content] = {}
        self.threads: list[ThreadExtension] = []
        self._order = self._ends = 0
        self._thread: tuple[Message, ...] = ()
        self._tip: ContentRef | None = None
        root = {names.RUN_ROOT: True, names.RUN_NAME: name, names.AGENT_NAME: name, names.CONVERSATION: session}
        self.root = self.begin("agent", f"invoke_agent {name}", **root, **{names.RUN_TAGS: ["beta"]})

    def keep(self, value: Any) -> ContentRef:
        content = content_of(value)
        self.contents[content.ref] = content
        return content.ref

    def thread(self, messages: Sequence[Message]) -> ContentRef | None:
        """A thread; sent as an extension of the one before when it continues that."""
        known = len(self._thread) if tuple(messages[: len(self._thread)]) == self._thread else 0
        new = [message_contents(message) for message in messages[known:]]
        self.contents |= {content.ref: content for contents in new for content in contents}
        extension = ThreadExtension(self._tip if known else None, tuple(contents[0].ref for contents in new))
        self.threads.append(extension)
        self._thread, self._tip = tuple(messages), extension.ref
        return extension.ref

    def begin(self, kind: str, name: str, **attributes: Any) -> Span:
        self._order += 1
        own = {names.KIND: kind, names.RUN_ID: self.run, names.RUN_ATTEMPT: 0, names.CALL_ORDER: self._order}
        span_id = f"{int(self.run[:8], 16) * 1_000_000 + self._order:016x}"[-16:]
        parent = self.spans[0].span_id if self.spans else None
        span = Span(self.run, span_id, parent, name, self._tick(), None, own | attributes, scope=names.SCOPE)
        self.spans.append(span)
        return span

    def end(self, span: Span, **attributes: Any) -> None:
        self._ends += 1
        span.end_ns = self._tick()
        span.attributes |= attributes | {names.CALL_ENDED_AFTER: self._order, names.CALL_END_ORDER: self._ends}

    def model(self, messages: Sequence[Message], output: Message, **attributes: Any) -> Span:
        refs = {names.INPUT_MESSAGES_REF: self.thread(messages), names.REQUEST_REF: self.keep({"temperature": 0.5})}
        model = {names.OPERATION: "chat", names.PROVIDER: "openai", names.REQUEST_MODEL: "gpt-4o"}
        span = self.begin("llm", "chat gpt-4o", **model, **refs, **attributes)
        usage = {names.INPUT_TOKENS: 10 * len(messages), names.OUTPUT_TOKENS: 5, names.FINISH_REASONS: ["stop"]}
        (own, *parts) = message_contents(output)
        self.contents |= {content.ref: content for content in (own, *parts)}
        answer = ThreadExtension(None, (own.ref,))
        self.threads.append(answer)
        self.end(span, **usage, **{names.OUTPUT_MESSAGES_REF: answer.ref})
        return span

    def tool(self, name: str, arguments: Any, result: Any) -> None:
        span = self.begin(
            "tool", f"execute_tool {name}", **{names.TOOL_NAME: name, names.TOOL_ARGUMENTS_REF: self.keep(arguments)}
        )
        self.end(span, **{names.TOOL_RESULT_REF: self.keep(result)})

    def change(self, key: str, value: Any) -> None:
        self.say(names.STATE_CHANGED, **{names.STATE_KEY: key, names.VALUE_REF: self.keep(value)})

    def say(self, event: str, **attributes: Any) -> None:
        self._order += 1
        own = {names.RUN_ID: self.run, names.CALL_ORDER: self._order}
        self.logs.append(LogEvent(event, self._tick(), self.run, self.root.span_id, own | attributes, names.SCOPE))

    def batch(self, *, ended: bool = True) -> Batch:
        if ended and self.root.end_ns is None:
            self.end(self.root)
        return Batch(self.spans, self.logs, list(self.contents.values()), self.threads)

    def _tick(self) -> int:
        self.now_ns += MS
        return self.now_ns


def conversation(run: str, turns: int, question: str = "Where is my order?", **more: Any) -> Recorder:
    """An agent that asks, calls a tool, notes what it found, and goes on."""
    recorder = Recorder(run, **more)
    messages: list[Message] = [text_message("system", "You are of help."), text_message("user", question)]
    for n in range(turns):
        asked = tool_call(f"c{n}", "search", order=n)
        recorder.model(messages, asked, **{names.REASONING_REF: recorder.keep(f"I look for {n}.")})
        recorder.tool("search", {"order": n}, [f"order {n} is on its way"])
        recorder.change("found", n)
        result = {"type": "tool_call_response", "id": f"c{n}", "response": [f"order {n} is on its way"]}
        messages += [asked, {"role": "tool", "parts": [result]}]
    return recorder
