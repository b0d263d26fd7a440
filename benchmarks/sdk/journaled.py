"""J1, J3: what an append to the journal costs, alone and among 1,000 sessions of one process; and their size."""

import asyncio
import tempfile
import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import orjson

import playhead
from benchmarks.recording import recording
from benchmarks.sdk.canned import answer_saying, canned_client
from benchmarks.sdk.sink import Sink
from playhead import observe
from playhead.journal.frame import SPAN, content_frame, frame
from playhead.journal.journal import Journal
from tests.support.bar import ROUNDS, Row, at_most, median, percentile, told

_APPENDS, _FSYNCS = 5_000, 500
_SESSIONS, _CALLS = 1_000, 10
# As a collector counts them: a model call, its end, the two messages that it added, a tool call and its end.
_EVENTS, _EVENTS_PER_STEP = 1_000, 6
_SIZED = 20


def measure() -> Iterator[Row]:
    fields = ["0" * 32, "0" * 16, None, "chat gpt-4o", 3, 1, 2, 0, "", {"k": "v" * 700}, [], []]
    span = frame(SPAN, orjson.dumps(fields))
    contents = [content_frame(bytes(32), b"x" * size, "application/json") for size in (900, 1_200, 600)]
    frames = b"".join((*contents, span))
    against = f"three contents and a span, {len(frames):,} bytes"
    value = median(lambda: _p99(frames, "process", _APPENDS), ROUNDS)
    yield at_most("J1", "journal append, p99, `process`", value, 0.05, unit="ms", against=against)
    value = median(lambda: _p99(frames, "fsync", _FSYNCS), ROUNDS)
    yield told("J1", "the same, `fsync`", value, unit="ms", against="what the disk takes to say that it has it")
    yield from _j3()


def _p99(frames: bytes, durability: str, appends: int) -> float:
    with tempfile.TemporaryDirectory() as folder:
        journal = Journal(
            Path(folder),
            durability=durability,
            max_bytes=2**30,
            resource={},
            on_quota_change=lambda _: None,
            on_failed_write=lambda: None,
        )
        times: list[float] = []
        for _ in range(appends):
            began = time.perf_counter()
            journal.append(frames)
            times.append(time.perf_counter() - began)
        journal.close()
    return percentile(times, 0.99) * 1e3


# --- J3 --------------------------------------------------------------------------------------------------------------


@observe(kind="tool")
async def look(query: str) -> str:
    await asyncio.sleep(0)  # whoever else is there, comes first
    return f"what is found for {query}: " + "x" * 1_000


async def _session(number: int, calls: int) -> None:
    with playhead.run("bench"):
        for call in range(calls):
            await look(f"{number} {call}")


async def _sessions(sessions: int, calls: int) -> None:
    await asyncio.gather(*(_session(number, calls) for number in range(sessions)))


def _j3() -> Iterator[Row]:
    with Sink() as sink, recording(sink.url, journal_max_bytes=2**31):
        asyncio.run(_sessions(1, _CALLS))
        # In turn, for the machine is not as fast in one second as in the next.
        rounds = [(_timed(_SESSIONS, _CALLS), _timed(1, _SESSIONS * _CALLS)) for _ in range(ROUNDS)]
    ratios = sorted(many / one for many, one in rounds)
    many, one = (sorted(values)[ROUNDS // 2] * 1e3 for values in zip(*rounds, strict=True))
    against = f"{many:.4f} ms ÷ {one:.4f} ms, p99 of {2 * _SESSIONS * _CALLS:,} appends each, delivered meanwhile"
    what = f"append, {_SESSIONS:,} sessions at a time ÷ one"
    yield at_most("J3", what, ratios[ROUNDS // 2], 2, unit="x", against=against)
    size = _bytes_per_session()
    steps = _EVENTS // _EVENTS_PER_STEP
    against = f"{_EVENTS:,} events: {steps} model calls, each with all that was said before, and as many tools"
    yield at_most("J3", "journal bytes of a session", size, 1_000_000, unit="bytes", against=against)


def _timed(sessions: int, calls: int) -> float:
    """p99 in seconds of the appends of these sessions, all going on at a time."""
    with _appends() as appended:
        asyncio.run(_sessions(sessions, calls))
        playhead.flush(60)
    return percentile(appended.seconds, 0.99)


@dataclass
class _Appended:
    """How long each append took, and how many bytes it was."""

    seconds: list[float] = field(default_factory=list[float])
    sizes: list[int] = field(default_factory=list[int])


@contextmanager
def _appends() -> Generator[_Appended]:
    """What is appended while this lasts."""
    seen = _Appended()
    append = Journal.append

    def timed(self: Journal, frames: bytes) -> bool:
        began = time.perf_counter()
        kept = append(self, frames)
        seen.seconds.append(time.perf_counter() - began)
        seen.sizes.append(len(frames))
        return kept

    Journal.append = timed
    try:
        yield seen
    finally:
        Journal.append = append


def _bytes_per_session() -> float:
    steps = _EVENTS // _EVENTS_PER_STEP
    with (
        Sink() as sink,
        recording(sink.url, journal_max_bytes=2**31),
        canned_client() as (client, answers),
        _appends() as appended,
    ):
        for session in range(_SIZED):
            with playhead.run("bench"):
                messages: list[dict[str, str]] = [{"role": "system", "content": "You are a helpful agent. " * 40}]
                for step in range(steps):
                    messages.append({"role": "user", "content": f"Found for {session} {step}: {'parcels ' * 25}"})
                    answers.append(answer_saying(f"Then look for {session} {step}. {'Perhaps. ' * 20}", step))
                    said = client.chat.completions.create(model="gpt-4o", messages=messages)  # pyright: ignore[reportArgumentType]
                    messages.append({"role": "assistant", "content": said.choices[0].message.content or ""})
                    asyncio.run(look(f"{session} {step}"))
        return sum(appended.sizes) / _SIZED
