"""Notes: stored once whoever writes, found by title and alias, rendered within a budget, recorded in runs."""

import json
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import playhead
from playhead.context import TitledNote
from playhead.errors import JournalUnusable
from playhead.model.token_estimates import estimate_value
from tests.support.journal_reader import Recording

WRITER = """
import sys, playhead
notes = playhead.notes("shared")
for number in range(40):
    notes.put("job", f"{sys.argv[1]}-{number}", title=f"job {number} of {sys.argv[1]}")
    notes.put("job", "both", title="both", aliases=[f"{sys.argv[1]}-{number}"])
"""


def test_a_note_is_replaced_by_kind_and_id_and_keeps_its_aliases():
    notes = playhead.notes("user-7")
    notes.put("workflow", "wf-1", title="Daily report", aliases=["my report"])
    notes.put("file", "wf-1", title="another kind")
    stored = notes.put(
        "workflow", "wf-1", title="Daily task report", aliases=["the daily one", "my report"], text="at 8"
    )
    assert stored == TitledNote("workflow", "wf-1", "Daily task report", ("the daily one", "my report"), "at 8")
    assert playhead.notes("user-7").all() == [TitledNote("file", "wf-1", "another kind"), stored]
    assert notes.all("workflow") == [stored]
    assert playhead.notes("user-8").all() == []
    assert (notes.remove("workflow", "wf-1"), notes.remove("workflow", "wf-1")) == (True, False)
    assert [note.kind for note in notes.all()] == ["file"]


def test_candidates_come_best_first_and_two_notes_may_have_one_name():
    notes = playhead.notes("user-7")
    notes.put("workflow", "wf-1", title="Daily task report", aliases=["my task workflow"])
    notes.put("workflow", "wf-2", title="Weekly report", aliases=["My Task Workflow!"])
    notes.put("workflow", "wf-3", title="My task workflow for sales")
    notes.put("workflow", "wf-4", title="Sales: the task")
    notes.put("workflow", "wf-5", title="Invoices")
    found = notes.find("my task workflow")
    assert [(match.id, match.score) for match in found[:3]] == [("wf-2", 1.0), ("wf-1", 1.0), ("wf-3", 0.9)]
    assert found[0].matched == "My Task Workflow!"
    assert notes.find("sales task")[0].id in ("wf-3", "wf-4")
    assert [match.id for match in notes.find("invoices", kind="file")] == []
    assert notes.find("wf-5")[0].id == "wf-5"
    assert notes.find("nothing of this") == notes.find("") == []
    assert len(notes.find("my task workflow", limit=1)) == 1


@pytest.mark.parametrize("budget", [0, 5, 20, 60, 10_000])
def test_rendered_notes_keep_to_the_budget_and_say_what_is_left_out(budget: int):
    notes = playhead.notes("user-7")
    for number in range(12):
        notes.put("job", str(number), title=f"Job {number}", aliases=[f"j{number}"], text="It runs\n at night.")
    text = notes.render(max_tokens=budget)
    lines = text.splitlines()
    shown = [line for line in lines if not line.endswith("more)")]
    assert estimate_value(text) <= budget
    assert [line.split()[2] for line in shown] == [f"{number}:" for number in range(11, 11 - len(shown), -1)]
    assert len(shown) == 12 or lines == [] or lines[-1] == f"- ({12 - len(shown)} more)"
    if budget == 10_000:
        assert lines[0] == "- job 11: Job 11 (also: j11): It runs at night."
        assert len(shown) == 12


def test_processes_that_write_at_the_same_time_lose_nothing(tmp_path: Path):
    env = {**os.environ, "PLAYHEAD_JOURNAL_DIR": str(tmp_path), "PLAYHEAD_ENDPOINT": ""}
    writers = [subprocess.Popen([sys.executable, "-c", WRITER, name], env=env) for name in ("a", "b", "c")]
    assert [writer.wait(120) for writer in writers] == [0, 0, 0]
    [path] = (tmp_path / "notes").glob("*.json")
    stored = json.loads(path.read_bytes())
    ids = {note["id"] for note in stored["notes"]}
    assert ids == {f"{name}-{number}" for name in "abc" for number in range(40)} | {"both"}
    [both] = [note for note in stored["notes"] if note["id"] == "both"]
    assert set(both["aliases"]) == ids - {"both"}
    assert [each.name for each in (tmp_path / "notes").iterdir() if each.suffix not in (".json", ".lock")] == []
    assert path.stat().st_mode & 0o777 == 0o600


def test_threads_that_write_at_the_same_time_lose_nothing():
    notes = playhead.notes("threads")

    def write(name: str) -> None:
        for number in range(10):
            notes.put("job", f"{name}{number}", title="x")

    threads = [threading.Thread(target=write, args=(name,)) for name in "abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert len(notes.all()) == 40


def test_what_cannot_be_kept_is_said(recording: Recording):
    notes = playhead.notes("user-7")
    with pytest.raises(ValueError, match="at most 20000 characters"):
        notes.put("job", "1", title="x", text="y" * 20_000)
    notes.put("job", "1", title="x")
    [path] = (recording.folder / "notes").glob("*.json")
    path.write_text("{")
    with pytest.raises(JournalUnusable, match="it is damaged"):
        notes.all()
    with pytest.raises(JournalUnusable, match="it is damaged"):
        notes.put("job", "2", title="x")
    assert path.read_text() == "{"


def test_a_resumed_run_reads_what_it_read_and_writes_nothing_twice():
    notes, ids, seen = playhead.notes("user-7"), list[str](), list[object]()
    notes.put("job", "1", title="first")

    def program(*, fails: bool) -> None:
        with playhead.run("agent") as run:
            ids.append(str(run.id))
            seen.append([match.note.title for match in notes.find("first")])
            seen.append(notes.render())
            seen.append(notes.put("job", "2", title="second").title)
            seen.append(len(notes.all()))
            if fails:
                raise RuntimeError("killed")

    with pytest.raises(RuntimeError):
        program(fails=True)
    notes.remove("job", "1")
    notes.put("job", "2", title="changed since")
    with playhead.resume(ids[0]):
        program(fails=False)
    assert seen[4:] == seen[:4] == [["first"], "- job 1: first", "second", 2]
    assert [note.title for note in notes.all()] == ["changed since"]
