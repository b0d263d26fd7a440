"""`event`, `metric`, `on_event`, and warnings about contexts."""

import math
import os
import queue
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import playhead
from playhead import observe
from playhead.api.context_warnings import ContextWarnings
from playhead.calls.begin import begin
from playhead.calls.lifecycle import enter, finish
from playhead.journal import listeners
from playhead.model import event as ev
from playhead.model import names
from tests.support.interrupting import interrupted_at, returns
from tests.support.journal_reader import Recording
from tests.support.projected import projected

Listen = Callable[..., list[dict[str, Any]]]


@pytest.fixture
def listen() -> Iterator[Listen]:
    """Listens as `on_event` does, and gives the list that events are added to."""
    ends: list[Callable[[], None]] = []

    def start(**wanted: Any) -> list[dict[str, Any]]:
        seen: list[dict[str, Any]] = []
        ends.append(playhead.on_event(seen.append, **wanted))
        return seen

    yield start
    for end in ends:
        end()


def model_call(tokens: int, model: str = "gpt-4o") -> None:
    span = begin("llm", model, attributes={names.REQUEST_MODEL: model})
    assert span is not None
    enter(span)
    span.attributes[names.INPUT_TOKENS] = tokens
    finish(span)


def test_an_event_and_a_metric_become_events_of_the_run(recording: Recording):
    with playhead.run("r") as run:
        playhead.event("order_shipped", {"order": 17}, priority="critical")
        playhead.event("looked")
        playhead.metric("compression_ratio", 0.3, unit="1")
    seen = recording.read()
    events = projected(seen, run.id or "").events
    shipped, looked = (event for event in events if isinstance(event, ev.CustomEvent))
    [ratio] = (event for event in events if isinstance(event, ev.MetricRecorded))
    assert (shipped.name, ev.priority_of(shipped), looked.name, ev.priority_of(looked)) == (
        "order_shipped", "critical", "looked", "normal",
    )  # fmt: skip
    assert (ratio.name, ratio.value, ratio.unit) == ("compression_ratio", 0.3, "1")
    log = next(log for log in seen.logs if log.name == names.EVENT)
    assert seen.value(log, names.VALUE_REF) == {"order": 17}


def test_nothing_of_it_fails_in_the_program(recording: Recording, caplog: pytest.LogCaptureFixture):
    odd: Any = object()
    playhead.event("outside a run")
    playhead.metric("outside a run", 1)
    with playhead.run("r") as run:
        playhead.event(odd, odd, priority=odd)
        for value in (math.nan, math.inf, "5", odd, None):
            playhead.metric("m", value)  # type: ignore[arg-type]
        playhead.metric("m", True)
    events = projected(recording.read(), run.id or "").events
    assert [event.value for event in events if isinstance(event, ev.MetricRecorded)] == [1.0]
    assert "no finite number" in caplog.text


def test_a_call_that_ends_while_a_record_is_queued_does_not_keep_the_program_waiting(
    recording: Recording, listen: Listen
):
    """A signal's handler, or the garbage collector, may end it there."""
    seen = listen(kinds="custom_event")

    def record_often() -> None:
        moment = 1
        while interrupted_at(
            moment, lambda: playhead.event("inner"), lambda: playhead.event("outer"), queue, threading, listeners
        ):
            moment += 1
        assert moment > 3

    with playhead.run("r"):
        assert returns(playhead.propagate_to_thread(record_often))
    assert playhead.flush(60)
    assert {event["data"]["name"] for event in seen} == {"inner", "outer"}


def test_a_listener_is_called_with_what_the_journal_has(recording: Recording, listen: Listen):
    @observe(kind="tool")
    def ship() -> None:
        playhead.event("shipped", priority="critical")

    everything, tools, critical = listen(), listen(kinds=["tool_called", "tool_completed"]), listen(priority="critical")
    with playhead.run("r") as run:
        ship()
    playhead.flush()
    assert [event["kind"] for event in everything] == [
        "run_started", "tool_called", "custom_event", "tool_completed", "run_completed",
    ]  # fmt: skip
    assert [event["kind"] for event in tools] == ["tool_called", "tool_completed"]
    assert [event["kind"] for event in critical] == ["run_started", "custom_event", "run_completed"]
    assert {event["run"] for event in everything} == {run.id}
    assert everything[2]["data"] == {"name": "shipped", "level": "critical"}
    in_store = {event.id: event for event in projected(recording.read(), run.id or "").events}
    for event in everything:
        same = ev.event_to_json(in_store[event["id"]])
        same["data"] = {name: value for name, value in same["data"].items() if name != "parent"}  # other records say it
        assert {**event, "actor": None} == {name: same.get(name) for name in event} | {"actor": None}


def test_a_listener_that_raises_or_hangs_does_not_matter(
    recording: Recording, listen: Listen, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(listeners, "_MOST_WAITING", 2)
    monkeypatch.setattr(listeners.LISTENERS, "_waiting", queue.SimpleQueue())
    monkeypatch.setattr(listeners.LISTENERS, "_thread", None)
    entered, leave = threading.Event(), threading.Event()

    def hangs(event: dict[str, Any]) -> None:
        entered.set()
        leave.wait(60)
        raise SystemExit(f"not the program's: {event}")

    end, before = playhead.on_event(hangs), listeners.LISTENERS.dropped
    with playhead.run("r"):
        assert entered.wait(60)
        for _ in range(10):
            playhead.event("e")
    assert playhead.counters()["events_missed"] - before >= 8  # two wait
    end()
    leave.set()
    assert listeners.LISTENERS.drain(60)
    seen = listen()
    with playhead.run("again"):
        pass
    assert listeners.LISTENERS.drain(60)
    assert [event["kind"] for event in seen] == ["run_started", "run_completed"]
    assert len(recording.read().logs) == 10


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
def test_a_forked_child_calls_its_own_listener(recording: Recording, listen: Listen):
    seen = listen()
    with playhead.run("parent"):
        pass
    playhead.flush()
    child = os.fork()
    if child == 0:
        with playhead.run("child"):
            pass
        drained = listeners.LISTENERS.drain(60)
        os._exit(0 if drained and [event["kind"] for event in seen[2:]] == ["run_started", "run_completed"] else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert len(seen) == 2


def test_arguments_that_would_never_match_are_errors():
    with pytest.raises(ValueError, match="tool_caled.*tool_called"):
        playhead.on_event(print, kinds=["tool_caled"])
    with pytest.raises(ValueError, match="critical, normal"):
        playhead.on_event(print, priority="high")  # pyright: ignore[reportArgumentType]
    for kinds in (5, [["tool_called"]]):
        with pytest.raises(TypeError, match=r"on_event\(kinds=.*a list of names"):
            playhead.on_event(print, kinds=kinds)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="no such kinds"):
        playhead.on_event(print, kinds=[1, "x"])  # type: ignore[list-item]
    with pytest.raises(TypeError, match="takes an event"):
        playhead.on_event(3)  # type: ignore[arg-type]


def test_a_context_that_is_nearly_full_is_warned_about(recording: Recording, caplog: pytest.LogCaptureFixture):
    with playhead.run("r") as run:
        for tokens in (100, 102_400, 110_000, 50, 128_000):
            model_call(tokens)
        model_call(10**9, "somebody-elses-model")
    events = projected(recording.read(), run.id or "").events
    warned = [event for event in events if isinstance(event, ev.ContextWarning)]
    assert [(event.tokens, event.window, event.model) for event in warned] == [
        (102_400, 128_000, "gpt-4o"), (128_000, 128_000, "gpt-4o"),
    ]  # fmt: skip
    assert playhead.counters()["context_warnings"] == 2
    assert "102400 of the 128000 tokens" in caplog.text


def test_what_counts_as_nearly_full_can_be_set(recording: Recording):
    recording.configure(context_warn=0.5, context_windows="somebody=1000")
    with playhead.run("r"):
        model_call(500, "openai/somebody-elses-model")
        model_call(499, "somebody-elses-model")
    assert playhead.counters()["context_warnings"] == 1
    recording.configure(context_warn=0)
    with playhead.run("r"):
        model_call(10**9)
    assert playhead.counters()["context_warnings"] == 0


def test_the_longest_beginning_of_a_models_name_counts():
    warnings = ContextWarnings(0.8, {"gpt-4o-mini-mine": 7})
    found = [warnings.window_of(name) for name in ("gpt-4", "gpt-4-turbo-x", "gpt-4o-mini", "gpt-4o-mini-mine", "x")]
    assert found == [8_192, 128_000, 128_000, 7, None]
