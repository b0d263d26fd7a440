"""Which run `resume` and `fork` mean, and what they do not take."""

import gc
import threading
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import playhead
from playhead import observe
from playhead.api.promises.stopping import poll_interrupts
from playhead.errors import Interrupted, NoRecord, ReplayError
from playhead.model import names
from tests.support.journal_reader import Recording
from tests.support.readers.fake import FakeStore
from tests.support.readers.served import app_on, served

executed: list[int] = []


@observe(kind="tool")
def work(number: int) -> int:
    executed.append(number)
    if number == 2 and executed == [1, 2]:
        raise KeyboardInterrupt  # as Ctrl-C would: the call is in doubt
    return number


@observe
def agent() -> int:
    return work(1) + work(2)


@pytest.fixture
def stopped(recording: Recording) -> str:
    """A run that was stopped in its second call."""
    executed.clear()
    with pytest.raises(KeyboardInterrupt):
        agent()
    return str(recording.read().spans[0].attributes[names.RUN_ID])


@pytest.fixture
def collector(recording: Recording, stopped: str) -> Iterator[str]:
    """One that knows this run, as its newest."""
    store = FakeStore()
    store.keep_run([], stopped)
    with served(app_on(store)) as url:
        recording.configure(endpoint=url, lease_seconds=0)
        yield url


@pytest.mark.usefixtures("collector")
@pytest.mark.parametrize("named", ["last", "part", "as a uuid"])
def test_a_run_goes_on_under_its_own_id_however_it_was_named(recording: Recording, stopped: str, named: str):
    ways = {"last": "last", "part": stopped[8:20], "as a uuid": f" {str(uuid.UUID(stopped)).upper()}"}
    with playhead.resume(ways[named], in_doubt="rerun") as resumed:
        assert agent() == 3
    assert resumed.id == stopped
    assert {span.attributes[names.RUN_ID] for span in recording.read().spans} == {stopped}
    with playhead.fork(ways[named], at="work") as forked:
        agent()
    said = {span.attributes.get(names.FORK_OF) for span in recording.read().spans}
    assert (said - {None}, forked.id != stopped) == ({stopped}, True)


@pytest.mark.usefixtures("collector")
@pytest.mark.parametrize("named", ["", "nobody's", "../../leases", "last/events"])
def test_what_names_no_run_is_no_record(recording: Recording, named: str):
    for rewound in (playhead.resume(named), playhead.fork(named, at="work")):
        with pytest.raises(NoRecord, match="there is no run"):
            rewound.__enter__()
    assert not [path for path in recording.folder.parent.rglob("*") if path.suffix == ".lock"]


@pytest.mark.parametrize("named", ["\ud800", "a\0b", "ä", "f" * 200_000])
def test_what_can_be_no_id_is_asked_of_nobody(recording: Recording, named: str):
    recording.configure(endpoint="http://127.0.0.1:9")
    for rewound in (playhead.resume(named), playhead.fork(named, at="work"), playhead.run("r", continues=named)):
        with pytest.raises(NoRecord, match="is no run's id, nor a part of one"):
            rewound.__enter__()
    with pytest.raises(NoRecord, match="is not the whole id of a run"):
        playhead.interrupt(named)


def test_without_a_collector_a_part_is_not_guessed(recording: Recording, stopped: str):
    recording.configure(endpoint="http://127.0.0.1:9")
    with pytest.raises(NoRecord, match="is not the whole id of a run, which has 32 digits"):
        playhead.resume(stopped[8:20]).__enter__()


@pytest.mark.parametrize("named", [None, 5, Path("last")])
def test_a_run_is_named_by_a_text(named: Any):
    with pytest.raises(TypeError, match="a run is named by its id"):
        playhead.resume(named).__enter__()
    with pytest.raises(TypeError, match="a run is named by its id"):
        playhead.interrupt(named)


def test_a_run_is_interrupted_by_its_whole_id_only(stopped: str):
    for named in ("last", stopped[:8], ""):
        with pytest.raises(NoRecord, match="is not the whole id"):
            playhead.interrupt(named)
    playhead.interrupt(str(uuid.UUID(stopped)).upper())
    executed.clear()
    with playhead.resume(stopped, in_doubt="rerun"), playhead.run("agent"):
        poll_interrupts()
        with pytest.raises(Interrupted):
            work(1)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"tools": "dny", "live": "llm"}, r"fork\(tools='dny'\): expected 'deny' or a function"),
        ({"live": "none"}, r"live='none'\): expected 'all' or 'llm'"),
        ({"at": None}, r"at=None\): expected a seq, an event's id, or a function's name"),
        ({"at": 1.5}, r"at=1.5"),
        ({"at": True}, r"at=True"),
        ({"completed": print}, "completed="),
        ({"renamed": "a=b"}, "renamed='a=b'"),
    ],
)
def test_a_fork_s_option_that_cannot_be_meant_is_refused_before_anything_runs(options: dict[str, Any], says: str):
    with pytest.raises(ReplayError, match=says):
        playhead.fork("f" * 32, **{"at": "work", **options})


@pytest.mark.parametrize(
    "options",
    [{"in_doubt": "maybe"}, {"on_divergence": 5}, {"completed": "again"}, {"outcomes": [1]}, {"renamed": "a=b"}],
)
def test_an_option_of_resume_that_cannot_be_meant_is_refused_before_anything_runs(options: dict[str, Any]):
    with pytest.raises(ReplayError, match=f"resume\\({next(iter(options))}="):
        playhead.resume("f" * 32, **options)


def test_inside_of_a_run_nothing_is_resumed_and_nothing_executed(stopped: str):
    executed.clear()
    with playhead.run("around"):
        for rewound in (playhead.resume(stopped, in_doubt="rerun"), playhead.fork(stopped, at="work")):
            with pytest.raises(ReplayError, match=r"inside 'invoke_agent around'.*Leave it first"):  # noqa: SIM117
                with rewound:
                    agent()
    assert executed == []
    with playhead.resume(stopped, in_doubt="rerun"):
        assert agent() == 3
    assert executed == [2]


def test_a_block_in_which_no_run_begins_is_told_of(stopped: str, caplog: pytest.LogCaptureFixture):
    for warns in (True, False):
        caplog.clear()
        with playhead.resume(stopped, in_doubt="rerun") as resumed:
            thread = threading.Thread(target=agent if warns else playhead.propagate_to_thread(agent))
            thread.start()
            thread.join()
        assert (f"nothing was answered from the record of run {resumed.id}" in caplog.text) is warns
    caplog.clear()
    with pytest.raises(ValueError), playhead.resume(stopped):  # it is the error that matters
        raise ValueError
    assert "no run has begun" not in caplog.text


def test_who_forgets_the_block_is_told(stopped: str, caplog: pytest.LogCaptureFixture):
    playhead.resume(stopped)
    gc.collect()
    assert "do nothing until their block is entered" in caplog.text


@pytest.mark.parametrize("at", ["work#0", "work#3", "work#", "work#x", "work#-1"])
def test_a_call_that_there_is_not_is_not_taken_for_the_first(stopped: str, at: str):
    with pytest.raises(NoRecord, match=f"has no call at {at}"):
        playhead.fork(stopped, at=at).__enter__()


def test_there_is_no_event_before_the_first(stopped: str):
    with pytest.raises(NoRecord, match="has no call at -1"):
        playhead.fork(stopped, at=-1).__enter__()
