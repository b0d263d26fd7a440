"""recorder → [recorded_run] → asserts.  One run of the program under test, as it was recorded.

`RecordedRun` has the run's model calls and tool calls with their values, its state and context at any event, its
contents, and asserts about tool calls. As a text it is the run's transcript.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, cast

from playhead.model import event as ev
from playhead.model.event import RunEvent
from playhead.model.json_value import object_of
from playhead.model.message import Message, message_lines, message_text
from playhead.model.state import RunState, fold
from playhead.projection.projector import ProjectSettings, project
from playhead.testing.recorded_frames import JournalFrames

# --- calls and their values -------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class FailedWith:
    """The exception that a call or a run failed with: the name of its type, and its message."""

    type: str
    message: str

    def __str__(self) -> str:
        return f"{self.type}: {self.message}"


@dataclass(frozen=True, slots=True)
class ModelContext:
    """The input of a model: messages in the parts form (`{"role", "parts"}`), system instructions and tools.

    `"refund" in context` tests whether that text is in the instructions or in a message.
    """

    messages: tuple[Message, ...]
    system: Any = None
    tools: Any = None

    @property
    def text(self) -> str:
        """The text of the instructions and of all messages."""
        instructions = [message_text({"role": "system", "parts": self.system})] if _are_parts(self.system) else []
        if isinstance(self.system, str):
            instructions.append(self.system)
        return "\n".join([*instructions, *map(message_text, self.messages)])

    def __contains__(self, text: str) -> bool:
        return text in self.text


@dataclass(frozen=True, slots=True)
class RecordedModelCall:
    """A model call.  `seq`: the event with which it began; `answer`: the model's message in the parts form, None for a
    call that failed or has not ended; `usage`: the numbers of tokens that the provider reported; `reasoning`: the
    text of the model's reasoning, as JSON if it was recorded in another form, empty if there is none."""

    seq: int
    model: str | None
    context: ModelContext
    answer: Message | None
    usage: Mapping[str, int]
    error: FailedWith | None = None
    reasoning: str = ""

    @property
    def messages(self) -> tuple[Message, ...]:
        """The input messages."""
        return self.context.messages

    @property
    def text(self) -> str:
        """The text of the model's answer, without its reasoning and its tool calls."""
        parts = self.answer["parts"] if self.answer is not None else []
        return "".join(part["content"] for part in parts if part.get("type") == "text")

    @property
    def requested_tools(self) -> list[tuple[str, Any]]:
        """Name and arguments of each tool that the model asked for."""
        parts = self.answer["parts"] if self.answer is not None else []
        return [(part["name"], part.get("arguments")) for part in parts if part.get("type") == "tool_call"]


@dataclass(frozen=True, slots=True)
class RecordedToolCall:
    """A tool call.  `arguments` by name, as plain JSON values; `result` is None for a call that failed or is open."""

    seq: int
    name: str
    arguments: Any
    result: Any = None
    error: FailedWith | None = None

    def __str__(self) -> str:
        arguments: object = self.arguments
        if not isinstance(arguments, dict):
            return f"{self.name}({arguments!r})"
        named = cast("dict[str, Any]", arguments)
        return f"{self.name}({', '.join(f'{name}={value!r}' for name, value in named.items())})"


def _reasoning_text(value: object) -> str:
    if value is None or isinstance(value, str):
        return value or ""
    return json.dumps(value, ensure_ascii=False)


def _are_parts(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(part, dict) for part in value)  # pyright: ignore[reportUnknownVariableType]


# --- the transcript ---------------------------------------------------------------------------------------------------

# Enough to recognise a text; the test has the whole one.
_MAX_CHARACTERS = 300
_INDENT = "       "


def transcript(
    run: str,
    name: str | None,
    status: str,
    llm_calls: Sequence[RecordedModelCall],
    tool_calls: Sequence[RecordedToolCall],
    error: FailedWith | None,
) -> str:
    """Returns model calls and tool calls by seq; of each context only the messages that no earlier call had."""
    lines = [f"run {run} ({name}): {status}"]
    seen: list[Message] = []
    for call in sorted([*llm_calls, *tool_calls], key=lambda call: call.seq):
        if isinstance(call, RecordedToolCall):
            lines += _tool_lines(call)
        else:
            lines += _model_lines(call, seen)
    if error is not None:
        lines.append(f"  the run failed: {error}")
    return "\n".join(lines)


def _model_lines(call: RecordedModelCall, seen: list[Message]) -> Iterator[str]:
    yield f"{call.seq:>5}  model {call.model or ''}".rstrip()
    for message in call.messages:
        # Answers of the model are sent again in later calls, often without their reasoning.
        if message not in seen and not (seen and message["role"] == "assistant"):
            seen.append(message)
            yield from _labelled(message["role"], "\n".join(message_lines(message)))
    if call.answer is not None:
        seen.append(call.answer)
        if call.reasoning:
            yield from _labelled("thinks", call.reasoning)
        if call.text:
            yield from _labelled("says", call.text)
        for name, arguments in call.requested_tools:
            yield f"{_INDENT}asks for: {RecordedToolCall(0, name, arguments)}"
    if call.error is not None:
        yield from _labelled("failed", str(call.error))


def _tool_lines(call: RecordedToolCall) -> Iterator[str]:
    yield f"{call.seq:>5}  tool {_cut_text(str(call))}"
    if call.error is not None:
        yield from _labelled("failed", str(call.error))
    else:
        yield from _labelled("returned", repr(call.result))


def _labelled(label: str, text: object) -> Iterator[str]:
    first, *rest = _cut_text(str(text)).splitlines() or [""]
    yield f"{_INDENT}{label}: {first}"
    yield from (f"{_INDENT}  {line}" for line in rest)


def _cut_text(text: str) -> str:
    return text if len(text) <= _MAX_CHARACTERS else f"{text[:_MAX_CHARACTERS]}… ({len(text):,} characters)"


# --- the run ----------------------------------------------------------------------------------------------------------


class RecordedRun:
    """A run as it was recorded when this object was made. For later events, read the run from the recorder again."""

    def __init__(self, run: str, frames: JournalFrames) -> None:
        self.id = run
        self._frames = frames
        self.events: Sequence[RunEvent] = project(frames.run_input(run), 0, ProjectSettings()).events
        """All events, as in the query API: `seq` is the position in the run, counted from 1."""

    @property
    def name(self) -> str | None:
        """The name of the run; without one, of its outermost function."""
        return self.state().name

    @property
    def status(self) -> str:
        """`running`, `completed`, `failed` or `cancelled`."""
        return self.state().status

    @cached_property
    def input(self) -> Any:
        """The arguments of the outermost call; None if they are not recorded."""
        return self.content(next((event.input for event in self.events if isinstance(event, ev.RunStarted)), None))

    @cached_property
    def output(self) -> Any:
        """The result of the outermost call; None if it is not recorded, as in a `with playhead.run(...)`."""
        done = [event.output for event in self.events if isinstance(event, ev.RunCompleted)]
        return self.content(done[-1] if done else None)

    @property
    def error(self) -> FailedWith | None:
        """The exception that ended the run; None if none did."""
        failed = [event for event in self.events if isinstance(event, ev.RunFailed)]
        return FailedWith(failed[-1].error_type, failed[-1].message) if failed and self.status == "failed" else None

    @property
    def answer(self) -> str:
        """The text of the last model call that was answered; empty if there is none."""
        return next((call.text for call in reversed(self.llm_calls) if call.answer is not None), "")

    @cached_property
    def llm_calls(self) -> list[RecordedModelCall]:
        """Model calls, in the order in which they began."""
        ends = self._ends(ev.LlmCompleted, ev.LlmFailed)
        return [self._llm_call(event, ends) for event in self.events if isinstance(event, ev.LlmCalled)]

    @cached_property
    def tool_calls(self) -> list[RecordedToolCall]:
        """Tool calls, in the order in which they began."""
        ends = self._ends(ev.ToolCompleted, ev.ToolFailed)
        return [self._tool_call(event, ends) for event in self.events if isinstance(event, ev.ToolCalled)]

    def state(self, at: int | None = None) -> RunState:
        """Returns the state directly after the event with this seq; default: the last."""
        return fold(event for event in self.events if at is None or event.seq <= at)

    def context(self, at: int | None = None) -> ModelContext:
        """Returns the input of the last model call that began at or before this event; default: of the last call.

        Raises LookupError if no model call had begun by then.
        """
        begun = [call for call in self.llm_calls if at is None or call.seq <= at]
        if not begun:
            raise LookupError(f"run {self.id} had made no model call at event {at}: it has {len(self.llm_calls)}")
        return begun[-1].context

    def content(self, ref: str | None) -> Any:
        """The JSON value, text or bytes that a ref (`sha256:...`) names.  Raises LookupError if it is not recorded."""
        try:
            return self._frames.value(ref)
        except KeyError:
            raise LookupError(f"{ref} is not recorded here: refs are those of this run's events") from None

    def called(self, tool: str, /, **arguments: object) -> list[RecordedToolCall]:
        """Returns the calls of this tool with these arguments; other arguments may have any value."""
        return [call for call in self.tool_calls if call.name == tool and _has_arguments(call.arguments, arguments)]

    def assert_called(self, tool: str, /, **arguments: object) -> RecordedToolCall:
        """Fails unless the tool was called with these arguments (others may have any value).  Returns the first such
        call."""
        __tracebackhide__ = True
        calls = self.called(tool, **arguments)
        if calls:
            return calls[0]
        wanted = RecordedToolCall(0, tool, arguments)
        others = [str(call) for call in self.tool_calls if call.name == tool]
        instead = f"it was called as {'; '.join(others)}" if others else f"tools that were called: {self._tool_names()}"
        raise AssertionError(f"{wanted} was not called; {instead}")

    def assert_not_called(self, tool: str, /, **arguments: object) -> None:
        """Fails if the tool was called with these arguments (without any: if it was called at all)."""
        __tracebackhide__ = True
        if calls := self.called(tool, **arguments):
            raise AssertionError(f"{calls[0]} was called")

    def assert_tool_calls(self, expected: Sequence[tuple[str, Any]], *, ordered: bool = True) -> None:
        """Fails unless exactly these tools were called, with exactly these arguments: `[("refund", {"order": 7})]`.

        With `ordered=False`, in any order: for tools that run in parallel.
        """
        __tracebackhide__ = True
        missing, surplus = list(expected), list[tuple[str, Any]]()
        for call in self.tool_calls:
            made = (call.name, call.arguments)
            if made in missing:
                missing.remove(made)
            else:
                surplus.append(made)
        made_all = [(call.name, call.arguments) for call in self.tool_calls]
        if missing or surplus or (ordered and made_all != list(expected)):
            lines = [f"not called: {_call_text(call)}" for call in missing]
            lines += [f"called besides: {_call_text(call)}" for call in surplus]
            raise AssertionError("\n".join(lines) or f"called in another order: {'; '.join(map(_call_text, made_all))}")

    def __str__(self) -> str:
        """Returns the run's transcript: inputs and answers of the model, and results of the tools."""
        return transcript(self.id, self.name, self.status, self.llm_calls, self.tool_calls, self.error)

    def __repr__(self) -> str:
        return f"<RecordedRun {self.id} {self.name!r} {self.status}, {len(self.events)} events>"

    def _ends(self, *kinds: type[RunEvent]) -> Mapping[str | None, Any]:
        return {event.span: event for event in self.events if isinstance(event, kinds)}

    def _llm_call(self, begun: ev.LlmCalled, ends: Mapping[str | None, Any]) -> RecordedModelCall:
        end: ev.LlmCompleted | ev.LlmFailed | None = ends.get(begun.span)
        messages = self._frames.thread(end.thread) if end is not None else []
        done = end if isinstance(end, ev.LlmCompleted) else None
        context = ModelContext(
            tuple(self._frames.thread(begun.thread)), self.content(begun.system), self.content(begun.tools)
        )
        return RecordedModelCall(
            begun.seq,
            (end and end.model) or begun.model,
            context,
            messages[-1] if messages else None,
            ev.usage_to_json(done.usage) if done is not None else {},
            FailedWith(end.error_type, end.message) if isinstance(end, ev.LlmFailed) else None,
            _reasoning_text(self.content(done.reasoning) if done is not None else None),
        )

    def _tool_call(self, begun: ev.ToolCalled, ends: Mapping[str | None, Any]) -> RecordedToolCall:
        end: ev.ToolCompleted | ev.ToolFailed | None = ends.get(begun.span)
        return RecordedToolCall(
            begun.seq,
            begun.name,
            self.content(begun.arguments),
            self.content(end.result) if isinstance(end, ev.ToolCompleted) else None,
            FailedWith(end.error_type, end.message) if isinstance(end, ev.ToolFailed) else None,
        )

    def _tool_names(self) -> str:
        return ", ".join(dict.fromkeys(call.name for call in self.tool_calls)) or "none"


def _has_arguments(actual: object, wanted: Mapping[str, Any]) -> bool:
    fields = object_of(actual)
    return all(name in fields and fields[name] == value for name, value in wanted.items())


def _call_text(call: tuple[str, Any]) -> str:
    return str(RecordedToolCall(0, *call))
