"""S1, S2, S4, S5, F1, F2: bytes in Postgres, all tables and indexes after a vacuum; and whether it is what was sent."""

import time
from collections.abc import Callable, Iterator, Sequence
from itertools import count
from typing import Any

import openai
from openai.types.chat import ChatCompletion

import playhead
from benchmarks.collector import BenchCollector, collector
from benchmarks.many.scanned import different_answers
from benchmarks.recorded_runs import check, model_calls
from benchmarks.recording import inline_bytes, record_all, recording
from benchmarks.sdk.canned import answer_saying, canned_client
from playhead.testing import Trajectory
from tests.support.bar import Row, at_least, at_most, not_measured, told
from tests.support.replayed_runs import recorded_runs

_SHARED_RUNS, _PROMPT = 1_000, 10_000
_CHATS, _TURNS = 10, 100
# Told beside the bar: who had a content is a search across runs, and no part of the record.
_BESIDE = {"content_use"}


def measure_recorded() -> Iterator[Row]:
    """S1, S5, F1, F2: the recorded runs."""
    runs = recorded_runs()
    if not runs:
        yield not_measured("S1", "bytes stored", "there are no recorded runs")
        yield not_measured("S5", "bytes stored with the search index", "there are no recorded runs")
        yield not_measured("F2", "searches", "there are no recorded runs")
        yield not_measured("F1", "contexts rebuilt", "there are no recorded runs")
        return
    yield from _recorded(runs)


def measure_made_up() -> Iterator[Row]:
    """S2, S4: runs of our own."""
    with collector() as at, recording(at.url), canned_client() as (client, answers):
        yield from _shared_prompt(at, client, answers)
        yield _growth(at, client, answers)


def _recorded(runs: Sequence[Trajectory]) -> Iterator[Row]:
    inline, calls = inline_bytes(runs), sum(1 for _ in model_calls(runs))
    with collector() as at:
        with recording(at.url):
            replayed = record_all(runs)
            playhead.flush(120)
        at.wait_sealed(each.run for each in replayed)
        at.wait_packed()
        began = time.perf_counter()
        checked = list(check(at.client, replayed))
        seconds = time.perf_counter() - began
        at.wait_indexed()
        searches, wrong = different_answers(at.client, replayed)
        tables = at.table_sizes()
    everything = sum(table.total for table in tables)
    total = sum(table.total for table in tables if table.name not in _BESIDE)
    # What searches need, and PLAYHEAD_SEARCH=off leaves out, is told beside it.
    searched = sum(table.total for table in tables if table.name.startswith("search_"))
    total -= searched
    differences = [sentence for each in checked for sentence in each.differences]
    against = differences[0] if differences else f"{calls:,} calls, asked in {seconds:.1f} s"
    sizes = f"{total:,} ÷ {inline:,} bytes"
    yield at_most("S1", "bytes stored ÷ inline", total / inline, 1 / 5, unit="x", against=sizes)
    yield at_most("S1", "the second step", total / inline, 1 / 10, unit="x", against=sizes)
    whole = f"{everything:,} ÷ {inline:,} bytes, all tables"
    yield at_most(
        "S5", "bytes stored with the search index ÷ inline", everything / inline, 1 / 7, unit="x", against=whole
    )
    yield at_most("S5", "the second step", everything / inline, 1 / 9, unit="x", against=whole)
    beside = f"{searched / total:.2f} of the bytes stored; left out by PLAYHEAD_SEARCH=off"
    yield told("S1", "beside it: the search index", searched, unit="bytes", against=beside)
    for table in tables:
        yield told("S1", f"table {table.name}", table.total, unit="bytes", against=str(table))
    yield at_least("F1", "contexts equal to the source", calls - len(differences), calls, unit="", against=against)
    scan = wrong[0] if wrong else "decisions and texts of the recorded runs, against a plain look at their file"
    yield at_least("F2", "searches equal to the source", searches - len(wrong), searches, unit="", against=scan)


def _shared_prompt(at: BenchCollector, client: openai.OpenAI, answers: list[ChatCompletion]) -> Iterator[Row]:
    prompt = _prompt()
    before, before_all = at.number(_CONTENT), at.database_bytes()
    inline, runs = 0, list[str]()
    for number in range(_SHARED_RUNS):
        messages = [{"role": "system", "content": prompt}, {"role": "user", "content": f"Where is order {number}?"}]
        answers.append(answer_saying("On its way.", 0))
        runs.append(_run_of(client, [messages]))
        inline += len(prompt) + len(messages[1]["content"])
    playhead.flush(120)
    at.wait_sealed(runs)
    at.wait_packed()
    content, everything = at.number(_CONTENT) - before, at.database_bytes() - before_all
    against = f"{content:,} ÷ {inline:,} bytes, {_SHARED_RUNS:,} runs, each with a question of its own"
    yield at_most("S2", "content, one prompt in 1,000 runs", content / inline, 1 / 100, unit="x", against=against)
    yield told(
        "S2", "everything of these runs in Postgres", everything, unit="bytes", against="with events and indexes"
    )


_CONTENT = """
    select (select coalesce(sum(octet_length(body)), 0) from content)
        + (select coalesce(sum(octet_length(body)), 0) from content_pack)
"""


def _prompt() -> str:
    rules = (f"Rule {number}: of a case like {number * 7919 % 1000}, say what is known." for number in count())
    text = ""
    while len(text) < _PROMPT:
        text += next(rules) + "\n"
    return text[:_PROMPT]


def _growth(at: BenchCollector, client: openai.OpenAI, answers: list[ChatCompletion]) -> Row:
    short = _stored_by(at, lambda: [_chat(client, answers, _TURNS) for _ in range(_CHATS)])
    long = _stored_by(at, lambda: [_chat(client, answers, 2 * _TURNS) for _ in range(_CHATS)])
    against = f"{long:,} ÷ {short:,} bytes, {_CHATS} chats of {2 * _TURNS} and of {_TURNS} turns"
    return at_most("S4", "a chat of twice the turns", long / short, 2.2, unit="x", against=against)


def _stored_by(at: BenchCollector, work: Callable[[], list[str]]) -> int:
    before = at.database_bytes()
    runs = work()
    playhead.flush(120)
    at.wait_sealed(runs)
    at.wait_packed()
    return at.database_bytes() - before


def _chat(client: openai.OpenAI, answers: list[ChatCompletion], turns: int) -> str:
    messages: list[Any] = [{"role": "system", "content": "You are a helpful agent."}]
    inputs: list[list[Any]] = []
    for turn in range(turns):
        messages.append({"role": "user", "content": _sentence(turn)})
        inputs.append(list(messages))
        said = _sentence(turn + 0.5)
        answers.insert(0, answer_saying(said, next(_numbers)))
        messages.append({"role": "assistant", "content": said})
    return _run_of(client, inputs)


_numbers = count()


def _sentence(turn: float) -> str:
    word = f"{time.time_ns() * (turn + 1):.0f}"
    return f"Turn {turn}: {word}. " + " ".join(f"{word[i % 9 : i % 9 + 6]} parcels" for i in range(25))


def _run_of(client: openai.OpenAI, inputs: list[list[Any]]) -> str:
    """A run that makes these calls; gives its id."""
    create: Any = client.chat.completions.create
    with playhead.run("bench") as run:
        for messages in inputs:
            create(model="gpt-4o", messages=messages)
    return run.id or ""
