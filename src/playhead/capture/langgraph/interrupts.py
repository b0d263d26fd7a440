"""Interrupts of LangGraph: a graph that waits for a person, and goes on with the answer in a later run.

The run that waits ends.  The one that goes on is another run, which has the same session: the graph's thread id.
"""

from collections.abc import AsyncGenerator, Generator
from typing import Any, cast

from playhead.api.calls.lifecycle import current_span
from playhead.api.calls.span import ObservedSpan
from playhead.api.calls.waiting import declare_waiting
from playhead.api.scope import log_event_of
from playhead.capture.frameworks import none_on_error
from playhead.model import names


@none_on_error
def note_interrupts(span: ObservedSpan, raised: Any) -> None:
    """Says in the node's call what the graph waits for; once, although the exception leaves several graphs."""
    interrupts: Any = raised.args[0] if raised.args else ()
    if not isinstance(interrupts, tuple | list) or getattr(raised, "_playhead_interrupts_noted", False):
        return
    raised._playhead_interrupts_noted = True
    for interrupt in cast("tuple[Any, ...]", interrupts):
        log_event_of(
            span, names.INPUT_REQUESTED, {names.WAIT_ID: str(interrupt.id)}, {names.PROMPT_REF: interrupt.value}
        )


@none_on_error
def declare_interrupts() -> None:
    """Tools, and other functions inside a node, that an interrupt leaves are waiting: they have not failed."""
    from langgraph.errors import GraphInterrupt  # noqa: PLC0415 - imported with LangGraph

    declare_waiting(GraphInterrupt, note_interrupts)


@none_on_error
def answers_in(graph_input: Any) -> list[tuple[str | None, Any]]:
    """The answers that an invocation of a graph brings to its interrupts, each with the interrupt's id if it says."""
    from langgraph.types import Command  # noqa: PLC0415 - imported with LangGraph

    answer = cast("Any", graph_input).resume if isinstance(graph_input, Command) else None
    if answer is None:
        return []
    given = cast("dict[Any, Any]", answer) if isinstance(answer, dict) else {}
    if given and all(isinstance(key, str) and len(key) == _ID_LENGTH for key in given):
        return list(given.items())
    return [(None, answer)]


_ID_LENGTH = 32  # hex digits of a hash


@none_on_error
def note_answers(answers: list[tuple[str | None, Any]]) -> None:
    """Says in the current call, the graph's, what it goes on with."""
    span = current_span()
    for wait_id, answer in answers if span is not None else ():
        known = {} if wait_id is None else {names.WAIT_ID: wait_id}
        log_event_of(cast("ObservedSpan", span), names.INPUT_RECEIVED, known, {names.VALUE_REF: answer})


def noting_answers(steps: Generator[Any, Any, Any], answers: list[tuple[str | None, Any]]) -> Generator[Any, Any, Any]:
    """The stream of a graph that goes on: the answers are noted when its call has begun."""
    note_answers(answers)
    return (yield from steps)


async def noting_answers_async(
    steps: AsyncGenerator[Any, Any], answers: list[tuple[str | None, Any]]
) -> AsyncGenerator[Any, Any]:
    """As `noting_answers`."""
    note_answers(answers)
    try:
        async for step in steps:
            yield step
    finally:
        await steps.aclose()
