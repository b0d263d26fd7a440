"""`playhead resume` and `playhead fork` around a program whose code knows nothing of them."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from playhead.model import names
from playhead.model.shares import wilson
from playhead.replaying.record import read_local
from playhead.replaying.recorded_calls import recorded_calls
from tests.support.journal_reader import read_journal
from tests.support.programs import processes

PROGRAM = """
import os, signal, sys
import playhead
from playhead import observe

@observe(kind="tool")
def work(number):
    with open(os.environ["EFFECTS"], "a") as file:
        file.write(f"{number}\\n")
    if os.environ.get("DIE_AT") == str(number):
        os.kill(os.getpid(), signal.SIGKILL)
    if os.environ.get("STOP_AT") == str(number):
        signal.signal(signal.SIGINT, signal.default_int_handler)  # jobs of a shell's background ignore it
        os.kill(os.getpid(), signal.SIGINT)
    if os.environ.get("TERMINATE_AT") == str(number):
        signal.signal(signal.SIGTERM, on_term)
        os.kill(os.getpid(), signal.SIGTERM)
    if os.environ.get("EXIT_AT") == str(number):
        sys.exit(3)
    return number

def on_term(*_):
    leave()

def leave():
    sys.exit(143)

@observe
def agent():
    return sum(work(number) for number in (1, 2, 3))

with playhead.run("sums") as run:
    total = agent()
    playhead.score("small", total <= 6)
print(run.id)
print("total", total)
if total > 6:
    sys.exit(5)
"""

# Ctrl-C goes to all processes of the terminal; then this one tidies up for longer than others would wait.
INTERRUPTED = """
import time
signal.signal(signal.SIGINT, signal.default_int_handler)  # jobs of a shell's background ignore it
try:
    os.kill(os.getppid(), signal.SIGINT)
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(10)
except KeyboardInterrupt:
    time.sleep(1)
    print("tidied")
    sys.exit(7)
"""

# Calls without an agent around them: one run, of which each call is a root.
CALLS = """
import asyncio, os
from playhead import observe

@observe(kind="guardrail")
def first(number):
    return helper(number)

@observe(kind="guardrail")
def second(number):
    return helper(number)

@observe(kind="tool")
def helper(number):
    with open(os.environ["EFFECTS"], "a") as file:
        file.write(f"{number}\\n")
    return number

async def main():
    print("total", first(1) + second(2))

asyncio.run(main())
"""


class Shell:
    def __init__(self, folder: Path, program: str = PROGRAM):
        self.folder = folder
        (folder / "agent.py").write_text(program)
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("OTEL_", "PLAYHEAD_"))}
        kept |= {"PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "PLAYHEAD_JOURNAL_DIR": str(folder / "j")}
        kept |= {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9", "EFFECTS": str(folder / "effects")}
        self.environ = kept | {"PLAYHEAD_EXIT_TIMEOUT_SECONDS": "0.1"}

    def agent(self, **environ: str) -> subprocess.CompletedProcess[str]:
        ended = processes.run(self.folder / "agent.py", environ=self.environ | environ)
        return subprocess.CompletedProcess((), ended.code, ended.out, ended.errors)

    def playhead(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        program = ["--", sys.executable, str(self.folder / "agent.py")]
        ended = processes.run_playhead(*arguments, *program, environ=self.environ)
        return subprocess.CompletedProcess((), ended.code, ended.out, ended.errors)

    def run(self, command: list[str], environ: dict[str, str]) -> subprocess.CompletedProcess[str]:
        env = self.environ | environ
        return subprocess.run(command, env=env, capture_output=True, text=True, timeout=300, check=False)

    def effects(self) -> list[str]:
        return (self.folder / "effects").read_text().split()

    def killed_run(self) -> str:
        assert self.agent(DIE_AT="2").returncode == -9
        return self.recorded_run()

    def recorded_run(self) -> str:
        return (
            next(path for path in (self.folder / "j").rglob("*.segment"))
            .read_bytes()
            .split(b'playhead.run.id":"')[1][:32]
            .decode()
        )

    def calls(self, run_id: str) -> list[tuple[str, str]]:
        """Name and key of each call."""
        record = read_local(self.folder / "j", run_id)
        assert record is not None
        return sorted((call.span.name, call.key) for call in recorded_calls(record.spans))

    def span_of(self, run_id: str, place: str) -> str:
        record = read_local(self.folder / "j", run_id)
        assert record is not None
        return next(call.span.span_id for call in recorded_calls(record.spans)[::-1] if call.call_path.endswith(place))


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    return Shell(tmp_path)


def test_a_killed_program_is_resumed_from_outside_and_its_doubts_are_settled_by_hand(shell: Shell) -> None:
    run_id = shell.killed_run()
    stopped = shell.playhead("resume", run_id)
    assert stopped.returncode == 76
    assert "sums/agent/work:tool had begun when the process died" in stopped.stderr
    step = shell.span_of(run_id, "work:tool")
    assert f"--outcome {step}=RESULT" in stopped.stderr
    done = shell.playhead("resume", run_id, "--outcome", f"{step}=2")
    assert (done.returncode, done.stdout.split()) == (0, [run_id, "total", "6"])
    assert shell.effects() == ["1", "2", "3"]
    assert shell.playhead("resume", run_id).stdout == done.stdout
    assert shell.effects() == ["1", "2", "3"]


@pytest.mark.parametrize(
    ("local", "endpoint"), [(["--local"], "http://127.0.0.1:9"), ([], "none"), (["--local"], "none")]
)
def test_last_a_part_of_an_id_and_a_seq_mean_what_the_journal_says(
    shell: Shell, local: list[str], endpoint: str
) -> None:
    shell.environ |= {"PLAYHEAD_ENDPOINT": endpoint}
    run_id = shell.killed_run()
    for named in ("last", run_id[-6:]):
        stopped = shell.playhead(*local, "resume", named)
        assert stopped.returncode == 76, stopped.stderr
        assert "sums/agent/work:tool had begun when the process died" in stopped.stderr
    events = shell.run([sys.executable, "-m", "playhead", "--local", "events", "last", "--json"], {})
    called = [event for event in json.loads(events.stdout) if event["kind"] == "tool_called"]
    forked = shell.playhead(*local, "fork", "last", "--at", str(called[1]["seq"]), "--outcome", "100")
    assert forked.stdout.split()[1:] == ["total", "104"], forked.stderr
    nothing = shell.playhead(*local, "fork", run_id, "--at", "999")
    assert f"run {run_id} has no call at 999" in nothing.stderr


def test_a_variable_is_enough_to_resume(shell: Shell) -> None:
    done = shell.agent()
    again = shell.agent(PLAYHEAD_RESUME=done.stdout.split()[0])
    assert again.stdout == done.stdout
    assert shell.effects() == ["1", "2", "3"]


def test_a_run_that_cannot_be_resumed_is_not_started_anew(shell: Shell) -> None:
    for environ in ({}, {"OTEL_SDK_DISABLED": "true"}):
        refused = shell.agent(PLAYHEAD_RESUME="0" * 32, **environ)
        assert refused.returncode == 1
        assert "playhead: " in refused.stderr
    assert not (shell.folder / "effects").exists()


@pytest.mark.parametrize("asked", ["no JSON", '{"fork": "x", "options": {"whatever": 1}}', "{}"])
def test_what_goes_wrong_on_the_way_to_a_record_does_not_start_a_program_anew(shell: Shell, asked: str) -> None:
    refused = shell.agent(PLAYHEAD_REWIND=asked)
    assert refused.returncode == 1
    assert "playhead: cannot go on with that run: " in refused.stderr
    assert not (shell.folder / "effects").exists()


def test_forks_go_on_otherwise_and_their_exit_code_is_passed_on(shell: Shell) -> None:
    run_id = shell.agent().stdout.split()[0]
    step = shell.span_of(run_id, "work:tool")
    done = shell.playhead("fork", run_id, "--at", step, "--outcome", "100")
    assert done.returncode == 5, done.stderr
    assert done.stdout.split()[1:] == ["total", "103"]
    assert done.stdout.split()[0] != run_id
    assert shell.effects() == ["1", "2", "3"]


def test_many_forks_are_summarised(shell: Shell) -> None:
    run_id = shell.agent().stdout.split()[0]
    step = shell.span_of(run_id, "work:tool")
    done = shell.playhead("fork", run_id, "--at", step, "--outcome", "100", "--times", "3")
    assert done.returncode == 5, done.stderr
    assert "3 x  exit 5  total 103" in done.stdout
    assert "the parent's: exit 0  total 6" in done.stdout
    assert "another outcome in 3 of 3: 100% (95 %: 44% to 100%)" in done.stdout
    assert shell.effects() == ["1", "2", "3"]


@pytest.mark.parametrize(
    ("by", "forks", "parent"),
    [
        ("exit", "exit 5", "exit 0"),
        ("small", "small false", "small true"),
        ("judge:size", "large after 5", "small after 0"),
    ],
)
def test_the_outcome_of_a_fork_is_an_exit_code_a_score_or_what_a_function_says(
    shell: Shell, by: str, forks: str, parent: str
) -> None:
    (shell.folder / "judge.py").write_text(
        "def size(text, code):\n    size = 'small' if text.strip().endswith('total 6') else 'large'\n"
        "    return f'{size} after {code}'\n"
    )
    run_id = shell.agent().stdout.split()[0]
    step = shell.span_of(run_id, "work:tool")
    shell.environ["PYTHONPATH"] += os.pathsep + str(shell.folder)
    done = shell.playhead("--local", "fork", run_id, "--at", step, "--outcome", "100", "--times", "2", "--by", by)
    assert done.returncode == 5, done.stderr
    assert f"2 x  {forks}\n" in done.stdout
    assert f"the parent's: {parent}\n" in done.stdout
    assert "another outcome in 2 of 2" in done.stdout


def test_a_function_for_outcomes_that_cannot_be_imported_is_a_clear_error(shell: Shell) -> None:
    run_id = shell.agent().stdout.split()[0]
    step = shell.span_of(run_id, "work:tool")
    done = shell.playhead("fork", run_id, "--at", step, "--times", "2", "--by", "no_such_module:f")
    assert done.returncode == 2
    assert "--by no_such_module:f: cannot be imported" in done.stderr


def test_calls_without_an_agent_are_no_run_that_has_ended(tmp_path: Path) -> None:
    shell = Shell(tmp_path, CALLS)
    assert shell.agent().stdout == "total 3\n"
    step = shell.span_of(shell.recorded_run(), "helper:tool")
    done = shell.playhead("fork", shell.recorded_run(), "--at", step, "--outcome", "100", "--times", "2")
    assert done.returncode == 0, done.stderr
    assert "the most frequent one (the parent has none)" in done.stdout


def test_of_calls_without_an_agent_each_keeps_its_identity(tmp_path: Path) -> None:
    shell = Shell(tmp_path, CALLS)
    assert shell.agent().stdout == "total 3\n"
    run_id = shell.recorded_run()
    before = shell.calls(run_id)
    done = shell.playhead("resume", run_id)
    assert (done.returncode, done.stdout) == (0, "total 3\n"), done.stderr
    assert shell.effects() == ["1", "2"]
    assert len(before) == 4
    assert shell.calls(run_id) == before


def test_a_program_that_was_stopped_by_hand_goes_on_where_it_was(shell: Shell) -> None:
    assert "KeyboardInterrupt" in shell.agent(STOP_AT="2").stderr
    run_id = shell.recorded_run()
    stopped = shell.playhead("resume", run_id)
    assert "playhead.errors.InDoubt: sums/agent/work:tool" in stopped.stderr
    assert shell.effects() == ["1", "2"]
    done = shell.playhead("resume", run_id, "--in-doubt", "rerun")
    assert (done.returncode, done.stdout.split()) == (0, [run_id, "total", "6"]), done.stderr
    assert shell.effects() == ["1", "2", "2", "3"]


def test_a_program_that_a_signals_handler_has_ended_goes_on_where_it_was(shell: Shell) -> None:
    assert shell.agent(TERMINATE_AT="2").returncode == 143
    run_id = shell.recorded_run()
    stopped = shell.playhead("resume", run_id)
    assert "playhead.errors.InDoubt: sums/agent/work:tool was interrupted" in stopped.stderr
    assert shell.effects() == ["1", "2"]
    done = shell.playhead("resume", run_id, "--in-doubt", "rerun")
    assert (done.returncode, done.stdout.split()) == (0, [run_id, "total", "6"]), done.stderr
    assert shell.effects() == ["1", "2", "2", "3"]


def test_a_tool_that_ends_the_program_itself_does_so_again(shell: Shell) -> None:
    assert shell.agent(EXIT_AT="2").returncode == 3
    again = shell.playhead("resume", shell.recorded_run())
    assert again.returncode == 3, again.stderr  # and not 1, as with InDoubt
    assert shell.effects() == ["1", "2"]


def test_a_killed_fork_of_a_run_that_has_completed_goes_on(shell: Shell) -> None:
    parent = shell.agent().stdout.split()[0]
    shell.environ["DIE_AT"] = "2"
    shell.playhead("fork", parent, "--at", "work", "--outcome", "10")
    del shell.environ["DIE_AT"]
    seen = read_journal(shell.folder / "j")
    [fork_id] = {span.attributes[names.RUN_ID] for span in seen.announced if names.FORK_OF in span.attributes}
    assert shell.effects() == ["1", "2", "3", "2"]
    done = shell.playhead("resume", fork_id, "--in-doubt", "rerun")
    assert done.stdout.split() == [fork_id, "total", "15"], done.stderr
    assert shell.effects() == ["1", "2", "3", "2", "2", "3"]


# A SystemExit ends the thread that raises it, and the program goes on.
IN_THREADS = """
import os, threading
from playhead import observe

@observe(kind="tool")
def work(number):
    with open(os.environ["EFFECTS"], "a") as file:
        file.write(f"{number}\\n")

for number in (1, 2):
    thread = threading.Thread(target=work, args=(number,))
    thread.start()
    thread.join()
work(3)
"""


def test_a_program_that_survives_that_its_run_is_not_there_begins_no_other(tmp_path: Path) -> None:
    refused = Shell(tmp_path, IN_THREADS).agent(PLAYHEAD_RESUME="0" * 32)
    assert (refused.returncode, refused.stderr.count("playhead: run 0000")) == (1, 1), refused.stderr
    assert not (tmp_path / "effects").exists()


def test_a_program_that_goes_on_with_nothing_is_told(shell: Shell) -> None:
    run_id = shell.killed_run()
    (shell.folder / "agent.py").write_text("print('something else')")
    for command in (["resume", run_id], ["fork", run_id, "--at", "work", "--outcome", "1"]):
        done = shell.playhead(*command)
        assert done.returncode == 2
        assert "has ended without going on with the run" in done.stderr


def test_a_program_that_cannot_be_started_is_told(shell: Shell) -> None:
    command = [
        sys.executable,
        "-c",
        "from playhead.cli import main; main()",
        "resume",
        "0" * 32,
        "--",
        "no-such-program",
    ]
    refused = shell.run(command, {})
    assert refused.returncode == 2
    assert refused.stderr.startswith("playhead: no-such-program cannot be started (No such file or directory)")


def test_an_interrupted_program_takes_the_time_that_it_needs(shell: Shell) -> None:
    run_id = shell.agent().stdout.split()[0]
    (shell.folder / "agent.py").write_text(PROGRAM + INTERRUPTED)
    done = shell.playhead("resume", run_id)
    assert (done.returncode, done.stdout.split()[-1]) == (7, "tidied")


def test_an_option_that_cannot_be_meant_is_refused(shell: Shell) -> None:
    refused = shell.playhead("resume", "0" * 32, "--in-doubt", "perhaps")
    assert refused.returncode == 2
    assert "--in-doubt perhaps: expected raise or rerun" in refused.stderr


def test_the_interval_is_wilson_s() -> None:
    assert [round(bound, 3) for bound in wilson(5, 20)] == [0.112, 0.469]
    assert wilson(0, 20)[0] == 0.0
    assert wilson(20, 20)[1] == 1.0


@pytest.mark.parametrize("given", ['{"error": timeout}', "[1, 2", '"half', " {'result': 5}"])
def test_an_outcome_that_begins_like_json_and_is_none_is_refused(shell: Shell, given: str) -> None:
    for command in (["resume", "0" * 32, "--outcome", f"work={given}"], ["fork", "0" * 32, "--at", "work"]):
        refused = shell.playhead(*command, *(["--outcome", given] if command[0] == "fork" else []))
        assert refused.returncode == 2, command
        assert "this begins like JSON and is none" in refused.stderr
        assert "expected JSON such as" in refused.stderr
    assert not (shell.folder / "effects").exists()


def test_a_changed_program_is_stopped_and_goes_on_as_the_options_say(shell: Shell) -> None:
    run_id = shell.killed_run()
    step = shell.span_of(run_id, "work:tool")
    program = shell.folder / "agent.py"
    program.write_text(program.read_text().replace("def agent():", "def sums():").replace("agent()", "sums()"))
    stopped = shell.playhead("resume", run_id)
    assert stopped.returncode == 76
    assert "--renamed sums/agent=sums/sums" in stopped.stderr
    assert shell.effects() == ["1", "2"]
    refused = shell.agent(PLAYHEAD_RESUME=run_id, PLAYHEAD_RESUME_COMPLETED="perhaps")
    assert "PLAYHEAD_RESUME_COMPLETED=perhaps: expected raise or reuse or rerun" in refused.stderr
    stopped = shell.agent(PLAYHEAD_RESUME=run_id, PLAYHEAD_RESUME_ON_DIVERGENCE="live")
    assert "had completed with these arguments" in stopped.stderr
    assert "completed='reuse'" in stopped.stderr
    assert "idempotent=True" in stopped.stderr
    assert shell.effects() == ["1", "2"]
    done = shell.playhead("resume", run_id, "--renamed", "sums/agent=sums/sums", "--outcome", f"{step}=2")
    assert (done.returncode, done.stdout.split()[1:]) == (0, ["total", "6"]), done.stderr
    assert shell.effects() == ["1", "2", "3"]
