"""Real worker processes, and questions that misbehave: what their callers see, and what is left of them."""

import asyncio
import logging
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import psutil
import pytest

from playhead_collector.analysis.configuration import Configured
from playhead_collector.errors import ContentMissing, Refused, StoreUnavailable
from playhead_collector.handlers.settings import AnalysisSettings
from playhead_collector.settings import MIB
from playhead_collector.store.postgres.connection import DatabaseTimeouts
from playhead_collector.workers.pool import WorkerPool
from playhead_collector.workers.process import BACKGROUND_NICE, QUESTIONS_NICE, WorkerProcess
from playhead_collector.workers.protocol import AnalysisFailed, Setup
from playhead_collector.workers.questions import AnalysisQuestion

ODD = "tests.support.odd_worker"
SILENT = "tests.unit.workers.silent_worker"
ENOUGH = 60.0


def setup_of(seconds: float = ENOUGH, memory_bytes: int = 1024 * MIB, answer_bytes: int = 64 * MIB) -> Setup:
    given = AnalysisSettings.of(Configured())
    return Setup(
        dsn="none",
        timeouts=DatabaseTimeouts(),
        given=given,
        seconds=seconds,
        memory_bytes=memory_bytes,
        answer_bytes=answer_bytes,
    )


@asynccontextmanager
async def pool_of(
    processes: int = 1,
    *,
    seconds: float = ENOUGH,
    waiting: int = 8,
    grace_seconds: float = 0.0,
    module: str = ODD,
    nice: int = QUESTIONS_NICE,
    **setup: Any,
) -> AsyncIterator[WorkerPool]:
    given = [WorkerProcess(setup_of(seconds, **setup), module, nice=nice) for _ in range(processes)]
    pool = WorkerPool(given, seconds, waiting, grace_seconds)
    try:
        yield pool
    finally:
        await pool.close()


def q(name: str, **options: Any) -> AnalysisQuestion:
    return AnalysisQuestion(name, 1, (), options)


async def pid_in(pool: WorkerPool) -> int:
    """The process that answers, which may have to be started: on a busy machine, in more than a question's time."""
    while True:
        try:
            return int((await pool.ask(q("echo"))).split()[0])
        except Refused as refused:
            if refused.code not in ("analysis_not_started", "took_too_long"):
                raise


async def begun(path: Path) -> int:
    """The process that has begun with the question that says so here."""
    async with asyncio.timeout(ENOUGH):
        while not path.exists() or not path.read_text():
            await asyncio.sleep(0.01)
    return int(path.read_text())


async def killed(pool: WorkerPool, name: str, path: Path) -> tuple[int, Refused]:
    """The process that was killed amid a question that takes too long, and the refusal.  Asks again when the time of
    the question was over before it had begun: the machine was busy."""
    while True:
        pid = await pid_in(pool)
        with pytest.raises(Refused) as refused:
            await pool.ask(q(name, seconds=600, begun=str(path)))
        if path.exists():
            return pid, refused.value


async def gone(pid: int) -> bool:
    """Whether the process ends, within the time that a test has."""
    until = asyncio.get_running_loop().time() + ENOUGH
    while asyncio.get_running_loop().time() < until:
        with suppress(psutil.NoSuchProcess):
            if psutil.Process(pid).status() != psutil.STATUS_ZOMBIE:
                await asyncio.sleep(0.02)
                continue
        return True
    return False


def test_what_a_worker_is_told_arrives_as_it_was():
    assert Setup.from_json(setup_of().to_json()) == setup_of()
    assert "none" not in repr(setup_of())  # the DSN may have a password


async def test_no_process_is_started_before_the_first_question_and_none_is_left():
    before = set(psutil.Process().children())
    async with pool_of() as pool:
        assert set(psutil.Process().children()) <= before
        one = await pid_in(pool)
        assert await pid_in(pool) == one  # and not a new one for each
        assert psutil.pid_exists(one)
    assert not psutil.pid_exists(one)
    with pytest.raises(Refused):
        await pool.ask(q("echo"))


async def test_questions_arrive_as_they_are_whatever_a_library_prints():
    async with pool_of() as pool:
        assert (await pool.ask(q("echo", text="ö \ud800"))).split(maxsplit=1)[1] == "ö \\ud800".encode()
        assert len(await pool.ask(q("long", bytes=9_000_000))) == 9_000_000


async def test_several_processes_work_at_a_time(tmp_path: Path):
    async with pool_of(2) as pool:
        slow = asyncio.create_task(pool.ask(q("sleep", seconds=60, begun=str(tmp_path / "begun"))))
        busy = await begun(tmp_path / "begun")
        assert await pid_in(pool) != busy
        slow.cancel()


@pytest.mark.parametrize(
    ("what", "kind"), [("refused", Refused), ("unavailable", StoreUnavailable), ("missing", ContentMissing)]
)
async def test_errors_are_raised_as_what_they_were(what: str, kind: type[Exception]):
    async with pool_of() as pool:
        with pytest.raises(kind) as raised:
            await pool.ask(q("raise", what=what))
    if isinstance(error := raised.value, Refused):
        assert (error.status, error.code, str(error)) == (418, "teapot", "short and stout")
        assert error.headers == {"X-Tea": "green"}


async def test_a_bug_is_told_with_its_traceback_and_costs_no_process():
    async with pool_of() as pool:
        before = await pid_in(pool)
        with pytest.raises(AnalysisFailed, match=r"(?s)odd_worker.py.*ZeroDivisionError: what a bug says"):
            await pool.ask(q("raise", what="bug"))
        assert await pid_in(pool) == before


@pytest.mark.parametrize("name", ["sleep", "hold"])
async def test_a_question_that_takes_too_long_is_killed_and_the_next_is_answered(name: str, tmp_path: Path):
    async with pool_of(seconds=1.5) as pool:
        pid, refused = await killed(pool, name, tmp_path / "begun")
        assert (refused.status, refused.code) == (503, "took_too_long")
        assert "after 1.5 s; ask for less" in str(refused)
        assert "PLAYHEAD_ANALYSIS_SECONDS" in str(refused)
        assert not psutil.pid_exists(pid)
        assert await pid_in(pool) != pid


async def test_the_loop_is_free_while_a_question_holds_its_interpreter(tmp_path: Path):
    async with pool_of() as pool:
        holding = asyncio.create_task(pool.ask(q("hold", begun=str(tmp_path / "begun"))))
        await begun(tmp_path / "begun")
        for _ in range(50):
            await asyncio.sleep(0.005)
            assert not holding.done()  # it is as long as a question may be; a loop that it held would go on after it
        holding.cancel()


async def test_a_process_that_dies_is_said_once_and_replaced(caplog: pytest.LogCaptureFixture):
    async with pool_of() as pool:
        with pytest.raises(Refused) as refused:
            await pool.ask(q("die"))
        assert (refused.value.status, refused.value.code) == (503, "analysis_ended")
        assert "the process that worked on the question" in str(refused.value)
        assert refused.value.headers == {"Retry-After": "1"}
        assert "amid a question (die)" in caplog.text
        assert await pool.ask(q("sleep", seconds=0)) == b"slept"


async def test_a_process_that_dies_between_questions_is_replaced_without_a_word():
    process = WorkerProcess(setup_of(), ODD)
    pool = WorkerPool([process], ENOUGH, 8)
    pid = await pid_in(pool)
    assert process.pid == pid
    os.kill(pid, signal.SIGKILL)
    while process.pid is not None:
        await asyncio.sleep(0.01)
    assert await pid_in(pool) != pid
    await pool.close()


async def test_beyond_those_that_may_wait_a_question_is_refused_at_once(tmp_path: Path):
    async with pool_of(waiting=2) as pool:
        first = asyncio.create_task(pool.ask(q("sleep", seconds=600, begun=str(tmp_path / "begun"))))
        await begun(tmp_path / "begun")
        waiting = [asyncio.create_task(pool.ask(q("echo", text=str(n)))) for n in range(2)]
        await asyncio.sleep(0)
        with pytest.raises(Refused) as refused:
            pool.ask(q("echo")).send(None)  # before it waits for anything
        assert (refused.value.status, refused.value.code) == (503, "too_many_questions")
        assert int(refused.value.headers["Retry-After"]) > 0
        assert (pool.figures.waiting, pool.figures.running) == (2, 1)
        first.cancel()
        assert [(await each).split()[1] for each in waiting] == [b"0", b"1"]  # in turn
        assert (pool.figures.waiting, pool.figures.running) == (0, 0)


async def test_a_question_that_cannot_begin_in_time_is_refused(tmp_path: Path):
    process = WorkerProcess(setup_of(), ODD)
    pool = WorkerPool([process], 0.2, 8, 0.0)
    await pid_in(pool)
    first = asyncio.create_task(pool.ask(q("sleep", seconds=600, begun=str(tmp_path / "begun"))))
    await begun(tmp_path / "begun")
    with pytest.raises(Refused, match="other questions are being answered"):
        await pool.ask(q("echo"))
    await pool.close()
    with pytest.raises(asyncio.CancelledError):
        await first


async def test_a_question_that_nobody_waits_for_is_given_up(tmp_path: Path):
    async with pool_of() as pool:
        first = asyncio.create_task(pool.ask(q("sleep", seconds=600, begun=str(tmp_path / "begun"))))
        pid = await begun(tmp_path / "begun")
        queued = asyncio.create_task(pool.ask(q("sleep", seconds=600, begun=str(tmp_path / "never"))))
        await asyncio.sleep(0)
        queued.cancel()
        first.cancel()
        assert await pid_in(pool) != pid
        assert not (tmp_path / "never").exists()
        assert not psutil.pid_exists(pid)


async def test_one_that_ends_soon_is_let_end():
    async with pool_of(grace_seconds=ENOUGH) as pool:
        pid = await pid_in(pool)
        left = asyncio.create_task(pool.ask(q("sleep", seconds=0.1)))
        await asyncio.sleep(0.05)
        left.cancel()
        assert await pid_in(pool) == pid


@pytest.mark.skipif(sys.platform != "linux", reason="macOS does not limit a process's memory")
async def test_a_question_that_takes_too_much_memory_is_refused_and_its_process_replaced():
    async with pool_of(memory_bytes=256 * MIB) as pool:
        with pytest.raises(Refused) as refused:
            await pool.ask(q("grow", bytes=400 * MIB))
        assert (refused.value.status, refused.value.code) == (503, "took_too_much")
        assert await pool.ask(q("grow", bytes=MIB)) == b"%d" % MIB


async def test_a_process_that_has_grown_is_replaced_after_its_answer():
    async with pool_of(memory_bytes=64 * MIB, answer_bytes=MIB) as pool:  # less than half of this is not to be had
        pid = await pid_in(pool)
        assert await gone(pid)
        assert await pid_in(pool) != pid


async def test_an_answer_that_is_too_large_is_refused():
    async with pool_of(answer_bytes=MIB) as pool:
        with pytest.raises(Refused, match="more than 1 MiB for its answer"):
            await pool.ask(q("long", bytes=2 * MIB))


async def test_a_worker_that_cannot_be_started_is_a_clear_refusal(caplog: pytest.LogCaptureFixture):
    # Until the process has ended, which a busy machine may take long for: else it is only not ready in time.
    pool = WorkerPool([WorkerProcess(setup_of(), "tests.support.there_is_none")], ENOUGH, 1)
    with pytest.raises(Refused) as refused:
        await pool.ask(q("echo"))
    assert refused.value.code == "analysis_not_started"
    assert logging.ERROR in [record.levelno for record in caplog.records]
    await pool.close()


async def test_a_question_waits_for_a_process_no_longer_than_for_its_turn():
    others = set(psutil.Process().children())  # which fixtures of other tests keep, such as Postgres
    async with pool_of(seconds=0.2, module=SILENT) as pool:
        with pytest.raises(Refused, match="not ready within the question's time") as refused:
            await asyncio.wait_for(pool.ask(q("echo")), ENOUGH)
        assert (refused.value.code, refused.value.headers) == ("analysis_not_started", {"Retry-After": "5"})
        # It goes on, and is there when the question is asked again.
        (starting,) = set(psutil.Process().children()) - others
        with pytest.raises(Refused):
            await pool.ask(q("echo"))
        assert set(psutil.Process().children()) - others == {starting}
    assert not starting.is_running()


@pytest.mark.parametrize(
    "signals", [[signal.SIGINT, signal.SIGTERM]], ids=["those that a terminal and a service send to all processes"]
)
async def test_signals_meant_for_the_collector_do_not_end_a_question(signals: list[signal.Signals], tmp_path: Path):
    async with pool_of() as pool:
        asked = asyncio.create_task(pool.ask(q("sleep", seconds=0.5, begun=str(tmp_path / "begun"))))
        pid = await begun(tmp_path / "begun")
        for each in signals:
            os.kill(pid, each)
        assert await asked == b"slept"


_PARENT = """
import asyncio, sys
from tests.unit.workers.test_pool import WorkerPool, WorkerProcess, ODD, q, setup_of

async def main():
    await WorkerPool([WorkerProcess(setup_of(2.0), ODD)], 60, 1).ask(q(sys.argv[1], seconds=600, begun=sys.argv[2]))

asyncio.run(main())
"""


@pytest.mark.parametrize("name", ["sleep", "hold"])
async def test_nothing_is_left_when_the_parent_is_killed(name: str, tmp_path: Path, free: Callable[[int], None]):
    """Also while code in C holds the worker's interpreter, so that it cannot see that its parent is gone."""
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    path = tmp_path / "begun"
    with subprocess.Popen([sys.executable, "-c", _PARENT, name, str(path)], env=env) as parent:
        pid = await begun(path)
        free(pid)
        parent.kill()
    assert await gone(pid)


@pytest.fixture
def free() -> Any:
    """Processes to end whatever becomes of the test."""
    pids: list[int] = []
    yield pids.append
    for pid in pids:
        if psutil.pid_exists(pid):
            os.kill(pid, signal.SIGKILL)


@pytest.mark.skipif(sys.platform == "win32", reason="priorities are those of POSIX")
@pytest.mark.parametrize("nice", [QUESTIONS_NICE, BACKGROUND_NICE])
async def test_a_process_gives_way_to_the_one_that_takes_spans_and_background_work_to_questions(nice: int):
    async with pool_of(nice=nice) as pool:
        pid = await pid_in(pool)
        assert psutil.Process(pid).nice() == min(19, psutil.Process().nice() + nice)
    assert BACKGROUND_NICE > QUESTIONS_NICE > 0
