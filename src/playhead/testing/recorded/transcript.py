"""run → [transcript] → report of a failed test. A run as text to read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from playhead.model.message import Message, message_lines
from playhead.testing.recorded.calls import FailedWith, RecordedModelCall, RecordedToolCall

# Enough to recognise a text; the test has the whole one.
_SHOWN_CHARACTERS = 300
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
        if call.text:
            yield from _labelled("says", call.text)
        for name, arguments in call.requested_tools:
            yield f"{_INDENT}asks for: {RecordedToolCall(0, name, arguments)}"
    if call.error is not None:
        yield from _labelled("failed", str(call.error))


def _tool_lines(call: RecordedToolCall) -> Iterator[str]:
    yield f"{call.seq:>5}  tool {_short(str(call))}"
    if call.error is not None:
        yield from _labelled("failed", str(call.error))
    else:
        yield from _labelled("returned", repr(call.result))


def _labelled(label: str, text: Any) -> Iterator[str]:
    first, *rest = _short(str(text)).splitlines() or [""]
    yield f"{_INDENT}{label}: {first}"
    yield from (f"{_INDENT}  {line}" for line in rest)


def _short(text: str) -> str:
    return text if len(text) <= _SHOWN_CHARACTERS else f"{text[:_SHOWN_CHARACTERS]}… ({len(text):,} characters)"
