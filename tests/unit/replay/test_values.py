"""What a run reads besides its calls is recorded where it asks for that, and given again when the run goes on."""

import asyncio
import datetime as dates
import gc
import json
import logging
import os
import pickle
import random
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

import playhead
from playhead import observe
from playhead.api.recorded_values import RecordedValues, set_recorded_values
from playhead.calls.run import ActiveRun
from playhead.model import names
from tests.support.journal_reader import Recording

ALL = "clock,random,uuid"
REAL = (time.time, time.time_ns, uuid.uuid4, random.random, random.shuffle)


@pytest.fixture(autouse=True)
def as_it_was() -> Iterator[None]:
    yield
    assert (time.time, time.time_ns, uuid.uuid4, random.random, random.shuffle) == REAL


def twice(program: Callable[[], Any], record: Any = ALL) -> tuple[Any, Any]:
    """What the program comes to in a run, and when that run is resumed by code that does not say what to record."""
    with playhead.run("p", record=record) as run:
        first = program()
    assert run.id is not None
    with playhead.resume(run.id), playhead.run("p"):
        again = program()
    return first, again


class Moment(dates.datetime):
    """What libraries make of it."""


READS: dict[str, Callable[[], Any]] = {
    "time": lambda: [time.time(), time.time()],
    "time_ns": lambda: [time.time_ns(), time.time_ns()],
    "today": dates.date.today,
    "now, by its older name": dates.datetime.today,
    "uuid4": lambda: [uuid.uuid4(), uuid.uuid4()],
    "uuid1": lambda: [uuid.uuid1()],
    "random": lambda: [random.random(), random.gauss(0, 1), random.randint(1, 10**9)],
    "choices": lambda: [random.choice(range(10**9)), random.sample(range(10**9), 3), random.getrandbits(70)],
    "shuffle": lambda: sorted(range(100), key=lambda _: random.random()),
    "now": lambda: [playhead.now(), playhead.now()],
    "today, of a class of one's own": Moment.today,
}


@pytest.mark.parametrize("what", READS)
def test_what_was_read_is_given_again(what: str):
    first, again = twice(READS[what])
    assert first == again
    assert type(first) is type(again)


def test_after_the_record_s_end_everything_is_real_again():
    count = iter((1, 3))
    first, again = twice(lambda: [uuid.uuid4() for _ in range(next(count))])
    assert again[0] == first[0]
    assert len(set(again)) == 3


def test_a_run_that_goes_on_records_what_it_reads_then_for_the_next():
    with playhead.run("p", record=ALL) as run:
        first = [uuid.uuid4()]
    assert run.id is not None
    for _ in range(2):
        with playhead.resume(run.id), playhead.run("p"):
            again = [uuid.uuid4(), uuid.uuid4()]
        assert again[:1] == first
        second = again[1]
    with playhead.resume(run.id), playhead.run("p"):
        assert [uuid.uuid4(), uuid.uuid4()][1] == second


def test_a_fork_is_given_what_was_read_before_it_parts():
    @observe(kind="tool")
    def step(name: uuid.UUID) -> str:
        return str(name)

    def program() -> list[uuid.UUID]:
        before = uuid.uuid4()
        step(before)
        return [before, uuid.uuid4()]

    with playhead.run("p", record=ALL) as run:
        first = program()
    assert run.id is not None
    with playhead.fork(run.id, at="step", outcome="other") as fork, playhead.run("p"):
        forked = program()
    assert forked[0] == first[0]
    assert forked[1] != first[1]
    with playhead.resume(fork.id), playhead.run("p"):
        assert program() == forked


def test_parallel_branches_do_not_mix_theirs_up():
    @observe
    async def branch(number: int) -> Any:
        await asyncio.sleep(0)
        return number, uuid.uuid4(), random.random(), time.time_ns()

    async def in_order(order: list[int]) -> Any:
        tasks = {number: asyncio.ensure_future(branch(number)) for number in order}
        return [await tasks[number] for number in range(3)]

    orders = iter(([0, 1, 2], [2, 0, 1]))
    first, again = twice(lambda: asyncio.run(in_order(next(orders))))
    assert first == again


def test_threads_that_belong_to_the_run_record_theirs():
    def program() -> list[Any]:
        found: list[Any] = []
        thread = threading.Thread(target=playhead.propagate_to_thread(lambda: found.append(uuid.uuid4())))
        thread.start()
        thread.join()
        return found

    first, again = twice(program)
    assert first == again


def test_the_functions_are_patched_while_a_run_records_and_put_back_when_the_last_one_ends():
    with playhead.run("does not record"):
        assert (time.time, uuid.uuid4) == (REAL[0], REAL[2])
    with playhead.run("outlasts the other", record="uuid") as first:
        patched = uuid.uuid4
        assert patched is not REAL[2]
        other = threading.Thread(target=one_run)
        other.start()
        other.join()
        assert uuid.uuid4 is patched
        drawn = uuid.uuid4()
    assert patched().version == 4  # a name that was bound meanwhile works, and records nothing
    assert (time.time, uuid.uuid4, random.random) == (REAL[0], REAL[2], REAL[3])
    assert first.id is not None
    with playhead.resume(first.id), playhead.run("outlasts the other"):
        one_run()
        assert uuid.uuid4() == drawn


def one_run() -> None:
    with playhead.run("short", record=ALL):
        random.random()


def test_they_are_put_back_after_a_run_that_failed_and_one_that_was_dropped():
    with suppress(ValueError), playhead.run("fails", record=ALL):
        raise ValueError
    assert time.time is REAL[0]

    def work() -> Iterator[None]:
        with playhead.run("dropped", record=ALL):
            yield

    for _ in work():
        assert time.time is not REAL[0]
        break
    gc.collect()
    assert time.time is REAL[0]


def test_a_run_that_is_dropped_just_when_another_begins_takes_no_patch_from_it():
    dropped = [ActiveRun()]

    class DroppingTheOther(RecordedValues):
        """Python's garbage collector may do so wherever something is made or compared."""

        def __hash__(self) -> int:
            dropped.clear()
            return id(self)

    set_recorded_values(dropped[0], frozenset({"clock"}))
    begun = ActiveRun()
    begun.values = values = DroppingTheOther()
    set_recorded_values(begun, frozenset({"clock"}))
    assert not dropped
    assert time.time is not REAL[0]
    values.run_ended()
    assert time.time is REAL[0]


def test_what_somebody_else_patches_meanwhile_stays_and_later_runs_record_all_the_same():
    theirs = pytest.MonkeyPatch()
    with playhead.run("records", record="clock"):
        ours = time.time
        theirs.setattr(time, "time", lambda: 5.0)
    assert time.time() == 5.0
    theirs.undo()  # which puts back what it found
    assert time.time is ours
    first, again = twice(READS["time"])
    assert first == again
    assert time.time is ours
    theirs.setattr(time, "time", REAL[0])


def test_only_what_was_asked_for_is_recorded(recording: Recording):
    first, again = twice(lambda: (uuid.uuid4(), time.time_ns()), record=["uuid"])
    assert (first[0], first[1] < again[1]) == (again[0], True)
    root = next(span for span in recording.read().spans if names.RECORDED_VALUES in span.attributes)
    assert root.attributes[names.RECORDED_VALUES] == "uuid"


def test_a_decorated_agent_asks_for_it_too():
    @observe(record="uuid")
    def agent() -> list[Any]:
        return [uuid.uuid4(), playhead.current_run_id()]

    name, run_id = agent()
    with playhead.resume(run_id):
        assert agent() == [name, run_id]


def test_a_run_that_does_not_ask_is_left_alone(recording: Recording):
    first, again = twice(lambda: [uuid.uuid4()], record=None)
    assert first != again
    assert (time.time, uuid.uuid4) == (REAL[0], REAL[2]), "nothing is patched"
    with playhead.run("asks", record=ALL):
        pass
    before = len(recording.read().logs)
    with playhead.run("does not"):
        uuid.uuid4()
        time.time()
    uuid.uuid4()
    assert len(recording.read().logs) == before


def test_what_happens_inside_a_call_that_is_answered_as_a_whole_is_not_recorded(recording: Recording):
    @observe(kind="tool")
    def tool() -> str:
        with observe("inside"):
            return f"{uuid.uuid4()} {time.time()} {random.random()}"

    first, again = twice(tool)
    assert first == again
    assert [log for log in recording.read().logs if log.name == names.VALUE_READ] == []


def test_libraries_read_as_ever(recording: Recording):
    def program() -> None:
        logging.getLogger("somebody").warning("reads the clock")
        json.dumps({})
        uuid.uuid4()

    twice(program, record=ALL)
    assert [log.attributes[names.VALUE_OF] for log in recording.read().logs if log.name == names.VALUE_READ] == [
        "uuid4 p:agent "
    ]


def test_secrets_and_other_clocks_are_never_recorded(recording: Recording):
    import secrets

    def program() -> tuple[Any, ...]:
        return secrets.token_hex(8), random.SystemRandom().random(), time.monotonic(), time.perf_counter()

    first, again = twice(program)
    assert all(a != b for a, b in zip(first, again, strict=True))
    assert [log for log in recording.read().logs if log.name == names.VALUE_READ] == []


def test_types_of_python_stay_as_they_are():
    before = dict(vars(dates.datetime)), dict(vars(dates.date))
    with playhead.run("p", record=ALL):
        assert (dict(vars(dates.datetime)), dict(vars(dates.date))) == before
        now = dates.datetime.now(dates.UTC)
    assert abs(now.timestamp() - time.time()) < 60
    assert pickle.loads(pickle.dumps(now)) == now


def test_a_run_that_goes_on_reads_the_real_clock_through_datetime_now():
    first, again = twice(lambda: [dates.datetime.now(dates.UTC), playhead.now()])
    assert first[0] < again[0]
    assert first[1] == again[1]


def test_now_is_recorded_without_being_asked_for_and_is_aware():
    first, again = twice(playhead.now, record=None)
    assert first == again
    assert first.tzinfo is dates.UTC
    assert abs(playhead.now().timestamp() - time.time()) < 60


def test_an_unknown_word_is_told_once_and_the_others_hold(caplog: pytest.LogCaptureFixture):
    first, again = twice(lambda: [uuid.uuid4()], record="uuid, weather")
    assert first == again
    assert [record.getMessage() for record in caplog.records] == [
        "record='weather' is not known: it may be clock, random, uuid"
    ]


def test_a_setting_asks_for_it_in_every_run(recording: Recording):
    recording.configure(record_values="uuid")
    with playhead.run("p") as run:
        first = uuid.uuid4()
    recording.configure()
    assert run.id is not None
    with playhead.resume(run.id), playhead.run("p"):
        assert uuid.uuid4() == first


PROGRAM = "import playhead, uuid\nwith playhead.run('p') as run:\n    print(run.id, uuid.uuid4())"


def test_the_variable_is_read(tmp_path: Path):
    def program(**environ: str) -> list[str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("OTEL_", "PLAYHEAD_"))}
        kept |= {"PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "PLAYHEAD_JOURNAL_DIR": str(tmp_path / "j")}
        kept |= {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9", "PLAYHEAD_EXIT_TIMEOUT_SECONDS": "0.1"}
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM], env=kept | environ, capture_output=True, text=True, timeout=300, check=True
        )
        return done.stdout.split()

    first = program(PLAYHEAD_RECORD_VALUES="uuid, clock")
    assert program(PLAYHEAD_RESUME=first[0]) == first
    assert program()[1] != first[1]
