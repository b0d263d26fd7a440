"""Every question, asked over HTTP of a collector's application on Postgres, about a run that was ingested."""

import base64
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from playhead.client import AsyncClient
from playhead.errors import NotFound
from playhead.model.canonical import value_of
from playhead.model.message import text_message
from playhead_collector.access import FIRST_PROJECT as PROJECT
from playhead_collector.app import create_app
from playhead_collector.settings import CollectorSettings
from playhead_collector.store.ports.spans import Batch
from playhead_collector.store.postgres.store import PostgresStore, connect
from tests.integration.read.recorded import MS, START_NS, Recorder, conversation

RUN, LONG, FAILED = "01" * 16, "02" * 16, "03" * 16


@pytest.fixture
async def store(module_database_url: str) -> AsyncIterator[PostgresStore]:
    store = await connect(module_database_url, pool_size=2)
    yield store
    await store.close()


@pytest.fixture
async def http(store: PostgresStore) -> AsyncIterator[httpx.AsyncBaseTransport]:
    async with httpx.ASGITransport(create_app(CollectorSettings(), store)) as transport:
        yield transport


@pytest.fixture
async def client(http: httpx.AsyncBaseTransport, store: PostgresStore) -> AsyncIterator[AsyncClient]:
    """Knows a run of three turns; ingesting the same again changes nothing, so every test may."""
    await store.spans.ingest(PROJECT, conversation(RUN, 3).batch())
    async with AsyncClient("http://localhost", transport=http) as client:
        yield client


async def test_a_run_is_there_as_soon_as_it_is_ingested(client: AsyncClient):
    run = await client.run(RUN)
    assert (run["name"], run["status"], run["session"], run["tags"]) == ("support", "completed", "s1", ["beta"])
    assert (run["llm_calls"], run["tool_calls"], run["models"], run["tools"]) == (3, 3, ["gpt-4o"], ["search"])
    whole = {
        "complete": True, "spans_missing": 0, "content_pending": 0, "parent_missing": False, "sealed": False,
        "retained": "hot",
    }  # fmt: skip
    assert run["completeness"] == whole
    assert (run["attempts"], run["forks"], run["shared"]) == (1, [], None)
    assert run["started"].startswith("2025-10-09T08:53:20.001")


async def test_runs_are_found_by_what_they_are(client: AsyncClient):
    wanted: tuple[dict[str, Any], ...] = (
        {"agent": "support"}, {"status": "completed"}, {"session": "s1"}, {"tag": "beta"}, {"model": "gpt-4o"},
        {"tool": "search"}, {"text": "supp"}, {"since": "2025-10-09", "until": "2025-10-10"},
    )  # fmt: skip
    for where in wanted:
        assert RUN in [run["run"] async for run in client.runs(**where)], where
    other: tuple[dict[str, Any], ...] = (
        {"agent": "nobody"}, {"status": "failed"}, {"since": "2200-01-01"}, {"text": "%"}
    )  # fmt: skip
    for where in other:
        assert RUN not in [run["run"] async for run in client.runs(**where)], where


async def test_events_can_be_paged_and_filtered(client: AsyncClient):
    events = [event async for event in client.events(RUN)]
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
    assert (events[0]["kind"], events[-1]["kind"]) == ("run_started", "run_completed")
    changed = [event async for event in client.events(RUN, kinds=["state_changed"], limit=2)]
    assert [event["data"]["key"] for event in changed] == ["found", "found"]
    assert (await client.state(RUN, at=events[4]["id"]))["seq"] == 5


async def test_state_at_each_event_is_what_was_known_then(client: AsyncClient):
    found = []
    async for event in client.events(RUN, kinds=["state_changed"]):
        state = await client.state(RUN, at=event["seq"], hydrate=True)
        found.append(state.get("values", {}).get("user_state", {}).get("found"))
        assert (state["status"], state["seq"]) == ("running", event["seq"])
    assert found == [0, 1, 2]
    last = await client.state(RUN)
    assert (last["status"], last["llm_calls"], last["open_calls"], len(last["history"])) == ("completed", 3, [], 7)


async def test_a_context_is_exactly_what_was_sent(client: AsyncClient):
    sent = [text_message("system", "You are of help."), text_message("user", "Where is my order?")]
    calls = [call async for call in client.llm_calls(RUN)]
    for n, call in enumerate(calls):
        context = await client.context(RUN, at=call["seq"])
        assert context["messages"][:2] == sent
        assert len(context["messages"]) == 2 + 2 * n
        assert context["settings"] == {"temperature": 0.5}
        assert context["context_tokens"] == 10 * len(context["messages"])
        assert (await client.context(RUN, at=call["ended_seq"]))["call"] == call
    openai = await client.context(RUN, form="openai")
    assert [m["role"] for m in openai["messages"]] == ["system", "user", "assistant", "tool", "assistant", "tool"]


async def test_the_conversation_names_the_call_of_each_message(client: AsyncClient):
    calls = {call["seq"] async for call in client.llm_calls(RUN)}
    entries = [entry async for entry in client.messages(RUN)]
    assert [entry["role"] for entry in entries] == ["system", "user", *["assistant", "tool"] * 2, "assistant"]
    assert {entry["call"] for entry in entries} == calls


async def test_tool_calls_have_their_arguments_and_results(client: AsyncClient):
    calls = [call async for call in client.tool_calls(RUN, hydrate=True)]
    assert [call.get("values", {})["arguments"] for call in calls] == [{"order": 0}, {"order": 1}, {"order": 2}]
    assert [call["status"] for call in calls] == ["completed"] * 3


async def test_reasoning_is_what_was_captured_at_that_call(client: AsyncClient):
    call = [call async for call in client.llm_calls(RUN)][1]
    assert (await client.reasoning(RUN, call["seq"]))["captured"] == "I look for 1."


async def test_spans_are_a_tree_without_payload(client: AsyncClient):
    spans = [span async for span in client.spans(RUN)]
    assert (spans[0]["depth"], spans[0]["parent"], spans[0]["kind"]) == (0, None, "agent")
    assert {span["depth"] for span in spans[1:]} == {1}
    assert "order 0 is on its way" not in str(spans)


async def test_content_is_served_by_its_ref_to_whoever_has_it_not(client: AsyncClient, http: httpx.AsyncBaseTransport):
    call = await anext(client.tool_calls(RUN))
    ref = call["refs"]["result"]
    assert value_of(await client.content(ref)) == ["order 0 is on its way"]
    async with httpx.AsyncClient(transport=http, base_url="http://localhost/api/v1") as plain:
        first = await plain.get(f"content/{ref}")
        assert (await plain.get(f"content/{ref}", headers={"if-none-match": first.headers["etag"]})).status_code == 304
        part = await plain.get(f"content/{ref}", headers={"range": "bytes=0-1"})
        assert (part.status_code, part.content) == (206, b'["')
        head = await plain.head(f"content/{ref}")
        assert (head.status_code, head.content, head.headers["content-length"]) == (200, b"", str(len(first.content)))
        outside = await plain.get(f"content/{ref}", headers={"range": "bytes=99-"})
        assert (outside.status_code, outside.json()["error"]["code"]) == (416, "bad_range")


async def test_a_batch_of_contents_and_a_thread(client: AsyncClient, store: PostgresStore):
    recorder = Recorder(FAILED)
    binary, lost = recorder.keep(b"\x00\xff"), "sha256:" + "0" * 64
    await store.contents.put(PROJECT, list(recorder.contents.values()))
    answer = await client.contents([binary, lost])
    assert answer == {
        binary: {"media_type": "application/octet-stream", "size": 2, "base64": base64.b64encode(b"\x00\xff").decode()}
    }
    context = await client.context(RUN)
    assert context["thread"] is not None
    assert (await client.thread(context["thread"]))["messages"] == context["messages"]
    with pytest.raises(NotFound):
        await client.thread(lost)


async def test_content_that_arrives_later_fills_the_gap(client: AsyncClient, store: PostgresStore):
    recorder = conversation(LONG, 1, "Where is the other one?")
    await store.spans.ingest(PROJECT, Batch(recorder.batch().spans, recorder.logs))
    assert (await client.run(LONG))["completeness"]["content_pending"] > 0
    context = await client.context(LONG)
    assert (context["messages"], context["missing"][0]) == ([], context["thread"])
    await store.contents.put(PROJECT, list(recorder.contents.values()), recorder.threads)
    context = await client.context(LONG)
    assert (len(context["messages"]), context["missing"]) == (2, [])
    assert (await client.run(LONG))["completeness"]["complete"]


async def test_a_failed_call_says_what_it_raised(client: AsyncClient, store: PostgresStore):
    recorder = Recorder(FAILED, start_ns=START_NS + 1_000 * MS)
    span = recorder.begin("tool", "execute_tool pay", **{"gen_ai.tool.name": "pay"})
    span.status, span.status_message = 2, "card declined"
    recorder.end(span, **{"error.type": "CardError"})
    await store.spans.ingest(PROJECT, recorder.batch(ended=False))
    (call,) = [call async for call in client.tool_calls(FAILED)]
    assert (call["status"], call["error"]) == ("failed", {"type": "CardError", "message": "card declined"})
    state = await client.state(FAILED)
    assert (state["status"], state["errors"][0]["error_type"]) == ("running", "CardError")


@pytest.mark.parametrize(
    ("path", "status", "code"),
    [
        ("runs/" + "f" * 32, 404, "no_such_run"),
        ("runs/first/state", 404, "no_such_run"),
        ("runs/%00/events", 404, "no_such_run"),
        (f"runs/{RUN}/state?at=0", 404, "no_such_seq"),
        (f"runs/{RUN}/state?at=nobody.knows", 404, "no_such_event"),
        (f"runs/{RUN}/context?at=1", 404, "no_such_call"),
        (f"runs/{RUN}/state?at=a%00b", 422, "invalid"),
        (f"runs/{RUN}/events?limit=0", 422, "invalid"),
        (f"runs/{RUN}/events?cursor=x", 400, "bad_cursor"),
        ("runs?cursor=x", 400, "bad_cursor"),
        ("runs?since=yesterday", 400, "bad_time"),
        ("runs?status=asleep", 422, "invalid"),
        ("runs?statu=failed", 400, "unknown_parameter"),
        (f"runs/{RUN}?at=1", 400, "unknown_parameter"),
        (f"runs/{RUN}/events?kind=run_started", 400, "unknown_parameter"),
        ("content/x", 400, "bad_ref"),
        ("content/sha256:" + "0" * 64, 404, "content_missing"),
    ],
)
async def test_what_cannot_be_answered_says_why(
    client: AsyncClient, http: httpx.AsyncBaseTransport, path: str, status: int, code: str
):
    async with httpx.AsyncClient(transport=http, base_url="http://localhost/api/v1/") as plain:
        response = await plain.get(path)
    assert (response.status_code, response.json()["error"]["code"]) == (status, code)
    assert len(response.json()["error"]["message"]) > 20
