"""Scores of runs and calls, posted or reported by programs, in Langfuse, Phoenix and at an OTLP backend."""

from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from playhead.model import names
from playhead.model.span import SpanEvent
from playhead_collector.destination_settings import LangfuseSettings, OtlpSettings, PhoenixSettings
from playhead_collector.forward.destination import ForwardLimits, destination
from playhead_collector.forward.forwarder import Forwarder
from playhead_collector.read.prices import shipped
from playhead_collector.store.ports.scores import ScoreToAdd
from playhead_collector.store.ports.spans import Batch
from playhead_collector.store.postgres.store import PostgresStore, connect
from tests.integration.forward.backend import Backend, attributes
from tests.integration.forward.test_destinations import batch
from tests.integration.store.making import RUN, TRACE, Clock, P, json, log
from tests.support.backends.http import json_answer
from tests.support.backends.langfuse import PUBLIC, SECRET, Langfuse
from tests.support.backends.phoenix import Phoenix

SECOND = 1_000_000_000
AGENT, MODEL = f"{1:016x}", f"{2:016x}"


class Destinations:
    def __init__(self) -> None:
        self.langfuse, self.phoenix, self.otlp = Langfuse(), Phoenix(), Backend().start()
        self.clock = Clock()

    def all(self) -> list[Any]:
        langfuse = LangfuseSettings(name="langfuse", url=self.langfuse.url, public_key=PUBLIC, secret_key=SECRET)
        phoenix = PhoenixSettings(name="phoenix", url=self.phoenix.url)
        otlp = OtlpSettings(name="otlp", url=self.otlp.url, logs=True)
        return [destination(each.checked()) for each in (langfuse, phoenix, otlp)]


@pytest.fixture
def to() -> Iterator[Destinations]:
    destinations = Destinations()
    with destinations.langfuse, destinations.phoenix:
        yield destinations
    destinations.otlp.stop()


@pytest.fixture
async def store(database_url: str, to: Destinations) -> AsyncIterator[PostgresStore]:
    recipients = [each.recipient for each in to.all()]
    store = await connect(database_url, pool_size=4, clock=to.clock, recipients=recipients)
    yield store
    await store.close()


@pytest.fixture
async def forwarder(store: PostgresStore, to: Destinations) -> AsyncIterator[Forwarder]:
    forwarder = Forwarder(store, to.all(), ForwardLimits(), shipped(), "http://playhead.example", to.clock)
    yield forwarder
    await forwarder.stop()


async def forward(forwarder: Forwarder) -> None:
    for worker in forwarder.workers:
        await worker.run_once()


async def test_posted_scores_arrive_once(store: PostgresStore, forwarder: Forwarder, to: Destinations):
    await store.spans.ingest(P, batch())
    await forward(forwarder)
    for score in (
        ScoreToAdd("s-1", "helpful", 0.5, comment="too long"),
        ScoreToAdd("s-2", "safe", True, span=MODEL, author="ann"),
        ScoreToAdd("s-3", "tone", "friendly"),
    ):
        await store.scores.add(P, RUN, score)
        await store.scores.add(P, RUN, score)  # is there already
    assert [each.waiting_items for each in await store.outbox.status()] == [3, 3, 3]
    await forward(forwarder)
    assert await store.outbox.status() == []
    found = {(name, span): each for (name, span, _), each in to.phoenix.annotations.items()}
    assert found.keys() == {("helpful", AGENT), ("safe", MODEL), ("tone", AGENT)}
    assert found["helpful", AGENT]["result"] == {"score": 0.5, "explanation": "too long"}
    assert found["safe", MODEL]["result"] == {"score": 1.0, "label": "true"}
    assert (found["safe", MODEL]["annotator_kind"], found["tone", AGENT]["annotator_kind"]) == ("HUMAN", "CODE")
    assert found["tone", AGENT]["result"] == {"label": "friendly"}
    scores = {each["name"]: each for each in to.langfuse.scores.values()}
    assert {each["traceId"] for each in scores.values()} == {TRACE}
    assert (scores["helpful"]["value"], scores["helpful"]["dataType"], scores["helpful"]["comment"]) == (
        0.5, "NUMERIC", "too long",
    )  # fmt: skip
    assert (scores["safe"]["value"], scores["safe"]["dataType"], scores["safe"]["observationId"]) == (
        1, "BOOLEAN", MODEL,
    )  # fmt: skip
    assert (scores["tone"]["value"], scores["tone"]["dataType"]) == ("friendly", "CATEGORICAL")
    assert "observationId" not in scores["helpful"]
    logs = [attributes(each) for request in to.otlp.requests for each in request.logs]
    assert [each[names.EVALUATION_NAME] for each in logs] == ["helpful", "safe", "tone"]
    assert logs[0][names.EVALUATION_VALUE] == 0.5
    assert await store.outbox.backfill(P, to.all()[1].recipient, RUN, 0) == 1
    await forward(forwarder)
    assert len(to.phoenix.annotations) == 3


async def test_an_evaluation_that_a_program_reports_arrives(
    store: PostgresStore, forwarder: Forwarder, to: Destinations
):
    said = {names.EVALUATION_NAME: "relevance", names.EVALUATION_VALUE: 0.25, names.EVALUATION_EXPLANATION: "vague"}
    about = {names.SCORE_TYPE: "number", names.SCORED_SPAN: MODEL}
    await store.spans.ingest(P, Batch(logs=[log(4, names.EVALUATION, **said, **about)]))
    await forward(forwarder)
    assert (to.phoenix.annotations, to.langfuse.scores) == ({}, {})  # what was scored is not here yet
    await store.spans.ingest(P, batch())
    to.clock.now_ns += 5 * SECOND
    await forward(forwarder)
    [annotation] = to.phoenix.annotations.values()
    assert (annotation["span_id"], annotation["result"]) == (MODEL, {"score": 0.25, "explanation": "vague"})
    [score] = to.langfuse.scores.values()
    assert (score["observationId"], score["value"]) == (MODEL, 0.25)
    assert await store.outbox.status() == []


async def test_evaluations_on_spans_arrive_once_with_their_explanations(
    store: PostgresStore, forwarder: Forwarder, to: Destinations
):
    whole, why = batch(), json("It names the town.")
    call = next(span for span in whole.spans if span.span_id == MODEL)
    call.attributes |= {names.EVALUATION_NAME: "relevance", names.EVALUATION_VALUE: 0.75}
    call.attributes[names.EVALUATION_EXPLANATION + names.REF_SUFFIX] = str(why.ref)
    verdict = {names.EVALUATION_NAME: "verdict", names.EVALUATION_LABEL: "pass", names.EVALUATION_EXPLANATION: "short"}
    call.events.append(SpanEvent(names.EVALUATION, call.start_ns + 1, verdict))
    await store.spans.ingest(P, whole)
    await forward(forwarder)
    assert [each["name"] for each in to.phoenix.annotations.values()] == ["verdict"]  # the other's explanation is late
    await store.spans.ingest(P, Batch(contents=[why]))
    to.clock.now_ns += 5 * SECOND
    await forward(forwarder)
    assert await store.outbox.status() == []
    found = {(name, span): each["result"] for (name, span, _), each in to.phoenix.annotations.items()}
    assert found == {
        ("relevance", MODEL): {"score": 0.75, "explanation": "It names the town."},
        ("verdict", MODEL): {"label": "pass", "explanation": "short"},
    }
    scores = {
        each["name"]: (each["observationId"], each["value"], each["comment"]) for each in to.langfuse.scores.values()
    }
    assert scores == {"relevance": (MODEL, 0.75, "It names the town."), "verdict": (MODEL, "pass", "short")}
    for recipient in (each.recipient for each in to.all()):
        assert await store.outbox.backfill(P, recipient, RUN, 0) == 1
    await forward(forwarder)
    assert (await store.outbox.status(), len(to.phoenix.annotations), len(to.langfuse.scores)) == ([], 2, 2)
    # An OTLP backend has them on the span.
    assert [each for request in to.otlp.requests for each in request.logs] == []


async def test_a_destination_that_is_away_gets_scores_later_and_a_refused_one_is_kept(
    store: PostgresStore, forwarder: Forwarder, to: Destinations
):
    await store.spans.ingest(P, batch())
    await forward(forwarder)
    await store.scores.add(P, RUN, ScoreToAdd("s-1", "helpful", 1.0))
    to.phoenix.fail_next = [json_answer({}, 503)]
    await forward(forwarder)
    assert to.phoenix.annotations == {}
    to.clock.now_ns += 5 * SECOND
    await forward(forwarder)
    assert len(to.phoenix.annotations) == 1
    await store.scores.add(P, RUN, ScoreToAdd("s-2", "note", 1.0))  # Phoenix has that name for itself
    await forward(forwarder)
    to.clock.now_ns += 90 * SECOND
    await forward(forwarder)
    [status] = await store.outbox.status()
    assert (status.destination, status.dead, status.dead_items) == ("phoenix", 1, 1)
    [letter] = await store.outbox.dead_letters("phoenix", 10)
    assert "422" in letter.reason
