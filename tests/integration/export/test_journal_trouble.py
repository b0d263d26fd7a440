"""A disk that says no under a program that goes on: nothing is lost without a word, and all recovers."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import orjson
import pytest

from playhead.export.dead_lane_delivery import ship_orphans
from playhead.journal.lane import LaneWriter, lanes
from playhead.settings.sdk import load
from tests.integration.export.fake_collector import FakeCollector
from tests.unit.export.records import WHO, span

ROOT = Path(__file__).parents[3]
pytestmark = pytest.mark.skipif(os.name != "posix", reason="descriptors and file systems as POSIX has them")

PROGRAM = """
import errno, os, resource, shutil, sys, time
from pathlib import Path
import playhead
from playhead import observe

JOURNAL = Path(os.environ["PLAYHEAD_JOURNAL_DIR"])

@observe(kind="tool")
def tool(x, size=10):
    return f"{x}." * (size // 2)

def lost():
    return playhead.counters()["records_lost"]

def remove(folder):
    # The thread that ships may make a file there, or delete one, while the folder is removed.
    while folder.exists():
        try:
            shutil.rmtree(folder)
        except FileNotFoundError:
            pass
        except OSError as error:
            if error.errno != errno.ENOTEMPTY:
                raise

def block(folder):
    # The thread that ships may make the folder again before there is a file in its place.
    while not folder.is_file():
        remove(folder)
        try:
            folder.write_text("in the way")
        except IsADirectoryError:
            pass
"""


def run(collector: FakeCollector, journal: Path, body: str, *before: str, **environ: str) -> str:
    program = subprocess.run(
        [*before, sys.executable, "-W", "error", "-c", PROGRAM + body],
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "src")]),
            "PLAYHEAD_JOURNAL_DIR": str(journal),
            "PLAYHEAD_ENDPOINT": collector.url,
            "PLAYHEAD_LINGER_SECONDS": "0.05",
            **environ,
        },
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert program.returncode == 0, program.stderr
    assert "Traceback" not in program.stderr, program.stderr
    return program.stderr


def asked_for(collector: FakeCollector) -> set[int]:
    """The arguments of all calls that arrived, by their spans."""
    arguments = [orjson.loads(data) for data in collector.contents.values() if data.startswith(b'{"')]
    return {each["x"] for each in arguments if isinstance(each.get("x"), int)}


@pytest.mark.parametrize("removed", ["JOURNAL", "next(JOURNAL.glob('*-*'))", "JOURNAL.parent"])
def test_a_folder_that_is_removed_under_a_program_costs_nothing(collector: FakeCollector, tmp_path: Path, removed: str):
    body = f"""
with playhead.run("r"):
    tool(1)
    remove({removed})
    assert playhead.flush(60)
    tool(2)
    remove({removed})
    tool(3)
    tool(4)
assert playhead.flush(60)
remove({removed})
tool(5)
assert lost() == 0
"""
    run(collector, tmp_path / "state" / "journal", body)
    assert asked_for(collector) == {1, 2, 3, 4, 5}


def test_a_file_that_is_removed_or_moved_costs_nothing(collector: FakeCollector, tmp_path: Path):
    body = """
tool(1)
next(JOURNAL.glob("*/*.segment")).unlink()
tool(2)
assert playhead.flush(60)
next(JOURNAL.glob("*/*.segment")).rename(JOURNAL / "moved")
assert playhead.flush(60)
JOURNAL.rename(JOURNAL.with_name("moved"))
tool(3)
assert playhead.flush(60)
assert lost() == 0
"""
    run(collector, tmp_path / "journal", body)
    assert asked_for(collector) == {1, 2, 3}


@pytest.mark.parametrize("size", [0, 100, 20_000])
def test_a_file_that_is_cut_costs_what_was_cut_off_and_flush_says_so_once(
    collector: FakeCollector, tmp_path: Path, size: int
):
    """As log rotation does, which copies a file and then truncates it."""
    body = f"""
for x in range(100):
    tool(x)
assert playhead.flush(60)
[segment] = JOURNAL.glob("*/*.segment")
os.truncate(segment, {size})
for x in range(100, 340):
    tool(x)
assert not playhead.flush(20)
assert lost() > 0
assert playhead.counters()["damaged_bytes"] > 0
for x in range(340, 400):
    tool(x)
assert playhead.flush(60)
"""
    err = run(collector, tmp_path / "journal", body)
    assert asked_for(collector) >= set(range(400))
    assert err.count("records are lost: somebody has cut") == 1


def test_what_is_cut_off_before_it_is_delivered_is_counted(collector: FakeCollector, tmp_path: Path):
    body = """
for x in range(100):
    tool(x)
[segment] = JOURNAL.glob("*/*.segment")
os.truncate(segment, 100)
assert not playhead.flush(20)
assert lost() == 200, lost()  # each call's beginning and end
assert playhead.flush(60)
[first, segment] = sorted(JOURNAL.glob("*/*.segment"))
for x in range(100, 110):
    tool(x)
assert playhead.flush(60)  # what is delivered cannot be lost any more
size = segment.stat().st_size
for x in range(110, 140):
    tool(x)
os.truncate(segment, size - 1)
assert not playhead.flush(20)
assert lost() == 200 + 60, lost()
assert playhead.flush(60)
"""
    run(collector, tmp_path / "journal", body, PLAYHEAD_LINGER_SECONDS="60")


def test_damage_within_a_living_process_s_file_makes_flush_false_once(collector: FakeCollector, tmp_path: Path):
    body = """
for x in range(100):
    tool(x)
[segment] = JOURNAL.glob("*/*.segment")
with segment.open("r+b") as file:
    file.seek(5_000)
    file.write(b"\\xff" * 50)
assert not playhead.flush(20)
assert lost() == 1
assert playhead.flush(60)
"""
    run(collector, tmp_path / "journal", body, PLAYHEAD_LINGER_SECONDS="60")


def test_while_a_folder_cannot_be_made_again_everything_is_delivered_from_memory(
    collector: FakeCollector, tmp_path: Path
):
    body = """
tool(1)
block(JOURNAL)
assert playhead.flush(60)
tool(2)
assert playhead.flush(60)
assert lost() == 0
assert playhead.counters()["records_unwritten"] > 0
JOURNAL.unlink()
tool(3)
assert playhead.flush(60)
assert lost() == 0
assert list(JOURNAL.glob("*/*.segment"))
"""
    err = run(collector, tmp_path / "journal", body)
    assert asked_for(collector) == {1, 2, 3}
    assert err.count("PLAYHEAD_JOURNAL_DIR") == 1


def test_what_was_lost_makes_the_next_flush_false_once(collector: FakeCollector, tmp_path: Path):
    body = """
JOURNAL.write_text("in the way")
for x in range(30):
    tool(x, 1_000_000)
assert lost() > 0
JOURNAL.unlink()
assert not playhead.flush(20)
assert playhead.flush(60)
tool(100)
assert playhead.flush(60)
"""
    err = run(collector, tmp_path / "journal", body)
    assert 100 in asked_for(collector)
    assert err.count("records are being lost") == 1


@pytest.mark.parametrize("when", ["before the first call", "later"])
def test_without_descriptors_nothing_is_lost_and_nothing_is_said_to_be_delivered(
    collector: FakeCollector, tmp_path: Path, when: str
):
    body = f"""
import httpx, socket, encodings.idna

_, most = before = resource.getrlimit(resource.RLIMIT_NOFILE)
if {when == "later"}:
    tool(1)
    assert playhead.flush(60)
else:
    playhead.configure()
resource.setrlimit(resource.RLIMIT_NOFILE, (3, most))  # also for a descriptor that a thread of ours frees meanwhile
try:
    os.open("/dev/null", os.O_RDONLY)
except OSError as error:
    assert error.errno == errno.EMFILE
else:
    raise AssertionError("descriptors are left")
for x in range(2, 12):
    tool(x, 20_000)
assert not playhead.flush(1)
assert lost() == 0
resource.setrlimit(resource.RLIMIT_NOFILE, before)
tool(12)
assert playhead.flush(60)
assert lost() == 0
"""
    run(collector, tmp_path / "journal", body, PLAYHEAD_JOURNAL_MAX_BYTES="800 KiB")  # segments of 100 kB
    assert asked_for(collector) - {1} == set(range(2, 13))


def test_first_calls_of_every_kind_are_recorded_without_descriptors(collector: FakeCollector, tmp_path: Path):
    """What these calls need is loaded with Playhead: nothing of it is looked for in files."""
    body = """
import asyncio, dataclasses, datetime, decimal, enum, fractions, pathlib, uuid, zoneinfo, httpx

@dataclasses.dataclass
class Found:
    name: str

class Color(enum.Enum):
    RED = 1

@observe(kind="tool")
def fails(x):
    raise ValueError(x)

@observe(kind="tool")
async def waits(x):
    return x

@observe(kind="tool")
def yields(x):
    yield x

@observe
def deep(x, depth=60):
    return deep(x, depth - 1) if depth else tool(x)

values = [Found("a"), decimal.Decimal(1), fractions.Fraction(1, 3), Color.RED, {1, 2}, b"x", pathlib.Path("x"), 1j]
values += [uuid.uuid4(), datetime.datetime.now(zoneinfo.ZoneInfo("UTC")), datetime.timedelta(1), float("nan")]
loop = asyncio.new_event_loop()
playhead.configure()
before = resource.getrlimit(resource.RLIMIT_NOFILE)
resource.setrlimit(resource.RLIMIT_NOFILE, (3, before[1]))
try:
    fails(1)
except ValueError:
    pass
loop.run_until_complete(waits(2))
list(yields(3))
deep(4)
with observe("block") as block:
    block.output(tool(5))
for value in values:
    tool(value)
resource.setrlimit(resource.RLIMIT_NOFILE, before)
assert playhead.counters()["records"] == 2 * (3 + 1 + 1 + len(values)) + 61 + 1 + 2, playhead.counters()["records"]
assert playhead.flush(60)
assert lost() == 0
loop.close()
"""
    err = run(collector, tmp_path / "journal", body)
    assert "could not" not in err.replace("could not write to the journal", "")
    assert set(range(1, 6)) <= asked_for(collector)


def test_a_daemon_that_closes_all_descriptors_goes_on_recording_and_its_own_files_are_its_own(
    collector: FakeCollector, tmp_path: Path
):
    body = f"""
import threading

def shipper_rests():
    # Whether the thread that ships waits for more records, with no file open. One that it has open now, it would close
    # under a number that is theirs by then; so with files that it imports, which are imported here.
    for thread in threading.enumerate():
        if thread.name == "playhead-ship":
            frame, found = sys._current_frames()[thread.ident], []
            while frame is not None:
                found.append((frame.f_code.co_name, frame.f_locals))
                frame = frame.f_back
            waits = [name for name, _ in found[:2]] == ["wait", "wait"]
            return waits and any(name == "_await_work" and "end" in local for name, local in found)
    return False

import playhead.export.delivery
files = [open(Path({str(tmp_path)!r}) / f"theirs {{n}}", "w") for n in range(3)]  # of the program, before
tool(1)
while not shipper_rests():
    time.sleep(0.001)
os.closerange(3, 500)
theirs = [os.open(Path({str(tmp_path)!r}) / f"new {{n}}", os.O_RDWR | os.O_CREAT) for n in range(30)]
tool(2)
tool(3)
assert playhead.flush(60)
tool(4)
playhead.shutdown()
for fd in theirs:
    assert os.fstat(fd).st_size == 0
    os.write(fd, b"theirs")
    os.close(fd)
os._exit(0)
"""
    run(collector, tmp_path / "journal", body, PLAYHEAD_LINGER_SECONDS="60")  # longer than the program may be slow
    assert asked_for(collector) == {1, 2, 3, 4}
    assert {path.read_bytes() for path in tmp_path.glob("new *")} == {b"theirs"}


def in_a_small_disk(size: str) -> list[str]:
    """A command that runs a program with a file system of its own, of this size, at `/mnt`."""
    mount = f'mount -t tmpfs -o size={size} tmpfs /mnt && mkdir /mnt/journal && exec "$@"'
    return ["unshare", "--mount", "sh", "-c", mount, "sh"]


def can_have_a_small_disk() -> bool:
    return (
        shutil.which("unshare") is not None
        and subprocess.run([*in_a_small_disk("1m"), "true"], check=False, capture_output=True).returncode == 0
    )


@pytest.mark.skipif(not can_have_a_small_disk(), reason="nobody may mount a file system here")
def test_a_full_disk_recovers_when_the_collector_has_taken_what_is_on_it(collector: FakeCollector):
    body = """
def free():
    state = os.statvfs("/mnt")
    return state.f_bavail * state.f_bsize

import threading
assert playhead.flush(60)
rounds = 0
x = 0
for _ in range(3):
    # The program fills what is left beside the journal; the disk is full for good.
    with open("/mnt/other", "ab") as other:
        try:
            while free() > 150_000:
                other.write(bytes(4096))
                other.flush()
        except OSError:
            pass
    for _ in range(12):
        tool(x, 20_000)
        x += 1
    deadline = time.monotonic() + 180
    while not playhead.flush(5) and time.monotonic() < deadline:
        time.sleep(0.1)
    rounds += playhead.flush(60)
assert lost() == 0, lost()
assert rounds == 3, rounds
"""
    err = run(collector, Path("/mnt/journal"), body, *in_a_small_disk("1m"))
    assert asked_for(collector) == set(range(36))
    assert "No space left" in err


@pytest.mark.skipif(not can_have_a_small_disk(), reason="nobody may mount a file system here")
def test_on_a_read_only_file_system_everything_is_delivered_from_memory(collector: FakeCollector):
    body = """
assert os.system("mount -o remount,ro /mnt") == 0
for x in range(200):
    tool(x, 2_000)
assert playhead.flush(60)
assert lost() == 0
assert playhead.counters()["records_unwritten"] >= 400
for x in range(200, 1_200):  # more than may wait in memory at a time
    tool(x, 10_000)
    if x % 100 == 0:
        assert playhead.flush(60)
assert playhead.flush(60)
assert lost() == 0
"""
    err = run(collector, Path("/mnt/journal"), body, *in_a_small_disk("8m"))
    assert asked_for(collector) == set(range(1_200))
    assert err.count("ead-only file system") == 1
    assert "delivered from there" in err


@pytest.mark.skipif(not can_have_a_small_disk(), reason="nobody may mount a file system here")
def test_what_a_full_disk_does_not_take_is_delivered_from_memory(collector: FakeCollector):
    body = """
tool(0)
assert playhead.flush(60)
other = os.open("/mnt/other", os.O_CREAT | os.O_WRONLY)  # somebody else's file, which stays
try:
    while os.write(other, bytes(4096)):
        pass
except OSError:
    os.close(other)
for x in range(1, 200):
    tool(x, 2_000)
assert playhead.flush(60)
assert lost() == 0
assert playhead.counters()["records_unwritten"] > 0
"""
    run(collector, Path("/mnt/journal"), body, *in_a_small_disk("2m"))
    assert asked_for(collector) == set(range(200))


# --- damage -----------------------------------------------------------------------------------------------------------


def test_ship_delivers_what_is_around_damage_and_says_how_much_it_cannot_read(collector: FakeCollector, tmp_path: Path):
    lane = LaneWriter(tmp_path, fsync=False, resource_frame=WHO)
    for number in range(2_000):
        lane.append(span(number))
    lane.close()
    file = lane.path / "00000001.segment"
    data = bytearray(file.read_bytes())
    data[len(data) // 10 : len(data) // 10 + 50] = os.urandom(50)
    file.write_bytes(data)
    report = ship_orphans(tmp_path, load({}, endpoint=collector.url))
    assert report.left == 0
    assert report.spans >= 1_990
    assert 50 <= report.damaged_bytes < 2_000
    command = subprocess.run(
        [
            sys.executable,
            "-c",
            "from playhead.cli import main; main()",
            "ship",
            "--journal-dir",
            str(damaged(tmp_path / "again")),
        ],
        env={**os.environ, "PLAYHEAD_ENDPOINT": collector.url},
        capture_output=True,
        text=True,
        check=False,
    )
    assert command.returncode == 4, command.stderr
    assert "damaged_bytes" in command.stdout


def damaged(folder: Path) -> Path:
    lane = LaneWriter(folder, fsync=False, resource_frame=WHO)
    lane.append(span(1)[:-1] + b"?" + span(2))
    lane.close()
    assert lanes(folder) == [lane.path]
    return folder
