"""What would cost the caller more than it may is not asked of arguments, results and items."""

import contextlib
from collections.abc import Iterator
from typing import Any
from unittest import mock

import pytest

import playhead
from playhead import observe
from playhead.calls import requested_tools
from playhead.calls.lifecycle import current_span
from playhead.model import names
from tests.support.journal_reader import Recording

LARGE = list(range(100_000))


asked: list[Any] = []


def ask(*about: Any) -> Any:
    """What may take any time."""
    asked.append(about)
    return ""


@pytest.fixture(autouse=True)
def nothing_is_asked() -> Iterator[None]:
    asked.clear()
    yield
    assert asked == []


def test_large_arguments_say_what_is_left_out(recording: Recording):
    @observe
    def step(rows: list[int], question: str) -> int:
        return len(rows)

    assert step(LARGE, "how many?") == 100_000
    seen = recording.read()
    assert seen.call("step").attributes[names.INPUT_CUT] == "size"
    assert seen.input("step")["question"] == "how many?"
    assert seen.input("step")["rows"][40] == {"$cut": {"why": "size", "items": 99_950}}


def test_values_within_the_limits_are_not_called_cut(recording: Recording):
    @observe
    def step(rows: list[int]) -> list[int]:
        return rows

    step(LARGE[:1_000])
    attributes = recording.read().call("step").attributes
    assert {names.INPUT_CUT, names.OUTPUT_CUT}.isdisjoint(attributes)


def test_a_lazy_result_of_a_guardrail_is_not_evaluated(recording: Recording):
    kind: Any = type("LocalProxy", (), {"__module__": "werkzeug.local", "__getattr__": ask, "__repr__": ask})

    @observe(kind="guardrail")
    def check() -> Any:
        return kind()

    check()
    assert recording.read().output("check") == {"$type": "werkzeug.local.LocalProxy"}


def test_large_arguments_are_not_compared_with_what_a_model_asked_for(
    recording: Recording, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(requested_tools, "parse_json", ask)

    @observe(kind="tool")
    def tool(rows: list[int]) -> int:
        return len(rows)

    with playhead.run("r"), observe("agent"):
        span: Any = current_span()
        requested_tools.add_requested_call(span.run, "tool", b'{"rows":[1]}', "call-1")
        assert tool(LARGE) == 100_000
    assert names.TOOL_CALL_ID not in recording.read().call("tool").attributes


def test_how_large_an_item_is_is_not_asked_of_its_class(recording: Recording):
    class Table:
        __sizeof__: Any = ask

    @observe
    def give() -> Iterator[Any]:
        for _ in range(3):
            yield Table()

    assert len(list(give())) == 3
    assert len(recording.read().output("give")) == 3


def test_items_that_are_large_arrays_are_not_all_kept(recording: Recording):
    np: Any = pytest.importorskip("numpy")

    @observe
    def give() -> Iterator[Any]:
        for _ in range(20):
            yield np.zeros(2**20)  # 8 MiB

    assert sum(1 for _ in give()) == 20
    assert recording.read().output("give")["items_not_recorded"] > 10


def test_the_text_of_an_exception_with_large_arguments_is_not_written_out(recording: Recording):
    class Row:
        __repr__: Any = ask

    @observe
    def fail() -> None:
        raise ValueError([Row()] * 1_000)

    with contextlib.suppress(ValueError), playhead.run("r"):
        fail()
    seen = recording.read()
    described = seen.value(seen.call("fail"), names.ERROR_REF)
    assert described["message"] == "(its arguments are too large to be written out)"


@pytest.mark.parametrize("kind", [mock.MagicMock, mock.AsyncMock])
def test_what_a_mock_was_asked_is_as_without_recording(recording: Recording, kind: Any):
    @observe
    def step(x: Any, *more: Any, **named: Any) -> Any:
        return x

    @observe(kind="tool")
    def tool(x: Any) -> Any:
        return x

    value = kind()
    with playhead.run("r", metadata={"x": value}):
        assert step(value, [value], named=value) is value
        assert tool(value) is value
    assert value.mock_calls == []
    assert recording.read().input("step")["x"] == {"$type": f"unittest.mock.{kind.__name__}"}


def test_a_lazy_proxy_is_not_evaluated(recording: Recording):
    wrapt: Any = pytest.importorskip("wrapt")
    if not hasattr(wrapt, "LazyObjectProxy"):
        pytest.skip("this version of wrapt has no lazy proxies")

    @observe
    def step(x: Any, *more: Any) -> Any:
        return x

    @observe(kind="tool")
    def tool(x: Any) -> Any:
        return x

    value = wrapt.LazyObjectProxy(ask)
    assert step(value, [value]) is value
    assert tool(value) is value
    assert recording.read().input("step")["x"] == {"$type": "wrapt.proxies.LazyObjectProxy"}
