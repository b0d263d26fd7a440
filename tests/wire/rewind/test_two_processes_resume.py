"""A run goes on in one process at a time: real processes, on one machine, and on two that share a collector."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from playhead_collector.process import CollectorProcess

# Of a lease that does not run out while processes start, on a busy machine.
AN_HOUR = "3600"
PROGRAM = """
import os, signal, sys
import playhead
from playhead import observe
from tests.support import patience

patience.wait_for_collector()

@observe(kind="tool", idempotent=True)
def work(number):
    with open(os.environ["EFFECTS"], "a") as file:
        file.write(f"{number} ")
    if os.environ.get("DIE_AT") == str(number):
        playhead.flush(float(os.environ.get("DELIVER", "0")))
        os.kill(os.getpid(), signal.SIGKILL)
    if os.environ.get("WAIT_AT") == str(number):
        print("waiting", flush=True)
        sys.stdin.readline()
    return number

@observe
def agent():
    return sum(work(number) for number in (1, 2, 3))

with playhead.run("sums") as run:
    print(run.id, flush=True)
    total = agent()
print("total", total)
"""


class Machine:
    """Processes that share a journal."""

    def __init__(self, folder: Path, endpoint: str = "http://127.0.0.1:9"):
        folder.mkdir(exist_ok=True)
        self.program = folder / "agent.py"
        self.program.write_text(PROGRAM)
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("OTEL_", "PLAYHEAD_"))}
        kept |= {"PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "PLAYHEAD_JOURNAL_DIR": str(folder / "j")}
        self.environ = kept | {"OTEL_EXPORTER_OTLP_ENDPOINT": endpoint, "PLAYHEAD_EXIT_TIMEOUT_SECONDS": "0.1"}
        self.effects = folder / "effects"
        self.environ["EFFECTS"] = str(self.effects)
        self.started: list[subprocess.Popen[str]] = []

    def start(self, *resume: str, **environ: str) -> "subprocess.Popen[str]":
        command = [sys.executable, str(self.program)]
        if resume:
            command = [sys.executable, "-c", "from playhead.cli import main; main()", "resume", *resume, "--", *command]
        pipe, env = subprocess.PIPE, self.environ | environ
        process = subprocess.Popen(command, env=env, text=True, stdin=pipe, stdout=pipe, stderr=pipe)
        self.started.append(process)
        return process

    def ship(self) -> tuple[int, str, str]:
        command = [sys.executable, "-c", "from playhead.cli import main; main()", "ship"]
        done = subprocess.run(command, env=self.environ, text=True, capture_output=True, timeout=300, check=False)
        return done.returncode, done.stdout, done.stderr

    def end(self) -> None:
        for process in self.started:
            if process.poll() is None:
                process.kill()
                process.communicate()

    def run(self, *resume: str, **environ: str) -> tuple[int, str, str]:
        process = self.start(*resume, **environ)
        out, err = process.communicate(timeout=300)
        return process.returncode, out, err

    def died(self, **environ: str) -> str:
        code, out, err = self.run(DIE_AT="2", **environ)
        assert code == -9, err
        return out.split()[0]


class Waiting:
    """A process that resumes the run, and stands still in its second step until it may go on."""

    def __init__(self, machine: Machine, run_id: str, **environ: str):
        # Not through the command, which would be the process that dies in place of the program.
        self.process = machine.start(WAIT_AT="2", PLAYHEAD_RESUME=run_id, **environ)
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        while line and line != "waiting\n":
            line = self.process.stdout.readline()
        assert line, self.process.stderr and self.process.stderr.read()

    def go_on(self) -> tuple[int, str, str]:
        out, err = self.process.communicate("go on\n", timeout=300)
        return self.process.returncode, out, err

    def kill(self) -> None:
        self.process.kill()
        self.process.communicate()


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Machine]:
    machine = Machine(tmp_path / "here")
    yield machine
    machine.end()


@pytest.fixture
def machines(tmp_path: Path, collector: CollectorProcess) -> Iterator[tuple[Machine, Machine]]:
    """With journals of their own, and one collector."""
    both = Machine(tmp_path / "here", collector.url), Machine(tmp_path / "there", collector.url)
    yield both
    for machine in both:
        machine.end()


def test_the_second_process_is_refused_in_one_sentence_and_may_force_its_way(machine: Machine) -> None:
    run_id = machine.died()
    first = Waiting(machine, run_id)
    code, out, err = machine.run(run_id)
    assert (code, out) == (1, "")
    assert err.count("\n") <= 2
    since = r"since \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC"
    sentence = rf"run {run_id} is being resumed by process {first.process.pid} {since}; end that, or resume with force"
    assert re.search(f"^playhead: {sentence}$", err, re.MULTILINE)
    code, out, err = machine.run(run_id, "--force")
    assert (code, out.split()[1:]) == (0, ["total", "6"]), err
    code, out, err = first.go_on()
    assert code == 1
    assert f"run {run_id} was taken over by" in err


def test_a_killed_holder_frees_the_run_at_once(machine: Machine) -> None:
    run_id = machine.died()
    first = Waiting(machine, run_id)
    assert machine.run(run_id)[0] == 1
    first.kill()
    code, out, err = machine.run(run_id)
    assert (code, out.split()[1:]) == (0, ["total", "6"]), err
    assert machine.run(run_id)[0] == 0, "it has completed: its result is there for everybody"


@pytest.fixture(scope="module")
def collector(module_database_url: str) -> Iterator[CollectorProcess]:
    with CollectorProcess(database_url=module_database_url) as running:
        yield running


def test_two_machines_do_not_go_on_with_one_run(machines: tuple[Machine, Machine]) -> None:
    here, there = machines
    run_id = here.died(DELIVER="60")
    code, out, err = there.run(run_id, PLAYHEAD_LEASE_SECONDS=AN_HOUR)
    assert (code, out) == (1, "")
    assert f"run {run_id} is still sending: its last spans came at" in err
    # Here the journal says that its process is dead, so nobody has to wait.
    first = Waiting(here, run_id, PLAYHEAD_LEASE_SECONDS=AN_HOUR)
    code, out, err = there.run(run_id)
    assert (code, out) == (1, "")
    assert re.search(rf"run {run_id} belongs to process {first.process.pid} on \S+ since .*; end that, or resume", err)
    first.kill()
    # The lease of a dead process runs out; the machine that it died on need not wait for that.
    assert there.run(run_id)[0] == 1
    code, out, err = here.run(run_id)
    assert (code, out.split()[1:]) == (0, ["total", "6"]), err


def test_a_run_that_was_taken_over_stops_where_it_was_and_says_so(machines: tuple[Machine, Machine]) -> None:
    here, there = machines
    run_id = here.died(DELIVER="60")
    first = Waiting(here, run_id, PLAYHEAD_LEASE_SECONDS="1")
    code, out, err = there.run(run_id, "--force")
    assert (code, out.split()[1:]) == (0, ["total", "6"]), err
    assert first.process.stderr is not None
    assert f"run {run_id} was taken over by another process" in first.process.stderr.readline()
    done = here.effects.read_text()
    code, out, err = first.go_on()
    assert (code, here.effects.read_text()) == (1, done), "it executes nothing more"
    assert "RunTakenOver" in err


def test_another_machine_waits_for_what_was_not_delivered(machines: tuple[Machine, Machine]) -> None:
    here, there = machines
    run_id = here.died(DELIVER="60")
    # Of a resumed one: its lease runs out, and nobody says that it has delivered all.
    code, out, err = here.run(PLAYHEAD_RESUME=run_id, DIE_AT="3", PLAYHEAD_LEASE_SECONDS="0.5")
    assert (code, out.split()) == (-9, [run_id]), err
    refused = ""
    while "which has not said that all its records have arrived" not in refused:
        code, out, refused = there.run(run_id, PLAYHEAD_LEASE_SECONDS="0.5")
        assert (code, out) == (1, ""), "it is held, or still sending, and then undelivered"
    assert re.search(r"belonged to process \d+ on \S+, .* Run `playhead ship` on its machine, .* force", refused)
    code, out, err = here.ship()
    assert code == 0, err
    code, out, err = there.run(run_id)
    assert (code, out.split()[1:]) == (0, ["total", "6"]), err
    assert (here.effects.read_text(), there.effects.read_text()) == ("1 2 2 3 ", "3 "), "nothing is done again unasked"


def test_the_process_that_began_a_run_is_named_until_all_of_it_has_arrived(machines: tuple[Machine, Machine]) -> None:
    here, there = machines
    run_id = here.died(DELIVER="60")
    code, out, err = there.run(run_id, PLAYHEAD_LEASE_SECONDS="0.1")
    assert (code, out) == (1, "")
    process = rf"run {run_id} was recorded by process \d+ on \S+, and nobody has said yet"
    assert re.search(process, err) or "is still sending" in err
    assert here.ship()[0] == 0
    code, out, err = there.run(run_id)
    assert (code, out.split()[1:]) == (0, ["total", "6"]), err


def test_what_another_machine_did_meanwhile_is_not_done_again(machines: tuple[Machine, Machine]) -> None:
    here, there = machines
    run_id = here.died(DELIVER="60")
    command = {"PLAYHEAD_RESUME": run_id, "PLAYHEAD_LEASE_SECONDS": "0"}  # as when the first one's time has run out
    assert there.run(DIE_AT="3", DELIVER="60", **command)[0] == -9
    code, out, err = here.run(run_id)
    assert (code, out.split()[1:]) == (0, ["total", "6"]), err
    assert (here.effects.read_text(), there.effects.read_text()) == ("1 2 3 ", "2 3 ")
