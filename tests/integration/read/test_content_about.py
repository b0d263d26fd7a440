"""Who had a content: the same before and after runs are packed, and as a plain look at every context says."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import pytest

from playhead.client import AsyncClient
from playhead.errors import NotFound
from playhead.model.message import message_contents, text_message
from playhead_collector.access import FIRST_PROJECT as PROJECT
from playhead_collector.read import content_uses
from playhead_collector.store.ports.projections import UnpackedRun
from playhead_collector.store.postgres.store import PostgresStore
from tests.integration.read.recorded import START_NS, Recorder, conversation

RUNS = [f"{n:02x}" * 16 for n in range(1, 5)]
SYSTEM, QUESTION, OTHER = "You are of help.", "Where is my order?", "Where is my money?"


def recorders() -> list[Recorder]:
    """Three runs with one beginning, of different lengths, and one with another question."""
    alike = [
        conversation(run, turns, start_ns=START_NS + n * 10**9)
        for n, (run, turns) in enumerate(zip(RUNS, (3, 2, 1), strict=False))
    ]
    return [*alike, conversation(RUNS[3], 2, OTHER, start_ns=START_NS + 9 * 10**9)]


async def ingest(store: PostgresStore, client: AsyncClient, made: Sequence[Recorder]) -> None:
    for recorder in made:
        await store.spans.ingest(PROJECT, recorder.batch())
    assert [row["run"] async for row in client.runs()] == [recorder.run for recorder in reversed(made)]


async def given(client: AsyncClient) -> dict[str, Counter[str]]:
    """For each content, by run, the calls that were given it: read from the context of every call."""
    found: dict[str, Counter[str]] = {}
    async for row in client.runs():
        async for call in client.llm_calls(row["run"]):
            context = await client.context(row["run"], at=call["seq"])
            refs = {message_contents(message)[0].ref for message in context["messages"]}
            for ref in refs | {call["refs"][name] for name in ("system", "tools") if name in call["refs"]}:
                found.setdefault(ref, Counter())[row["run"]] += 1
    return found


async def told(client: AsyncClient, refs: Sequence[str]) -> dict[str, Any]:
    return {ref: await client.about(ref) for ref in refs}


async def pack(store: PostgresStore, *batches: Sequence[str]) -> None:
    for batch in batches:
        await store.projections.pack([UnpackedRun(PROJECT, run, 1) for run in batch])


@pytest.mark.parametrize("batches", [[], [RUNS], [RUNS[:1], RUNS[1:2], RUNS[2:]], [RUNS[1:3]], [RUNS, RUNS]])
async def test_the_calls_that_were_given_a_content_are_those_whose_contexts_have_it(
    store: PostgresStore, client: AsyncClient, batches: list[list[str]]
):
    await ingest(store, client, recorders())
    await pack(store, *batches)
    expected = await given(client)
    assert len(expected) == 7
    for ref, about in (await told(client, list(expected))).items():
        runs = expected[ref]
        assert {each["run"]: each["calls"] for each in about["items"] if each["calls"]} == runs, ref
        assert (about["runs"], about["calls"], about["complete"]) == (len(about["items"]), runs.total(), True)
        assert about["bytes_sent"] == about["size"] * runs.total()
        assert all(place["use"] == "message" for each in about["items"] for place in each["places"])


async def test_what_a_content_is_and_where_events_name_it(store: PostgresStore, client: AsyncClient):
    await ingest(store, client, recorders())
    question = message_contents(text_message("user", QUESTION))[0]
    about = await client.about(question.ref)
    assert (about["kind"], about["role"], about["size"]) == ("message", "user", len(question.data))
    assert [each["run"] for each in about["items"]] == RUNS[2::-1]  # the newest first
    assert (about["first_seen"] or "") < (about["last_seen"] or "")
    shortest = about["items"][0]
    assert [place["kind"] for place in shortest["places"]] == ["message_added", "llm_called"]
    result = next(ref for ref, each in recorders()[0].contents.items() if each.data == b'["order 0 is on its way"]')
    of_result = await client.about(result)
    assert (of_result["kind"], of_result["calls"]) == ("json", 0)  # models were given the message with it
    assert {place["use"] for each in of_result["items"] for place in each["places"]} == {"result"}
    calls = [call async for call in client.llm_calls(RUNS[0])]
    thread = await client.about(calls[0]["refs"]["thread"])
    assert (thread["kind"], thread["runs"], thread["calls"]) == ("thread", 3, 3)
    assert [place["use"] for place in thread["items"][0]["places"]] == ["thread"]


async def test_one_run_alone_is_asked_for_with_all_its_calls(
    store: PostgresStore, client: AsyncClient, monkeypatch: pytest.MonkeyPatch
):
    await ingest(store, client, recorders())
    calls = [call["seq"] async for call in client.llm_calls(RUNS[0])]
    system = message_contents(text_message("system", SYSTEM))[0].ref
    about = await client.about(system, run=RUNS[0])
    assert (about["runs"], about["calls"], about["complete"], about["next_cursor"]) == (1, len(calls), True, None)
    assert about["bytes_sent"] == about["size"] * len(calls)
    (only,) = about["items"]
    assert [place["seq"] for place in only["places"] if place["kind"] == "llm_called"] == calls
    assert about["first_seen"] == about["last_seen"] == only["started"]
    monkeypatch.setattr(content_uses, "_MOST_NODES", 3)  # fewer than the contexts have together, and than one has
    long = await client.about(system, run=RUNS[0])
    assert (long["calls"], long["complete"]) == (len(calls), True)  # the last context begins with those before it
    other = message_contents(text_message("user", OTHER))[0].ref
    elsewhere = await client.about(other, run=RUNS[0])
    assert (elsewhere["runs"], elsewhere["calls"], elsewhere["items"], elsewhere["first_seen"]) == (0, 0, [], None)
    with pytest.raises(NotFound):
        await client.about(system, run="f" * 32)


@pytest.mark.parametrize("packed", [False, True])
async def test_pages_join_and_a_deleted_run_is_gone(store: PostgresStore, client: AsyncClient, packed: bool):
    await ingest(store, client, recorders())
    if packed:
        await pack(store, RUNS[3:], RUNS[:3])
    ref = message_contents(text_message("system", SYSTEM))[0].ref
    pages, cursor = list[str](), None
    while True:
        page = await client.about(ref, limit=1, cursor=cursor)
        assert (len(page["items"]), page["runs"]) == (1, 4)
        pages.append(page["items"][0]["run"])
        if (cursor := page["next_cursor"]) is None:
            break
    assert pages == RUNS[::-1]
    await client.delete_run(RUNS[1])
    about = await client.about(ref)
    assert [each["run"] for each in about["items"]] == [RUNS[3], RUNS[2], RUNS[0]]
    assert about["runs"] == 3


async def test_a_content_that_is_not_stored_is_not_found(client: AsyncClient):
    with pytest.raises(NotFound):
        await client.about("sha256:" + "0" * 64)
