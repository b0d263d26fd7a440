"""Interrupts of LangGraph: a graph waits for a person, and continues with the answer in a later run.

The run that waits ends.  The run that continues is another one, with the same session: the graph's thread id.
"""

from collections.abc import AsyncGenerator, Generator, Iterable
from typing import Any, Protocol

from playhead.api.log_events import log_event_of
from playhead.api.promises.pending import FrameworkWait, open_wait, record_wait_answer
from playhead.calls.lifecycle import current_span, register_wait_exception
from playhead.calls.span import ObservedSpan
from playhead.capture.frameworks.observing import log_errors_and_return_none
from playhead.kernel.guard import log_internal_error
from playhead.model import names
from playhead.model.json_value import object_of
from playhead.model.promises import ANSWERED, INPUT


class Interrupt(Protocol):
    """A question of a graph."""

    id: str
    value: object


class _GraphState(Protocol):
    """The state of a graph that waits."""

    interrupts: Iterable[Interrupt]


class _CheckpointedGraph(Protocol):
    def get_state(self, config: object) -> _GraphState: ...

    async def aget_state(self, config: object) -> _GraphState: ...


@log_errors_and_return_none
def note_interrupts(span: ObservedSpan, raised: BaseException) -> None:
    """Records the graph's questions on the node's span; only once, although the exception passes several graphs."""
    first: object = raised.args[0] if raised.args else ()
    if not isinstance(first, tuple | list) or getattr(raised, _NOTED, False):
        return
    setattr(raised, _NOTED, True)
    interrupts: Iterable[Interrupt] = raised.args[0] if raised.args else ()
    for interrupt in interrupts:
        open_wait(span, wait_of(interrupt))


_NOTED = "_playhead_interrupts_noted"


def wait_of(interrupt: Interrupt) -> FrameworkWait:
    """Converts an interrupt to a question for people.  The interrupt's id is unique for one execution of a node in a
    thread."""
    value, schema = interrupt.value, getattr(interrupt, "response_schema", None)
    return FrameworkWait(
        framework="langgraph",
        wait_id=str(interrupt.id),
        conversation=str(interrupt.id),
        kind=INPUT,
        action=value if isinstance(value, str) else _ACTION,
        details=None if isinstance(value, str) else value,
        prompt=value,
        schema=schema if isinstance(schema, dict) else None,
    )


_ACTION = "answer an interrupt of LangGraph"


@log_errors_and_return_none
def declare_interrupts() -> None:
    """Makes tools and other functions that an interrupt stops inside a node count as waiting, not as failed."""
    from langgraph.errors import GraphInterrupt  # noqa: PLC0415 - imported with LangGraph

    register_wait_exception(GraphInterrupt, note_interrupts)


@log_errors_and_return_none
def answers_in(graph_input: Any) -> list[tuple[str | None, object]]:
    """Returns the answers to interrupts in a graph's input, each with the interrupt's id (None: not given)."""
    from langgraph.types import Command  # noqa: PLC0415 - imported with LangGraph

    answer: object = graph_input.resume if isinstance(graph_input, Command) else None
    if answer is None:
        return []
    answers_by_id = object_of(answer)
    if {*map(type, answers_by_id)} == {str} and all(len(key) == _ID_LENGTH for key in answers_by_id):
        return [*answers_by_id.items()]
    return [(None, answer)]


_ID_LENGTH = 32  # hex digits of a hash


class GraphAnswers:
    """Records the answers that an invocation of a graph gives to its interrupts."""

    def __init__(self, graph: _CheckpointedGraph, config: object, answers: list[tuple[str | None, object]]):
        """`answers`: as `answers_in` returns them."""
        self._graph, self._config, self._answers = graph, config, answers

    def note(self) -> None:
        """Records the answers on the graph's span, which is current.  Reads the interrupts from the checkpoint."""
        self._note(self._interrupts())

    async def note_async(self) -> None:
        """Like `note`, for an asynchronous checkpointer."""
        interrupts: Iterable[Interrupt] = ()
        try:
            if self._can_be_read():
                interrupts = (await self._graph.aget_state(self._config)).interrupts
        except Exception as error:  # noqa: BLE001 - the guard: it is the program's checkpointer
            log_internal_error("read what a graph waits for", error)
        self._note(interrupts)

    @log_errors_and_return_none
    def _interrupts(self) -> Iterable[Interrupt]:
        return self._graph.get_state(self._config).interrupts if self._can_be_read() else ()

    def _can_be_read(self) -> bool:
        return self._config is not None and hasattr(getattr(self._graph, "checkpointer", None), "get_tuple")

    @log_errors_and_return_none
    def _note(self, interrupts: Iterable[Interrupt] | None) -> None:
        span = current_span()
        if span is None:
            return
        by_id = {str(item.id): item for item in interrupts or ()}
        for wait_id, answer in self._answers:
            alone = next(iter(by_id.values())) if wait_id is None and len(by_id) == 1 else None
            interrupt = alone if wait_id is None else by_id.get(wait_id)
            if interrupt is not None:
                record_wait_answer(span, wait_of(interrupt), ANSWERED, answer)
            else:
                attributes = {} if wait_id is None else {names.WAIT_ID: wait_id}
                log_event_of(span, names.INPUT_RECEIVED, attributes, {names.VALUE_REF: answer})


def noting_answers(steps: Generator[object], answers: GraphAnswers) -> Generator[object]:
    """Yields the stream of a graph that continues.  Records the answers first, since the graph's call has begun by
    then."""
    answers.note()
    return (yield from steps)


async def noting_answers_async(
    steps: AsyncGenerator[object, object], answers: GraphAnswers
) -> AsyncGenerator[object, object]:
    """Like `noting_answers`."""
    await answers.note_async()
    try:
        async for step in steps:
            yield step
    finally:
        await steps.aclose()
