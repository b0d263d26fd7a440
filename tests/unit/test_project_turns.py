"""Work of projects is done in turn: a project with much of it does not delay the others."""

import asyncio
from collections import Counter
from contextlib import suppress

from hypothesis import given, settings
from hypothesis import strategies as st

from playhead_collector.project_turns import ProjectTurns

LOUD, QUIET, OTHER = 1, 2, 3
FOR_EVER = 1e6


async def settle() -> None:
    for _ in range(20):
        await asyncio.sleep(0)


class Work:
    """Pieces of work that hold their turn until they are told to end."""

    def __init__(self, at_a_time: int, patience_seconds: float = FOR_EVER) -> None:
        self.now = 0.0
        self.turns = ProjectTurns(at_a_time, lambda: self.now, patience_seconds)
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

    async def until_began(self, count: int) -> None:
        async with asyncio.timeout(60):
            while len(self.began) < count:
                await asyncio.sleep(0)

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


async def loud_and_quiet(work: Work) -> None:
    """The loud project has had ten seconds, and begins a piece of work; the quiet one has had none."""
    await work.ask("long", LOUD)
    with work.turns.answering(QUIET):
        pass
    work.now += 9
    await work.end("long")
    await work.ask("loud", LOUD)
    await work.ask("loud again", LOUD)
    work.began.clear()


async def test_each_of_several_projects_has_one_piece_of_work_in_progress():
    work = Work(2)
    with work.turns.answering(QUIET):
        for n in range(3):
            await work.ask(f"loud {n}", LOUD)
        assert work.began == ["loud 0"]
        await work.ask("quiet", QUIET)
        await work.ask("quiet again", QUIET)
        assert work.began[1:] == ["quiet"]
        await work.end("quiet")
        assert work.began[2:] == ["quiet again"]
    await work.end("loud 0", "quiet again", "loud 1", "loud 2")
    assert work.began[3:] == ["loud 1", "loud 2"]
    assert work.turns.running == 0


async def test_a_project_that_is_active_alone_has_all_turns():
    work = Work(4)
    for n in range(6):
        await work.ask(f"loud {n}", LOUD)
    assert len(work.began) == 4
    await work.ask("quiet", QUIET)
    assert work.began[4:] == ["quiet"]
    await work.end("quiet", "loud 0", "loud 1", "loud 2")
    assert work.began[5:] == []  # one of the loud one is still in progress
    await work.end("loud 3")
    assert work.began[5:] == ["loud 4"]
    work.now += 11  # the quiet one has not been active for a while
    await work.ask("loud 6", LOUD)
    assert set(work.began[6:]) == {"loud 5", "loud 6"}


async def test_a_project_that_had_far_more_lets_others_go_first():
    work = Work(2)
    await loud_and_quiet(work)
    await work.ask("quiet", QUIET)
    await work.end("loud")
    assert work.began == ["quiet"]
    with work.turns.answering(QUIET):
        await work.end("quiet")
        assert work.began == ["quiet"]
    await settle()
    assert work.began == ["quiet"]  # its next request is expected
    work.now += 0.02
    await work.until_began(2)
    assert work.began == ["quiet", "loud again"]


async def test_but_not_for_long():
    work = Work(2, patience_seconds=0.01)
    await loud_and_quiet(work)
    with work.turns.answering(QUIET):
        await work.end("loud")
        assert work.began == []
        work.now += 1
        await work.until_began(1)
        assert work.began == ["loud again"]


async def test_between_two_parts_of_its_work_a_project_lets_others_go_first():
    work, parts = Work(2), list[str]()
    await loud_and_quiet(work)

    async def in_parts() -> None:
        async with work.turns.of(LOUD) as turn:
            for part in ("first", "second"):
                parts.append(part)
                await turn.step()

    await work.end("loud", "loud again")
    work.now += 1
    with work.turns.answering(OTHER):
        pass
    work.now += 1
    task = asyncio.create_task(in_parts())
    await settle()
    assert parts == ["first", "second"]  # nobody else has anything to do
    await task
    await work.ask("quiet", QUIET)
    await work.ask("loud", LOUD)
    assert "loud" not in work.began
    await work.end("quiet")
    work.now += 0.02
    await work.until_began(3)
    task = asyncio.create_task(in_parts())
    await work.ask("next", LOUD)
    await work.end("loud")
    with work.turns.answering(QUIET):
        await settle()
        assert parts[2:] == ["first"]
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
    work.now += 0.02
    await work.until_began(4)
    await work.end("next")
    assert work.turns.running == 0


async def test_projects_that_have_the_same_do_not_wait_for_each_other():
    work = Work(2)
    await work.ask("one", LOUD)
    await work.ask("other", QUIET)
    work.now += 5
    await work.end("one")
    await work.ask("one again", LOUD)
    assert work.began == ["one", "other", "one again"]


async def test_what_a_project_had_counts_less_with_time():
    work = Work(2)
    await loud_and_quiet(work)
    await work.end("loud", "loud again")
    await work.ask("quiet", QUIET)
    await work.ask("soon", LOUD)
    assert "soon" not in work.began
    for _ in range(5):  # the loud one had nothing of these 40 s
        work.now += 8
        with work.turns.answering(LOUD):
            pass
        await settle()
    await work.end("quiet", "soon")
    await work.ask("quiet again", QUIET)
    await work.ask("later", LOUD)
    assert "later" in work.began


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
        assert all(count <= at_a_time for count in work.running.values())
        waiting = {projects[name] for name, task in work.tasks.items() if not task.done() and name not in work.began}
        # The clock stands still, so that nobody has had more than others.
        assert all(work.running[each] for each in waiting)
    for name in [name for name, task in work.tasks.items() if not task.done()]:
        await work.cancel(name)
    assert work.turns.running == 0
