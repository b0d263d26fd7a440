"""Events of a run, and of the runs that it continues → what people answered, and whether the run waits.  Pure."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, cast

from playhead.model import event as ev
from playhead.model.promises import BY_PROGRAM
from playhead.model.ref import ContentRef
from playhead_collector.read.as_test.literals import call_source
from playhead_collector.read.values import ContentCache

_Asked = ev.ApprovalRequested | ev.InputRequested
_Answered = ev.ApprovalGranted | ev.ApprovalDenied | ev.InputReceived
# Keys of the prompts of `playhead.ask` and `wait_for`; a framework's prompt is any value of the program.
_PROMPT = frozenset({"action", "name", "key", "details", "schema"})


@dataclass(frozen=True, slots=True)
class GivenAnswer:
    """An answer that `playhead_recorder` is given before the program starts. `what`: the question; `details`: tell it
    from the same question with another answer."""

    how: Literal["approve", "deny", "answer", "expire"]
    what: str | None
    value: Any = None
    key: str | None = None
    details: Any = None
    by: str | None = None
    reason: str | None = None

    def source(self, indent: int) -> str:
        """Source of the call that gives it."""
        given = [self.what, self.value] if self.how == "answer" else [self.what]
        named = {name: getattr(self, name) for name in ("key", "details", "by", "reason")}
        known = {name: value for name, value in named.items() if value is not None}
        return call_source(f"playhead_recorder.{self.how}", given, {**known, "times": 1}, indent)


@dataclass(slots=True)
class RunWaits:
    """What one run asked people, and what it was answered.  Takes events in seq order."""

    asked: dict[str, _Asked] = field(default_factory=dict[str, _Asked])
    answers: dict[str, _Answered] = field(default_factory=dict[str, _Answered])
    last_call: int = 0
    """The seq of the last call that began."""

    def take(self, events: Iterable[ev.RunEvent]) -> None:
        """Takes more events."""
        for event in events:
            match event:
                case ev.ApprovalRequested() | ev.InputRequested():
                    self.asked[_wait(event)] = event
                case ev.ApprovalGranted() | ev.ApprovalDenied() | ev.InputReceived() if wait := _wait(event):
                    self.answers[wait] = event
                case ev.LlmCalled() | ev.ToolCalled():
                    self.last_call = event.seq
                case _:
                    pass

    @property
    def asked_before(self) -> set[str]:
        """Waits that were answered in this run and asked in an earlier one, which ended with them."""
        return self.answers.keys() - self.asked.keys()

    def is_left(self, wait: str) -> bool:
        """Whether the run ends with this question."""
        return wait not in self.answers and self.asked[wait].seq > self.last_call


def refs_of(runs: Sequence[RunWaits]) -> Iterator[ContentRef | None]:
    """Refs of the contents that `answers_given` reads."""
    for run in runs:
        for asked in run.asked.values():
            yield asked.arguments if isinstance(asked, ev.ApprovalRequested) else asked.prompt
        for answer in run.answers.values():
            yield answer.value if isinstance(answer, ev.InputReceived) else answer.reason


def answers_given(runs: Sequence[RunWaits], cache: ContentCache) -> list[GivenAnswer]:
    """What people answered in these runs, which follow one another, in the order of the questions."""
    found: list[GivenAnswer] = []
    for number, run in enumerate(runs):
        for wait, asked in run.asked.items():
            answer = next((later.answers[wait] for later in runs[number:] if wait in later.answers), None)
            if answer is not None and answer.by != BY_PROGRAM:
                found.append(_given(asked, answer, cache))
            elif answer is None and not run.is_left(wait):
                what, key, details = _question(asked, cache)
                found.append(GivenAnswer("expire", what, key=key, details=details))
    return [_distinguished(each, found) for each in found]


def _given(asked: _Asked, answer: _Answered, cache: ContentCache) -> GivenAnswer:
    what, key, details = _question(asked, cache)
    if isinstance(answer, ev.InputReceived):
        return GivenAnswer("answer", what, cache.parsed(answer.value), key, details, answer.by)
    reason = cache.parsed(answer.reason)
    how = "approve" if isinstance(answer, ev.ApprovalGranted) else "deny"
    return GivenAnswer(how, what, None, key, details, answer.by, None if reason is None else str(reason))


def _question(asked: _Asked, cache: ContentCache) -> tuple[str | None, str | None, Any]:
    """What is asked, the key of an event, and the details."""
    if isinstance(asked, ev.ApprovalRequested):
        return asked.action or asked.tool, None, cache.parsed(asked.arguments)
    prompt: object = cache.parsed(asked.prompt)
    if isinstance(prompt, str):
        return prompt, None, None
    said = cast("dict[str, Any]", prompt) if isinstance(prompt, dict) else {}
    if not _PROMPT.issuperset(said):
        return None, None, None
    if isinstance(action := said.get("action"), str):
        return action, None, said.get("details")
    if isinstance(name := said.get("name"), str):
        return name, str(said.get("key", "")), None
    return None, None, None


def _distinguished(given: GivenAnswer, others: Sequence[GivenAnswer]) -> GivenAnswer:
    """Drops the details unless the same question was also answered otherwise: they may differ in each run."""
    alike = [each for each in others if (each.what, each.key) == (given.what, given.key)]
    differs = any((each.how, each.value, each.reason) != (given.how, given.value, given.reason) for each in alike)
    keeps = differs and given.how != "expire" and len({repr(each.details) for each in alike}) > 1
    return GivenAnswer(
        given.how, given.what, given.value, given.key, given.details if keeps else None, given.by, given.reason
    )


def _wait(event: _Asked | _Answered) -> str:
    if isinstance(event, ev.InputRequested | ev.InputReceived):
        return event.wait or ""
    return event.approval
