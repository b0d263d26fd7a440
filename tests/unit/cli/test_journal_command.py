"""`playhead journal`: what the journal has, and what of it is deleted when."""

import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import orjson
import pytest
from typer.testing import CliRunner

import playhead
from playhead import observe
from playhead.cli import app
from playhead.journal.lane import LaneReader, LaneWriter, lanes
from tests.integration.export.test_expiry import call, root
from tests.integration.export.test_without_collector import local_lane
from tests.integration.read.recorded import conversation
from tests.support.readers.journaled import write_journal
from tests.unit.export.records import WHO

HOUR, DAY = 3_600.0, 86_400.0


@pytest.fixture
def journal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PLAYHEAD_JOURNAL_DIR", str(tmp_path))
    return tmp_path


def asked() -> dict[str, Any]:
    done = CliRunner().invoke(app, ["journal", "--json"])
    assert done.exit_code == 0, done.output
    return orjson.loads(done.stdout)


def seconds(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()


def delivered_lane(journal: Path, *frames: bytes) -> Path:
    writer = LaneWriter(journal, fsync=False, resource_frame=WHO)
    for each in frames:
        writer.append(each)
    LaneReader(writer.path).ack(writer.position)
    writer.close()
    return writer.path


@observe(kind="tool")
def tool(x: int) -> int:
    return x


def test_sessions_runs_events_bytes_and_the_oldest_record(journal: Path):
    before = datetime.now(UTC).timestamp()
    playhead.configure(journal_dir=journal, endpoint="none")
    try:
        for session in ("a", "a", "b", None):
            with playhead.run("support", session=session):
                tool(1)
    finally:
        playhead.shutdown()
    found = asked()
    assert (found["sessions"], found["runs"]) == (2, 4)
    assert found["events"] == len(list(playhead.read_local()))
    assert found["bytes"] == sum(path.stat().st_size for path in journal.glob("*/*.segment"))
    assert before - 2 <= seconds(found["oldest_record"]) <= datetime.now(UTC).timestamp()
    assert found["damaged"] == {}
    [process] = found["processes"]
    assert (process["runs"], process["open_runs"], process["living"]) == (4, 0, False)
    assert seconds(process["expires"]) - seconds(process["last_record"]) == DAY
    shown = CliRunner().invoke(app, ["journal"])
    assert shown.exit_code == 0
    assert "512.0 MiB" in shown.stdout


def test_what_is_deleted_when_and_what_keeps_the_rest(journal: Path):
    expected: dict[str, str | None] = {}
    ended = delivered_lane(journal, root("a", ended=False), call("a"), root("a"))
    changed = ended.joinpath("acked").stat().st_mtime - 100
    os.utime(ended / "acked", (changed, changed))
    expected[ended.name] = None
    expected[delivered_lane(journal, root("b", ended=False)).name] = "1 open run"
    undelivered = LaneWriter(journal, fsync=False, resource_frame=WHO)
    undelivered.append(root("c"))
    undelivered.close()
    expected[undelivered.path.name] = "not delivered to the collector"
    elsewhere = LaneWriter(journal, fsync=False, resource_frame=WHO)
    LaneReader(elsewhere.path, "phoenix-x", instead=True).begin()
    elsewhere.append(root("d"))
    elsewhere.close()
    expected[elsewhere.path.name] = "not delivered to phoenix-x"
    local = local_lane(journal, root("e"))
    local.close()
    expected[local.path.name] = None
    living = LaneWriter(journal, fsync=False, resource_frame=WHO)
    expected[living.path.name] = "its process records"
    found = {process["lane"]: process for process in asked()["processes"]}
    assert {lane: process["kept_by"] for lane, process in found.items()} == expected
    assert seconds(found[ended.name]["expires"]) == pytest.approx(changed + HOUR, abs=1)
    assert seconds(found[local.path.name]["expires"]) == seconds(found[local.path.name]["last_record"]) + DAY
    living.close()


def test_damaged_files_and_lost_ends_are_named(journal: Path):
    write_journal(journal, [conversation("01" * 16, 3).batch()])
    [lane] = lanes(journal)
    segment = lane / "00000001.segment"
    data = bytearray(segment.read_bytes())
    data[500:520] = b"\xff" * 20
    segment.write_bytes(data)
    damaged = asked()["damaged"]
    assert list(damaged) == [str(segment)]
    assert damaged[str(segment)] > 20
    os.truncate(segment, len(data) - 1_000)
    found = asked()
    assert found["damaged"][str(segment)] >= 1_000 + 20
    assert found["processes"][0]["lost_bytes"] == 1_000


def test_an_empty_journal_and_one_that_is_not_there_are_no_problem(journal: Path, monkeypatch: pytest.MonkeyPatch):
    assert (asked()["runs"], asked()["oldest_record"], asked()["processes"]) == (0, None, [])
    monkeypatch.setenv("PLAYHEAD_JOURNAL_DIR", str(journal / "none"))
    assert asked()["runs"] == 0
