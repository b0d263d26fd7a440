"""A run that is stopped while its program takes that for an error: what is said at the end, and the exit code."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from playhead.errors import RunStopped
from playhead.replaying.stops import StopNote

PROGRAM = """
import os, sys
import playhead
from playhead import observe

@observe(kind="tool")
def charge(amount):
    if os.environ.get("DIE"):
        os._exit(9)
    return amount

@observe
def agent():
    try:
        return charge(int(os.environ.get("AMOUNT", "5")))
    except Exception as error:
        if os.environ.get("RAISES"):
            raise
        return f"the report: {error}"

HOW = os.environ.get("HOW")
if HOW == "block":
    with playhead.resume(os.environ["RUN"]):
        with playhead.run("shop"):
            answer = agent()
elif HOW == "handled":
    try:
        with playhead.resume(os.environ["RUN"]), playhead.run("shop"):
            answer = agent()
    except playhead.InDoubt:
        answer = "handled"
else:
    with playhead.run("shop") as run:
        print(run.id, flush=True)
        answer = agent()
print(type(answer).__name__, flush=True)
if os.environ.get("LEAVES") == "at once":
    os._exit(0)
"""


class Shop:
    """Starts the program in processes that share a journal."""

    def __init__(self, folder: Path):
        self.program = folder / "agent.py"
        self.program.write_text(PROGRAM)
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("OTEL_", "PLAYHEAD_"))}
        self.environ = kept | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "PLAYHEAD_ENDPOINT": "none"}
        self.environ["PLAYHEAD_JOURNAL_DIR"] = str(folder / "j")
        self.folder = folder

    def run(self, *command: str, **environ: str) -> tuple[int, str, str]:
        words = [sys.executable, str(self.program)]
        if command:
            words = [sys.executable, "-c", "from playhead.cli import main; main()", *command, "--", *words]
        env = self.environ | {"TMPDIR": str(self.folder)} | environ
        done = subprocess.run(words, env=env, text=True, capture_output=True, timeout=300, check=False)
        return done.returncode, done.stdout, done.stderr

    def died(self) -> str:
        code, out, err = self.run(DIE="yes")
        assert code == 9, err
        return out.split()[0]


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    return Shop(tmp_path)


def test_a_command_whose_program_caught_what_stopped_the_run_fails_and_says_why(shop: Shop):
    run_id = shop.died()
    code, out, err = shop.run("resume", run_id)
    assert (code, out.split()) == (76, [run_id, "str"])
    assert err.count(f"playhead: run {run_id} was stopped, and what the program did after that is not its end.") == 1
    assert "InDoubt: agent/charge:tool had begun when the process died" in err or "InDoubt: shop/agent/charge" in err
    assert [path.name for path in shop.folder.iterdir() if path.name.startswith("playhead-")] == []


def test_so_does_one_that_ends_without_its_exit_handlers(shop: Shop):
    run_id = shop.died()
    code, _, err = shop.run("resume", run_id, LEAVES="at once")
    assert code == 76
    assert err.count("InDoubt") == 1


def test_a_divergence_is_said_too_and_a_fork_fails_likewise(shop: Shop):
    code, out, err = shop.run()
    assert code == 0, err
    how = ("--at", "charge", "--on-divergence", "raise", "--outcome", "7")
    code, _, err = shop.run("fork", out.split()[0], *how, AMOUNT="6")
    assert code == 76
    assert "ReplayDiverged: " in err


def test_what_nobody_caught_is_not_said_twice(shop: Shop):
    run_id = shop.died()
    code, _, err = shop.run("resume", run_id, RAISES="yes")
    assert code == 76
    assert "Traceback" in err
    assert "playhead: run" not in err


def test_without_the_command_it_is_said_as_well(shop: Shop):
    run_id = shop.died()
    code, out, err = shop.run(PLAYHEAD_RESUME=run_id)
    assert (code, out.split()[1]) == (0, "str"), "the exit code is the program's own"
    assert err.count(f"playhead: run {run_id} was stopped") == 1


def test_a_block_that_the_stop_has_not_left_says_it_at_the_end(shop: Shop):
    run_id = shop.died()
    code, out, err = shop.run(HOW="block", RUN=run_id)
    assert (code, out.split()) == (0, ["str"])
    assert err.count(f"playhead: run {run_id} was stopped") == 1


def test_who_handles_it_outside_of_the_block_has_heard_of_it(shop: Shop):
    run_id = shop.died()
    code, out, err = shop.run(HOW="handled", RUN=run_id, RAISES="yes")
    assert (code, out.split(), err) == (0, ["str"], "")


def test_a_run_that_comes_to_its_end_is_as_it_was(shop: Shop):
    run_id = shop.died()
    code, out, err = shop.run("resume", run_id, "--outcome", "charge=5")
    assert (code, out.split(), err) == (0, [run_id, "int"], "")


def test_a_note_keeps_the_first_reason_and_stops_nobody(tmp_path: Path):
    note = StopNote(tmp_path / "note")
    assert note.read() is None
    note.mark_said()
    assert note.read() is None, "nothing was stopped"
    note.note("first")
    note.note("second")
    assert note.read() == "first"
    note.mark_said()
    assert note.read() == ""
    note.delete()
    note.delete()
    StopNote(tmp_path / "no folder" / "note").note("it cannot be written")
    assert RunStopped.EXIT_CODE == 76
