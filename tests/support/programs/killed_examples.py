"""Examples with an agent, killed at each of their steps and resumed; counts what they repeat.

A step is an append to the journal, a model call whose request has arrived and whose answer is not back, and a tool
that has begun. After the kill the journal is read: a resumed process has to ask the model once for each call that is
not completed there, and to execute each such tool once, and no other.
"""

import json
import os
import re
import signal
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from playhead.replaying.record import read_local
from playhead.replaying.recorded_calls import Outcome, RecordedCall, recorded_calls
from playhead.testing import ChatRequest, MockModelServer, Script, scenarios
from playhead.testing.answers import Answer
from playhead.testing.script import ScriptPlayer
from tests.support.programs.examples import load_example
from tests.support.programs.processes import Ended, Running, started

PROGRAM = Path(__file__).parent / "example_that_dies.py"
# Example → its scenario.
EXAMPLES = {
    "agents/document_processing": "document_processing",
    "agents/ticket_routing": "ticket_routing",
    "agents/code_review": "code_review",
    "agents/tool_calling": "tool_calling",
    "agents/evaluator_optimizer": "evaluator_optimizer",
    "agents/errors": "errors",
    "code_assistant": "code_assistant",
    "agents/support_agent": None,
}


@dataclass(frozen=True, slots=True)
class Kill:
    """Where a process dies: after an append to the journal, in a tool, or while a model call is under way."""

    append: int = 0
    tool: int = 0
    request: int = 0


@dataclass(frozen=True, slots=True)
class Whole:
    """What an example does when nobody kills it."""

    answer: str
    appends: int
    requests: int
    tools: int

    def kills(self) -> Iterator[Kill]:
        """All steps at which it can be killed."""
        yield from (Kill(append=number) for number in range(1, self.appends + 1))
        yield from (Kill(request=number) for number in range(1, self.requests + 1))
        yield from (Kill(tool=number) for number in range(1, self.tools + 1))


@dataclass
class KilledExample:
    """What came of one kill."""

    wrong: list[str] = field(default_factory=list[str])
    """Sentences; none: all is as it must be."""
    completed: int = 0
    """Model calls and tools that the journal had as completed when the process was killed."""
    in_doubt: int = 0
    models_again: int = 0
    tools_again: int = 0
    """Completed ones that the resumed processes asked or executed again."""
    unnamed: int = 0
    """Tools in doubt that the resumed run did not name."""
    same_answer: bool = False


class ExampleProcesses:
    """The processes of one run of an example, the model that they talk to, and their folder."""

    def __init__(self, name: str, folder: Path) -> None:
        self.name = name
        self.folder = folder
        self.kill_at_request = 0
        scenario = EXAMPLES[name]
        script: Script = scenarios.load(scenario) if scenario is not None else vars(load_example(name))["SCRIPT"]
        self._player = ScriptPlayer()
        self._player.add(script)
        self._process: Running | None = None
        self.server = MockModelServer(default=self._answer)

    def _answer(self, request: ChatRequest) -> Answer:
        if request.number == self.kill_at_request and self._process is not None:
            self._process.send_signal(signal.SIGKILL)
        return self._player.answer(request)

    def run(self, *arguments: str, kill: Kill | None = None, in_doubt: str = "raise") -> Ended:
        """One process, until it ends, however it ends."""
        kill = kill or Kill()
        self.kill_at_request = kill.request
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("OPENAI_", "OTEL_"))}
        kept |= {"PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "PLAYHEAD_JOURNAL_DIR": str(self.journal)}
        kept |= {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9", "NO_PROXY": "127.0.0.1"}
        kept |= {"OPENAI_BASE_URL": self.server.base_url, "OPENAI_API_KEY": "none", "EXAMPLE": self.name}
        kept |= {"EFFECTS": str(self.folder / "effects"), "PLAYHEAD_EXIT_TIMEOUT_SECONDS": "0.1"}
        kept |= {"DIE_AT_APPEND": str(kill.append), "DIE_IN_TOOL": str(kill.tool), "IN_DOUBT": in_doubt}
        with started(PROGRAM, arguments, kept) as self._process:
            return self._process.wait()

    @property
    def journal(self) -> Path:
        return self.folder / "journal"

    def tools(self) -> int:
        """How many tools have begun to work so far."""
        path = self.folder / "effects"
        return len(path.read_text().splitlines()) if path.exists() else 0

    def calls(self, run_id: str) -> dict[str, list[RecordedCall]]:
        """The recorded model calls and tools so far, by kind."""
        record = read_local(self.journal, run_id)
        assert record is not None
        calls = recorded_calls(record.spans)
        return {kind: [call for call in calls if call.kind == kind] for kind in ("llm", "tool")}


def whole(name: str, folder: Path) -> Whole:
    """Runs the example without a kill."""
    processes = ExampleProcesses(name, folder)
    with processes.server:
        done = processes.run()
        assert done.code == 0, done.errors
        appends = json.loads(done.out.splitlines()[-2])["appends"]
        return Whole(done.out.splitlines()[-1], appends, len(processes.server.requests), processes.tools())


def check_killed(name: str, expected: Whole, kill: Kill, folder: Path) -> KilledExample:
    """Kills the example, resumes it, and looks."""
    processes = ExampleProcesses(name, folder)
    with processes.server:
        return check(processes, expected, kill)


def check(processes: ExampleProcesses, expected: Whole, kill: Kill) -> KilledExample:
    """The same of processes whose server runs."""
    checked = KilledExample()
    killed = processes.run(kill=kill)
    if killed.code != -signal.SIGKILL:
        checked.wrong.append(f"was to be killed, and ended with {killed.code}: {killed.errors[-1000:]}")
        return checked
    run_id = killed.out.splitlines()[0]
    before = processes.calls(run_id)
    completed = {kind: [call for call in calls if not _is_in_doubt(call)] for kind, calls in before.items()}
    doubts = [call.call_path for calls in before.values() for call in calls if _is_in_doubt(call)]
    checked.completed, checked.in_doubt = sum(map(len, completed.values())), len(doubts)
    asked, worked = len(processes.server.requests), processes.tools()
    resumed = processes.run(run_id)
    if resumed.code == 1 and "InDoubt" in resumed.errors:
        named = set(re.findall(r"(\S+:tool) had begun when the process died", resumed.errors))
        if not named or not named <= set(doubts):
            checked.unnamed += 1
            checked.wrong.append(f"in doubt are {doubts}, and refused were {named}")
        resumed = processes.run(run_id, in_doubt="rerun")
    if resumed.code != 0:
        checked.wrong.append(f"the resumed run ended with {resumed.code}: {resumed.errors[-2000:]}")
        return checked
    # A model that is rate-limited once is so no more where the first request was under way.
    limited = processes.name == "agents/errors" and not completed["llm"] and asked > 0
    missing_models = expected.requests - len(completed["llm"]) - limited
    # A call whose arguments are not read has no function that is entered.
    missing_tools = expected.tools - _executed(completed["tool"])
    checked.models_again = len(processes.server.requests) - asked - missing_models
    checked.tools_again = processes.tools() - worked - missing_tools
    _look(resumed, run_id, expected, doubts, checked)
    return checked


def _is_in_doubt(call: RecordedCall) -> bool:
    return call.outcome is Outcome.IN_DOUBT


def _executed(tools: list[RecordedCall]) -> int:
    """Tools that were entered: those whose arguments could be read."""
    return len([tool for tool in tools if "ToolArgumentsInvalid" not in str(tool.span.attributes.get("error.type"))])


def _look(resumed: Ended, run_id: str, expected: Whole, doubts: list[str], checked: KilledExample) -> None:
    lines = resumed.out.splitlines()
    checked.same_answer = lines[-1] == expected.answer
    if not checked.same_answer:
        checked.wrong.append(f"another answer: {lines[-1]}")
    told = json.loads(lines[-2])
    if lines[0] != run_id or told.get("left") or told.get("divergences"):
        checked.wrong.append(f"goes on as {lines[0]}: {told}")
    if not set(told.get("in_doubt", ())) <= set(doubts):
        checked.wrong.append(f"in doubt are {doubts}, and named were {told}")
    if checked.models_again:
        checked.wrong.append(f"{checked.models_again} model calls more or fewer than the journal was without")
    if checked.tools_again:
        checked.wrong.append(f"{checked.tools_again} tools more or fewer than the journal was without")
