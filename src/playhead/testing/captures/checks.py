"""trials → [checks] → report.  The coverage matrix over one framework: what is recorded, resumed and forked rightly."""

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import cast

from playhead.model import names
from playhead.model.json_value import object_of
from playhead.model.span import STATUS_ERROR, Span
from playhead.testing.answers import context_too_long
from playhead.testing.captures.programs import (
    ANSWER,
    CALL_IDS,
    EFFECTS_OF_TASK,
    MODEL_CALLS,
    THOUGHT,
    AgentProgram,
    AgentTrial,
    ProcessEnd,
    RecordedTask,
)
from playhead.testing.request import text_of
from playhead.testing.rules import sequence
from playhead.testing.server import MockModelServer

_FORKED = "refunded 5, by voucher"
_MAX_SHOWN = 200


class CheckFailed(Exception):
    """What is wrong, as a sentence."""


@dataclass(frozen=True, slots=True)
class CaptureCheck:
    """One line of the report.  `passed` is None for what was not checked; `reason`: what is wrong, or why not."""

    name: str
    passed: bool | None
    reason: str = ""

    def __str__(self) -> str:
        return f"{self.name:<26} {_STATES[self.passed]:<12} {self.reason}".rstrip()


_STATES = {True: "passed", False: "FAILED", None: "not checked"}


@dataclass(frozen=True, slots=True)
class CaptureReport:
    """What was checked of a capture; as a text, it is a table."""

    checks: tuple[CaptureCheck, ...]

    @property
    def failures(self) -> list[CaptureCheck]:
        return [check for check in self.checks if check.passed is False]

    def __getitem__(self, name: str) -> CaptureCheck:
        """Returns the check of this name.  Raises KeyError."""
        found = next((check for check in self.checks if check.name == name), None)
        if found is None:
            raise KeyError(name)
        return found

    def __str__(self) -> str:
        return "\n".join(map(str, self.checks))


def check_capture(program: AgentProgram, only: Sequence[str] = ()) -> CaptureReport:
    """Runs the program about twenty times, and returns what its framework's capture does rightly and what not.

    `only`: names of checks, of `CHECKS`; others are left out. Raises ValueError for another name. Needs no network and
    no key: the models are mock model servers on loopback.
    """
    unknown = sorted(set(only) - CHECKS.keys())
    if unknown:
        raise ValueError(f"check_capture: there is no check {', '.join(unknown)}; there are: {', '.join(CHECKS)}")
    with TemporaryDirectory(prefix="playhead-captures-") as folder:
        trials = _Trials(program, Path(folder))
        return CaptureReport(tuple(_checked(trials, name) for name in only or CHECKS))


def _checked(trials: "_Trials", name: str) -> CaptureCheck:
    try:
        reason = CHECKS[name](trials)
    except CheckFailed as failed:
        return CaptureCheck(name, False, str(failed))
    except Exception as error:  # noqa: BLE001 - a wrong capture may break what reads its record
        return CaptureCheck(name, False, f"{type(error).__name__}: {error}")
    return CaptureCheck(name, True if reason is None else None, reason or "")


class _Trials:
    """The trials of one report.  The plain recorded run is made once, for all checks that only read it."""

    def __init__(self, program: AgentProgram, folder: Path):
        self.program = program
        self._folder = folder
        self._count = 0
        self._plain: tuple[RecordedTask, ProcessEnd, list[tuple[str, ...]], int] | None = None

    @contextmanager
    def trial(self) -> Generator[AgentTrial]:
        self._count += 1
        with MockModelServer() as server:
            yield AgentTrial(self.program, self._folder / str(self._count), server)

    def plain(self) -> tuple[RecordedTask, ProcessEnd, list[tuple[str, ...]], int]:
        """Returns the record of a complete run, how it ended, what the model was sent in each request, and the number
        of requests."""
        if self._plain is None:
            with self.trial() as trial:
                trial.script_model(thinks=True)
                end = trial.run()
                _require_task(end, trial.effects())
                sent = [tuple(map(text_of, request.messages)) for request in trial.server.requests]
                self._plain = RecordedTask.of(trial.recorded()), end, sent, len(sent)
        return self._plain


# --- what is recorded -------------------------------------------------------------------------------------------------


def _output(trials: _Trials) -> None:
    with trials.trial() as trial:
        trial.script_model(thinks=True)
        bare = trial.run_bare()
        _require_task(bare, trial.effects(), "without Playhead")
    _, end, _, _ = trials.plain()
    _require(end.output == bare.output, f"with Playhead it prints {end.output!r}, without it {bare.output!r}")


def _spans(trials: _Trials) -> None:
    task, _, _, requests = trials.plain()
    _require_one_run(task)
    _require(requests == MODEL_CALLS, f"the model was asked {requests} times instead of {MODEL_CALLS}")
    calls, tools = task.of_kind("llm"), task.of_kind("tool")
    _require(len(calls) == MODEL_CALLS, f"{len(calls)} model calls are recorded, {MODEL_CALLS} were made")
    _require(len(tools) == len(CALL_IDS), f"{len(tools)} tool calls are recorded ({_named(tools)}), 4 were made")
    agents = task.of_kind("agent")
    _require(bool(agents), "no agent is recorded")
    inside = [span for span in (*calls, *tools) if not _is_inside(span, agents, task.spans)]
    _require(not inside, f"not inside the agent: {_named(inside)}")
    _require(all(span.end_ns is not None for span in task.spans), "a call has not ended in the record")


def _messages(trials: _Trials) -> None:
    task, _, sent, _ = trials.plain()
    calls = task.run.llm_calls
    _require(len(calls) == len(sent), f"{len(calls)} model calls are recorded, {len(sent)} were made")
    for number, (call, texts) in enumerate(zip(calls, sent, strict=True), 1):
        recorded = _letters([call.context.system, call.context.messages])
        missing = next((each for each in texts if _letters(each) not in recorded), None)
        shown = repr(missing)[:_MAX_SHOWN]
        _require(missing is None, f"model call {number} was sent {shown}, which its recorded context has not")
        _require(call.answer is not None, f"model call {number} has no recorded answer")
    _require(calls[-1].text == ANSWER, f"the last answer is recorded as {calls[-1].text!r}")


def _tools(trials: _Trials) -> None:
    task, _, _, _ = trials.plain()
    by_id = {str(span.attributes.get(names.TOOL_CALL_ID)): span for span in task.of_kind("tool")}
    missing = [call_id for call_id in CALL_IDS if call_id not in by_id]
    _require(not missing, f"no tool call is recorded under the model's id {', '.join(missing)}")
    wanted: list[tuple[str, Mapping[str, object]]] = [("look_up", {"order": "A1"}), ("look_up", {"order": "B2"})]
    wanted += [("audit", {"order": "A1"}), ("refund", {"order": "A1", "amount": 5})]
    results = ("delayed", "delayed", "audited A1", "refunded 5")
    for call_id, (name, arguments), result in zip(CALL_IDS, wanted, results, strict=True):
        span = by_id[call_id]
        recorded = task.frames.value(_ref(span, names.TOOL_ARGUMENTS_REF))
        _require(span.attributes.get(names.TOOL_NAME) == name, f"{name} is recorded as {_named([span])}")
        _require(_has(recorded, arguments), f"{name} is recorded with {recorded!r} instead of {arguments!r}")
        given = task.frames.value(_ref(span, names.TOOL_RESULT_REF))
        _require(_letters(result) in _letters(given), f"the result of {name} is recorded as {given!r}")


def _usage(trials: _Trials) -> None:
    task, _, _, _ = trials.plain()
    for span in task.of_kind("llm"):
        for attribute in (names.INPUT_TOKENS, names.OUTPUT_TOKENS):
            count = span.attributes.get(attribute)
            _require(isinstance(count, int) and count > 0, f"a model call has {attribute}={count!r}")


def _reasoning(trials: _Trials) -> str | None:
    task, _, _, _ = trials.plain()
    calls = task.run.llm_calls
    _require(bool(calls), "no model call is recorded")
    first = calls[0]
    answer = _letters([first.reasoning, first.answer])
    _require(_letters(THOUGHT) in answer, "what the model thought in its first answer is not recorded")
    return None


def _streaming(trials: _Trials) -> str | None:
    if trials.program.streamed is None:
        return "the program has no arguments with which it streams"
    streamed = tuple(trials.program.streamed)
    with trials.trial() as trial:
        trial.script_model()
        end = trial.run(*streamed)
        _require_task(end, trial.effects(), "streamed")
        _require(any(request.stream for request in trial.server.requests), "no request asks for a stream")
        task = RecordedTask.of(trial.recorded())
        _require_one_run(task)
        answers = [call.text for call in task.run.llm_calls]
        _require(answers[-1:] == [ANSWER], f"the streamed answers are recorded as {answers!r}")
        _require(len(task.of_kind("tool")) == len(CALL_IDS), f"recorded tools: {_named(task.of_kind('tool'))}")
        _require_answered(trial, trial.resume(*streamed))
    return None


def _errors(trials: _Trials) -> None:
    with trials.trial() as trial:
        trial.server.when(sequence(2), context_too_long())
        trial.script_model()
        trial.run()
        task = RecordedTask.of(trial.recorded())
        failed = [span for span in task.of_kind("llm") if span.status == STATUS_ERROR]
        _require(bool(failed), "a model call that the provider refused is not recorded as failed")
        _require(all(span.end_ns is not None for span in task.of_kind("llm")), "the refused call has not ended")
    with trials.trial() as trial:
        trial.script_model(amount=-1)
        trial.run()
        task = RecordedTask.of(trial.recorded())
        refunds = [span for span in task.of_kind("tool") if span.attributes.get(names.TOOL_NAME) == "refund"]
        _require(bool(refunds), "a tool that raises is not recorded")
        _require(refunds[0].status == STATUS_ERROR, "a tool that raises is not recorded as failed")


def _observed(trials: _Trials) -> None:
    with trials.trial() as trial:
        trial.script_model()
        _require_task(trial.run_observed(), trial.effects(), "inside a function under @observe")
        task = RecordedTask.of(trial.recorded())
        _require_one_run(task)
        roots = [span for span in task.spans if names.RUN_ROOT in span.attributes]
        _require("task" in _named(roots), f"the run is {_named(roots)} instead of the function under @observe")
        _require(len(task.of_kind("tool")) == len(CALL_IDS), f"recorded tools: {_named(task.of_kind('tool'))}")


# --- what comes back --------------------------------------------------------------------------------------------------


def _resume(trials: _Trials) -> None:
    with trials.trial() as trial:
        trial.script_model()
        _require_task(trial.run(), trial.effects())
        _require_answered(trial, trial.resume())


def _fork(trials: _Trials) -> None:
    with trials.trial() as trial:
        trial.script_model()
        _require_task(trial.run(), trial.effects())
        end = trial.fork(at="refund", outcome=_FORKED)
        _require(end.output == ANSWER and end.code == 0, f"the fork ended otherwise: {end}")
        _require_effects(trial.effects(), "the fork")
        asked = trial.server.requests[MODEL_CALLS:]
        _require(len(asked) == 1, f"the fork asked the model {len(asked)} times instead of once")
        said = _letters([text_of(message) for message in asked[0].messages])
        _require(_letters(_FORKED) in said, f"the model is not told the other outcome ({_FORKED!r})")


def _killed(number: int) -> Callable[[_Trials], None]:
    def check(trials: _Trials) -> None:
        with trials.trial() as trial:
            trial.kill_at_request(number)
            trial.script_model()
            end = trial.run()
            _require(end.was_killed, f"it was not killed: {end}")
            end = trial.resume()
            _require(end.code == 0 and end.output == ANSWER, f"resumed, it ended otherwise: {end}")
            _require_effects(trial.effects(), "resumed, it")
            repeated, total = trial.requests_repeated(), len(trial.server.requests)
            _require(
                (repeated, total) == (1, MODEL_CALLS + 1),
                f"{total} requests were made, {repeated} of them again; only the one that was cut off should be",
            )

    return check


def _in_doubt(trials: _Trials) -> None:
    with trials.trial() as trial:
        trial.script_model()
        end = trial.run(kill_in_audit=True)
        _require(end.was_killed, f"it was not killed: {end}")
        before = trial.effects(), len(trial.server.requests)
        end = trial.resume()
        said = "audit:tool had begun when the process died"
        _require(said in end.errors, f"the tool that was cut off is not named as in doubt: {end}")
        _require(end.code != 0, "the program ended as if all was well, with exit code 0")
        _require(trial.effects() == before[0], f"the tool that was cut off ran again: {trial.effects()}")
        _require(len(trial.server.requests) == before[1], "the model was asked although a tool was in doubt")
        end = trial.resume(in_doubt="rerun")
        _require(end.code == 0 and end.output == ANSWER, f"with in_doubt='rerun' it ended otherwise: {end}")
        wanted = sorted([*EFFECTS_OF_TASK, "audit A1"])
        _require(trial.effects() == wanted, f"with in_doubt='rerun' the tools did {trial.effects()}")
        _require(trial.requests_repeated() == 0, "a request was made again")


CHECKS: dict[str, Callable[[_Trials], str | None]] = {
    "output": _output,
    "spans": _spans,
    "messages": _messages,
    "tools": _tools,
    "streaming": _streaming,
    "usage": _usage,
    "reasoning": _reasoning,
    "errors": _errors,
    "observed": _observed,
    "resume": _resume,
    "fork": _fork,
    **{f"killed at request {number}": _killed(number) for number in range(1, MODEL_CALLS + 1)},
    "killed in a tool": _in_doubt,
}
"""Name → check, which returns why it was not made, or None, and raises CheckFailed."""


# --- what checks share ------------------------------------------------------------------------------------------------


def _require(holds: bool, problem: str) -> None:
    if not holds:
        raise CheckFailed(problem)


def _require_task(end: ProcessEnd, effects: list[str], how: str = "recorded") -> None:
    """Fails unless the program has done the whole task."""
    _require(end.code == 0 and end.output == ANSWER, f"{how}, the program did not print {ANSWER!r}: {end}")
    _require_effects(effects, f"{how}, the program")


def _require_effects(effects: list[str], who: str) -> None:
    _require(effects == sorted(EFFECTS_OF_TASK), f"{who} executed {effects} instead of {sorted(EFFECTS_OF_TASK)}")


def _require_one_run(task: RecordedTask) -> None:
    _require(len(task.runs) == 1, f"the task is recorded as {len(task.runs)} runs instead of one")


def _require_answered(trial: AgentTrial, end: ProcessEnd) -> None:
    """Fails unless a resume of the complete run got everything from the record."""
    _require(end.code == 0 and end.output == ANSWER, f"resumed, it ended otherwise: {end}")
    _require_effects(trial.effects(), "resumed, it")
    requests = len(trial.server.requests)
    _require(requests == MODEL_CALLS, f"resumed, it asked the model {requests - MODEL_CALLS} times")


def _is_inside(span: Span, agents: list[Span], spans: list[Span]) -> bool:
    by_id = {each.span_id: each for each in spans}
    above = by_id.get(str(span.parent_id))
    while above is not None and above not in agents:
        above = by_id.get(str(above.parent_id))
    return above is not None


def _named(spans: Sequence[Span]) -> str:
    return ", ".join(span.name for span in spans) or "none"


def _ref(span: Span, attribute: str) -> str | None:
    ref = span.attributes.get(attribute)
    return ref if isinstance(ref, str) else None


def _has(recorded: object, wanted: Mapping[str, object]) -> bool:
    fields = object_of(recorded)
    return all(fields.get(name) == value for name, value in wanted.items())


def _letters(value: object) -> str:
    """Returns the letters and digits of all texts in a value, one after the other: frameworks put spaces, quotes and
    lines around what they pass on, and JSON would have letters for the ends of lines."""
    if isinstance(value, str):
        return "".join(filter(str.isalnum, value))
    if isinstance(value, Mapping):
        fields = cast("Mapping[object, object]", value)
        return "".join(_letters(item) for name, item in fields.items() if name not in _NO_TEXTS)
    if isinstance(value, list | tuple):
        return "".join(map(_letters, cast("Sequence[object]", value)))
    return "" if value is None else _letters(str(value))


_NO_TEXTS = frozenset({"type", "role"})
