"""C1, C2, C2a, C3: what recording costs the thread that is recorded.

CPU time of that thread alone; loops are warm; and everything is held against a bare span of OpenTelemetry's SDK, made
in the same run.  What is recorded is delivered between the rounds, as it is in a program that waits for a model most of
the time.  Rows of their own have what a call costs while everything is being shipped beside it, with all cores and on
one: rounds are so long that the shipping thread keeps up, and a row says how much it had delivered at their end.
"""

import gc
import os
import statistics
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, cast

import openai
import orjson
from anthropic.types import Message
from openai.types.chat import ChatCompletion
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult

import playhead
from benchmarks.recording import recording
from benchmarks.sdk.canned import answer_saying, canned_anthropic, canned_client, message_saying
from benchmarks.sdk.sink import Sink
from playhead import observe
from playhead.calls.lifecycle import current_span
from playhead.dialect import anthropic
from playhead.dialect import openai_chat as openai_dialect
from playhead.refs.threads import KnownThread
from tests.support.bar import Row, at_most, not_measured, told
from tests.support.replayed_runs import recorded_runs

_HISTORY_MESSAGES, _HISTORY_BYTES = 32, 20_000
_LONG_MESSAGES = 1_000
_ROUNDS = 7
# Less than a shipment, which would be sent at once: the shipper waits this long, or for the flush after a round.
_BETWEEN_ROUNDS = 60.0
_CALLS = 200
# Of @observe; the frames of a round are less than what the shipper sends at once, so it is idle meanwhile.
_IDLE_CALLS = 1_000
# A second and less; half of that for a model's calls, which take five times as long.
_SHIPPED_CALLS, _SHIPPED_MODEL_CALLS = 30_000, 3_000
# Fewer than the batch processor's queue takes: spans that it drops cost less.
_BARE_SPANS = 1_500


def measure() -> Iterator[Row]:
    with Sink() as sink, recording(sink.url, linger_seconds=_BETWEEN_ROUNDS):
        yield _c1_idle("@observe on a trivial function, nothing is shipped meanwhile")
        yield from _c2_c3()
    with Sink() as sink, recording(sink.url, linger_seconds=0.0):
        yield _c1_shipped("the same while all of it is being shipped")
        yield from _c2_beside_the_shipper()
    with Sink() as sink, on_one_core() as is_pinned, recording(sink.url, linger_seconds=0.0):
        if is_pinned:
            yield _c1_shipped("the same on one core")
        else:
            yield not_measured("C1", "the same on one core", "this system pins no process")


@contextmanager
def on_one_core() -> Generator[bool]:
    """This process and threads that it starts run on one core. False: the system has no such thing."""
    if not hasattr(os, "sched_setaffinity"):
        yield False
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(before)})
    try:
        yield True
    finally:
        os.sched_setaffinity(0, before)


def measure_anthropic() -> Iterator[Row]:
    with Sink() as sink, recording(sink.url, linger_seconds=_BETWEEN_ROUNDS):
        yield from _c2a()


# --- the yardstick, and C1 -------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Beside:
    """Microseconds of what is measured and of a bare span; `ratio` is the median of those of each round."""

    value: float
    bare: float
    ratio: float

    def __str__(self) -> str:
        return f"{self.value:.1f} us ÷ {self.bare:.1f} us, a bare span"


def _beside(measure: Callable[[], float]) -> _Beside:
    """In turn, for the machine is not as fast in one second as in the next."""
    rounds = [(measure(), _bare_span()) for _ in range(_ROUNDS)]
    values, bares = zip(*rounds, strict=True)
    ratio = statistics.median(value / bare for value, bare in rounds)
    return _Beside(statistics.median(values), statistics.median(bares), ratio)


class _Nowhere(SpanExporter):
    def export(self, spans: Any) -> SpanExportResult:
        return SpanExportResult.SUCCESS


def _bare_span() -> float:
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(BatchSpanProcessor(_Nowhere()))
    tracer = provider.get_tracer("bench")

    def once() -> None:
        with tracer.start_as_current_span("x") as span:
            span.set_attribute("a", 1)
            span.set_attribute("b", "x")
            span.set_attribute("c", True)

    try:
        return _microseconds(once, _BARE_SPANS)
    finally:
        provider.shutdown()


def _microseconds(work: Callable[[], Any], times: int) -> float:
    for _ in range(times // 10):
        work()
    began = time.thread_time()
    for _ in range(times):
        work()
    return (time.thread_time() - began) / times * 1e6


@observe
def _trivial(x: int) -> int:
    return x


@observe
def _many_calls(calls: int) -> tuple[float, int]:
    """Microseconds of one call, and how many spans were delivered meanwhile."""
    before = playhead.counters().get("spans", 0)
    value = _microseconds(lambda: _trivial(1), calls)
    return value, playhead.counters().get("spans", 0) - before


def _c1_idle(what: str) -> Row:
    def once() -> float:
        value, delivered = _many_calls(_IDLE_CALLS)
        assert not delivered, "the shipper was not idle"
        playhead.flush(60)
        return value

    found = _beside(once)
    return at_most("C1", what, found.ratio, 1.5, unit="x", against=str(found))


def _c1_shipped(what: str) -> Row:
    shares: list[float] = []

    def once() -> float:
        value, delivered = _many_calls(_SHIPPED_CALLS)
        shares.append(delivered / _SHIPPED_CALLS)
        playhead.flush(60)
        return value

    found = _beside(once)
    against = f"{found}; {statistics.median(shares):.0%} of the spans are delivered by the end of a round"
    return at_most("C1", what, found.ratio, 1.5, unit="x", against=against)


# --- C2, C3 ----------------------------------------------------------------------------------------------------------


def _c2_c3() -> Iterator[Row]:
    runs = recorded_runs()
    if not runs:
        yield not_measured("C2", "a model call", "there are no recorded runs")
        yield not_measured("C3", "a model call, long history", "there are no recorded runs")
        return
    history = _history(runs)
    many = [message for run in runs for message in run.messages][:_LONG_MESSAGES]
    tools = list(runs[0].tools)
    with canned_client() as (client, answers):
        call = partial(_call, client.chat.completions.create, answers, _answer, model="gpt-4o")
        found = _beside(lambda: call(history, 2, _CALLS))
        against = f"{found}; {len(orjson.dumps(history)):,} bytes, two messages new"
        yield at_most("C2", "a model call, 32 messages", found.ratio, 5, unit="x", against=against)
        found = _beside(lambda: call(history, 2, _CALLS, tools=tools))
        against = f"{found}; {len(tools)} tool definitions, {len(orjson.dumps(tools)):,} bytes"
        yield told("C2", "the same with tools", found.ratio, unit="x", against=against)
        found = _beside(lambda: call(many, 1, 20))
        size, seen = len(orjson.dumps(many)), _noticed(client, answers, many)
        against = f"{size:,} bytes, one message new; a change in place is {seen}"
        yield at_most("C3", "a model call, 1,000 messages", found.value / 1e3, 1, unit="ms", against=against)
        yield at_most("C3", "the same in bare spans", found.ratio, 30, unit="x", against=str(found))


def _c2_beside_the_shipper() -> Iterator[Row]:
    runs = recorded_runs()
    if runs:
        history = _history(runs)
        with canned_client() as (client, answers):
            create = client.chat.completions.create
            found = _beside(lambda: _call(create, answers, _answer, history, 2, _SHIPPED_MODEL_CALLS, model="gpt-4o"))
        yield told("C2", "the same while all of it is being shipped", found.ratio, unit="x", against=str(found))


def _c2a() -> Iterator[Row]:
    runs = recorded_runs()
    if not runs:
        yield not_measured("C2A", "a model call with anthropic", "there are no recorded runs")
        return
    history = anthropic.from_messages(openai_dialect.to_messages(_history(runs)))
    system = {"system": history.pop(0)["content"]} if history[0]["role"] == "system" else {}
    with canned_anthropic() as (client, answers):
        more = {"model": "claude", "max_tokens": 1_000, **system}
        found = _beside(lambda: _call(client.messages.create, answers, _message, history, 2, _CALLS, **more))
    against = f"{found}; {len(history)} messages, {len(orjson.dumps(history)):,} bytes, two messages new"
    yield at_most("C2A", "a model call with anthropic", found.ratio, 5, unit="x", against=against)


def _history(runs: Sequence[Any]) -> list[Any]:
    long_enough = [list(run.messages[:_HISTORY_MESSAGES]) for run in runs if len(run.messages) > _HISTORY_MESSAGES]
    return min(long_enough, key=lambda messages: abs(len(orjson.dumps(messages)) - _HISTORY_BYTES))


def _call(
    create: Any,
    answers: list[Any],
    answer: Callable[[int], Any],
    history: list[Any],
    new: int,
    times: int,
    **more: Any,
) -> float:
    """Microseconds per call whose last `new` messages are new, and whose others the call before had, beyond what the
    same call takes unobserved (the canned client: 2 us).  Half as many calls before are warm-up, and not counted."""
    all_of_them = range(times + times // 2)
    histories = [[*history[:-new], *(_changed(message, i) for message in history[-new:])] for i in all_of_them]
    answers[:] = [answer(i) for i in range(len(histories))]
    unobserved = _unobserved(create, histories, more)
    answers[:] = [answer(i) for i in range(len(histories) + 2)]
    with playhead.run("bench"):
        for earlier in (2 * new, new):
            create(messages=history[:-earlier], **more)
        span = current_span()
        assert span is not None
        threads: list[Any] = span.run.threads.threads
        before = threads[0]
        # As after the call before: what this process knows of the thread is the same each time.
        known = [_copy_of(before) for _ in histories]
        gc.collect()  # now: these copies are the benchmark's own, and no call's to look through
        began = 0.0
        for number, (messages, thread) in enumerate(zip(histories, known, strict=True)):
            if number == times // 2:
                began = time.thread_time()
            threads[:] = (thread,)
            create(messages=messages, **more)
        elapsed = time.thread_time() - began
    playhead.flush()
    return elapsed / times * 1e6 - unobserved


def _unobserved(create: Any, histories: list[list[Any]], more: dict[str, Any]) -> float:
    """Microseconds that such a call takes without us."""
    unwrapped = create.__wrapped__
    began = time.thread_time()
    for messages in histories:
        unwrapped(messages=messages, **more)
    return (time.thread_time() - began) / len(histories) * 1e6


def _copy_of(thread: KnownThread) -> KnownThread:
    lists = {name: value[:] for name in KnownThread.__slots__ if isinstance(value := getattr(thread, name), list)}
    return replace(thread, **lists)


def _changed(message: Any, number: int) -> Any:
    content, more = message.get("content"), f" {time.time_ns()} {number}"
    if not isinstance(content, list):
        return {**message, "content": f"{content or ''}{more}"}
    *blocks, last = cast("list[dict[str, Any]]", content)
    key = next(key for key in ("text", "content", "id") if key in last)
    return {**message, "content": [*blocks, {**last, key: f"{last[key]}{more}"}]}


def _answer(number: int) -> ChatCompletion:
    text = "Sure, I can help with that. Please confirm the details of your booking. " * 3
    return answer_saying(f"{text}{time.time_ns()} {number}", number)


def _message(number: int) -> Message:
    text = "Sure, I can help with that. Please confirm the details of your booking. " * 3
    return message_saying(f"{text}{time.time_ns()} {number}", number)


def _noticed(client: openai.OpenAI, answers: list[ChatCompletion], history: list[Any]) -> str:
    """Whether the thread is another one after an old message was changed in place."""
    messages = [dict(message) for message in history]
    answers[:] = [_answer(i) for i in range(3)]
    create: Any = client.chat.completions.create
    seen: list[str] = []
    with playhead.run("bench"):
        for _ in range(2):
            create(model="gpt-4o", messages=messages)
            span = current_span()
            assert span is not None
            seen.append(str(span.run.threads.threads[0].nodes[-1]))
            messages[500]["content"] = "changed in place"
    return "noticed" if seen[0] != seen[1] else "NOT NOTICED"
