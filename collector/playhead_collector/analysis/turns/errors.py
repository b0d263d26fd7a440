"""[analysis]: the errors of a run, each with the way that it took.  Pure.

One exception that went through several calls is one error.  A call passed an error on if the call around it failed
with the same type and message, or with an exception that, by its stack, was raised from it.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from playhead.model import event as ev
from playhead.model.json_value import Json, text_at
from playhead.model.span import Span
from playhead.model.state import CANCELLED
from playhead.wire.operations.calls import CallError
from playhead.wire.operations.verdict import ErrorStep, RunError
from playhead_collector.analysis.turns.outline import CallBegin, MadeCall, ModelCall, Outline, StepCall, has_raised
from playhead_collector.analysis.turns.stack_text import ParsedStack, parse_stack

FailedCall: TypeAlias = ModelCall | MadeCall | StepCall
MAX_STACK = 20_000


@dataclass(frozen=True, slots=True)
class RecordedException:
    """An exception as a span recorded it."""

    type: str
    message: str
    stack: str | None


Recorded: TypeAlias = Mapping[str, RecordedException]
"""Exceptions by the span that recorded them."""


@dataclass(slots=True, eq=False)
class ErrorChain:
    """An error: the calls that it went through, innermost first, and the end of the run, if it came out."""

    calls: list[FailedCall] = field(default_factory=list[FailedCall])
    run_end: ev.RunFailed | None = None

    @property
    def innermost(self) -> FailedCall | None:
        """The call that raised it; None for an error that no recorded call raised."""
        return self.calls[0] if self.calls else None


def error_chains(outline: Outline, recorded: Recorded) -> list[ErrorChain]:
    """Returns the errors of a run, in the order in which they were raised; that of the run's end is the last one."""
    failed = sorted(
        (call for call in (*outline.models, *outline.tools, *outline.steps) if has_raised(call.end)),
        key=_ended_at,
    )
    chains: list[ErrorChain] = []
    # An inner call ends before the call around it: so each one finds the errors of those within it.
    open_chains: dict[str | None, list[ErrorChain]] = {}
    for call in failed:
        chain = _passed_on(call, open_chains.pop(call.begin.span, []), recorded)
        if chain is None:
            chain = ErrorChain()
            chains.append(chain)
        chain.calls.append(call)
        open_chains.setdefault(call.begin.parent, []).append(chain)
    end = outline.run_end
    if isinstance(end, ev.RunFailed) and end.outcome != CANCELLED:
        chain = _of_the_run(end, chains, recorded)
        if chain not in chains:
            chains.append(chain)
        chain.run_end = end
    return sorted(chains, key=lambda chain: chain.run_end is not None)


def _ended_at(call: FailedCall) -> int:
    return call.end.seq if call.end is not None else call.begin.seq


def _passed_on(call: FailedCall, inside: Sequence[ErrorChain], recorded: Recorded) -> ErrorChain | None:
    """The last error within a failed call that is the call's own."""
    error, span = error_of(call), call.begin.span or ""
    return next((chain for chain in reversed(inside) if _is_same(chain.calls[-1], error, span, recorded)), None)


def _of_the_run(end: ev.RunFailed, chains: Sequence[ErrorChain], recorded: Recorded) -> ErrorChain:
    """The error that came out of the run: the last one that left the calls directly below it."""
    error: CallError = {"type": end.error_type, "message": end.message}
    same = (chain for chain in reversed(chains) if _is_same(chain.calls[-1], error, end.span or "", recorded))
    outermost = sorted(same, key=lambda chain: chain.calls[-1].begin.parent == end.span, reverse=True)
    return outermost[0] if outermost else ErrorChain()


def _is_same(call: FailedCall, error: CallError, span: str, recorded: Recorded) -> bool:
    inner = error_of(call)
    if inner == error:
        return True
    exception = recorded.get(span)
    causes = parse_stack(exception.stack).causes if exception is not None else ()
    return any(cause["type"] == inner["type"] and _agrees(cause["message"], inner["message"]) for cause in causes)


def _agrees(printed: str, recorded: str) -> bool:
    """Whether a message in a stack is a recorded one: either may be cut."""
    one, other = printed.strip(), recorded.strip()
    return one == other or (len(other) > 100 and one.startswith(other[:100]))


def error_of(call: FailedCall) -> CallError:
    """Type and message of a failed call."""
    match call.end:
        case ev.LlmFailed(error_type=type_, message=message) | ev.ToolFailed(error_type=type_, message=message):
            return {"type": type_, "message": message}
        case ev.StepCompleted(error_type=type_, message=message):
            return {"type": type_ or "", "message": message or ""}
        case _:
            return {"type": "", "message": ""}


# --- the answer ------------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class ErrorAnswers:
    """Makes the answers about errors. `turn_of`: the number of the turn of a call; `line_of`: a call in one line."""

    outline: Outline
    recorded: Recorded
    turn_of: Callable[[FailedCall], int | None]
    line_of: Callable[[FailedCall], str]

    def answer(self, chain: ErrorChain) -> RunError:
        """The answer about an error. Its type, message and stack are those of the exception that came out."""
        inner = chain.innermost
        out = chain.run_end if chain.run_end is not None else chain.calls[-1].end
        error: CallError = (
            {"type": chain.run_end.error_type, "message": chain.run_end.message}
            if chain.run_end is not None
            else error_of(chain.calls[-1])
        )
        stack, text = self._stack(chain)
        began = inner.begin if inner is not None else None
        return {
            "type": error["type"],
            "message": error["message"],
            "seq": _ended_at(inner) if inner is not None else out.seq if out is not None else 0,
            "turn": None if inner is None else self.turn_of(inner),
            "call": None if inner is None else self.line_of(inner),
            "group": None if began is None else self._group(began),
            "after_ms": inner.end.elapsed_ms if inner is not None and inner.end is not None else None,
            "at": stack.at,
            "causes": stack.causes,
            "went_through": self._way(chain),
            "handled": chain.run_end is None,
            "frames": stack.frames,
            "stack": text,
        }

    def _group(self, begin: CallBegin) -> str | None:
        return self.outline.group_of(begin.span)

    def _stack(self, chain: ErrorChain) -> tuple[ParsedStack, str | None]:
        """The stack of the exception that came out: that of the outermost call that recorded one."""
        spans = [call.begin.span for call in chain.calls]
        spans += [] if chain.run_end is None else [chain.run_end.span]
        texts = (self.recorded[span].stack for span in reversed(spans) if span is not None and span in self.recorded)
        text = next(filter(None, texts), None)
        return parse_stack(text), None if text is None else text[-MAX_STACK:]

    def _way(self, chain: ErrorChain) -> list[ErrorStep]:
        way: list[ErrorStep] = [
            {"seq": _ended_at(call), "kind": kind_of(call.begin), "name": name_of(call.begin)}
            for call in chain.calls[1:]
        ]
        if chain.run_end is not None:
            way.append({"seq": chain.run_end.seq, "kind": "run", "name": chain.run_end.actor or ""})
        return way


def kind_of(begin: CallBegin) -> str:
    """The kind of a call: `llm`, `tool`, or that of a step, such as `agent`."""
    match begin:
        case ev.LlmCalled():
            return "llm"
        case ev.ToolCalled():
            return "tool"
        case ev.StepStarted(step_kind=kind):
            return kind


def name_of(begin: CallBegin) -> str:
    """The name of a call: of a model call its model."""
    return (begin.model or "") if isinstance(begin, ev.LlmCalled) else begin.name


# --- what spans recorded ---------------------------------------------------------------------------------------------


def exception_in(span: Span, described: Json) -> RecordedException | None:
    """The exception that a span recorded: as `described` by our SDK, else as an event of OpenTelemetry's; None without
    one."""
    if described:
        return RecordedException(
            text_at(described, "type"), text_at(described, "message"), text_at(described, "stacktrace", None)
        )
    attributes = next((event.attributes for event in span.events if event.name == "exception"), None)
    if attributes is None:
        return None
    type_, message, stack = (attributes.get(f"exception.{key}") for key in ("type", "message", "stacktrace"))
    return RecordedException(
        type_ if isinstance(type_, str) else "",
        message if isinstance(message, str) else "",
        stack if isinstance(stack, str) else None,
    )
