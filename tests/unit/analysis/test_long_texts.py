"""Every question about a run takes time in proportion to the texts in it, whatever these say.

By default a few shapes of text are measured.  PLAYHEAD_LONG_TEXTS=all measures every shape, with longer texts: some
minutes.  Time is that of this process's processor, the least of several measurements, without the garbage collector.
"""

import asyncio
import gc
import os
import time
from collections.abc import Callable
from typing import Any

import httpx
import pytest
from fastapi import FastAPI
from fastapi.routing import APIRoute

from playhead.model import event as ev
from playhead.wire.operations.declared import all_operations
from playhead_collector.analysis.configuration import Configured
from playhead_collector.analysis.texts.limits import MAX_TEXT_LENGTH
from playhead_collector.serve import errors, query_api
from tests.support.hostile_texts import (
    ON_PUNCTUATION,
    UNITS,
    all_different,
    pairs_of_few_words,
    text_of_shape,
    truncated_json,
)
from tests.support.processor_time import assert_takes_at_most
from tests.support.readers.chat import Chat
from tests.support.readers.fake import RUN, FakeRunner, FakeStore
from tests.support.readers.hostile_run import hostile_run

OTHER = "0190f5ff" * 4
PREFIX = "/api/v1/runs/{run}"
# Questions about one run that read nothing of what was said in it.
READS_NO_TEXT = {
    "",
    "/waterfall",
    "/spans",
    "/spans/{span}",
    "/logs",
    "/otlp",
    "/lease",
    "/explain",
    "/suspects/rerank",
    "/compressions/{seq}/judge",
    "/ask-again",
    "/scores",
    "/notes",  # people wrote them
    "/notes/{note}",
}
READS_NO_TEXT |= {"/test", "/bundle"}  # they write texts down, and read none
# Questions about one run that read what was said in it: all others. What they are asked with, if not as they are.
ASKED_WITH = {
    "/causes/{seq}": ["?direction=both"],
    "/context": ["?form=openai"],
    "/diff": ["?from=2&to={seq}"],
    "/state": ["?hydrate=true"],
    "/tokens": ["?split=true"],
    "/turns/{turn}": ["?why=true"],
    "/search": ["?q=and another", '?q="', "?q=\u00e4"],
    "/llm-calls": ["?hydrate=true"],
    "/tool-calls": ["?hydrate=true"],
    "/events": ["?preview=10000"],
}
OF_A_RUN = {
    operation.facts.path.removeprefix("/runs/{run}")
    for operation in all_operations()
    if operation.facts.method == "GET" and operation.facts.path.startswith("/runs/{run}")
}
ASKED = {path: ASKED_WITH.get(path, [""]) for path in sorted(OF_A_RUN - READS_NO_TEXT)}
SHAPES: dict[str, Callable[[int], str]] = {
    **{
        shape: lambda length, shape=shape: text_of_shape(shape, length)
        for shape in UNITS
        if not shape.endswith(ON_PUNCTUATION)
    },
    "truncated JSON of HTML": truncated_json,
    "all different": all_different,
    "pairs of few words": pairs_of_few_words,
    "a list, cut": lambda length: '["a\\"b", ' + text_of_shape("quotes and backslashes", length),
}
# Those that found something when this was written.
OFTEN = ("quotes and backslashes", "truncated JSON of HTML", "all different", "pairs of few words")
ALL = os.environ.get("PLAYHEAD_LONG_TEXTS") == "all"
SHORT = 6_000 if ALL else 3_000
MOST = 2.5
TOO_SHORT_TO_TELL = 0.15


def app_on(store: Any) -> FastAPI:
    app = FastAPI()
    query_api.add_routes(app, store, FakeRunner())
    errors.install(app)
    return app


def run_of(text: str) -> FakeStore:
    store = FakeStore()
    hostile_run(store, text, RUN)
    hostile_run(store, text + " and another", OTHER)
    return store


def questions(store: FakeStore) -> list[str]:
    """Every question, about an event for which there is an answer."""
    seq = {
        cls: max(event.seq for event in store.events_of[RUN] if isinstance(event, cls))
        for cls in (ev.ToolCalled, ev.LlmCompleted, ev.ContextCompressed)
    }
    about = {"/compressions/{seq}": seq[ev.ContextCompressed], "/attributions/{seq}": seq[ev.ToolCalled]}
    asked = [
        (PREFIX + path + query).format(run=RUN, seq=about.get(path, seq[ev.LlmCompleted]), turn=1)
        for path, queries in ASKED.items()
        for query in queries
    ]
    return [*asked, f"/api/v1/runs/{RUN}/compare/{OTHER}"]


async def seconds(app: FastAPI, questions: list[str]) -> dict[str, float]:
    """Processor time for each answer."""
    taken: dict[str, float] = {}
    transport = httpx.ASGITransport(app=app)
    async with httpx.AsyncClient(transport=transport, base_url="http://collector") as client:
        gc.collect()
        gc.disable()
        try:
            for question in questions:
                begun = time.process_time()
                answer = await client.get(question)
                taken[question] = time.process_time() - begun
                assert answer.status_code == 200, (question, answer.text[:300])
        finally:
            gc.enable()
    return taken


def test_no_question_is_left_out() -> None:
    app = app_on(FakeStore())
    paths = {route.path for route in app.routes if isinstance(route, APIRoute)}
    of_a_run = {path.removeprefix(PREFIX) for path in paths if path.startswith(PREFIX)}
    assert of_a_run == {*ASKED, *READS_NO_TEXT}
    assert {*ASKED_WITH} <= {*ASKED}


@pytest.mark.parametrize("shape", SHAPES if ALL else OFTEN)
def test_every_question_takes_twice_as_long_for_texts_of_twice_the_length(shape: str) -> None:
    # Few words that make many identifiers: only long texts have enough of these to be slow.
    measure(shape, 4 * SHORT if ALL and shape == "pairs of few words" else SHORT)


def measure(shape: str, length: int) -> None:
    stores = [run_of(SHAPES[shape](each)) for each in (length, 2 * length)]
    asked, (half, whole) = questions(stores[0]), map(app_on, stores)
    least = dict.fromkeys(asked, 1e9)
    most = dict.fromkeys(asked, 1e9)
    for attempt in range(12):
        slow = [each for each in asked if most[each] > max(TOO_SHORT_TO_TELL, MOST * least[each])]
        if attempt and not slow:
            break
        ask = slow if attempt else asked
        least |= {each: min(least[each], taken) for each, taken in asyncio.run(seconds(half, ask)).items()}
        most |= {each: min(most[each], taken) for each, taken in asyncio.run(seconds(whole, ask)).items()}
    slow_ones = {each: (least[each], most[each]) for each in asked}
    assert not {
        each: both for each, both in slow_ones.items() if both[1] > TOO_SHORT_TO_TELL and both[1] > MOST * both[0]
    }


LIMIT = 2_000


def test_a_text_beyond_the_limit_is_read_to_it_and_the_answer_says_so() -> None:
    store = run_of("x" * 1_000 + " CODE77 " + "y " * LIMIT + "LATE99")
    app = FastAPI()
    configured = Configured(longest_text=LIMIT)
    query_api.add_routes(app, store, FakeRunner(), configured=configured)  # pyright: ignore[reportArgumentType]

    async def ask() -> list[dict[str, Any]]:
        transport = httpx.ASGITransport(app=app)
        async with httpx.AsyncClient(transport=transport, base_url="http://collector") as client:
            return [(await client.get(question)).json() for question in questions(store)]

    answers = asyncio.run(ask())
    marked = [answer["cut"] for answer in answers if "cut" in answer]
    assert len(marked) >= 5
    assert all({(text["read"], text["length"] > LIMIT) for text in cut} == {(LIMIT, True)} for cut in marked)
    plain = run_of("short")
    assert not any("cut" in answer.json() for answer in asyncio.run(answers_of(plain)))


async def answers_of(store: FakeStore) -> list[httpx.Response]:
    transport = httpx.ASGITransport(app=app_on(store))
    async with httpx.AsyncClient(transport=transport, base_url="http://collector") as client:
        return [await client.get(question) for question in questions(store)]


@pytest.mark.parametrize("question", ["attributions", "suspects"])
def test_a_megabyte_is_answered_in_bounded_time(question: str) -> None:
    """Measured against a text of the limit's length, not against a clock: beyond the limit, length costs next to
    nothing."""

    def asked(length: int) -> Callable[[], object]:
        store = FakeStore()
        chat = Chat(store)
        chat.user(truncated_json(length))
        chat.asks("look_up", {"query": "W0000123"}, "found")
        chat.done()
        app = app_on(store)
        return lambda: asyncio.run(seconds(app, [f"/api/v1/runs/{RUN}/{question}"]))

    assert_takes_at_most(MOST, asked(4 * MAX_TEXT_LENGTH), asked(MAX_TEXT_LENGTH))
