"""R2, J2: how fast a record answers, and what keeping it costs each step.

CPU time of the thread that does it: nothing here waits, and the machine may be shared.
"""

import gc
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

import openai

import playhead
from benchmarks.recording import recording
from benchmarks.sdk.canned import answer_saying, canned_client
from benchmarks.sdk.sink import Sink
from playhead import observe
from playhead.model import names
from playhead.replaying.matching import MatchedCall, Matcher
from playhead.replaying.record import LocalRecord, read_local
from playhead.replaying.recorded_calls import RecordedCall, recorded_calls
from playhead.replaying.restoring import answer_from_record
from playhead.testing import MockModelServer, text
from tests.support.bar import ROUNDS, Row, at_least, at_most, told

# As a collector counts them: a model call, its end, the two messages that it added, a tool call and its end.
_EVENTS, _EVENTS_PER_STEP = 5_000, 6
_STEPS = _EVENTS // _EVENTS_PER_STEP
_LARGE = 200_000
_OVERHEAD_STEPS = 400


@observe(kind="tool")
def look(query: str) -> str:
    return f"what is found for {query}: " + "parcels " * 25


@observe(kind="tool")
def look_long(query: str) -> str:
    return query + "x" * _LARGE


def measure() -> Iterator[Row]:
    with ExitStack() as stack:
        server = stack.enter_context(MockModelServer(keep_requests=False))
        server.otherwise(text("Then look for it. " * 10))
        sink = stack.enter_context(Sink())
        folder = stack.enter_context(recording(sink.url, journal_max_bytes=2**31))
        client = stack.enter_context(openai.OpenAI(base_url=server.base_url, api_key="none", max_retries=0))
        with playhead.run("bench") as run:
            _agent(client.chat.completions.create, look, _STEPS)
        playhead.flush(60)
        assert run.id is not None
        yield from _replayed(client, run.id)
        yield from _read(folder, run.id)
    yield from _overhead()


def _agent(create: Callable[..., Any], tool: Callable[[str], str], steps: int) -> None:
    system = {"role": "system", "content": "You are a helpful agent. " * 40}
    for step in range(steps):
        question = {"role": "user", "content": f"Where is parcel {step}? {'It was sent on Monday. ' * 8}"}
        create(model="gpt-4o", messages=[system, question])
        tool(f"parcel {step}")


def _cpu(work: Callable[[], Any]) -> float:
    gc.collect()
    gc.freeze()  # what the benchmark itself has made is not looked through again and again
    try:
        began = time.thread_time()
        work()
        return time.thread_time() - began
    finally:
        gc.unfreeze()


# --- R2 --------------------------------------------------------------------------------------------------------------


def _replayed(client: openai.OpenAI, run: str) -> Iterator[Row]:
    """The program again, each call answered from its record."""
    entering: list[float] = []
    answering: list[float] = []
    for _ in range(ROUNDS):
        resumed = playhead.resume(run)
        entering.append(_cpu(resumed.__enter__))
        with playhead.run("bench"):
            answering.append(_cpu(lambda: _agent(client.chat.completions.create, look, _STEPS)))
        resumed.__exit__(None, None, None)
        if (resumed.report.answered, resumed.report.live) != (2 * _STEPS, 0):
            raise RuntimeError(f"not all was answered: {resumed.report}")
    seconds = statistics.median(answering)
    against = f"{2 * _STEPS:,} calls of a model (as the client's objects) and of a tool in {seconds:.2f} s of CPU"
    yield at_least(
        "R2", "recorded calls answered to the program", 2 * _STEPS / seconds, 2_000, unit="/s", against=against
    )
    begin = statistics.median(entering) * 1e3
    yield told("R2", "until the first is answered", begin, unit="ms", against="`playhead.resume` reads the journal")


def _overhead() -> Iterator[Row]:
    with Sink() as sink, recording(sink.url, journal_max_bytes=2**31), canned_client() as (client, answers):
        create: Any = client.chat.completions.create
        said = [answer_saying(f"Then look for {number}. " * 10, number) for number in range(_OVERHEAD_STEPS)]

        def step(tool: Any) -> tuple[float, float]:
            """Milliseconds with and without being recorded."""
            answers[:] = said
            with playhead.run("bench"):
                recorded = _cpu(partial(_agent, create, tool, _OVERHEAD_STEPS))
            answers[:] = said
            plain = _cpu(partial(_agent, create.__wrapped__, tool.__wrapped__, _OVERHEAD_STEPS))
            playhead.flush(60)
            return recorded / _OVERHEAD_STEPS * 1e3, plain / _OVERHEAD_STEPS * 1e3

        for tool, bar, what in ((look, 0.5, "recording a step"), (look_long, None, "the same, 200 kB results")):
            step(tool)
            rounds = [step(tool) for _ in range(ROUNDS)]
            value = statistics.median(recorded - plain for recorded, plain in rounds)
            against = "a model call and a tool, both begun and ended in the journal"
            row = told("R2", what, value, unit="ms", against=against)
            yield row if bar is None else at_most("R2", what, value, bar, unit="ms", against=against)


# --- J2 --------------------------------------------------------------------------------------------------------------


def _read(folder: Path, run: str) -> Iterator[Row]:
    """The record from the journal's files, and everything in it answered once, without the program."""
    rounds: list[tuple[float, float]] = []
    for _ in range(ROUNDS):
        found: list[tuple[LocalRecord, list[RecordedCall]]] = []
        reading = _cpu(lambda found=found: found.append(_record(folder, run)))
        rounds.append((reading, _cpu(partial(_answer_all, *found[0]))))
    value = statistics.median(sum(both) for both in rounds) * 1e3
    reading = statistics.median(reading for reading, _ in rounds) * 1e3
    against = f"{2 * _STEPS:,} calls, each answered once, without the program; {reading:.0f} ms of it to read them"
    yield at_most("J2", f"replay of {_EVENTS:,} events from the journal", value, 50, unit="ms", against=against)


def _record(folder: Path, run: str) -> tuple[LocalRecord, list[RecordedCall]]:
    record = read_local(folder, run)
    assert record is not None
    return record, recorded_calls(record.spans)


def _answer_all(record: LocalRecord, calls: list[RecordedCall]) -> None:
    asked = [call for call in calls if call.can_answer]
    matcher = Matcher(asked)
    for call in asked:
        if not isinstance(matcher.match(call.call_path, call.request_refs), MatchedCall):
            raise RuntimeError(f"{call.call_path} is not answered")
        ref = call.ref(names.RESPONSE_REF)
        answer = answer_from_record(record, call, None) if ref is None else record.content(ref)
        if answer is None:
            raise RuntimeError(f"the answer of {call.call_path} is not there")
