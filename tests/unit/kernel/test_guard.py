"""Observing does not break the observed: hostile values, hooks that raise, payloads without measure."""

import logging
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Generator, Iterator, Mapping
from pathlib import Path
from typing import Any, cast

import pytest

import playhead
from playhead import observe
from playhead.kernel import guard
from playhead.model import names
from tests.support.journal_reader import Recording
from tests.support.processor_time import assert_takes_less_than, elapsed_seconds


class Hostile:
    """Raises whatever is asked of it."""

    def __repr__(self) -> str:
        raise RuntimeError("repr")

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("eq")

    def __hash__(self) -> int:
        raise RuntimeError("hash")

    def __bool__(self) -> bool:
        raise RuntimeError("bool")

    def __len__(self) -> int:
        raise RuntimeError("len")

    def __sizeof__(self) -> int:
        raise RuntimeError("sizeof")

    def __getattr__(self, name: str) -> Any:
        raise RuntimeError("getattr")


class HostileMapping(Mapping[str, Any]):
    def __getitem__(self, key: str) -> Any:
        raise RuntimeError

    def __iter__(self) -> Iterator[str]:
        raise RuntimeError

    def __len__(self) -> int:
        raise RuntimeError


def cyclic() -> list[Any]:
    value: list[Any] = [1]
    value.append({"me": value})
    return value


def deep() -> list[Any]:
    value: list[Any] = []
    for _ in range(100_000):
        value = [value]
    return value


@pytest.mark.parametrize(
    "make",
    [
        Hostile,
        HostileMapping,
        cyclic,
        deep,
        lambda: float("nan"),
        lambda: 10**5000,
        lambda: "\ud800",
        lambda: {1: "a", "1": "b"},
        lambda: {object(): 1},
        lambda: memoryview(b"abc"),
        threading.Lock,
        lambda: (x for x in "ab"),
        lambda: dict(sys.modules),
        type("Model", (), {"model_dump": lambda self, **_: 1 / 0}),
    ],
    ids=lambda make: getattr(make, "__name__", "?"),
)
@pytest.mark.usefixtures("quiet")
def test_any_value_passes_and_is_recorded_somehow(recording: Recording, make: Callable[[], Any]):
    value = make()

    @observe
    def give(x: Any) -> Any:
        return x

    @observe
    def steps(x: Any) -> Iterator[Any]:
        yield x

    assert give(value) is value
    assert give(x=value) is value
    [same] = steps(value)
    assert same is value
    seen = recording.read()
    assert all({names.INPUT_REF, names.OUTPUT_REF} <= span.attributes.keys() for span in seen.spans)
    del value, same


@pytest.mark.usefixtures("quiet")
def test_an_exception_that_cannot_be_shown_is_still_raised(recording: Recording):
    class Broken(Exception):
        def __str__(self) -> str:
            raise RuntimeError("str")

    @observe
    def fail() -> None:
        raise Broken

    with pytest.raises(Broken):
        fail()
    span = recording.read().call("fail")
    assert (span.status, span.status_message) == (2, "")
    assert span.attributes[names.ERROR_TYPE].endswith("Broken")


def test_a_redactor_that_raises_leaves_a_marker_and_never_the_payload(recording: Recording):
    def redact(value: Any) -> Any:
        raise ValueError(f"cannot redact {value}")

    recording.configure(redact=redact)

    @observe
    def login(password: str) -> str:
        raise RuntimeError(f"wrong: {password}")

    with playhead.run("r") as run:
        run.state["k"] = "sesame"
        with pytest.raises(RuntimeError):
            login("sesame")
    seen = recording.read()
    assert seen.input("login") == {"$playhead": "redaction failed", "error": "ValueError"}
    assert not any(b"sesame" in content.data for content in seen.contents.values())
    assert seen.call("login").status_message == ""


def test_a_redactor_of_one_call_holds_for_all_that_it_calls(recording: Recording):
    @observe
    def inner(card: str) -> str:
        raise ValueError(card)

    @observe(redact=lambda value: "masked")
    def outer(card: str) -> None:
        playhead.annotate(decision=card)
        with pytest.raises(ValueError, match="4242"):
            inner(card)

    with playhead.run("r"):
        outer("4242")
    seen = recording.read()
    assert (seen.input("outer"), seen.input("inner")) == ("masked", "masked")
    assert seen.call("inner").status_message == "masked"
    assert not any(b"4242" in content.data for content in seen.contents.values())


def test_a_payload_without_measure_is_a_marker(recording: Recording):
    recording.configure(max_content_bytes=1_000_000)

    @observe
    def give(size: int) -> str:
        return "x" * size

    assert len(give(100_000_000)) == 100_000_000
    marker = recording.read().output("give")
    assert (marker["$playhead"], marker["bytes"], marker["limit"]) == ("too large", 100_000_000, 1_000_000)
    assert len(marker["head"]) == 65_536
    assert playhead.counters()["payloads_too_large"] == 1


def test_a_folder_that_cannot_be_used_is_one_warning_and_no_more(
    recording: Recording, tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    (tmp_path / "file").write_text("not a folder")
    playhead.configure(journal_dir=tmp_path / "file" / "journal")

    @observe
    def work(x: int) -> int:
        return x

    assert [work(n) for n in range(3)] == [0, 1, 2]
    [warning] = [record.message for record in caplog.records]
    assert "waits in memory" in warning
    assert "PLAYHEAD_JOURNAL_DIR" in warning


def test_a_tuning_setting_that_cannot_be_read_is_one_warning_and_has_its_default(
    recording: Recording, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    playhead.shutdown()
    monkeypatch.setenv("PLAYHEAD_JOURNAL_DIR", str(recording.folder))
    monkeypatch.setenv("PLAYHEAD_DURABILITY", "fsnc")

    @observe
    def work(x: int) -> int:
        return x

    assert [work(n) for n in range(3)] == [0, 1, 2]
    [warning] = [record.message for record in caplog.records]
    assert "PLAYHEAD_DURABILITY cannot be 'fsnc'" in warning
    assert "until then it is process" in warning
    assert len(recording.read().spans) == 3


def test_a_switch_that_cannot_be_read_records_less_rather_than_more(
    recording: Recording, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    monkeypatch.setenv("PLAYHEAD_CAPTURE_CONTENT", "flase")
    recording.configure()

    @observe
    def work(x: str) -> str:
        return x

    work("confidential")
    assert len(recording.read().spans) == 1
    assert recording.read().contents == {}
    assert "until then it is false" in caplog.text


def test_a_setting_that_says_where_to_record_stops_recording_and_flush_says_so(
    recording: Recording, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    playhead.shutdown()
    monkeypatch.setenv("PLAYHEAD_JOURNAL_DIR", "~no-such-user-here/journal")

    @observe
    def work(x: int) -> int:
        return x

    assert [work(n) for n in range(3)] == [0, 1, 2]
    assert caplog.text.count("nothing is recorded: PLAYHEAD_JOURNAL_DIR") == 1
    assert playhead.flush(0) is False
    recording.configure()
    assert playhead.flush(0) is True


def test_a_bug_of_ours_is_said_once_and_costs_only_the_record(
    recording: Recording, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    from playhead.journal.recorder import JournalRecorder

    def broken(*args: Any) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(JournalRecorder, "journal_end", broken)
    monkeypatch.setattr(JournalRecorder, "payload", broken)

    @observe
    def work(x: int) -> int:
        return x

    assert [work(n) for n in range(3)] == [0, 1, 2]
    assert caplog.text.count("your program is unaffected") <= 3
    assert "ZeroDivisionError" in caplog.text


def test_a_block_gives_its_result_and_logs_nothing(caplog: pytest.LogCaptureFixture):
    with guard.guarded("count") as block:
        seen = len("abc")
    assert (seen, block.raised, caplog.records) == (3, None, [])


@pytest.mark.parametrize(
    "raised", [ValueError, SystemExit, GeneratorExit, RecursionError], ids=lambda kind: kind.__name__
)
def test_a_block_swallows_what_the_code_in_it_raises(raised: type[BaseException], caplog: pytest.LogCaptureFixture):
    def count() -> int:
        with guard.guarded("count"):
            return _failing(raised)
        return 7

    guard.reset_logged_causes()
    assert count() == 7
    assert len(caplog.records) == 1


def test_a_block_says_what_could_not_be_done_once(caplog: pytest.LogCaptureFixture):
    guard.reset_logged_causes()
    for _ in range(3):
        with guard.guarded("read %r of %s", "a name", 5) as block:
            _failing(ValueError)
        assert block.raised is ValueError
    assert [record.message for record in caplog.records] == ["could not read 'a name' of 5; your program is unaffected"]


def test_a_block_with_a_value_that_cannot_be_shown_raises_nothing(caplog: pytest.LogCaptureFixture):
    guard.reset_logged_causes()
    with guard.guarded("read %r", Hostile()):
        _failing(ValueError)
    assert caplog.records == []


def test_a_percent_sign_without_values_is_itself(caplog: pytest.LogCaptureFixture):
    guard.reset_logged_causes()
    with guard.guarded("fill 100 % of it"):
        _failing(ValueError)
    assert "could not fill 100 % of it" in caplog.text


def test_a_silent_block_swallows_and_logs_nothing(caplog: pytest.LogCaptureFixture):
    guard.reset_logged_causes()
    with guard.guarded("count", log=False) as block:
        _failing(ValueError)
    assert (block.raised, caplog.records) == (ValueError, [])


@pytest.mark.parametrize("log", [True, False])
def test_what_a_signal_handler_raises_leaves_a_block(log: bool, caplog: pytest.LogCaptureFixture):
    class OutOfTime(Exception):
        pass

    def on_alarm(*_: object) -> None:
        raise OutOfTime

    before = signal.signal(signal.SIGUSR1, on_alarm)
    try:
        with pytest.raises(OutOfTime), guard.guarded("wait", log=log):  # noqa: PT012 - the signal arrives after kill
            os.kill(os.getpid(), signal.SIGUSR1)
            time.sleep(1)
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert caplog.records == []


class UnreadableHandler:
    """A signal handler whose attributes cannot be read, such as a proxy of something that is not there."""

    def __call__(self, *_: object) -> None:
        pass

    def __getattr__(self, name: str) -> Any:
        raise RuntimeError("working outside of its context")


def test_a_signal_handler_that_cannot_be_read_makes_no_block_raise(caplog: pytest.LogCaptureFixture):
    guard.reset_logged_causes()
    before = signal.signal(signal.SIGUSR1, UnreadableHandler())
    try:
        with guard.guarded("fail"):
            _failing(ValueError)
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert len(caplog.records) == 1


def test_a_block_near_the_end_of_the_stack_raises_nothing():
    def descend() -> int:
        with guard.guarded("descend"):
            return descend() + 1
        return 0

    assert descend() > 50


def _failing(raised: type[BaseException]) -> int:
    raise raised


def test_a_log_handler_that_raises_is_survived(recording: Recording):
    class Broken(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            raise ZeroDivisionError

    handler = Broken()
    guard.log.addHandler(handler)
    try:
        guard.log_internal_error("test", ValueError())
        guard.warn_once("test", "100 % of it")
    finally:
        guard.log.removeHandler(handler)


def test_causes_that_vary_do_not_become_a_leak(recording: Recording, caplog: pytest.LogCaptureFixture):
    for n in range(1_100):
        guard.log_internal_error(f"cause {n}", ValueError())
        guard.warn_once(f"warning {n}", "x")
    assert len(caplog.records) == 1_000


@pytest.mark.usefixtures("quiet")
def test_odd_descriptions_of_a_run_are_texts(recording: Recording):
    @observe(session=7, user=8, tags="beta", metadata=[1])  # pyright: ignore[reportArgumentType]
    def agent() -> None: ...

    agent()
    seen = recording.read()
    root = seen.call("agent").attributes
    assert (root[names.CONVERSATION], root[names.USER], root[names.RUN_TAGS]) == ("7", "8", ["beta"])


def test_names_may_be_anything(recording: Recording):
    for name in (Hostile(), 5, b"x", None):
        with playhead.run(name):  # pyright: ignore[reportArgumentType]
            playhead.checkpoint({"a": 1}, name=name)  # pyright: ignore[reportArgumentType]
            playhead.event(name, priority=name)  # pyright: ignore[reportArgumentType]
    seen = recording.read()
    assert [span.attributes[names.RUN_NAME] for span in seen.spans] == [
        "<repr raised RuntimeError>", "5", "b'x'", "None"
    ]  # fmt: skip
    assert {log.attributes[names.EVENT_PRIORITY] for log in seen.logs if log.name == names.EVENT} == {"normal"}


def test_descriptions_that_cannot_be_read_are_left_out(recording: Recording):
    with playhead.run("r", user=Hostile(), tags=5):  # pyright: ignore[reportArgumentType]
        pass
    assert names.USER not in recording.read().call("r").attributes


def test_what_is_put_into_a_span_by_hand_is_taken_or_left_but_never_raised(recording: Recording):
    from opentelemetry import trace

    with playhead.run("r"):
        span: Any = trace.get_current_span()
        assert span.is_recording()
        span.set_attribute("mine", 1)
        span.set_attribute({}, 1)
        span.set_attributes(None)
        span.add_event("seen", {"n": 1})
        span.add_event("odd", 5)
        span.add_link(None)
        span.set_status("odd")
        span.record_exception(ValueError("x"))
        span.set_attribute("hostile", Hostile())
        span.update_name("renamed")
        span.end()
        assert span.is_recording()
    span.set_attribute("late", 1)
    [root] = recording.read().spans
    assert (root.name, root.attributes["mine"]) == ("renamed", 1)
    assert "late" not in root.attributes
    assert [event.name for event in root.events] == ["seen", "exception"]


def test_endless_attributes_and_events_are_bounded(recording: Recording):
    from opentelemetry import trace

    with playhead.run("r"):
        for n in range(300):
            trace.get_current_span().set_attribute(f"a{n}", n)
            trace.get_current_span().add_event(f"e{n}")
    [root] = recording.read().spans
    assert len(root.attributes) < 140
    assert len(root.events) == 128


def test_an_end_in_the_middle_of_an_append_is_written_after_it(recording: Recording):
    """As when the garbage collector closes a dropped generator while this thread is in the journal."""
    from playhead.calls import runtime

    @observe
    def dropped() -> Generator[int, None, None]:
        yield 1
        yield 2

    with playhead.run("r"):
        steps = dropped()
        next(steps)
        segment: Any = cast(Any, runtime.current.recorder).journal.lane._segment
        real = segment.append

        def append(frames: bytes) -> int:
            segment.append = real
            steps.close()
            return real(frames)

        segment.append = append
    seen = recording.read()
    assert seen.call("dropped").attributes[names.OUTCOME] == "aborted"
    assert seen.call("r").status == 0


def test_observing_costs_no_more_than_time(recording: Recording):
    """A generous bound: a hang is what it is there to find; `make bench` measures."""

    @observe
    def work(x: int) -> int:
        return x

    def thousand_calls() -> None:
        with playhead.run("r"):
            for n in range(1_000):
                work(n)

    assert_takes_less_than(60, thousand_calls, elapsed_seconds)


_DEEP = """
import sys
from playhead import observe

@observe
def recursive(depth):
    return recursive(depth - 1) + 1 if depth else 0

@observe(kind="tool")
def leaf():
    return 1

def plain(depth, function):
    return plain(depth - 1, function) if depth else function()

def innermost(error):
    trace = error.__traceback__
    while trace.tb_next is not None:
        trace = trace.tb_next
    return trace.tb_frame.f_code.co_name

recursive(2)
ends, results = set(), []
for depth in range(150, 400):
    try:
        results.append(recursive(depth) == depth)
    except RecursionError as error:
        ends.add(innermost(error))
assert len(results) > 50 and all(results), results
# The frames that each observed call has of ours, and no other: not what records it.
assert ends and ends <= {"recursive", "wrapper"}, ends
ends.clear()
for depth in range(900, 1001):
    try:
        assert plain(depth, leaf) == 1
    except RecursionError as error:
        ends.add(innermost(error))
assert ends and ends <= {"plain", "wrapper", "begin_approved", "_approving", "approve", "needs_rule"}, ends
"""


def test_near_the_end_of_the_stack_recording_raises_nothing_and_says_little(tmp_path: Path):
    program = subprocess.run(
        [sys.executable, "-c", _DEEP],
        env={**os.environ, "PLAYHEAD_ENDPOINT": "none", "PLAYHEAD_JOURNAL_DIR": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert program.returncode == 0, program.stderr[-2_000:]
    assert len(program.stderr.splitlines()) <= 2, program.stderr[:2_000]
