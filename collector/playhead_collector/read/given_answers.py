"""Finds people's answers in the events of a run and of the runs that it continues, and whether the run still waits.
Pure."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from playhead.model import event as ev
from playhead.model.json_value import object_of
from playhead.model.promises import BY_PROGRAM
from playhead.model.ref import ContentRef
from playhead_collector.read.python_source import call_source
from playhead_collector.read.values import ContentCache

_Asked = ev.ApprovalRequested | ev.InputRequested
_Answered = ev.ApprovalGranted | ev.ApprovalDenied | ev.InputReceived
# Keys of the prompts of `playhead.ask` and `wait_for`; a framework's prompt is any value of the program.
_PROMPT = frozenset({"action", "name", "key", "details", "schema"})


@dataclass(frozen=True, slots=True)
class GivenAnswer:
    """An answer that the test gives to `playhead_recorder` before the program starts. `question`: the question.
    `details`: set if the same question was also answered in another way, to tell the two apart."""

    how: Literal["approve", "deny", "answer", "expire"]
    question: str | None
    value: Any = None
    key: str | None = None
    details: Any = None
    by: str | None = None
    reason: str | None = None

    def source(self, indent: int) -> str:
        """Returns the source of the call that gives the answer."""
        arguments = [self.question, self.value] if self.how == "answer" else [self.question]
        named = {name: getattr(self, name) for name in ("key", "details", "by", "reason")}
        keywords = {name: value for name, value in named.items() if value is not None}
        return call_source(f"playhead_recorder.{self.how}", arguments, {**keywords, "times": 1}, indent)


@dataclass(slots=True)
class RunWaits:
    """The questions of one run to people, and the answers that it got.  Takes events in seq order."""

    questions: dict[str, _Asked] = field(default_factory=dict[str, _Asked])
    answers: dict[str, _Answered] = field(default_factory=dict[str, _Answered])
    last_call: int = 0
    """The seq of the last call that began."""

    def add(self, events: Iterable[ev.RunEvent]) -> None:
        """Takes more events."""
        for event in events:
            match event:
                case ev.ApprovalRequested() | ev.InputRequested():
                    self.questions[_wait(event)] = event
                case ev.ApprovalGranted() | ev.ApprovalDenied() | ev.InputReceived() if wait := _wait(event):
                    self.answers[wait] = event
                case ev.LlmCalled() | ev.ToolCalled():
                    self.last_call = event.seq
                case _:
                    pass

    @property
    def questions_of_earlier_runs(self) -> set[str]:
        """Waits that were answered in this run and asked in an earlier run, which ended with them."""
        return self.answers.keys() - self.questions.keys()

    def is_left(self, wait: str) -> bool:
        """Returns whether the run ends with this question open."""
        return wait not in self.answers and self.questions[wait].seq > self.last_call


def refs_of(runs: Sequence[RunWaits]) -> Iterator[ContentRef | None]:
    """Yields the refs of the contents that `answers_given` reads."""
    for run in runs:
        for question in run.questions.values():
            yield question.arguments if isinstance(question, ev.ApprovalRequested) else question.prompt
        for answer in run.answers.values():
            yield answer.value if isinstance(answer, ev.InputReceived) else answer.reason


def answers_given(runs: Sequence[RunWaits], cache: ContentCache) -> list[GivenAnswer]:
    """Returns people's answers in these consecutive runs, in the order of the questions. A question that was not
    answered in time is returned as `expire`. Answers by the program itself are left out."""
    answers: list[GivenAnswer] = []
    for number, run in enumerate(runs):
        for wait, question in run.questions.items():
            answer = next((later.answers[wait] for later in runs[number:] if wait in later.answers), None)
            if answer is not None and answer.by != BY_PROGRAM:
                answers.append(_given_answer(question, answer, cache))
            elif answer is None and not run.is_left(wait):
                question_text, key, details = _question(question, cache)
                answers.append(GivenAnswer("expire", question_text, key=key, details=details))
    return [_distinguished(given_answer, answers) for given_answer in answers]


def _given_answer(question: _Asked, answer: _Answered, cache: ContentCache) -> GivenAnswer:
    question_text, key, details = _question(question, cache)
    if isinstance(answer, ev.InputReceived):
        return GivenAnswer("answer", question_text, cache.parsed(answer.value), key, details, answer.by)
    reason = cache.parsed(answer.reason)
    how = "approve" if isinstance(answer, ev.ApprovalGranted) else "deny"
    return GivenAnswer(how, question_text, None, key, details, answer.by, None if reason is None else str(reason))


def _question(question: _Asked, cache: ContentCache) -> tuple[str | None, str | None, Any]:
    """Returns the text of the question, the key if it waits for an event, and the details."""
    if isinstance(question, ev.ApprovalRequested):
        return question.action or question.tool, None, cache.parsed(question.arguments)
    prompt: object = cache.parsed(question.prompt)
    if isinstance(prompt, str):
        return prompt, None, None
    fields = object_of(prompt)
    if not _PROMPT.issuperset(fields):
        return None, None, None
    if isinstance(action := fields.get("action"), str):
        return action, None, fields.get("details")
    if isinstance(name := fields.get("name"), str):
        return name, str(fields.get("key", "")), None
    return None, None, None


def _distinguished(answer: GivenAnswer, others: Sequence[GivenAnswer]) -> GivenAnswer:
    """Returns the answer without its details, unless the same question was also answered in another way: details may
    differ in each run."""
    alike = [other for other in others if (other.question, other.key) == (answer.question, answer.key)]
    differs = any(
        (other.how, other.value, other.reason) != (answer.how, answer.value, answer.reason) for other in alike
    )
    keeps = differs and answer.how != "expire" and len({repr(other.details) for other in alike}) > 1
    return GivenAnswer(
        answer.how,
        answer.question,
        answer.value,
        answer.key,
        answer.details if keeps else None,
        answer.by,
        answer.reason,
    )


def _wait(event: _Asked | _Answered) -> str:
    if isinstance(event, ev.InputRequested | ev.InputReceived):
        return event.wait or ""
    return event.approval
