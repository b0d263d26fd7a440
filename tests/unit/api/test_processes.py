"""Across processes: forks, exits and crashes.  What a call has returned is in the journal, whatever happens next."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import playhead
from playhead import observe
from playhead.journal.lane import lanes, lock_dead_lane
from playhead.model import names
from playhead.model.ref import is_ref
from tests.support.journal_reader import Journaled, Recording, read_journal, read_lane

ROOT = Path(__file__).parents[3]
needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
needs_posix = pytest.mark.skipif(os.name != "posix", reason="kill -9 is POSIX's")


@observe(kind="tool")
def tool(x: int) -> str:
    return f"result {x}"


def script(folder: Path, body: str, **environ: str) -> "subprocess.Popen[str]":
    """A program of its own that records there; no collector listens at its endpoint."""
    paths = os.pathsep.join([str(ROOT), str(ROOT / "src")])
    environment = {
        **os.environ,
        "PYTHONPATH": paths,
        "PLAYHEAD_JOURNAL_DIR": str(folder),
        "PLAYHEAD_EXIT_TIMEOUT_SECONDS": "0.1",
        "OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9",
        **environ,
    }
    return subprocess.Popen(
        [sys.executable, "-W", "error", "-c", body],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finish(program: "subprocess.Popen[str]") -> tuple[str, str]:
    out, err = program.communicate(timeout=300)
    assert program.returncode == 0, err
    return out, err


def all_refs_lead_somewhere(seen: Journaled) -> None:
    threads = {
        names.INPUT_MESSAGES_REF,
        names.OUTPUT_MESSAGES_REF,
    }
    for span in (*seen.spans, *seen.announced, *seen.logs):
        for name, value in span.attributes.items():
            if is_ref(value) and name not in threads:
                assert value in seen.contents


def in_child(work: "object") -> int:
    """Forks, calls this in the child, and answers with the child's exit code."""
    pid = os.fork()
    if pid == 0:
        try:
            work()  # pyright: ignore[reportCallIssue]
        except BaseException:  # noqa: BLE001 - the child of a test must not become a second pytest
            os._exit(1)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


@needs_fork
def test_a_forked_child_has_a_lane_of_its_own_and_the_parent_goes_on(recording: Recording):
    with playhead.run("parent") as run:
        tool(1)
        assert in_child(lambda: tool(2)) == 0
        tool(3)
    theirs, mine = sorted((read_lane(path)[0] for path in lanes(recording.folder)), key=lambda lane: len(lane.spans))
    assert [theirs.value(span, names.TOOL_RESULT_REF) for span in theirs.spans] == ["result 2"]
    assert [mine.value(span, names.TOOL_RESULT_REF) for span in mine.calls("tool")] == ["result 1", "result 3"]
    assert theirs.spans[0].attributes[names.RUN_ID] == run.id
    assert theirs.spans[0].parent_id == mine.call("parent").span_id
    # Each has a count of its own, and the child says after what of its parent's it comes.
    child = theirs.spans[0].attributes
    assert len(child[names.PROCESS_ID]) == 16
    assert (child[names.CALL_ORDER], child[names.PROCESS_AFTER]) == (1, "#2")
    assert all(names.PROCESS_ID not in span.attributes for span in mine.spans)
    assert sorted(span.attributes[names.CALL_ORDER] for span in mine.spans) == [1, 2, 3]


@needs_fork
def test_a_child_brings_the_content_that_its_parent_has(recording: Recording):
    with playhead.run("parent"):
        tool(1)
        assert in_child(lambda: tool(1)) == 0
    for path in lanes(recording.folder):
        lane, unread = read_lane(path)
        assert unread == 0
        all_refs_lead_somewhere(lane)


@needs_fork
def test_a_child_that_returns_from_its_parents_calls_does_not_end_them_again(recording: Recording):
    @observe
    def outer() -> int:
        pid = os.fork()
        if pid == 0:
            tool(7)
        return pid

    pid = outer()
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)
    seen = recording.read()
    assert len(seen.calls("outer")) == 1
    assert len(seen.calls("tool")) == 1


@needs_fork
def test_a_child_says_things_about_its_parents_run(recording: Recording):
    with playhead.run("parent") as run:
        assert in_child(lambda: playhead.annotate(decision="in the child")) == 0
    [log] = recording.read().logs
    assert log.attributes[names.RUN_ID] == run.id
    assert (log.attributes[names.CALL_ORDER], log.attributes[names.PROCESS_AFTER]) == (1, "#1")


@needs_fork
def test_the_lock_of_a_lane_dies_with_its_process_and_with_nobody_elses(recording: Recording):
    with playhead.run("parent"):
        in_child(lambda: tool(1))
        mine, *theirs = sorted(lanes(recording.folder))
        assert lock_dead_lane(mine) is None
        [child] = theirs
        lock = lock_dead_lane(child)
        assert lock is not None
        lock.close()


@needs_fork
def test_a_child_that_outlives_its_parent_does_not_hold_its_lane(tmp_path: Path):
    body = """
import os, sys, playhead
reading, writing = os.pipe()
with playhead.run("parent"):
    if os.fork() == 0:
        os.write(writing, b"!")   # the fork is over here, too
        sys.stdin.read()          # lives until the test lets it go
        os._exit(0)
    os.read(reading, 1)
    os.kill(os.getpid(), 9)
"""
    reading, writing = os.pipe()
    program = subprocess.Popen(
        [sys.executable, "-c", body],
        stdin=reading,
        stdout=subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src"), "PLAYHEAD_JOURNAL_DIR": str(tmp_path)},
    )
    os.close(reading)
    assert program.wait(60) == -signal.SIGKILL
    [lane] = lanes(tmp_path)
    lock = lock_dead_lane(lane)
    os.close(writing)
    assert lock is not None
    lock.close()


@pytest.mark.slow
@needs_fork
@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_processes_of_multiprocessing_record(tmp_path: Path, method: str):
    program = tmp_path / "program.py"
    program.write_text(f"""
import multiprocessing, playhead
from playhead import observe

@observe(kind="tool")
def tool(x):
    return x * 2

if __name__ == "__main__":
    with playhead.run("main"):
        with multiprocessing.get_context("{method}").Pool(2) as pool:
            print(pool.map(tool, range(4)))
            pool.close()
            pool.join()
""")
    out, _ = finish(
        script(tmp_path / "journal", f"import runpy; runpy.run_path({str(program)!r}, run_name='__main__')")
    )
    assert out == "[0, 2, 4, 6]\n"
    seen = read_journal(tmp_path / "journal")
    assert sorted(seen.value(span, names.TOOL_RESULT_REF) for span in seen.calls("tool")) == [0, 2, 4, 6]


@needs_posix
@pytest.mark.parametrize("calls", [1, 7, 40])
@pytest.mark.parametrize("body", ["threads", "one"])
def test_what_a_killed_program_had_returned_is_in_its_journal(tmp_path: Path, calls: int, body: str):
    work = """
import os, threading, playhead
from playhead import observe

@observe(kind="tool")
def tool(x):
    return {"x": x, "text": "y" * (x % 50 * 100)}

@observe
def step(x):
    # The step holds the same content in memory until it ends, which it never does here.
    said = tool(x)
    os.write(1, f"{x}\\n".encode())
    return said

def loop(start):
    x = start
    while True:
        step(x)
        x += 2
"""
    if body == "threads":
        work += """
with playhead.run("r"):
    threads = [threading.Thread(target=playhead.propagate_to_thread(loop), args=(n,), daemon=True) for n in (0, 1)]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
"""
    else:
        work += "with playhead.run('r'):\n    loop(0)\n"
    program = script(tmp_path, work)
    assert program.stdout is not None
    returned = {int(program.stdout.readline()) for _ in range(calls)}
    program.kill()
    rest, _ = program.communicate(timeout=300)
    returned |= {int(line) for line in rest.splitlines(keepends=True) if line.endswith("\n")}
    [path] = lanes(tmp_path)
    seen, _ = read_lane(path)  # a torn tail is detected, and left
    recorded = {seen.value(span, names.TOOL_RESULT_REF)["x"] for span in seen.calls("tool")}
    assert returned <= recorded
    assert seen.announced[0].name == "invoke_agent r"
    all_refs_lead_somewhere(seen)


@needs_posix
def test_content_that_an_open_call_holds_is_not_believed_to_be_safe(tmp_path: Path):
    """The outer step was given it, and would write it when it ends; the tool must not count on that."""
    body = """
import os, playhead
from playhead import observe

@observe(kind="tool")
def tool():
    return {"text": "the same"}

@observe
def step(text):
    tool()
    os.kill(os.getpid(), 9)

with playhead.run("r"):
    step("the same")
"""
    script(tmp_path, body).communicate(timeout=300)
    [path] = lanes(tmp_path)
    seen, unread = read_lane(path)
    assert unread == 0
    assert seen.output("tool") == {"text": "the same"}


def test_an_exit_leaves_everything_in_the_journal_when_nobody_takes_it(tmp_path: Path):
    body = """
import atexit, playhead
from playhead import observe

@observe
def work(x):
    return x

@atexit.register
def late():
    work("late")

class Last:
    def __del__(self):
        work("last")

last = Last()
work("early")
steps = (lambda: (yield 1))
generator = observe(steps)()
next(generator)
"""
    _, err = finish(script(tmp_path, body, PLAYHEAD_DURABILITY="off"))
    assert "Traceback" not in err
    outputs = {content.data for content in read_journal(tmp_path).contents.values()}
    assert b"early" in outputs


def test_an_exit_with_an_exception_or_by_sys_exit_records_it(tmp_path: Path):
    program = script(
        tmp_path, "import sys, playhead\nwith playhead.observe('block'): sys.exit(3)", PLAYHEAD_DURABILITY="off"
    )
    program.communicate(timeout=300)
    assert program.returncode == 3
    assert read_journal(tmp_path).call("block").attributes[names.ERROR_TYPE] == "SystemExit"


def test_a_first_call_after_the_main_thread_s_end_is_recorded(tmp_path: Path):
    body = """
import threading, playhead
from playhead import observe

@observe(kind="tool")
def tool(x):
    return x

def later():
    threading.main_thread().join()
    tool("late")

threading.Thread(target=later).start()
"""
    _, err = finish(script(tmp_path, body))
    assert "Traceback" not in err
    seen = read_journal(tmp_path)
    assert seen.output("tool") == "late"
    assert seen.spans[0].trace_id


@pytest.mark.parametrize("first", ["", "tool('before')"])
def test_a_call_after_our_own_exit_is_left_to_the_next_process(tmp_path: Path, first: str):
    body = f"""
import atexit

@atexit.register          # before ours, so it runs after it
def last():
    tool("last")
    assert not playhead.flush(1), "nobody delivers it"

import threading, playhead
from playhead import observe

@observe(kind="tool")
def tool(x):
    return x

playhead.configure(durability="off")
{first}
"""
    _, err = finish(script(tmp_path, body))
    assert "Traceback" not in err
    seen = read_journal(tmp_path)
    assert "last" in {seen.value(span, names.TOOL_RESULT_REF) for span in seen.calls("tool")}


@pytest.mark.slow
@needs_fork
def test_a_child_that_is_forked_while_another_thread_makes_the_first_call_does_not_hang(tmp_path: Path):
    """At 24 moments of that call, which imports, starts threads and opens the journal."""
    body = """
import os, signal, sys, threading, time
import playhead
from playhead import observe

@observe(kind="tool")
def tool(x):
    return x

def program(delay):
    caller = threading.Thread(target=tool, args=("thread",))
    caller.start()
    time.sleep(delay)
    child = os.fork()
    if child == 0:
        signal.alarm(60)
        tool("child")
        os._exit(0)
    signal.alarm(90)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    caller.join()
    os._exit(code != 0)

failed = []
for number in range(24):
    delay = number * 0.006
    pid = os.fork()  # nothing is started here: each has its own first call
    if pid == 0:
        program(delay)
    if os.waitpid(pid, 0)[1] != 0:
        failed.append(round(delay, 3))
print(failed)
"""
    out, _ = finish(script(tmp_path, body))
    assert out == "[]\n"
    seen = read_journal(tmp_path)
    results = [seen.value(span, names.TOOL_RESULT_REF) for span in seen.calls("tool")]
    assert sorted(results) == ["child"] * 24 + ["thread"] * 24


@needs_fork
def test_a_child_that_is_forked_while_another_thread_starts_recording_records(tmp_path: Path):
    body = """
import os, threading
from importlib import import_module
from playhead import observe

configure = import_module("playhead.configuring")
starting, forked = threading.Event(), threading.Event()
start = configure.start

def slow_start(settings):
    starting.set()
    forked.wait(60)
    start(settings)

@observe(kind="tool")
def tool(x):
    return x

configure.start = slow_start
caller = threading.Thread(target=tool, args=("thread",))
caller.start()
starting.wait(60)
child = os.fork()
if child == 0:
    forked.set()
    tool("child")
    os._exit(0)
os.waitpid(child, 0)
forked.set()
caller.join()
"""
    finish(script(tmp_path, body))
    seen = read_journal(tmp_path)
    assert sorted(seen.value(span, names.TOOL_RESULT_REF) for span in seen.calls("tool")) == ["child", "thread"]


def test_a_program_that_records_nothing_makes_no_folder_and_no_thread(tmp_path: Path):
    body = "import playhead, threading; playhead.instrument(); print(threading.active_count())"
    out, _ = finish(script(tmp_path / "journal", body))
    assert out == "1\n"
    assert not (tmp_path / "journal").exists()


@needs_posix
def test_what_a_full_disk_does_not_take_waits_and_only_what_is_beyond_that_is_lost(tmp_path: Path):
    body = """
import resource, playhead
from playhead import observe

@observe(kind="tool")
def tool(x, size=3000):
    return "y" * size + str(x)

def limit(size):
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))

limit(40_000)
results = [tool(x) for x in range(30)]
assert all(result.endswith(str(x)) for x, result in enumerate(results))
assert playhead.counters()["records_lost"] == 0
large = [tool(x, 400_000) for x in range(20)]
lost = playhead.counters()["records_lost"]
assert not playhead.flush(1)
limit(resource.RLIM_INFINITY)
playhead.flush(1)
tool("after")
print(lost, playhead.counters()["records_lost"])
"""
    out, err = finish(script(tmp_path, body))
    lost, still_lost = map(int, out.split())
    assert lost == still_lost > 0
    assert err.count("records wait in memory") == 1
    assert err.count("records are being lost") == 1
    [path] = lanes(tmp_path)
    seen, unread = read_lane(path)
    assert unread == 0
    results = {content.data.lstrip(b"y") for content in seen.contents.values()}
    assert {b"after", *(b"%d" % number for number in range(30))} <= results
    assert len(seen.calls("tool")) >= 31 + 5
    all_refs_lead_somewhere(seen)


def test_recording_beside_an_openai_client_that_was_imported_alone(tmp_path: Path):
    """The shipper imports an HTTP library that newer `openai` clients look for: it must never find half of it."""
    body = """
import openai, sys, threading, playhead
sys.setswitchinterval(1e-6)
seen = []
class Watch:
    def find_spec(self, name, path, target=None):
        if name == "httpx" or name.startswith("httpx."):
            seen.append(threading.current_thread() is threading.main_thread())
sys.meta_path.insert(0, Watch())
with playhead.run("r"):
    pass
playhead.flush(1)
assert all(seen), "imported beside the program's threads"
import httpx
"""
    finish(script(tmp_path, body))
