"""The recipes in examples/recipes run as they stand: LiteLLM's Router, a workflow of DBOS that dies and is recovered,
activities of Temporal without a server; a growing chat by reference in both engines."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from playhead.local.client import JournalClient
from playhead.model.canonical import parse_json
from playhead_collector.process import CollectorProcess

RECIPES = Path(__file__).parents[2] / "examples" / "recipes"


def run(recipe: str, folder: Path, *arguments: str, code: int = 0, **environment: str) -> str:
    variables = {**os.environ, "PLAYHEAD_JOURNAL_DIR": str(folder / "journal"), "PLAYHEAD_ENDPOINT": "", **environment}
    done = subprocess.run(
        [sys.executable, RECIPES / recipe, *arguments],
        env=variables, capture_output=True, text=True, timeout=180, check=False,
    )  # fmt: skip
    assert done.returncode == code, done.stderr
    return done.stdout


def record(folder: Path) -> list[tuple[str | None, list[Any]]]:
    """Session of each run, oldest first, with its model calls and the choices before them."""
    runs: list[tuple[str | None, list[Any]]] = []
    with JournalClient(folder / "journal", pytest.fail) as journal:
        for row in reversed(list(journal.runs())):
            entries: list[Any] = []
            for event in journal.events(row["run"]):
                if event["kind"] in ("llm_completed", "llm_failed"):
                    entries.append(event["kind"].removeprefix("llm_") + " " + str(event["data"].get("model")))
                elif event["kind"] == "orchestration_decision":
                    note: Any = parse_json(journal.content(event["refs"]["annotation"]).data)
                    entries.append((note["decision"], note["alternatives"]))
            runs.append((row.get("session"), entries))
    return runs


def test_litellms_router_falls_back_behind_the_choice(tmp_path: Path) -> None:
    assert run("litellm_router.py", tmp_path) == "small A short answer.\nsmall A short answer.\n"
    [(_, entries)] = record(tmp_path)
    assert entries == [("cheap", ["smart"]), "completed small", ("smart", ["cheap"]), "completed small"]


FELL_BACK = [("large", ["small"]), "failed large", ("small", ["large"]), "completed small"]
STILL_COOLS_DOWN = [("small", ["large"]), "completed small"]


def test_a_step_of_a_workflow_is_in_the_record_once_though_the_program_died(tmp_path: Path) -> None:
    once = str(tmp_path / "once")
    run("dbos_workflow.py", tmp_path, str(tmp_path), code=9, DIE_ONCE=once)
    assert run("dbos_workflow.py", tmp_path, str(tmp_path), DIE_ONCE=once) == "done\n"
    # Each step in a process of its own: what cools down is not known to the next one.
    assert record(tmp_path) == [("document-1", FELL_BACK), ("document-1", FELL_BACK)]
    assert run("dbos_workflow.py", tmp_path, str(tmp_path)) == "done\n"
    assert len(record(tmp_path)) == 2


def test_the_steps_of_one_process_leave_out_what_cools_down(tmp_path: Path) -> None:
    assert run("dbos_workflow.py", tmp_path, str(tmp_path)) == "done\n"
    assert record(tmp_path) == [("document-1", FELL_BACK), ("document-1", STILL_COOLS_DOWN)]


def test_an_activity_runs_without_a_server_and_its_session_is_the_workflow(tmp_path: Path) -> None:
    assert run("temporal_activity.py", tmp_path) == "done\n"
    [(session, entries)] = record(tmp_path)
    assert (session, entries) == ("test", FELL_BACK)


# --- a growing chat by reference --------------------------------------------------------------------------------------

STEPS = 40


def stored_bytes(recipe: str, folder: Path, *arguments: str, **environment: str) -> int:
    folder.mkdir()
    chat, stored = run(recipe, folder, *arguments, **environment).splitlines()
    assert chat.split()[0] == str(2 * STEPS)
    return int(stored.split()[0])


def test_dbos_stores_refs_of_a_growing_chat(tmp_path: Path, collector: CollectorProcess) -> None:
    def of(folder: Path, endpoint: str) -> int:
        return stored_bytes("dbos_history.py", folder, str(folder), "chat", str(STEPS), PLAYHEAD_ENDPOINT=endpoint)

    lists, refs = of(tmp_path / "lists", "none"), of(tmp_path / "refs", collector.url)
    assert refs <= 0.2 * lists


def test_a_workflow_that_died_goes_on_with_the_same_chat(tmp_path: Path, collector: CollectorProcess) -> None:
    once = str(tmp_path / "once")
    arguments = ("dbos_history.py", tmp_path, str(tmp_path))
    run(*arguments, code=9, DIE_ONCE=once, PLAYHEAD_ENDPOINT=collector.url)
    out = run(*arguments, DIE_ONCE=once, PLAYHEAD_ENDPOINT=collector.url)
    assert out.splitlines()[0] == "10 answer 4, of 9 messages"


def test_temporal_would_store_refs_of_a_growing_chat(tmp_path: Path, collector: CollectorProcess) -> None:
    def of(folder: Path, endpoint: str) -> int:
        return stored_bytes("temporal_history.py", folder, str(STEPS), PLAYHEAD_ENDPOINT=endpoint)

    lists, refs = of(tmp_path / "lists", "none"), of(tmp_path / "refs", collector.url)
    assert refs <= 0.2 * lists
