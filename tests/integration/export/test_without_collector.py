"""`PLAYHEAD_ENDPOINT=none`: nothing is sent anywhere, and runs that have ended go by age and by size."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

import playhead
from playhead.errors import SettingInvalid
from playhead.export.dead_lane_delivery import ship_orphans
from playhead.export.expiry import DeadLaneExpiry, OwnLaneExpiry
from playhead.journal.lane import LaneReader, LaneWriter, lanes
from playhead.journal.quota import free_space
from playhead.settings.sdk import load
from tests.integration.export.fake_collector import FakeCollector
from tests.integration.export.test_expiry import call, root
from tests.unit.export.records import WHO, span

HOUR, DAY = 3_600.0, 86_400.0
ROOT = Path(__file__).parents[3]

PROGRAM = """
import os, sys
from pathlib import Path
connections = []
sys.addaudithook(lambda event, args: connections.append(args) if event == "socket.connect" else None)
import playhead
from playhead import observe

JOURNAL = Path(os.environ["PLAYHEAD_JOURNAL_DIR"])

@observe(kind="tool")
def tool(x, size=10):
    return f"{x}." * (size // 2)
"""


def run(journal: Path, body: str, **environ: str) -> str:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("OTEL_", "PLAYHEAD_"))}
    own = {
        "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "src"), str(ROOT / "collector")]),
        "PLAYHEAD_JOURNAL_DIR": str(journal), "PLAYHEAD_ENDPOINT": "none", "PLAYHEAD_LINGER_SECONDS": "0.05",
    }  # fmt: skip
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", PROGRAM + body],
        env=kept | own | environ, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


@pytest.fixture
def journal(tmp_path: Path) -> Path:
    return tmp_path / "journal"


def test_nobody_is_asked_for_anything_neither_while_it_runs_nor_at_the_end(journal: Path):
    said = run(
        journal,
        """
import atexit
atexit.register(lambda: print(connections, "httpx" in sys.modules))
with playhead.run("shop") as run:
    tool(1)
assert playhead.flush(60)
with playhead.resume(run.id), playhead.run("shop"):
    tool(1)
assert playhead.flush(60)
""",
    )
    assert said == "[] False\n"


def test_a_full_journal_deletes_the_oldest_ended_runs_and_drops_nothing(journal: Path):
    said = run(
        journal,
        """
ids = []
for number in range(200):
    with playhead.run("shop") as run:
        ids.append(run.id)
        for x in range(4):
            tool(f"{number} {x}", 20_000)
    if number % 20 == 0:
        assert playhead.flush(60)
counters = playhead.counters()
assert (counters["payloads_dropped"], counters["records_lost"]) == (0, 0), counters
assert sum(path.stat().st_size for path in JOURNAL.rglob("*.segment")) < 4 * 2**20
runs = {event["run"] for event in playhead.read_local()}
assert set(ids[-8:]) <= runs
assert ids[0] not in runs
last = list(playhead.read_local(ids[-1]))
assert last[0]["kind"] == "run_started" and last[-1]["kind"] == "run_completed"
""",
        PLAYHEAD_JOURNAL_MAX_BYTES="4 MiB",
    )
    assert said == ""


def local_lane(journal: Path, *frames: bytes, segment_bytes: int = 2**20) -> LaneWriter:
    writer = LaneWriter(journal, fsync=False, resource_frame=WHO, segment_bytes=segment_bytes)
    LaneReader(writer.path).note_no_collector()
    for each in frames:
        writer.append(each)
    return writer


def test_dead_processes_ended_runs_go_a_day_after_their_end(journal: Path):
    ended, open_run = local_lane(journal, root("a")), local_lane(journal, root("b", ended=False))
    for writer in (ended, open_run):
        writer.close()

    def after(seconds: float) -> list[Path]:
        wall = time.time() + seconds
        DeadLaneExpiry(journal, HOUR, lambda: wall, local_keep_seconds=DAY).run_once(journal / "own")
        return lanes(journal)

    assert after(DAY - HOUR) == [ended.path, open_run.path]
    assert after(DAY + HOUR) == [open_run.path]


def test_a_run_is_kept_for_its_time_after_its_end_in_a_living_process_too(journal: Path):
    """Its beginning is in an older segment than its end."""
    clock = [time.time()]
    lane = local_lane(journal, root("a", ended=False), call("a"))
    expiry = OwnLaneExpiry(lane.path, DAY, lane.start_segment, lambda: clock[0], after_end=True)

    def look(at: float) -> list[int]:
        clock[0] = at
        for number in LaneReader(lane.path).segments():  # as old as the clock says
            path = LaneReader(lane.path).segment_path(number)
            if number not in changed:
                changed[number] = at
            os.utime(path, (changed[number], changed[number]))
        expiry.run_once()
        return LaneReader(lane.path).segments()

    changed: dict[int, float] = {}
    begin = clock[0]
    look(begin)
    look(begin + 2 * HOUR)
    lane.append(root("a"))  # it ends two hours later, in another segment
    look(begin + 4 * HOUR)
    lane.append(root("b", ended=False))
    assert 1 in look(begin + DAY + HOUR)
    assert 1 not in look(begin + DAY + 8 * HOUR)
    lane.close()


def test_room_is_made_of_the_oldest_ended_runs_only(journal: Path):
    dead = local_lane(journal, *[root(f"dead{number}") for number in range(3)])
    dead.close()
    opened = local_lane(journal, root("open", ended=False))
    opened.close()
    filler = "x" * 300
    own = local_lane(
        journal, *[span(n, **{"playhead.run.id": f"own{n}", "playhead.run.root": True, "x": filler}) for n in range(8)],
        segment_bytes=400,
    )  # fmt: skip
    numbers = LaneReader(own.path).segments()
    assert free_space(journal, own.path, 1) > 0
    assert not dead.path.exists()
    assert LaneReader(own.path).segments() == numbers
    free_space(journal, own.path, 700)
    assert LaneReader(own.path).segments() == numbers[2:]
    free_space(journal, own.path, 10**9)
    assert LaneReader(own.path).segments() == numbers[-1:]
    assert opened.path.exists()
    own.close()


def test_ship_sends_what_was_kept_when_a_collector_is_named_and_no_other_process_does(
    journal: Path, collector: FakeCollector
):
    run(journal, "tool(1)")
    run(journal, "tool(2)\nassert playhead.flush(60)", PLAYHEAD_ENDPOINT=collector.url)
    assert len(collector.spans) == 1
    report = ship_orphans(journal, load({}, endpoint="none"))
    assert (report.spans, report.left, report.problem) == (0, 0, "")
    assert ship_orphans(journal, load({}, endpoint=collector.url)).spans == 1
    assert len(collector.spans) == 2


def test_a_client_says_what_there_is_in_place_of_a_collector(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PLAYHEAD_ENDPOINT", "none")
    monkeypatch.delenv("PLAYHEAD_COLLECTOR_URL", raising=False)
    with pytest.raises(SettingInvalid, match="there is no collector: ask the journal"):
        playhead.Client()


def test_counters_say_how_much_was_recorded_and_how_long_that_takes(journal: Path):
    said = run(
        journal,
        """
assert playhead.counters() == {}
playhead.configure()
counters = playhead.counters()
nothing = [counters[name] for name in ("records", "append_ms", "read_ms", "journal_files")]
assert nothing == [0, None, None, []]
with playhead.run("shop"):
    for x in range(100):
        tool(x)
counters = playhead.counters()
assert counters["records"] == 2 * 101
took = counters["append_ms"]
assert 0 < took["p50"] <= took["p99"] <= took["max"] < 10_000
assert counters["journal_files"] == [path.stat().st_size for path in sorted(JOURNAL.glob("*/*.segment"))]
assert len(list(playhead.read_local())) > 200
assert 0 < playhead.counters()["read_ms"]["p50"] < 100_000
""",
    )
    assert said == ""


def test_the_command_asks_the_journal(journal: Path):
    run(journal, 'with playhead.run("shop"): tool(1)')
    said = run(
        journal,
        """
from playhead.cli import app
sys.argv = ["playhead", "runs"]
try:
    app()
except SystemExit as end:
    assert not end.code
assert connections == []
""",
    )
    assert "shop" in said
