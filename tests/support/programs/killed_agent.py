"""The agent of `tests/wire/rewind/resume_fifty_steps.py`, killed and resumed; counts what it repeats.

After each process its journal is read: a model call or a tool that is completed there must not be asked or executed by
a later process, and what is in doubt there must be named by it.
"""

import json
import os
import re
import signal
import sys
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from playhead.model import names
from playhead.model.canonical import value_of
from playhead.replaying.record import LocalRecord, read_local
from playhead.replaying.recorded_calls import Outcome, RecordedCall, recorded_calls
from playhead.testing import MockModelServer, text
from playhead.testing.answers import AssistantMessage
from playhead.testing.request import ChatRequest
from tests.support.programs.processes import Ended, Running, started

TESTS = Path(__file__).parents[2]
PROGRAM = TESTS / "wire" / "rewind" / "resume_fifty_steps.py"
# Of clients that have an environment of their own.
OTHER_CLIENTS = str(TESTS / "frameworks" / "programs")
POINTS, MODELS, TOOLS = 95, 25, 25
"""Points that the program passes; model calls, and tools, of its fifty steps."""


@dataclass
class Program:
    """The agent, its folder, and the models it talks to."""

    folder: Path
    server: MockModelServer
    client: str = "openai"
    """Of the model: see the program."""
    kill_at_request: int = 0
    _process: Running | None = None

    def run(self, *arguments: str, **environ: str) -> Ended:
        """One process, until it ends, however it ends."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("OPENAI_", "OTEL_"))}
        kept |= {"PYTHONPATH": os.pathsep.join([*filter(None, sys.path), OTHER_CLIENTS])}
        kept |= {"PLAYHEAD_JOURNAL_DIR": str(self.journal)}
        kept |= {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9", "NO_PROXY": "127.0.0.1"}
        kept |= {"OPENAI_BASE_URL": self.server.base_url, "OPENAI_API_KEY": "none", "CLIENT": self.client}
        kept |= {"GOOGLE_GEMINI_BASE_URL": self.server.url, "GEMINI_API_KEY": "none"}
        kept |= {"ANTHROPIC_BASE_URL": self.server.url, "ANTHROPIC_API_KEY": "none"}
        kept |= {"EFFECTS": str(self.folder / "effects"), "PLAYHEAD_EXIT_TIMEOUT_SECONDS": "0.1"}
        with started(PROGRAM, arguments, kept | environ) as self._process:
            return self._process.wait()

    def answer(self, request: ChatRequest) -> AssistantMessage:
        """What the model says, to a process that may be killed before it hears it."""
        if request.number == self.kill_at_request and self._process is not None:
            self._process.send_signal(signal.SIGKILL)
        return text("one two three four five six seven eight nine ten")

    @property
    def journal(self) -> Path:
        """Its journal's folder."""
        return self.folder / "journal"

    def effects(self) -> list[str]:
        """What tools did, in order: name, argument, idempotency key."""
        path = self.folder / "effects"
        return path.read_text().splitlines() if path.exists() else []

    def questions(self) -> list[str]:
        """What models were asked, in order."""
        return [repr((request.stream, request.messages)) for request in self.server.requests]


@contextmanager
def agent_program(folder: Path, client: str = "openai") -> Generator[Program]:
    """The program, with a server of its own."""
    with MockModelServer() as server:
        program = Program(folder, server, client)
        server.otherwise(program.answer)
        yield program


@dataclass(frozen=True, slots=True)
class Known:
    """What the journal has when a process is gone: questions and tools that are completed, places that are in doubt."""

    questions: frozenset[str]
    tools: frozenset[str]
    in_doubt: tuple[str, ...]


def known(program: Program, run_id: str) -> Known:
    """Read from the journal's files, by what the calls themselves recorded."""
    record = read_local(program.journal, run_id)
    assert record is not None
    asked = program.questions()
    calls = recorded_calls(record.spans)
    models, tools = (
        [call for call in calls if call.kind == kind and call.outcome is not Outcome.IN_DOUBT]
        for kind in ("llm", "tool")
    )
    in_doubt = [call.call_path for call in calls if call.can_answer and call.outcome is Outcome.IN_DOUBT]
    return Known(
        frozenset(asked[_request_number(call) - 1] for call in models),
        frozenset(_effect(record, call) for call in tools),
        tuple(sorted(in_doubt)),
    )


def _request_number(call: RecordedCall) -> int:
    """The mock server's answers say in their id which request they answer."""
    found = re.search(r"\d{6}", str(call.span.attributes[names.RESPONSE_ID]))
    assert found is not None
    return int(found[0])


def _effect(record: LocalRecord, call: RecordedCall) -> str:
    """What the tool writes down, without the key."""
    ref = call.ref(names.TOOL_ARGUMENTS_REF)
    content = record.content(ref) if ref is not None else None
    assert content is not None
    return f"{call.name} {next(iter(value_of(content).values()))}"


@dataclass
class CheckResult:
    """What came of one kill."""

    wrong: list[str] = field(default_factory=list[str])
    """Sentences; none: all is as it must be."""
    completed: int = 0
    """Model calls and tools that the journal had as completed when the process was killed."""
    in_doubt: list[str] = field(default_factory=list[str])
    models_again: int = 0
    tools_again: int = 0
    """Of those, again all the same."""
    unnamed: int = 0
    """Calls in doubt that the resumed run did not name."""
    same_answer: bool = False


def check_kill(program: Program, answer: str, *, point: int = 0, request: int = 0) -> CheckResult:
    """Kills at a point of the program, or when the nth model call is under way; resumes, and looks."""
    program.kill_at_request = request
    killed = program.run(DIE_AT=str(point))
    checked = CheckResult()
    if killed.code != -signal.SIGKILL:
        checked.wrong.append(f"was to be killed, and ended with {killed.code}: {killed.errors[-1000:]}")
        return checked
    run_id = killed.out.splitlines()[0]
    before = known(program, run_id)
    done = {effect.rpartition(" ")[0] for effect in program.effects()}
    if not before.tools <= done:  # else nothing below could be noticed
        checked.wrong.append(f"completed in the journal, and never executed: {before.tools - done}")
    checked.completed, checked.in_doubt = len(before.questions) + len(before.tools), list(before.in_doubt)
    tools = [place for place in before.in_doubt if place.endswith(":tool")]
    if tools:
        stopped = _resume(program, run_id, before, checked)
        named = re.findall(r"(\S+:tool) had begun when the process died", stopped.errors)
        checked.unnamed += 0 if set(named) & set(tools) else 1
        if stopped.code != 1 or "InDoubt" not in stopped.errors or not set(named) <= set(tools):
            checked.wrong.append(f"{tools} in doubt were not refused: {stopped.code}, {stopped.errors[-1000:]}")
        before = known(program, run_id)
    resumed = _resume(program, run_id, before, checked, IN_DOUBT="rerun")
    if resumed.code != 0:
        checked.wrong.append(f"the resumed run ended with {resumed.code}: {resumed.errors[-1000:]}")
        return checked
    _look(resumed.out.splitlines(), run_id, answer, before, checked)
    return checked


def _resume(program: Program, run_id: str, before: Known, checked: CheckResult, **environ: str) -> Ended:
    asked, done = len(program.questions()), len(program.effects())
    resumed = program.run(run_id, **environ)
    again = before.questions.intersection(program.questions()[asked:])
    twice = before.tools.intersection(effect.rpartition(" ")[0] for effect in program.effects()[done:])
    checked.models_again += len(again)
    checked.tools_again += len(twice)
    checked.wrong += [f"completed in the journal, and yet again: {what}" for what in (*again, *twice)]
    return resumed


def _look(lines: list[str], run_id: str, answer: str, before: Known, checked: CheckResult) -> None:
    checked.same_answer = lines[-1] == answer
    if not checked.same_answer:
        checked.wrong.append(f"another answer: {lines[-1]}")
    told = json.loads(lines[1])
    if lines[0] != run_id or told["left"]:
        checked.wrong.append(f"goes on as {lines[0]}, and has not called again {told['left']}")
    if sorted(told["in_doubt"]) != list(before.in_doubt):
        checked.unnamed += len(set(before.in_doubt) - set(told["in_doubt"]))
        checked.wrong.append(f"in doubt are {before.in_doubt}, and named were {told['in_doubt']}")
