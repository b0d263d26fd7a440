"""An agent whose code knows nothing of Playhead: recorded by `playhead run`, killed, resumed by `playhead resume`."""

import os
import signal
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from playhead.model import names
from playhead.testing import ChatRequest, MockModelServer, dropped_connection, pytest_plugin, text, tool_call
from playhead.testing.answers import Answer
from tests.support.journal_reader import read_journal

server = pytest_plugin.mock_model_server

# The model says in words, or asks for in a tool call, which command to start.
AGENT = """
import json, subprocess, sys
import openai

client, messages = openai.OpenAI(), [{"role": "user", "content": "go"}]
while True:
    answer = client.chat.completions.create(model="m", messages=messages).choices[0].message
    messages.append(answer)
    calls = answer.tool_calls or []
    command = json.loads(calls[0].function.arguments)["command"] if calls else answer.content
    if command == "done":
        break
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True)
    said = {"role": "tool", "tool_call_id": calls[0].id} if calls else {"role": "user"}
    messages.append({**said, "content": done.stdout})
print([message["content"] for message in messages[2::2]])
"""
OBSERVED = """
from playhead import observe

@observe
def agent():
    import runpy
    runpy.run_path("agent.py")

agent()
"""


@dataclass
class Machine:
    """A folder with the program, its journal, and what its commands write."""

    folder: Path
    server: MockModelServer
    by_tools: bool = False
    kill_at: int = 0
    process: "subprocess.Popen[str] | None" = None
    errors: list[str] = field(default_factory=list[str])

    def __post_init__(self) -> None:
        (self.folder / "agent.py").write_text(AGENT)
        (self.folder / "observed.py").write_text(OBSERVED)
        self.server.otherwise(self.answer)

    def answer(self, request: ChatRequest) -> Answer:
        turn = sum(message["role"] == "assistant" for message in request.messages)
        if request.number == self.kill_at and self.process is not None:
            self.process.send_signal(signal.SIGKILL)
            return dropped_connection()
        if turn == 3:
            return text("done")
        command = f"echo {turn} | tee -a effects"
        return tool_call("shell", {"command": command}) if self.by_tools else text(command)

    def start(self, *command: str, kill_at: int = 0, **environ: str) -> tuple[int, str, str]:
        self.kill_at = kill_at
        kept = {
            name: value for name, value in os.environ.items() if not name.startswith(("OPENAI_", "OTEL_", "PLAYHEAD_"))
        }
        kept |= {"PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "NO_PROXY": "127.0.0.1"}
        kept |= {"PLAYHEAD_JOURNAL_DIR": str(self.folder / "journal"), "PLAYHEAD_ENDPOINT": "http://127.0.0.1:9"}
        kept |= {
            "PLAYHEAD_EXIT_TIMEOUT_SECONDS": "0.1",
            "OPENAI_BASE_URL": self.server.base_url,
            "OPENAI_API_KEY": "none",
        }
        pipe = subprocess.PIPE
        with subprocess.Popen(
            [sys.executable, *command], env=kept | environ, cwd=self.folder, stdout=pipe, stderr=pipe, text=True
        ) as self.process:
            try:
                out, errors = self.process.communicate(timeout=300)
            finally:
                self.process.kill()
        return self.process.returncode, out, errors

    def killed(self, *options: str) -> str:
        """A run that has done two commands, and was killed while the model was asked for the third."""
        code, _, errors = self.start("-m", "playhead", "run", *options, "--", sys.executable, "agent.py", kill_at=3)
        assert code == -signal.SIGKILL, errors
        assert self.effects() == ["0", "1"]
        [run_id] = {str(span.attributes[names.RUN_ID]) for span in read_journal(self.folder / "journal").announced}
        return run_id

    def playhead(self, *arguments: str) -> tuple[int, str, str]:
        return self.start("-m", "playhead", *arguments, "--", sys.executable, "agent.py")

    def effects(self) -> list[str]:
        """What its commands have done since this was last asked."""
        path = self.folder / "effects"
        done = path.read_text().split() if path.exists() else []
        path.unlink(missing_ok=True)
        return done


@pytest.fixture
def machine(tmp_path: Path, server: MockModelServer) -> Machine:
    return Machine(tmp_path, server)


@pytest.mark.slow
def test_resume_instruments_as_the_run_was(machine: Machine) -> None:
    run_id = machine.killed()
    asked = len(machine.server.requests)
    code, out, errors = machine.playhead("resume", run_id)
    assert (code, out) == (0, "['0\\n', '1\\n', '2\\n']\n"), errors
    assert len(machine.server.requests) - asked == 2, "the one that was cut off, and the last"
    root = read_journal(machine.folder / "journal").announced[0]
    assert root.attributes[names.LAUNCH] == "playhead run"


@pytest.mark.slow
def test_commands_in_words_are_named_before_they_are_started_again(machine: Machine) -> None:
    run_id = machine.killed()
    asked = len(machine.server.requests)
    code, _, errors = machine.playhead("resume", run_id, "--unrecorded", "raise")
    assert code != 0
    assert machine.effects() == []
    assert "starts this command again: sh -c 'echo 0 | tee -a effects'" in errors
    assert len(machine.server.requests) == asked
    code, out, errors = machine.playhead("resume", run_id)
    assert (code, out) == (0, "['0\\n', '1\\n', '2\\n']\n"), errors
    assert machine.effects() == ["0", "1", "2"]
    assert "started again: sh -c 'echo 0 | tee -a effects' (no recorded call does this)" in errors
    assert "echo 2" not in errors, "the record has nothing after that one"


@pytest.mark.slow
def test_fork_instruments_as_the_run_was(machine: Machine) -> None:
    run_id = machine.killed()
    asked = len(machine.server.requests)
    code, out, errors = machine.playhead("fork", run_id, "--at", "chat#2", "--outcome", "done")
    assert (code, out) == (0, "['0\\n']\n"), errors
    assert len(machine.server.requests) == asked


@pytest.mark.slow
def test_tools_that_models_asked_for_are_named_before_the_program_is_started(machine: Machine) -> None:
    machine.by_tools = True
    run_id = machine.killed()
    (machine.folder / "agent.py").write_text("raise SystemExit('it was started')")
    for command in (["resume", run_id], ["fork", run_id, "--at", "chat#3"]):
        code, out, errors = machine.playhead(*command)
        assert (code, out, machine.effects()) == (2, "", [])
        assert "2 tool calls that a model asked for were executed outside the record" in errors
        assert "shell({'command': 'echo 0 | tee -a effects'})" in errors
        assert "it was started" not in errors


@pytest.mark.slow
@pytest.mark.parametrize("by_tools", [False, True], ids=["in words", "by tools"])
def test_commands_that_are_recorded_are_not_started_again(machine: Machine, by_tools: bool) -> None:
    machine.by_tools = by_tools
    run_id = machine.killed("--commands")
    code, out, errors = machine.playhead("resume", run_id)
    assert (code, out) == (0, "['0\\n', '1\\n', '2\\n']\n"), errors
    assert machine.effects() == ["2"]
    root = read_journal(machine.folder / "journal").announced[0]
    assert root.attributes[names.LAUNCH] == "playhead run --commands"


@pytest.mark.slow
def test_a_process_that_instruments_nothing_is_refused(machine: Machine) -> None:
    run_id = machine.killed()
    asked = len(machine.server.requests)
    code, out, errors = machine.start("observed.py", PLAYHEAD_RESUME=run_id)
    assert (code, out, machine.effects(), len(machine.server.requests)) == (1, "", [], asked)
    assert "was recorded by `playhead run`" in errors
    assert "`playhead resume RUN -- PROGRAM`" in errors
