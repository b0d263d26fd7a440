"""Langfuse and Phoenix as destinations, against what their servers refuse and keep."""

import base64
from collections.abc import AsyncIterator

import pytest

from playhead.model import names
from playhead_collector.destination_settings import DestinationSettings, LangfuseSettings, PhoenixSettings
from playhead_collector.forward.destination import ForwardLimits, destination
from playhead_collector.forward.forwarder import Forwarder
from playhead_collector.read.prices import shipped
from playhead_collector.store.ports.spans import Batch
from playhead_collector.store.postgres.recipients import Recipient
from playhead_collector.store.postgres.store import PostgresStore, connect
from tests.integration.store.making import RUN, Clock, P, json, span, thread, whole
from tests.support.backends.langfuse import PUBLIC, SECRET, Langfuse
from tests.support.backends.phoenix import KEY, Phoenix

SECOND = 1_000_000_000
PIXEL = base64.b64encode(b"\x89PNG not really").decode()


@pytest.fixture
async def store(database_url: str) -> AsyncIterator[PostgresStore]:
    store = await connect(
        database_url, pool_size=4, clock=Clock(), recipients=[Recipient("langfuse"), Recipient("phoenix")]
    )
    yield store
    await store.close()


def batch() -> Batch:
    """An agent that asks a model, which looks at a picture, and calls a tool."""
    asked, answered = thread("How is the weather?"), thread("x", "Fine")
    given, result = json({"city": "Oslo", "photo": f"data:image/png;base64,{PIXEL}"}), json({"degrees": 7})
    spans = [
        span(
            2,
            KIND="llm",
            REQUEST_MODEL="gpt-4o",
            INPUT_MESSAGES_REF=str(asked.ref),
            OUTPUT_MESSAGES_REF=str(answered.ref),
            INPUT_TOKENS=1000,
            OUTPUT_TOKENS=10,
        ),
        span(3, KIND="tool", TOOL_NAME="weather", TOOL_ARGUMENTS_REF=str(given.ref), TOOL_RESULT_REF=str(result.ref)),
        span(
            1, KIND="agent", AGENT_NAME="forecaster", RUN_NAME="weather", RUN_ROOT=True, CONVERSATION="s-1", USER="ann"
        ),
    ]
    contents = [*asked.contents, *answered.contents, given, result]
    return Batch(spans=spans, contents=contents, threads=[whole(asked), whole(answered)])


def of_langfuse(at: Langfuse, *hosts: str) -> LangfuseSettings:
    return LangfuseSettings(name="langfuse", url=at.url, public_key=PUBLIC, secret_key=SECRET, media_hosts=hosts)


async def forward(store: PostgresStore, settings: DestinationSettings) -> Forwarder:
    to = [destination(settings.checked())]
    forwarder = Forwarder(store, to, ForwardLimits(), shipped(), "http://playhead.example", Clock())
    await forwarder.workers[0].run_once()
    await forwarder.stop()
    return forwarder


async def test_a_run_arrives_in_langfuse_with_its_images(store: PostgresStore):
    await store.spans.ingest(P, batch())
    with Langfuse() as langfuse:
        await forward(store, of_langfuse(langfuse, "127.0.0.1"))
        found = {each["name"]: each for each in langfuse.observations.values()}
        assert {each["type"] for each in found.values()} == {"AGENT", "GENERATION", "TOOL"}
        assert all(each["shown_at_once"] and not each["from_sdk"] for each in found.values())
        assert {each["sessionId"] for each in found.values()} == {"s-1"}
        assert {each["userId"] for each in found.values()} == {"ann"}
        model = next(each for each in found.values() if each["type"] == "GENERATION")
        assert "How is the weather?" in str(model["input"])
        assert "Fine" in str(model["output"])
        assert model["model"] == "gpt-4o"
        assert model["usageDetails"]["input"] == 1000
        assert model["costDetails"]["total"] == pytest.approx(0.0026)
        tool = found["weather"]
        assert "@@@langfuseMedia:type=image/png" in str(tool["input"])
        assert list(langfuse.media.values()) == [b"\x89PNG not really"]
        assert all(names.RUN_URL in str(each) for each in found.values())
    assert [each for each in await store.outbox.status() if each.destination == "langfuse"] == []


async def test_images_go_to_no_host_that_nobody_named(store: PostgresStore):
    await store.spans.ingest(P, batch())
    with Langfuse() as langfuse:
        forwarder = await forward(store, of_langfuse(langfuse, "storage.example.com", "*.example.com"))
        assert langfuse.media == {}
        assert "127.0.0.1: name it in MEDIA_HOSTS" in (forwarder.workers[0].state.last_error or "")
        assert (await store.outbox.status())[0].waiting == 1


async def test_without_hosts_for_media_images_stay_in_the_text(store: PostgresStore):
    await store.spans.ingest(P, batch())
    with Langfuse() as langfuse:
        await forward(store, of_langfuse(langfuse))
        assert len(langfuse.observations) == 3
        assert langfuse.media_fields == []


async def test_a_run_arrives_in_phoenix(store: PostgresStore):
    await store.spans.ingest(P, batch())
    with Phoenix(KEY) as phoenix:
        await forward(store, PhoenixSettings(name="phoenix", url=phoenix.url, api_key=KEY, project="shop"))
        found = {each["kind"]: each for each in phoenix.spans("shop")}
        assert found.keys() == {"AGENT", "LLM", "TOOL"}
        model = found["LLM"]["attributes"]
        assert model["llm.input_messages.0.message.content"] == "How is the weather?"
        assert model["llm.token_count.prompt"] == 1000
        assert model["llm.cost.total"] == pytest.approx(0.0026)
        assert model["session.id"] == "s-1"
        assert found["TOOL"]["attributes"]["tool.name"] == "weather"
        assert "playhead.example/runs/" in str(found["AGENT"]["attributes"])


async def test_a_run_that_another_project_of_phoenix_has_is_a_dead_letter(store: PostgresStore):
    await store.spans.ingest(P, batch())
    with Phoenix(KEY) as phoenix:
        settings = PhoenixSettings(name="phoenix", url=phoenix.url, api_key=KEY, project="shop")
        await forward(store, settings)
        sent = phoenix.projects.pop("shop")
        phoenix.projects["elsewhere"] = {key: row for key, row in sent.items() if row["kind"] != "TOOL"}
        await store.outbox.backfill(P, Recipient("phoenix", calls_in_logs=True), RUN, 0)
        again = await forward(store, settings)
        assert sorted(row["kind"] for row in phoenix.spans("elsewhere")) == ["AGENT", "LLM", "TOOL"]
        assert (again.workers[0].counts["sent_spans"], again.workers[0].counts["dead"]) == (1, 2)
        letters = await store.outbox.dead_letters("phoenix", 10)
        assert {letter.reason for letter in letters} == {
            "the project elsewhere of this Phoenix has the span already, and Phoenix keeps a span in one project"
        }


async def test_a_wrong_key_waits_for_the_right_one(store: PostgresStore):
    await store.spans.ingest(P, batch())
    with Phoenix(KEY) as phoenix:
        wrong = await forward(store, PhoenixSettings(name="phoenix", url=phoenix.url, api_key="wrong-key"))
        assert "401" in (wrong.workers[0].state.last_error or "")
        assert phoenix.projects == {}
