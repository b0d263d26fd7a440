"""Programs that go on from a checkpoint: state with its types, `run.state`, and runs that continue other runs."""

import dataclasses
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

import openai
import pydantic
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import playhead
from playhead import observe
from playhead.errors import CannotRestore, NoRecord
from playhead.model import event as ev
from playhead.model import names
from playhead.model.canonical import canonical_json, content_of, parse_json, value_of
from playhead.recording import RecordingProcess
from playhead.refs.faithful import restore_data, restored_value
from tests.support.journal_reader import Recording, read_journal
from tests.support.projected import projected
from tests.unit.refs.test_faithful import SCALARS, containers, same


@dataclass
class Progress:
    done: int = 0
    seen: list[str] = field(default_factory=list[str])
    place: tuple[int, int] = (0, 0)


class Cart(pydantic.BaseModel):
    items: dict[str, int] = {}
    note: str | None = None


executed: list[int] = []


@observe(kind="tool")
def work(number: int) -> int:
    executed.append(number)
    return number


@observe
def batch(number: int) -> int:
    return work(number)


def program(fails_at: int | None, reads: bool = True) -> tuple[Progress, dict[str, Any]]:
    with playhead.run("import") as run:
        point = run.checkpoint if reads else None
        state = point.state if point is not None else Progress()
        for number in range(state.done, 5):
            if number == fails_at:
                raise ConnectionError(str(number))
            batch(number)
            state = Progress(number + 1, [*state.seen, f"n{number}"], (number, -number))
            run.state["last"] = (number, {number})
            playhead.checkpoint(state, name=f"after {number}")
        return state, dict(run.state)


@pytest.fixture
def failed() -> str:
    """The id of a run that failed before its fourth item."""
    executed.clear()
    with pytest.raises(ConnectionError):
        program(3)
    return last_run()


def fails_after(say: Callable[[Any], None]) -> None:
    """A run that fails after it has said this."""

    def fails() -> None:
        with playhead.run("p") as run:
            say(run)
            raise ConnectionError

    with pytest.raises(ConnectionError):
        fails()


def last_run() -> str:
    from tests.support.journal_reader import read_journal

    assert RecordingProcess.recording is not None
    playhead.flush()
    roots = [
        s
        for s in read_journal(RecordingProcess.recording.settings.journal_dir).announced
        if names.RUN_ROOT in s.attributes
    ]
    return str(roots[-1].attributes[names.RUN_ID])


def test_a_resumed_program_goes_on_from_its_last_checkpoint(failed: str, recording: Recording):
    executed.clear()
    with playhead.resume(failed) as resumed:
        assert resumed.checkpoint is not None
        assert (resumed.checkpoint.name, resumed.checkpoint.run) == ("after 2", failed)
        assert resumed.checkpoint.state == Progress(3, ["n0", "n1", "n2"], (2, -2))
        assert resumed.state == {"last": (2, {2})}
        state, values = program(None)
    assert executed == [3, 4]
    assert state == Progress(5, ["n0", "n1", "n2", "n3", "n4"], (4, -4))
    assert values == {"last": (4, {4})}
    assert resumed.report.divergences == []
    assert resumed.not_called_again == []
    events = projected(recording.read(), failed).events
    assert [event.name for event in events if isinstance(event, ev.CheckpointCreated)] == [
        f"after {n}" for n in range(5)
    ]
    assert [event.name for event in events if isinstance(event, ev.ToolCompleted)] == ["work"] * 5
    assert not [event for event in events if isinstance(event, ev.RunDiverged)]


def test_it_goes_on_twice(failed: str):
    with playhead.resume(failed), pytest.raises(ConnectionError):
        program(4)
    executed.clear()
    with playhead.resume(failed) as resumed:
        state, values = program(None)
    assert (executed, state.done, values) == ([4], 5, {"last": (4, {4})})
    assert resumed.report.divergences == []


def test_a_program_that_does_not_read_it_is_replayed_from_the_beginning(failed: str):
    executed.clear()
    with playhead.resume(failed) as resumed:
        state, values = program(None, reads=False)
    assert (executed, state.done, values) == ([3, 4], 5, {"last": (4, {4})})
    assert resumed.report.answered == 3


def test_what_came_after_the_checkpoint_is_answered_from_the_record():
    def two_then(fails: bool) -> list[int]:
        with playhead.run("p") as run:
            if run.checkpoint is None:
                work(1)
                playhead.checkpoint("half way")
            found = [work(2)]
            if fails:
                raise ConnectionError
            return [*found, work(3)]

    with pytest.raises(ConnectionError):
        two_then(True)
    executed.clear()
    with playhead.resume(last_run()) as resumed:
        assert two_then(False) == [2, 3]
    assert executed == [3]
    assert (resumed.report.answered, resumed.report.live) == (1, 1)


def test_a_completed_run_gives_its_results_again_from_the_beginning():
    executed.clear()
    first = program(None)
    executed.clear()
    with playhead.resume(last_run()):
        assert program(None) == first
    assert executed == []


def test_recorded_clocks_go_on_at_the_checkpoint():
    def read(fails: bool) -> list[Any]:
        with playhead.run("p") as run:
            found = [playhead.now()] if run.checkpoint is None else [run.checkpoint.state]
            if run.checkpoint is None:
                playhead.checkpoint(found[0])
            found.append(playhead.now())
            if fails:
                times.append(found)
                raise ConnectionError
            return found

    times: list[list[Any]] = []
    with pytest.raises(ConnectionError):
        read(True)
    with playhead.resume(last_run()):
        assert read(False) == times[0]


def test_a_fork_goes_on_from_a_checkpoint_before_it(failed: str):
    executed.clear()
    with playhead.fork(failed, at="work#3"):
        state, _ = program(None)
    assert (executed, state.done) == ([2, 3, 4], 5)


# --- runs that continue others --------------------------------------------------------------------------------------


def test_a_run_continues_another_and_each_names_the_other(failed: str, recording: Recording):
    executed.clear()
    with playhead.run("next", continues=failed) as run:
        assert run.checkpoint is not None
        assert run.checkpoint.state == Progress(3, ["n0", "n1", "n2"], (2, -2))
        assert dict(run.state) == {"last": (2, {2})}
        assert run.history == []
        work(7)
    assert (executed, run.id == failed) == ([7], False)
    seen = recording.read()
    before, after = projected(seen, failed).events, projected(seen, run.id or "").events
    assert [event.next_run for event in before if isinstance(event, ev.RunContinued)] == [run.id]
    assert [event.continues for event in after if isinstance(event, ev.RunStarted)] == [failed]
    assert not [event for event in after if isinstance(event, ev.StateChanged)]


def test_a_run_continues_the_conversation_of_another(client: openai.OpenAI):
    asked: list[Any] = [{"role": "user", "content": "hello"}]
    with playhead.run("first") as first:
        client.chat.completions.create(model="m", messages=asked)
    with playhead.run("second", continues=first.id) as second:
        assert second.checkpoint is None
        assert second.history == [*asked, {"role": "assistant", "content": "fine, thank you"}]


def test_a_run_that_nobody_knows_cannot_be_continued():
    executed.clear()
    with pytest.raises(NoRecord), playhead.run("next", continues="0" * 32):
        work(1)
    assert executed == []


def test_a_run_from_nothing_has_no_checkpoint():
    with playhead.run("p") as run:
        assert (run.checkpoint, run.history) == (None, [])


# --- states -------------------------------------------------------------------------------------------------------


def test_a_state_that_cannot_be_kept_says_why(recording: Recording, caplog: pytest.LogCaptureFixture):
    class Local:
        pass

    fails_after(lambda run: playhead.checkpoint({"it": Local()}))
    assert "cannot be given back later" in caplog.text
    with playhead.resume(last_run()) as resumed:
        assert resumed.checkpoint is not None
        with pytest.raises(CannotRestore, match="Local"):
            _ = resumed.checkpoint.state


def test_a_redacted_state_is_not_given_back(recording: Recording):
    playhead.configure(journal_dir=recording.folder, redact=lambda value: "***" if value == {"key": "s"} else value)
    fails_after(lambda run: playhead.checkpoint({"key": "s"}))
    with playhead.resume(last_run()) as resumed:
        assert resumed.checkpoint is not None
        with pytest.raises(CannotRestore, match="redacted"):
            _ = resumed.checkpoint.state


@pytest.mark.parametrize("durability", ["off", "process", "fsync"])
def test_a_checkpoint_outlives_the_process(tmp_path: Path, durability: str):
    code = """
import os, playhead
playhead.run("p").__enter__()
playhead.checkpoint({"n": 1})
os.kill(os.getpid(), 9)
"""
    folder, other = tmp_path / "j", {"PATH": "/usr/bin", "PLAYHEAD_ENDPOINT": "http://127.0.0.1:9"}
    environ = {**other, "PLAYHEAD_JOURNAL_DIR": str(folder), "PLAYHEAD_DURABILITY": durability, "HOME": str(tmp_path)}
    assert subprocess.run([sys.executable, "-c", code], env=environ, check=False).returncode == -9
    [log] = read_journal(folder).logs
    assert log.name == names.CHECKPOINT


SAMPLES: list[Any] = [
    None, True, 3, 2.5, "text", b"bytes", bytearray(b"\x80"), [1, [2]], {"b": 1, "a": {"z": None}}, (1, 2), {1, 2},
    Progress(2, ["a"], (1, 2)), Cart(items={"pen": 2}), {"nested": [Progress(1), Cart(note="x")]},
]  # fmt: skip


@pytest.mark.parametrize("state", SAMPLES, ids=repr)
def test_a_state_comes_back_as_it_was(state: Any):
    def say(run: Any) -> None:
        playhead.checkpoint(state)
        run.state["it"] = state

    fails_after(say)
    with playhead.resume(last_run()) as resumed:
        assert resumed.checkpoint is not None
        for back in (resumed.checkpoint.state, resumed.state["it"]):
            assert (type(back), back) == (type(state), state)


def say_all(states: list[Any]) -> str:
    """The id of a run that failed after checkpoints of these, each in `run.state` too."""
    runs: list[str] = []

    def say(run: Any) -> None:
        runs.append(run.id)
        for number, state in enumerate(states):
            run.state[f"n{number}"] = state
            playhead.checkpoint(state)

    fails_after(say)
    return runs[0]


def test_any_state_goes_through_a_checkpoint_unchanged():
    @settings(deadline=None, max_examples=20)
    @given(st.lists(st.recursive(SCALARS, containers, max_leaves=6), min_size=1, max_size=8))
    def holds(states: list[Any]) -> None:
        with playhead.resume(say_all(states)) as resumed:
            assert resumed.checkpoint is not None
            assert same(resumed.checkpoint.state, states[-1])
            assert [same(resumed.state[f"n{number}"], state) for number, state in enumerate(states)] == [True] * len(
                states
            )

    holds()


def test_a_class_that_has_gained_a_field_since_the_checkpoint(monkeypatch: pytest.MonkeyPatch):
    module = ModuleType("grown_classes")
    monkeypatch.setitem(sys.modules, "grown_classes", module)
    before, after = {"done": 3}, {"done": 0, "tags": ["new"]}
    module.Grown = dataclass_of(before)  # type: ignore[attr-defined]
    run_id = say_all([module.Grown()])
    module.Grown = dataclass_of(after)  # type: ignore[attr-defined]
    with playhead.resume(run_id) as resumed:
        assert resumed.checkpoint is not None
        back = resumed.checkpoint.state
    assert type(back) is module.Grown
    assert (back.done, back.tags) == (3, ["new"])


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)
any_values = json_values | st.tuples(json_values, json_values) | st.binary(max_size=5) | st.sets(st.integers())


OF_MODULE = {"__module__": "grown_classes"}


def dataclass_of(fields: dict[str, Any]) -> Any:
    made = [(name, Any, field(default_factory=lambda value=value: value)) for name, value in fields.items()]
    return dataclasses.make_dataclass("Grown", made, namespace=OF_MODULE)


def model_of(fields: dict[str, Any]) -> Any:
    made: dict[str, Any] = {
        name: (Any, pydantic.Field(default_factory=lambda value=value: value)) for name, value in fields.items()
    }
    return pydantic.create_model("Grown", __module__="grown_classes", **made)


@pytest.mark.parametrize("make", [dataclass_of, model_of])
def test_fields_that_a_class_has_gained_have_their_defaults(make: Callable[[dict[str, Any]], Any]):
    module = sys.modules["grown_classes"] = ModuleType("grown_classes")

    @settings(deadline=None, max_examples=60)
    @given(st.dictionaries(st.sampled_from("abcd"), any_values), st.dictionaries(st.sampled_from("efgh"), any_values))
    def holds(known: dict[str, Any], new: dict[str, Any]):
        module.Grown = make(known)  # type: ignore[attr-defined]
        value = module.Grown()
        plain, kept = content_of(value), parse_json(canonical_json(restore_data(value)))
        module.Grown = make({**known, **new})  # type: ignore[attr-defined]
        back = restored_value(value_of(plain), kept, with_defaults=True)
        assert type(back) is module.Grown
        assert {name: getattr(back, name) for name in {**known, **new}} == {**known, **new}
        assert back == module.Grown()

    try:
        holds()
    finally:
        del sys.modules["grown_classes"]


def test_a_new_field_without_a_default_is_an_error(monkeypatch: pytest.MonkeyPatch):
    module = ModuleType("grown_classes")
    monkeypatch.setitem(sys.modules, "grown_classes", module)
    module.Grown = dataclasses.make_dataclass("Grown", [("a", int)], namespace=OF_MODULE)  # type: ignore[attr-defined]
    kept, fields = restore_data(module.Grown(1)), [("a", int), ("b", int)]
    module.Grown = dataclasses.make_dataclass("Grown", fields, namespace=OF_MODULE)  # type: ignore[attr-defined]
    with pytest.raises(CannotRestore, match="fields that it did not have"):
        restored_value({}, kept, with_defaults=True)
