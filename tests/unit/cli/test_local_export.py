"""`playhead export --local`: sessions of the journal as JSON Lines."""

import re
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import orjson
import pytest
from typer.testing import CliRunner, Result

import playhead
from playhead import observe
from playhead.cli import app
from playhead.model.message import text_message
from tests.integration.read.recorded import Recorder, conversation
from tests.support.readers.journaled import write_journal

RUN, OTHER = "01" * 16, "02" * 16
Export = Callable[..., Result]


@observe(kind="tool")
def look_up(order: str) -> dict[str, Any]:
    return {"order": order, "status": "delayed"}


@pytest.fixture
def export(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Export:
    """The command; it writes into `out`."""
    monkeypatch.setenv("PLAYHEAD_JOURNAL_DIR", str(tmp_path / "journal"))
    return lambda *args: CliRunner().invoke(app, ["export", "--local", "-o", str(tmp_path / "out"), *args])


def recorded(tmp_path: Path, *sessions: str | None) -> list[str]:
    """A run for each of these sessions."""
    runs: list[str] = []
    playhead.configure(journal_dir=tmp_path / "journal", endpoint="none")
    try:
        for session in sessions:
            with playhead.run("support", session=session) as run:
                look_up(f"order {len(runs)}")
            runs.append(str(run.id))
    finally:
        playhead.shutdown()
    return runs


def lines_of(path: Path) -> list[dict[str, Any]]:
    return [orjson.loads(line) for line in path.read_bytes().splitlines()]


def files(tmp_path: Path) -> dict[str, list[dict[str, Any]]]:
    return {str(path.relative_to(tmp_path / "out")): lines_of(path) for path in (tmp_path / "out").rglob("*.jsonl")}


def test_each_session_has_a_file_in_a_folder_of_its_day(tmp_path: Path, export: Export):
    runs = recorded(tmp_path, "conv-1", "conv-2", "conv-1", None)
    done = export()
    assert (done.exit_code, done.stderr) == (0, "")
    found = files(tmp_path)
    days = {name.split("/")[0] for name in found}
    assert all(re.fullmatch(r"\d{4}-\d\d-\d\d", day) for day in days)
    by_name = {name.split("/")[1]: lines for name, lines in found.items()}
    assert set(by_name) == {"conv-1.jsonl", "conv-2.jsonl", f"run-{runs[3]}.jsonl"}
    of_session = by_name["conv-1.jsonl"]
    assert [line["run"] for line in of_session if line["type"] == "run"] == [runs[0], runs[2]]
    events = [line for line in of_session if line["type"] == "event"]
    assert [line["kind"] for line in events if line["run"] == runs[0]][::3] == ["run_started", "run_completed"]
    values = {line["ref"]: line["value"] for line in of_session if line["type"] == "content"}
    [completed] = [line for line in events if line["kind"] == "tool_completed" and line["run"] == runs[2]]
    assert values[completed["refs"]["result"]] == {"order": "order 2", "status": "delayed"}
    [event] = playhead.read_local(runs[0], kinds="run_started")
    assert {"type": "event", **event} in events
    [line] = [line for line in of_session if line["type"] == "run" and line["run"] == runs[0]]
    day = datetime.fromtimestamp(line["started_ns"] / 1e9, UTC).strftime("%Y-%m-%d")
    assert f"{day}/conv-1.jsonl" in found


def test_contexts_are_whole_and_each_message_stands_once(tmp_path: Path, export: Export):
    write_journal(tmp_path / "journal", [conversation(RUN, 3).batch()])
    assert export(RUN).exit_code == 0
    [lines] = files(tmp_path).values()
    nodes = {line["ref"]: line for line in lines if line["type"] == "node"}
    contents = {line["ref"] for line in lines if line["type"] == "content"}
    assert len(contents) + len(nodes) == sum(line["type"] in ("content", "node") for line in lines)
    threads = [
        ref for line in lines if line["type"] == "event" for name, ref in line["refs"].items() if name == "thread"
    ]
    assert threads
    seen: set[str] = set()
    for line in lines:
        if line["type"] == "event":
            assert {ref for name, ref in line["refs"].items() if name == "thread"} <= seen
        else:
            seen.add(line.get("ref", ""))
    for thread in threads:
        at = thread
        while at is not None:
            assert nodes[at]["message"] in contents
            at = nodes[at]["parent"]


def test_large_parts_of_messages_are_there_too(tmp_path: Path, export: Export):
    seen = Recorder(RUN)
    image = {"type": "blob", "mime_type": "image/png", "modality": "image", "content": "iVBORw0KGgoA" * 5_000}
    seen.model([{"role": "user", "parts": [image]}], text_message("assistant", "a cat"))
    write_journal(tmp_path / "journal", [seen.batch()])
    assert export(RUN).exit_code == 0
    [lines] = files(tmp_path).values()
    [part] = [line for line in lines if line["type"] == "content" and line["value"].get("type") == "blob"]
    assert part["value"]["content"] == image["content"]


def test_again_it_adds_what_is_new_and_keeps_what_the_journal_has_no_more(tmp_path: Path, export: Export):
    recorded(tmp_path, "conv-1")
    assert export().exit_code == 0
    [(name, before)] = files(tmp_path).items()
    assert export().exit_code == 0
    assert files(tmp_path) == {name: before}
    recorded(tmp_path, "conv-1")
    path = tmp_path / "out" / name
    path.write_bytes(path.read_bytes() + b'{"type":"event","id":"cut')  # an export that was interrupted
    done = export("--json")
    [after] = files(tmp_path).values()
    assert after[: len(before)] == before
    assert orjson.loads(done.stdout)["lines"] == len(after) - len(before) > 0
    assert sum(line["type"] == "run" for line in after) == 2


@pytest.mark.parametrize("session", ["../../etc/passwd", "a/b", "ü", ".hidden", "run-1", "x" * 300, "a b"])
def test_a_session_of_any_name_has_a_file_of_its_own(tmp_path: Path, export: Export, session: str):
    recorded(tmp_path, session, "a_b")
    assert export().exit_code == 0
    written = list(tmp_path.rglob("*.jsonl"))
    assert len(written) == 2
    assert all(path.parent.parent == tmp_path / "out" for path in written)
    assert all(path.stat().st_mode & 0o777 == 0o600 for path in written)


def test_conditions_choose_runs_and_what_is_wrong_is_said(tmp_path: Path, export: Export):
    recorded(tmp_path, "conv-1", "conv-2")
    assert export("--session", "conv-2").exit_code == 0
    assert [name.split("/")[1] for name in files(tmp_path)] == ["conv-2.jsonl"]
    assert export("--session", "conv-3").exit_code == 1
    assert export("--session", "conv-2", "--all").exit_code == 2
    (tmp_path / "file").write_text("")
    assert export("-o", str(tmp_path / "file")).exit_code == 2
