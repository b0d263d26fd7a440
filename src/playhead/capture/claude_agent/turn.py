"""Records one turn of Claude Code, from a prompt to its result, from the messages that it sends: model calls, tools,
and agents that it starts.

The program's own tools are recorded where they run (see `capture.claude_agent`); all else happens in another process.
"""

from collections.abc import Iterable, Sequence
from typing import Any, Protocol

from playhead.calls.lifecycle import as_current, detach, enter, finish
from playhead.calls.span import ObservedSpan
from playhead.capture.anthropic.messages import read_recorded
from playhead.capture.frameworks.observing import agent, log_errors_and_return_none, set_session, tool
from playhead.capture.model_call import CallStart, ObservedModelCall, ObservedRequest
from playhead.dialect import anthropic as dialect
from playhead.model import names
from playhead.model.json_value import Json, JsonValue, int_at, object_of
from playhead.model.span import STATUS_ERROR


class _ToolUseBlock(Protocol):
    """A block with a request of a tool."""

    id: str
    name: str
    input: Json


class _ToolResultBlock(Protocol):
    """A block with the result of a tool."""

    tool_use_id: str
    content: object
    is_error: bool | None


class _AnswerMessage(Protocol):
    """Blocks of the model's answer: an `AssistantMessage`."""

    message_id: str
    model: str
    content: Sequence[object]
    stop_reason: str | None
    usage: Json | None


class _UserMessage(Protocol):
    """The model's next input: a `UserMessage`."""

    content: str | Sequence[object]


class _ResultMessage(Protocol):
    """The end of a turn: a `ResultMessage`."""

    usage: Json | None
    total_cost_usd: float | None
    is_error: bool
    errors: Sequence[str] | None
    result: str | None
    subtype: str
    structured_output: object


class _AnsweredModelCall:
    """A model call that becomes known with the first block of its answer."""

    def __init__(self, message: _AnswerMessage, observed: ObservedModelCall | None):
        self.message = message
        self.observed = observed
        self.blocks: list[object] = []

    def end(self, output_tokens: int | None) -> None:
        """Ends the call.  `output_tokens`: the count of the whole turn; None: unknown.  The count in the answer is not
        used, since it is taken at the answer's start."""
        counts = self.message.usage or {}
        usage = {name: value for name, value in counts.items() if not name.startswith("output")}
        if output_tokens is not None:
            usage["output_tokens"] = output_tokens
        answer = native_answer(self.message, self.blocks, usage)
        if self.observed is not None:
            with as_current(self.observed.span):
                self.observed.end(lambda: read_recorded(answer, None, {}))


class _ClaudeConversation:
    """The conversation of the turn's agent, or of an agent that it has started."""

    def __init__(self, span: ObservedSpan, messages: list[Json]):
        self.span = span
        self.messages = messages
        self._call: _AnsweredModelCall | None = None
        self._asked = CallStart.now()

    def take_answer(self, message: _AnswerMessage) -> None:
        """Takes blocks of an answer; a new message id begins a new model call."""
        if self._call is not None and self._call.message.message_id != message.message_id:
            self.end_call()
        if self._call is None:
            self._call = _AnsweredModelCall(message, self._begin(message))
        self._call.message = message
        self._call.blocks += message.content

    def _begin(self, message: _AnswerMessage) -> ObservedModelCall | None:
        with as_current(self.span):
            observed = ObservedModelCall.start(lambda: self._request(str(message.model)), began=self._asked)
            if observed is not None:
                detach(observed.span)
        return observed

    def _request(self, model: str) -> ObservedRequest:
        return ObservedRequest(
            provider="anthropic",
            operation="chat",
            model=model,
            messages=dialect.split_turns(self.messages, None),
            to_message=dialect.to_message,
            from_message=dialect.from_message,
            shape={"dialect": dialect.NAME, "sent": False},  # Claude Code sends the request
        )

    def end_call(self, output_tokens: int | None = None) -> None:
        """Ends the open model call, if there is one, and adds its answer to the conversation."""
        call, self._call = self._call, None
        if call is not None:
            call.end(output_tokens)
            self.messages.append({"role": "assistant", "content": native_content(call.blocks)})
        self._asked = CallStart.now()

    def take_input(self, content: str | Sequence[object]) -> None:
        """Takes the model's next input: results of tools, a prompt."""
        self.end_call()
        self.messages.append({"role": "user", "content": native_content(content)})


class ClaudeTurn:
    """One turn.  Its messages arrive one after the other.  No method raises."""

    def __init__(self, span: ObservedSpan, messages: list[Json], own_tools: tuple[str, ...]):
        """`messages`: the conversation so far, with the prompt. `own_tools`: prefixes of the program's own tools."""
        self.span = span
        self.answer: object = None
        """The turn's result; None: there is none, or not yet."""
        self.has_ended = False
        self._main = _ClaudeConversation(span, messages)
        self._inside: dict[str, _ClaudeConversation] = {}
        self._tools: dict[str, ObservedSpan] = {}
        self._names: dict[str, str] = {}
        """Id of a tool call → name of the agent that it starts."""
        self._own_tools = own_tools

    @log_errors_and_return_none
    def take(self, message: Any) -> None:
        """Takes the next message."""
        kind = type(message).__name__
        if kind == "AssistantMessage":
            self._take_answer(message)
        elif kind == "UserMessage":
            self._take_input(message)
        elif kind == "SystemMessage" and message.subtype == "init":
            with as_current(self.span):
                set_session(message.data.get("session_id"))
        elif kind == "ResultMessage":
            self._end(message)

    def finish(self) -> None:
        """Ends the turn's span."""
        finish(self.span, None if self.answer is None else names.OUTPUT_REF, self.answer)

    @log_errors_and_return_none
    def end_inside(self) -> None:
        """Ends the open calls and agents inside the turn."""
        self._main.end_call()
        for conversation in self._inside.values():
            conversation.end_call()
            finish(conversation.span)
        for span in self._tools.values():
            finish(span)
        self._inside.clear()
        self._tools.clear()

    def _of(self, message: object) -> _ClaudeConversation:
        """Returns the conversation that a message is part of."""
        asked_by: str = getattr(message, "parent_tool_use_id", None) or ""
        outer = self._tools.get(asked_by)
        if outer is None:
            return self._main
        if asked_by not in self._inside:
            with as_current(outer):
                span = agent(self._names[asked_by], None)()
                if span is None:
                    return self._main
                enter(span)
                detach(span)
            self._inside[asked_by] = _ClaudeConversation(span, [])
        return self._inside[asked_by]

    def _take_answer(self, message: _AnswerMessage) -> None:
        conversation = self._of(message)
        conversation.take_answer(message)
        requests: Iterable[_ToolUseBlock] = _blocks_of_kind("ToolUseBlock", message.content)
        for block in requests:
            if not block.name.startswith(self._own_tools):
                self._begin_tool(conversation, block)

    def _begin_tool(self, conversation: _ClaudeConversation, block: _ToolUseBlock) -> None:
        """Begins the call of a tool that Claude Code runs itself."""
        with as_current(conversation.span):
            span = tool(block.name, block.input, block.id)()
            if span is None:
                return
            enter(span)
            detach(span)
        self._tools[block.id] = span
        self._names[block.id] = str(block.input.get("subagent_type") or "agent")

    def _take_input(self, message: _UserMessage) -> None:
        self._of(message).take_input(message.content)
        results: Iterable[_ToolResultBlock] = _blocks_of_kind("ToolResultBlock", message.content)
        for block in results:
            self._end_tool(block)

    def _end_tool(self, block: _ToolResultBlock) -> None:
        inner = self._inside.pop(block.tool_use_id, None)
        if inner is not None:
            inner.end_call()
            finish(inner.span, names.OUTPUT_REF, block.content)
        span = self._tools.pop(block.tool_use_id, None)
        if span is None:
            return
        if block.is_error:
            span.attributes[names.ERROR_TYPE], span.status = "tool_error", STATUS_ERROR
            span.status_message = span.recorder.text(str(block.content), span.redact)
        finish(span, names.TOOL_RESULT_REF, block.content)

    def _end(self, result: _ResultMessage) -> None:
        self._main.end_call(int_at(result.usage, "output_tokens", None))
        self.end_inside()
        if result.total_cost_usd is not None:
            self.span.attributes[names.REPORTED_COST] = result.total_cost_usd
        if result.is_error:
            message = "; ".join(result.errors or []) or result.result or result.subtype
            self.span.attributes[names.ERROR_TYPE], self.span.status = str(result.subtype), STATUS_ERROR
            self.span.status_message = self.span.recorder.text(str(message), self.span.redact)
        self.answer = result.result if result.structured_output is None else result.structured_output
        self.has_ended = True


# --- messages in the form of Anthropic's API --------------------------------------------------------------------------

_BLOCK_TYPES = {
    "TextBlock": "text",
    "ThinkingBlock": "thinking",
    "ToolUseBlock": "tool_use",
    "ToolResultBlock": "tool_result",
    "ServerToolUseBlock": "server_tool_use",
    "ServerToolResultBlock": "advisor_tool_result",
}
ELSEWHERE: Json = {"type": "playhead.elsewhere"}
"""Stands for the unknown parts that Claude Code adds to a context: instructions, environment, reminders."""


def _blocks_of_kind(kind: str, content: str | Sequence[Any]) -> list[Any]:
    return [] if isinstance(content, str) else [block for block in content if type(block).__name__ == kind]


def native_block(block: object) -> Json:
    """Converts one block of content."""
    fields = {name: value for name, value in object_of(vars(block)).items() if value is not None}
    return {"type": _BLOCK_TYPES.get(type(block).__name__, type(block).__name__), **fields}


def native_content(content: str | Sequence[object]) -> JsonValue:
    """Converts content: a text, or blocks."""
    return content if isinstance(content, str) else [native_block(block) for block in content]


def native_answer(message: _AnswerMessage, blocks: Sequence[object], usage: Json) -> Json:
    """Builds the model's answer from `blocks`, which came in one message or several; `message` is the last of them."""
    return {
        "id": message.message_id,
        "type": "message",
        "role": "assistant",
        "model": message.model,
        "content": native_content(blocks),
        "stop_reason": message.stop_reason,
        "usage": dict(usage),
    }


def system_message(system_prompt: object) -> Json:
    """Returns the known part of the system prompt.  `system_prompt`: the program's option, a text or another value."""
    blocks: list[Json] = [{"type": "text", "text": system_prompt}] if isinstance(system_prompt, str) else []
    return {"role": "system", "content": [*blocks, ELSEWHERE]}
