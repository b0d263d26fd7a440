"""A record whose end is lost: what was completed there is not executed again without a word."""

import os
import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import playhead
from playhead import observe
from playhead.errors import InDoubt, NoRecord
from playhead.journal.frame import HEADER_BYTES, readable_frames
from playhead.journal.lane import LaneReader, lanes
from playhead.settings.sdk import load
from tests.support.journal_reader import Recording

STEPS = 12
effects: list[int] = []


@observe(kind="tool")
def pay(amount: int) -> int:
    effects.append(amount)
    return amount


def program(steps: int = STEPS) -> int:
    return sum(pay(number) for number in range(steps))


class Died(BaseException):
    """Raised in place of a kill: the run has no end."""


def record(recording: Recording, monkeypatch: pytest.MonkeyPatch) -> tuple[str, Path]:
    """A run that was killed, and the file that it is in."""
    from playhead.journal.recorder import JournalRecorder

    with monkeypatch.context() as patch:
        run = playhead.run("shop")
        run.__enter__()
        assert run.id is not None
        program()
        patch.setattr(JournalRecorder, "journal_end", lambda *_: None)  # what a killed process does not record
        run.__exit__(None, None, None)
    playhead.shutdown()
    recording.configure()
    [segment] = recording.folder.glob("*/*.segment")
    effects.clear()
    return run.id, segment


def resume(run_id: str, **how: object) -> None:
    with playhead.resume(run_id, **how), playhead.run("shop"):  # pyright: ignore[reportArgumentType]
        program()


def boundaries(segment: Path) -> list[int]:
    """Where its frames end."""
    return [end for _, _, end in readable_frames(segment.read_bytes())]


def test_a_whole_record_is_resumed(recording: Recording, monkeypatch: pytest.MonkeyPatch):
    run_id, _ = record(recording, monkeypatch)
    resume(run_id)
    assert effects == []


@pytest.mark.parametrize("where", ["between two records", "within a record", "within the last header"])
def test_a_record_that_lost_its_end_stops_before_anything_is_executed(
    recording: Recording, monkeypatch: pytest.MonkeyPatch, where: str
):
    run_id, segment = record(recording, monkeypatch)
    ends = boundaries(segment)
    size = {"between two records": ends[-8], "within a record": ends[-8] + 40, "within the last header": ends[-2] + 3}
    os.truncate(segment, size[where])
    with pytest.raises(InDoubt, match="the end of the record of run .* is lost") as stopped:
        resume(run_id)
    assert str(segment) in str(stopped.value)
    assert effects == []


@pytest.mark.parametrize("seed", range(8))
def test_no_random_truncation_executes_anything_again_silently(
    recording: Recording, monkeypatch: pytest.MonkeyPatch, seed: int
):
    run_id, segment = record(recording, monkeypatch)
    os.truncate(segment, random.Random(seed).randrange(segment.stat().st_size))
    with pytest.raises((InDoubt, NoRecord)):
        resume(run_id)
    assert effects == []


def test_who_has_looked_can_let_it_go_on(
    recording: Recording, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    run_id, segment = record(recording, monkeypatch)
    os.truncate(segment, boundaries(segment)[-8])
    resume(run_id, in_doubt="rerun")
    assert 0 < len(effects) < STEPS
    assert "is lost" in caplog.text
    effects.clear()
    resume(run_id)  # what was lost was executed again, and is recorded
    assert effects == []


def test_a_torn_record_is_warned_of_where_nothing_notes_how_much_was_written(
    recording: Recording, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    """As with what a process wrote in the moment before it was killed, and when it was killed amid a write."""
    run_id, segment = record(recording, monkeypatch)
    (segment.parent / "written").unlink()
    os.truncate(segment, boundaries(segment)[-3] + HEADER_BYTES + 5)
    with pytest.raises(InDoubt, match="had begun when the process died"):
        resume(run_id)
    assert "the last record in" in caplog.text
    assert str(segment) in caplog.text


def test_the_loss_of_other_runs_records_is_not_this_one_s(recording: Recording, monkeypatch: pytest.MonkeyPatch):
    run_id = ""

    def fail() -> None:
        nonlocal run_id
        with playhead.run("shop") as run:
            run_id = str(run.id)
            program()
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    with playhead.run("another"):
        pay(1_000)
    playhead.shutdown()
    [segment] = recording.folder.glob("*/*.segment")
    os.truncate(segment, boundaries(segment)[-1] - 10)
    recording.configure()
    effects.clear()
    resume(run_id)
    assert effects == []


KILLED = """
import os, signal
from pathlib import Path
import playhead
from playhead import observe
from playhead.journal.lane import lanes, position_in

@observe(kind="tool")
def pay(amount):
    return amount

with playhead.run("shop") as run:
    [lane] = lanes(Path(os.environ["PLAYHEAD_JOURNAL_DIR"]))
    while position_in(lane / "written").offset <= 4_000:
        pay(5)
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.skipif(os.name != "posix", reason="signals as POSIX has them")
def test_what_a_killed_process_wrote_is_noted_beside_its_file(tmp_path: Path):
    environ = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
        "PLAYHEAD_JOURNAL_DIR": str(tmp_path / "killed"),
        "PLAYHEAD_ENDPOINT": "http://127.0.0.1:9",
    }
    done = subprocess.run([sys.executable, "-c", KILLED], env=environ, timeout=300, check=False)
    assert done.returncode == -signal.SIGKILL
    [lane] = lanes(load(environ).journal_dir)
    reader = LaneReader(lane)
    assert reader.lost_ends() == []
    os.truncate(reader.segment_path(1), 2_000)
    assert [end.at.offset for end in reader.lost_ends()] == [2_000]
