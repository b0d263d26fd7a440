"""Contents say what they are: from the moment they are stored, when their runs are packed, and as they are counted."""

import datetime
from collections.abc import Sequence
from typing import Any

import httpx
import pytest

from playhead.client import AsyncClient
from playhead.errors import BadRequest
from playhead.model import names
from playhead.model.canonical import Content, content_of
from playhead.model.message import Message, message_contents, text_message
from playhead.model.ref import ContentRef
from playhead.model.token_estimates import estimate_content
from playhead_collector.access import FIRST_PROJECT as PROJECT
from playhead_collector.app import create_app
from playhead_collector.settings import CollectorSettings
from playhead_collector.store.ports.conversations import ConversationSave
from playhead_collector.store.ports.projections import UnpackedRun
from playhead_collector.store.postgres.store import PostgresStore
from tests.integration.read.recorded import Recorder
from tests.integration.read.test_storage import analyze

RUN = "1" * 32
LARGE = "The order was shipped, " + ", ".join(f"parcel {n} on day {n * n % 997}" for n in range(9_000))
RESULT, SMALL_RESULT = {"log": LARGE}, {"status": "shipped"}
PICTURE = {"type": "blob", "mime_type": "image/png", "modality": "image", "content": "iVBORw0KGgoA" * 5_000}


def recorded(run: str = RUN) -> Recorder:
    """A run that names a content of each kind."""
    made = Recorder(run)
    made.root.attributes[names.INPUT_REF] = made.keep({"question": f"of {run}"})
    messages: list[Message] = [text_message("system", "You help."), text_message("user", "Where is it?")]
    messages.append({"role": "user", "parts": [{"type": "text", "content": LARGE + "!"}, PICTURE]})
    model = made.model(messages, text_message("assistant", "I look."))
    model.attributes |= {
        names.SYSTEM_INSTRUCTIONS_REF: made.keep([{"type": "text", "content": "Be brief."}]),
        names.TOOL_DEFINITIONS_REF: made.keep([{"name": "look"}]),
        names.RESPONSE_REF: made.keep({"id": "r1", "of": run}),
        names.REASONING_REF: made.keep(["They ask for it."]),
    }
    for arguments, result in (({"order": 5}, RESULT), ({"order": 6}, SMALL_RESULT)):
        tool = made.begin("tool", "execute_tool look", **{names.TOOL_NAME: "look"})
        made.end(tool, **{names.TOOL_ARGUMENTS_REF: made.keep(arguments), names.TOOL_RESULT_REF: made.keep(result)})
    made.say(names.CHECKPOINT, **{names.STATE_REF: made.keep({"step": 3})})
    made.say(names.PLAN, **{names.PLAN_REF: made.keep(["look", "tell"])})
    # It is a tool's result, and the output of the run: what says more counts, though it is named later.
    made.end(made.root, **{names.OUTPUT_REF: made.keep({"answer": "yes"})})
    return made


def expected() -> dict[ContentRef, str]:
    """The kind of each content of a run, by its ref."""
    large: Message = {"role": "user", "parts": [{"type": "text", "content": LARGE + "!"}, PICTURE]}
    own, *parts = message_contents(large)
    return {
        **{message_contents(text_message(role, text))[0].ref: kind for role, text, kind in (
            ("system", "You help.", "system_prompt"),
            ("user", "Where is it?", "user_message"),
            ("assistant", "I look.", "assistant_message"),
        )},
        own.ref: "user_message",
        **dict.fromkeys((part.ref for part in parts), "user_message"),
        **{content_of(value).ref: kind for value, kind in (
            ({"question": f"of {RUN}"}, "input"),
            ([{"type": "text", "content": "Be brief."}], "system_prompt"),
            ([{"name": "look"}], "request"),
            ({"temperature": 0.5}, "request"),
            ({"id": "r1", "of": RUN}, "response"),
            (["They ask for it."], "reasoning"),
            ({"order": 5}, "tool_arguments"),
            ({"order": 6}, "tool_arguments"),
            (RESULT, "tool_result"),
            (SMALL_RESULT, "tool_result"),
            ({"step": 3}, "checkpoint"),
            (["look", "tell"], "other"),
            ({"answer": "yes"}, "output"),
        )},
    }  # fmt: skip


async def ingest(store: PostgresStore, client: AsyncClient, *made: Recorder) -> None:
    for recorder in made:
        await store.spans.ingest(PROJECT, recorder.batch())
        assert (await client.run(recorder.run))["status"] == "completed"


async def pack(store: PostgresStore, *runs: str) -> None:
    await store.projections.pack([UnpackedRun(PROJECT, run, 1) for run in runs])


async def rows(store: PostgresStore) -> dict[ContentRef, Any]:
    async with store._db.reading() as conn:
        found = await conn.fetch("select * from content where project_id = $1", PROJECT)
    return {ContentRef.from_digest(row["ref"]): row for row in found}


async def test_a_message_says_what_it_is_from_the_start(store: PostgresStore, client: AsyncClient):
    made = recorded()
    await ingest(store, client, made)
    stored, kinds = await rows(store), expected()
    assert stored.keys() == made.contents.keys() == kinds.keys()
    today = datetime.datetime.now(datetime.UTC).date()
    for ref, row in stored.items():
        assert row["size"] == len(made.contents[ref].data)
        assert row["first_stored"] == row["last_seen"] == today
    question = message_contents(text_message("user", "Where is it?"))[0]
    by_kind = (await client.storage())["project"]["by_kind"]
    assert by_kind["user_message"]["contents"]["value"] == 2
    assert by_kind["unknown"]["contents"]["value"] == len(kinds) - 4
    about = await client.about(question.ref)
    assert (about["kind"], about["content_kind"], about["tier"]) == ("message", "user_message", "hot")
    assert about["tokens"] == estimate_content(question.data)
    assert about["first_stored"] == about["last_named"] == today.isoformat()


@pytest.mark.parametrize("packed", [False, True])
async def test_about_says_what_every_content_is_packed_or_not(store: PostgresStore, client: AsyncClient, packed: bool):
    made = recorded()
    await ingest(store, client, made)
    if packed:
        await pack(store, RUN)
    told = {ref: await client.about(ref) for ref in made.contents}
    kinds = expected()
    parts = {ref for ref, kind in kinds.items() if kind == "user_message" and told[ref]["kind"] != "message"}
    if not packed:  # nothing names the parts of a message but the message, and plans are of no kind
        unknown = parts | {content_of(["look", "tell"]).ref}
        assert {told[ref]["content_kind"] for ref in unknown} == {None}
        kinds = {ref: kind for ref, kind in kinds.items() if ref not in unknown}
    assert {ref: told[ref]["content_kind"] for ref in kinds} == kinds
    for ref, about in told.items():
        assert about["tokens"] == estimate_content(made.contents[ref].data)
        assert about["first_stored"] == about["last_named"] is not None
    tip = made.threads[0].ref
    assert tip is not None
    thread = await client.about(tip)
    assert [thread[name] for name in ("content_kind", "tokens", "tier", "first_stored", "last_named")] == [None] * 5


async def test_what_packing_leaves_in_rows_is_described_there(store: PostgresStore, client: AsyncClient):
    made = recorded()
    await ingest(store, client, made)
    before = await rows(store)
    assert {row["tokens"] for row in before.values()} == {None}
    await pack(store, RUN)
    left = await rows(store)
    large = {ref for ref, content in made.contents.items() if len(content.data) > 32 * 1024}
    assert left.keys() == large
    assert len(large) == 3
    for ref, row in left.items():
        assert row["tokens"] == estimate_content(made.contents[ref].data)
        assert row["kind"] > 0
        assert row["first_stored"] == before[ref]["first_stored"]


async def test_the_kind_of_the_first_is_kept(store: PostgresStore, client: AsyncClient):
    first, other = Recorder("2" * 32), Recorder("3" * 32)
    shared = first.keep({"shared": LARGE})
    tool = first.begin("tool", "execute_tool look", **{names.TOOL_NAME: "look"})
    first.end(tool, **{names.TOOL_RESULT_REF: shared})
    first.end(first.root)
    other.keep({"shared": LARGE})
    other.say(names.CHECKPOINT, **{names.STATE_REF: shared})
    other.end(other.root)
    await ingest(store, client, first)
    await pack(store, first.run)
    await ingest(store, client, other)
    await pack(store, other.run)
    assert (await client.about(shared))["content_kind"] == "tool_result"


def together(contents: Sequence[Content]) -> dict[str, int]:
    return {
        "contents": len(contents),
        "bytes": sum(len(content.data) for content in contents),
        "tokens": sum(estimate_content(content.data) for content in contents),
    }


async def test_storage_counts_by_kind_tier_and_age_and_filters(store: PostgresStore, client: AsyncClient):
    made = recorded()
    await ingest(store, client, made)
    await pack(store, RUN)
    project = (await client.storage())["project"]
    by_kind: dict[str, list[Content]] = {}
    for ref, kind in expected().items():
        by_kind.setdefault(kind, []).append(made.contents[ref])
    assert [*project["by_kind"]] == sorted(by_kind, key=[*project["by_kind"]].index)
    assert {kind: values(totals) for kind, totals in project["by_kind"].items()} == {
        kind: together(contents) for kind, contents in by_kind.items()
    }
    everything = together([*made.contents.values()])
    assert [values(totals) for totals in (project["selected"], project["by_tier"]["hot"])] == [everything] * 2
    assert [*project["by_tier"]] == ["hot"]
    assert {age: values(totals) for age, totals in project["by_age"].items()} == {"today": everything}
    assert project["selected"]["contents"]["exact"]
    assert project["selected"]["tokens"]["exact"] is False
    stored = project["selected"]["stored_bytes"]["value"] or 0
    assert 0 < stored < everything["bytes"]

    only = (await client.storage(kind="tool_result"))["project"]
    assert values(only["selected"]) == together(by_kind["tool_result"])
    assert [*only["by_kind"]] == ["tool_result"]
    assert only["contents"] == project["contents"]  # all that there are
    assert (await client.storage(tier="warm"))["project"]["selected"]["contents"]["value"] == 0
    today = datetime.datetime.now(datetime.UTC).date()
    tomorrow = today + datetime.timedelta(days=1)
    for before, count in ((today, 0), (tomorrow, everything["contents"])):
        answer = await client.storage(before=before.isoformat())
        assert answer["project"]["selected"]["contents"]["value"] == count
    with pytest.raises(BadRequest):
        await client.storage(before="yesterday")


def values(totals: Any) -> dict[str, int]:
    """Numbers of contents and bytes of a small database, and tokens, in which each content is rounded."""
    return {name: totals[name]["value"] for name in ("contents", "bytes", "tokens")}


async def test_of_many_contents_a_sample_stands_for_each_kind(store: PostgresStore, client: AsyncClient):
    made = Recorder("4" * 32)
    texts = [text_message("user" if n % 4 else "assistant", f"{n} " * (n % 90 + 1)) for n in range(1_600)]
    made.model(texts, text_message("assistant", "Yes."))
    made.end(made.root)
    await ingest(store, client, made)
    await analyze(store)
    by_kind = (await client.storage())["project"]["by_kind"]
    for kind, count in (("user_message", 1_200), ("assistant_message", 401)):
        found = by_kind[kind]["contents"]
        value, low, high = found["value"] or 0, found["low"] or 0, found["high"] or 0
        assert not found["exact"]
        assert 0.8 * count < value < 1.2 * count
        assert 0 < low < value < high


async def test_the_largest_contents_come_first(store: PostgresStore, client: AsyncClient):
    runs = [f"{n:032x}" for n in range(5, 9)]
    sizes: dict[ContentRef, int] = {}
    for n, run in enumerate(runs):
        made = Recorder(run)
        tool = made.begin("tool", "execute_tool look", **{names.TOOL_NAME: "look"})
        result = made.keep({"n": n, "text": LARGE * (n + 1)})
        made.end(tool, **{names.TOOL_ARGUMENTS_REF: made.keep({"n": n}), names.TOOL_RESULT_REF: result})
        made.say(names.CHECKPOINT, **{names.STATE_REF: made.keep({"state": f"{n}" * 40_000})})
        made.end(made.root)
        sizes |= {ref: len(content.data) for ref, content in made.contents.items() if len(content.data) > 32 * 1024}
        await ingest(store, client, made)
    await pack(store, *runs)
    listed = [item async for item in client.large_contents()]
    assert [(item["ref"], item["size"]) for item in listed] == sorted(
        sizes.items(), key=lambda item: (-item[1], item[0])
    )
    assert len(listed) == 8
    pages = [item async for item in client.large_contents(limit=5)]
    assert pages == listed[:5]
    paged, cursor = list[Any](), None
    while True:
        page = await one_page(store, cursor)
        paged += page["items"]
        if (cursor := page["next_cursor"]) is None:
            break
        assert len(page["items"]) == 3
    assert paged == listed
    results = [item async for item in client.large_contents(kind="tool_result", larger=listed[3]["size"])]
    assert results == [item for item in listed[:3] if item["kind"] == "tool_result"]
    assert [item async for item in client.large_contents(kind="unknown")] == []
    assert {item["kind"] for item in listed} == {"tool_result", "checkpoint"}
    assert all(0 < item["stored_bytes"] < item["size"] and item["tokens"] for item in listed)


async def one_page(store: PostgresStore, cursor: str | None) -> Any:
    parameters = {"limit": 3} if cursor is None else {"limit": 3, "cursor": cursor}
    transport = httpx.ASGITransport(create_app(CollectorSettings(), store))
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as http:
        return (await http.get("/api/v1/contents", params=parameters)).raise_for_status().json()


@pytest.mark.parametrize("cursor", ["x", "MTI", "LTEgYWI", "OTk5OTk5OTk5OTk5IGFi"])
async def test_a_cursor_that_was_not_given_is_refused(store: PostgresStore, cursor: str):
    with pytest.raises(httpx.HTTPStatusError, match="400"):
        await one_page(store, cursor)


async def test_what_records_of_a_conversation_name_is_a_checkpoint(store: PostgresStore, client: AsyncClient):
    state, said = content_of({"state": LARGE}), message_contents(text_message("user", "Hello"))[0]
    await store.contents.put(PROJECT, [state, said])
    assert (await client.about(state.ref))["content_kind"] is None
    records = [f'{{"state":"{state.ref}","said":"{said.ref}"}}']
    await store.conversations.save(PROJECT, ConversationSave("log", "", 0, None, previous=None, records=records))
    kinds = [(await client.about(content.ref))["content_kind"] for content in (state, said)]
    assert kinds == ["checkpoint", "user_message"]


async def test_what_an_older_version_stored_is_measured_in_the_background(store: PostgresStore, client: AsyncClient):
    made = recorded()
    await ingest(store, client, made)
    async with store._db.transaction() as conn:
        await conn.execute("update content set size = null, kind = 0, tokens = null, first_stored = null")
    older = (await client.storage())["project"]
    sizes = sum(len(content.data) for content in made.contents.values())
    assert older["content_bytes"]["value"] == sizes  # sizes are read from the stored bodies
    assert [*older["by_age"]] == ["unknown"]
    assert [item async for item in client.large_contents()] == []
    assert await store.projections.measure_older() == len(made.contents)
    assert await store.projections.measure_older() == 0
    assert {ref: row["size"] for ref, row in (await rows(store)).items()} == {
        ref: len(content.data) for ref, content in made.contents.items()
    }
    assert len([item async for item in client.large_contents()]) == 3
    question = message_contents(text_message("user", "Where is it?"))[0]
    about = await client.about(question.ref)
    assert (about["content_kind"], about["first_stored"]) == ("user_message", None)
