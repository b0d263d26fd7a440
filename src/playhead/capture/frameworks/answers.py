"""`playhead.answers`: waits for people's answers to a framework's open questions, and returns them in the framework's
form.

For LangGraph, OpenAI Agents and pydantic-ai; the instrumentation of each finds its open questions.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from playhead.api.promises.pending import FrameworkWait, answers_to, opened_waits
from playhead.api.promises.waiting import OnReminder, Question
from playhead.calls.steps import Steps, run_steps, run_steps_async
from playhead.errors import PlayheadError
from playhead.model.json_value import value_at
from playhead.model.promises import INPUT
from playhead.wire.operations.promises import PromiseAnswer

if TYPE_CHECKING:
    from pydantic_ai.messages import ModelMessage

    from playhead.capture.langgraph.interrupts import Interrupt

_Answers = Sequence[tuple[FrameworkWait, PromiseAnswer]]
_GoOn = Callable[[_Answers], object]
_INTERRUPTS = "__interrupt__"


def answers(
    waiting: Any,
    *,
    timeout: float | None = None,
    suspend: bool = False,
    remind_after: float | None = None,
    on_reminder: OnReminder | None = None,
) -> Any:
    """Waits for the answers to all open questions of a framework's result. Returns the value with which to call the
    framework again; None if nothing is open.

    `waiting`: a result of LangGraph, its interrupts or a snapshot of its state: returns a `Command(resume=...)`; a
    result of OpenAI Agents or its state: returns the state, with each call approved or rejected; a result of
    pydantic-ai, or the messages of one that has ended so: returns `DeferredToolResults`.

    Each question is a promise that `playhead promises` lists, as soon as the framework has stopped, and that any later
    process finds again.  `timeout`: seconds for all of them; None: for ever.  The rest is as in `approval`.  Raises
    Unanswered after the timeout.  A denial does not raise: the framework tells its model.
    """
    question = Question(
        kind=INPUT, seconds=timeout, suspend=suspend, remind_after=remind_after, on_reminder=on_reminder
    )
    return run_steps(_steps(waiting, question))


async def answers_async(
    waiting: Any,
    *,
    timeout: float | None = None,  # noqa: ASYNC109 - as in `answers`
    suspend: bool = False,
    remind_after: float | None = None,
    on_reminder: OnReminder | None = None,
) -> Any:
    """Like `answers`, without blocking the event loop."""
    question = Question(
        kind=INPUT, seconds=timeout, suspend=suspend, remind_after=remind_after, on_reminder=on_reminder
    )
    return await run_steps_async(_steps(waiting, question))


def _steps(waiting: Any, question: Question) -> Steps[object]:
    interrupts = _interrupts(waiting)
    if interrupts:
        waits, go_on = _of_langgraph(interrupts)
    elif hasattr(waiting, "interruptions") or hasattr(waiting, "get_interruptions"):
        waits, go_on = _of_openai_agents(waiting)
    elif hasattr(waiting, "all_messages"):
        waits, go_on = _of_pydantic_ai(waiting)
    elif _is_messages(waiting):
        waits, go_on = yield from _of_messages(waiting)
    elif type(waiting).__name__ == "DeferredToolRequests":
        raise PlayheadError("these requests do not say whose they are: give `answers` the agent's result")
    else:
        return None
    if not waits:
        return None
    replies = yield from answers_to(waits, question)
    return go_on(list(zip(waits, replies, strict=True)))


# --- LangGraph --------------------------------------------------------------------------------------------------------


def _interrupts(waiting: Any) -> "Sequence[Interrupt]":
    """Returns the interrupts of a result or a snapshot; `waiting` itself if it is a list of interrupts; else an empty
    list."""
    held: Any = waiting
    if isinstance(waiting, Mapping):
        held = held.get(_INTERRUPTS)
    elif hasattr(waiting, "interrupts"):
        held = waiting.interrupts
    interrupts: Sequence[Interrupt] = held
    is_sequence = isinstance(held, list | tuple)
    return interrupts if is_sequence and all(type(item).__name__ == "Interrupt" for item in interrupts) else []


def _of_langgraph(interrupts: "Sequence[Interrupt]") -> tuple[list[FrameworkWait], _GoOn]:
    from playhead.capture.langgraph.interrupts import wait_of  # noqa: PLC0415 - of the framework that is in use

    def go_on(pairs: _Answers) -> object:
        from langgraph.types import Command  # noqa: PLC0415 - imported by the program

        return Command(resume={wait.wait_id: answer["value"] for wait, answer in pairs})

    return [wait_of(interrupt) for interrupt in interrupts], go_on


# --- OpenAI Agents ----------------------------------------------------------------------------------------------------


def _of_openai_agents(waiting: Any) -> tuple[list[FrameworkWait], _GoOn]:
    from playhead.capture.openai_agents.interruptions import decide, wait_of  # noqa: PLC0415 - as above

    if hasattr(waiting, "interruptions") and not waiting.interruptions:
        return [], lambda pairs: None
    state = waiting if hasattr(waiting, "get_interruptions") else waiting.to_state()
    items = list(state.get_interruptions())
    return [wait_of(item, waiting) for item in items], lambda pairs: decide(state, items, pairs)


# --- pydantic-ai ------------------------------------------------------------------------------------------------------


def _of_pydantic_ai(waiting: Any) -> tuple[list[FrameworkWait], _GoOn]:
    from playhead.capture.pydantic_ai.deferred import results_of, waits_of  # noqa: PLC0415 - as above

    return waits_of(waiting), results_of


def _is_messages(waiting: object) -> bool:
    return type(value_at(waiting, -1)).__name__ == "ModelResponse"


def _of_messages(messages: "Sequence[ModelMessage]") -> Steps[tuple[list[FrameworkWait], _GoOn]]:
    """Finds the open calls by their promises: messages do not say which calls need approval or an external result."""
    from playhead.capture.pydantic_ai.deferred import results_of, waits_in  # noqa: PLC0415 - as above

    waits = waits_in(messages)
    open_waits = yield from opened_waits(waits)
    if waits and not open_waits:
        raise PlayheadError("nobody has asked for these calls: give `answers` the result of the agent that ended so")
    return open_waits, results_of
