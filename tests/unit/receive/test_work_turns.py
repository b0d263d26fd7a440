"""Requests of projects are worked on in turn: a project with many requests does not delay the others."""

import asyncio
from collections import Counter
from contextlib import suppress

from hypothesis import given, settings
from hypothesis import strategies as st

from playhead_collector.receive.work_turns import WorkTurns

LOUD, QUIET, OTHER = 1, 2, 3


async def settle() -> None:
    for _ in range(20):
        await asyncio.sleep(0)


class Work:
    """Requests that hold their turn until they are told to end."""

    def __init__(self, at_a_time: int) -> None:
        self.now = 0.0
        self.turns = WorkTurns(at_a_time, lambda: self.now)
        self.began: list[str] = []
        self.ends: dict[str, asyncio.Event] = {}
        self.tasks: dict[str, asyncio.Task[None]] = {}
        self.running: Counter[int] = Counter()

    async def ask(self, name: str, project: int) -> None:
        self.ends[name] = asyncio.Event()
        self.tasks[name] = asyncio.create_task(self._work(name, project))
        await settle()

    async def end(self, *names: str) -> None:
        for name in names:
            self.ends[name].set()
            await settle()

    async def cancel(self, name: str) -> None:
        self.tasks[name].cancel()
        with suppress(asyncio.CancelledError):
            await self.tasks[name]
        await settle()

    async def _work(self, name: str, project: int) -> None:
        async with self.turns.of(project):
            self.began.append(name)
            self.running[project] += 1
            try:
                await self.ends[name].wait()
            finally:
                self.running[project] -= 1


async def test_of_a_loud_project_some_work_and_a_quiet_one_does_not_wait():
    work = Work(2)
    for n in range(5):
        await work.ask(f"loud {n}", LOUD)
    assert work.began == ["loud 0", "loud 1"]
    await work.ask("quiet", QUIET)
    assert work.began[2:] == ["quiet"]
    await work.ask("quiet again", QUIET)
    assert "quiet again" not in work.began  # one of its own is in work
    await work.end("quiet")
    assert work.began[3:] == ["quiet again"]
    await work.end("loud 0", "loud 1", "quiet again", "loud 2", "loud 3", "loud 4")
    assert work.began[4:] == ["loud 2", "loud 3", "loud 4"]
    assert work.turns.running == 0


async def test_a_project_that_sends_alone_has_all_of_the_work():
    work = Work(4)
    for n in range(6):
        await work.ask(f"loud {n}", LOUD)
    assert len(work.began) == 4
    await work.ask("quiet", QUIET)
    await work.end("quiet", "loud 0", "loud 1")
    assert work.began[4:] == ["quiet"]  # two of the loud one go on
    await work.end("loud 2")
    assert work.began[5:] == ["loud 4"]
    work.now += 11  # the quiet one has not sent for a while
    await work.ask("loud 6", LOUD)
    await work.end("loud 3")
    assert work.began[6:] == ["loud 5", "loud 6"]


async def test_projects_take_turns_and_each_is_served_in_order():
    work = Work(1)
    for project, name in ((LOUD, "loud"), (QUIET, "quiet"), (OTHER, "other")):
        for n in range(3):
            await work.ask(f"{name} {n}", project)
    assert work.began == ["loud 0", "quiet 0", "other 0"]  # each has one in work
    for n in range(3):
        await work.end(f"loud {n}", f"quiet {n}", f"other {n}")
    assert work.began[3:] == ["loud 1", "quiet 1", "other 1", "loud 2", "quiet 2", "other 2"]


async def test_whoever_goes_away_while_waiting_takes_no_turn():
    work = Work(1)
    for n in range(4):
        await work.ask(f"loud {n}", LOUD)
    await work.cancel("loud 1")
    await work.end("loud 0")
    assert work.began == ["loud 0", "loud 2"]
    # It is cancelled at the very moment in which it gets its turn.
    work.ends["loud 2"].set()
    work.tasks["loud 3"].cancel()
    await settle()
    await work.ask("loud 4", LOUD)
    assert work.began == ["loud 0", "loud 2", "loud 4"]
    await work.end("loud 4")
    assert work.turns.running == 0


@given(
    st.integers(1, 3),
    st.lists(st.tuples(st.sampled_from(["ask", "end", "cancel"]), st.integers(0, 9), st.integers(1, 3)), max_size=40),
)
@settings(deadline=None, max_examples=60)
def test_nobody_waits_for_nothing_and_no_more_work_than_may(at_a_time: int, steps: list[tuple[str, int, int]]):
    asyncio.run(_check(at_a_time, steps))


async def _check(at_a_time: int, steps: list[tuple[str, int, int]]) -> None:
    work, projects = Work(at_a_time), dict[str, int]()
    for step, n, project in steps:
        if step == "ask":
            name = f"{len(projects)}"
            projects[name] = project
            await work.ask(name, project)
        elif open_ones := [name for name, task in work.tasks.items() if not task.done()]:
            name = open_ones[n % len(open_ones)]
            await (work.end(name) if step == "end" and name in work.began else work.cancel(name))
        assert work.turns.running == work.running.total()
        assert work.running.total() <= max(at_a_time, sum(count > 0 for count in work.running.values())) + 2
        waiting = {projects[name] for name, task in work.tasks.items() if not task.done() and name not in work.began}
        assert all(work.running[each] for each in waiting)
        assert not waiting or work.running.total() >= min(at_a_time, 2)
    for name in [name for name, task in work.tasks.items() if not task.done()]:
        await work.cancel(name)
    assert work.turns.running == 0
