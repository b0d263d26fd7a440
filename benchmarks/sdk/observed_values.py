"""V1: what observing one value costs the caller, whatever its size, shape or depth; texts and bytes aside.

As the argument of an observed function, and as the result of an observed tool, which is also kept to be given back on
resume.  CPU time of the caller's thread, and where values make it wait, the time that passes: the least of some rounds,
since other work on the machine only adds to it.  What is recorded is delivered between the values.  Of exceptions, what
they cost more than the same calls when they return.
"""

import dataclasses
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import pydantic

import playhead
from benchmarks.recording import recording
from benchmarks.sdk.sink import Sink
from playhead import observe
from tests.support.bar import Row, at_most, not_measured

_BAR_MS = 5.0
_ROUNDS = 21
_BETWEEN_ROUNDS = 60.0
_CALLS = 400


@dataclasses.dataclass
class Node:
    name: str
    inside: list["Node"]


class Document(pydantic.BaseModel):
    id: int
    text: str
    meta: dict[str, Any]


class Slow:
    """Three seconds in all, in a list of 3,000."""

    def __repr__(self) -> str:
        time.sleep(0.001)
        return "Slow()"


@observe
def take(value: Any) -> None: ...


@observe(kind="tool", capture_input=False)
def give(value: Any) -> Any:
    return value


@observe
def down(levels: int, *, fails: bool) -> None:
    if levels:
        down(levels - 1, fails=fails)
    elif fails:
        raise ValueError("at the bottom")


@observe
def deeper() -> None:
    deeper()


def measure() -> Iterator[Row]:
    with Sink() as sink, recording(sink.url, linger_seconds=_BETWEEN_ROUNDS), playhead.run("values"):
        for what, make in {**_VALUES, **_arrays()}.items():
            yield at_most("V1", what, _milliseconds(make()), _BAR_MS, unit="ms", against="as argument, and as result")
            playhead.flush()
        slow = _milliseconds([Slow() for _ in range(3_000)], time.perf_counter)
        yield at_most(
            "V1", "3,000 objects whose `repr` waits 1 ms", slow, _BAR_MS, unit="ms", against="time that passes"
        )
        yield from _errors()
    if not _arrays():
        yield not_measured("V1", "arrays and tables", "numpy, pandas, polars and Pillow are not installed")


def _milliseconds(value: Any, clock: Callable[[], float] = time.thread_time) -> float:
    return max(_least(lambda: take(value), clock), _least(lambda: give(value), clock))


def _least(call: Callable[[], Any], clock: Callable[[], float] = time.thread_time) -> float:
    return min(_timed(call, clock) for _ in range(_ROUNDS))


def _timed(call: Callable[[], Any], clock: Callable[[], float]) -> float:
    began = clock()
    with suppress(ValueError, RecursionError):
        call()
    return (clock() - began) * 1e3


# --- values -----------------------------------------------------------------------------------------------------------


def _tree(width: int, depth: int) -> Node:
    return Node(f"level {depth}", [_tree(width, depth - 1) for _ in range(width)] if depth else [])


def _nested(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


def _shared(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = [value, value]
    return value


def _documents(how_many: int) -> list[Document]:
    return [Document(id=number, text="text", meta={"a": 1}) for number in range(how_many)]


_VALUES: dict[str, Callable[[], Any]] = {
    "1,000,000 integers": lambda: list(range(1_000_000)),
    "40,000 numbers, which are recorded whole": lambda: [number * 1.1 for number in range(40_000)],
    "1,000 small dictionaries, whole": lambda: [{"b": number, "a": "x"} for number in range(1_000)],
    "100 models, whole": lambda: _documents(100),
    "10,000 models": lambda: _documents(10_000),
    "a dictionary of 100,000 keys": lambda: {f"key {number}": number for number in range(100_000)},
    "a set of 100,000 members": lambda: set(range(100_000)),
    "a tree of 11,111 dataclasses": lambda: _tree(10, 4),
    "100,000 levels": lambda: _nested(100_000),
    "1,000 numbers of 4,000 digits": lambda: [10**4000] * 1_000,
    "40,000 numbers with exponents": lambda: [1e308] * 40_000,
    "10,000 half surrogate pairs": lambda: ["\ud800"] * 10_000,
    "a pair of itself, 22 times: x = (x, x)": lambda: _shared(22),
}


def _arrays() -> dict[str, Callable[[], Any]]:
    try:
        import numpy as np
        import pandas as pd
        import polars as pl
        from PIL import Image
    except ImportError:
        return {}
    made = np.random.default_rng(1)
    texts = [f"text {number}" for number in range(100_000)]
    return {
        "a picture of 147 KiB": lambda: made.integers(0, 255, (224, 224, 3), dtype=np.uint8),
        "an array of 1 MiB, whole": lambda: made.integers(0, 255, 2**20, dtype=np.uint8),
        "1,000,000 floats in an array": lambda: made.random(1_000_000),
        "a frame of a film, 1080 x 1920 x 3": lambda: made.integers(0, 255, (1080, 1920, 3), dtype=np.uint8),
        "the same, turned": lambda: made.integers(0, 255, (1080, 1920, 3), dtype=np.uint8).transpose(2, 1, 0),
        "a Pillow picture of 1920 x 1080": lambda: Image.new("RGB", (1920, 1080)),
        "a table of pandas, 100,000 x 4": lambda: pd.DataFrame(
            {
                "a": np.arange(100_000),
                "b": made.random(100_000),
                "c": texts,
                "d": pd.date_range("2026", periods=100_000),
            }
        ),
        "1,000,000 intervals in a series": lambda: pd.Series(pd.interval_range(0, 1_000_000)),
        "30 categorical columns of 1,000,000": lambda: pd.DataFrame(
            {number: pd.Categorical.from_codes(np.zeros(1_000_000, dtype="i1"), ["a", "b"]) for number in range(30)}
        ),
        "1,000 arrays of 1 MB": lambda: [np.full(1_000_000, number % 250, dtype="u1") for number in range(1_000)],
        "an element type of 20,000 fields": lambda: np.zeros(
            3, dtype=[(f"f{number}", "i4") for number in range(20_000)]
        ),
        "300 tables of polars": lambda: [pl.DataFrame({"a": [1, 2], "b": ["x", "y"]}) for _ in range(300)],
        "a table of polars with a list of 1,000,000": lambda: pl.DataFrame({"a": [list(range(1_000_000))]}),
        "a table of polars, 1 x 10,000": lambda: pl.DataFrame({f"c{number}": [1] for number in range(10_000)}),
        "a table of pandas, 10 x 5,000": lambda: pd.DataFrame(made.random((10, 5_000))),
        "a table of polars, 100,000 x 2": lambda: pl.DataFrame({"a": np.arange(100_000), "c": texts}),
    }


# --- exceptions -------------------------------------------------------------------------------------------------------


def _errors() -> Iterator[Row]:
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(100 * _CALLS)
    try:
        calls = f"an exception through {_CALLS} calls, beside the same when they return"
        more = _least(lambda: down(_CALLS, fails=True)) - _least(lambda: down(_CALLS, fails=False))
        yield at_most("V1", calls, more, _BAR_MS, unit="ms", against="all calls together")
    finally:
        sys.setrecursionlimit(limit)
    reached = _levels_within_the_limit()
    more = _least(deeper) - _least(lambda: down(reached, fails=False))
    what = f"a RecursionError through {reached} calls, beside the same when they return"
    yield at_most("V1", what, more, _BAR_MS, unit="ms", against="all calls together")


def _levels_within_the_limit() -> int:
    """How many observed calls fit into Python's stack."""
    levels = 1
    while True:
        try:
            down(levels, fails=False)
        except RecursionError:
            return levels - 1
        levels += 1
