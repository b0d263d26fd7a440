"""[projection]: what happened in a run, in one line: its error, its open question, the open call, or its last answer.

A fold over the run's events that keeps a few values, so that a run that grows goes on from there.
"""

from dataclasses import dataclass
from typing import Literal

from playhead.model import event as ev
from playhead.model.state import CANCELLED, FAILED, RUNNING

MAX_TEXT = 300
# A model that ends with one of these has asked for tools, and has not answered yet.
_TOOL_REASONS = frozenset({"tool_calls", "tool_call", "tool_use", "function_call"})


@dataclass(frozen=True, slots=True)
class LastMoment:
    """What happened in a run.

    `kind`: `error` came out of the run; `question`: it waits for an answer; `under_way`: a call is open; `answer`: the
    last one of a model or, without a model, of the run.  `text` is at most 300 characters; None: it is that of the
    content `ref`.  `about` is the call that raised or is open, the tool that asks, or the agent that answered.  `turn`
    counts model calls from 1.  `promise` is the id of the question.
    """

    kind: Literal["error", "question", "under_way", "answer"]
    seq: int
    turn: int | None = None
    about: str | None = None
    text: str | None = None
    ref: str | None = None
    promise: str | None = None


@dataclass(frozen=True, slots=True)
class _Raised:
    """An error, with the innermost call that it came out of."""

    error_type: str
    message: str
    seq: int
    turn: int | None
    about: str | None


def one_line(text: str) -> str:
    """Returns the text with single spaces in place of all white space, cut at 300 characters."""
    line = " ".join(text[: 4 * MAX_TEXT].split())
    return line if len(line) <= MAX_TEXT else line[: MAX_TEXT - 1] + "…"


class MomentsSoFar:
    """Keeps what may be the last moment of a run."""

    def __init__(self) -> None:
        self._turns = 0
        self._turn_of_agent: dict[str | None, int] = {}
        self._open: dict[str | None, LastMoment] = {}
        self._questions: dict[str, LastMoment] = {}
        self._completed: ev.LlmCompleted | None = None
        """The model call that was completed last: its messages follow."""
        self._raised: _Raised | None = None
        self._error: LastMoment | None = None
        self._answer: LastMoment | None = None
        self._is_final = False
        """Whether `_answer` is one, and no request for tools."""

    def last(self, status: str) -> LastMoment | None:
        """Returns what happened in a run with this status; None if nothing did that is worth a line."""
        if status == FAILED:
            return self._error
        if status == RUNNING:
            if self._questions:
                return self._questions[next(reversed(self._questions))]
            if self._open:
                return self._open[next(reversed(self._open))]
        return self._answer

    def add(self, event: ev.RunEvent) -> None:
        """Adds the next event."""
        match event:
            case ev.LlmCalled():
                self._turns += 1
                self._turn_of_agent[event.actor] = self._turns
                self._begin(event, event.model or event.actor)
            case ev.ToolCalled(name=name):
                self._begin(event, name)
            case ev.MessageAdded(source="output"):
                self._take_answer(event)
            case ev.LlmCompleted():
                self._completed = event
                self._open.pop(event.span, None)
            case ev.ToolCompleted():
                self._open.pop(event.span, None)
            case ev.ApprovalRequested() | ev.InputRequested():
                self._ask(event)
            case ev.ApprovalGranted(approval=wait) | ev.ApprovalDenied(approval=wait):
                self._questions.pop(wait, None)
            case ev.InputReceived(wait=wait):
                self._answer_question(wait)
            case _:
                self._add_rare(event)

    def _add_rare(self, event: ev.RunEvent) -> None:
        match event:
            case (
                ev.LlmFailed(error_type=error, message=text, model=name)
                | ev.ToolFailed(error_type=error, message=text, name=name)
            ):
                self._fail(event, error, text, name)
            case ev.StepCompleted(error_type=error, message=text, name=name) if error:
                self._fail(event, error, text or "", name)
            case ev.RunFailed():
                self._end_run()
                if event.outcome != CANCELLED:
                    self._error = self._error_of(event)
            case ev.RunCompleted(output=output):
                self._end_run()
                if output is not None and self._answer is None:
                    self._answer = LastMoment("answer", event.seq, about=event.actor, ref=str(output))
            case ev.RunResumed():
                self._end_run()
                self._error = self._raised = None
            case _:
                pass

    def _begin(self, event: ev.RunEvent, name: str | None) -> None:
        self._open[event.span] = LastMoment("under_way", event.seq, self._turn(event), name, text=name)

    def _turn(self, event: ev.RunEvent) -> int | None:
        """The turn of a call: the newest one of the same agent, or else of all."""
        return self._turn_of_agent.get(event.actor, self._turns) or None

    def _take_answer(self, event: ev.MessageAdded) -> None:
        """Takes a message as the answer of the model call that it follows, unless it only asks for tools and there is
        an answer that does not."""
        call = self._completed
        if call is None or call.span != event.span or event.message is None:
            return
        is_final = not _TOOL_REASONS.intersection(call.finish_reasons)
        if is_final or not self._is_final:
            self._answer = LastMoment("answer", call.seq, self._turn(call), call.actor, ref=str(event.message))
            self._is_final = is_final

    def _ask(self, event: ev.ApprovalRequested | ev.InputRequested) -> None:
        if isinstance(event, ev.ApprovalRequested):
            wait, about, text, prompt = event.approval, event.tool, one_line(event.action or event.tool or ""), None
        else:
            wait, about, text, prompt = event.wait, None, None, event.prompt
        ref = None if prompt is None else str(prompt)
        self._questions[wait] = LastMoment("question", event.seq, self._turn(event), about, text, ref, wait or None)

    def _answer_question(self, wait: str | None) -> None:
        if wait is None or wait not in self._questions:  # the framework does not say which: the oldest
            wait = next(iter(self._questions), "")
        self._questions.pop(wait, None)

    def _fail(self, event: ev.RunEvent, error_type: str, message: str, name: str | None) -> None:
        opened = self._open.pop(event.span, None)
        before = self._raised
        if before is None or (before.error_type, before.message) != (error_type, message):
            turn = opened.turn if opened is not None else self._turn(event)
            self._raised = _Raised(error_type, message, event.seq, turn, name)

    def _error_of(self, event: ev.RunFailed) -> LastMoment:
        text = one_line(f"{event.error_type}: {event.message}" if event.message else event.error_type)
        raised = self._raised
        if raised is None or (raised.error_type, raised.message) != (event.error_type, event.message):
            return LastMoment("error", event.seq, text=text)
        return LastMoment("error", raised.seq, raised.turn, raised.about, text)

    def _end_run(self) -> None:
        self._open.clear()
        self._questions.clear()
