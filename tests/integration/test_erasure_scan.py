"""After `playhead forget`, the sweep and `playhead scrub`, no file has a text that only the forgotten user had.

Looked at: every file of the data folder as it is; each zstd frame and each body of each table, decompressed by the
product's own readers; and the journal.
"""

import asyncio
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import asyncpg
import httpx
import pytest
import zstandard

from playhead.client import Client
from playhead.errors import NotFound
from playhead.model import names
from playhead.model.canonical import content_of
from playhead.testing import MockModelServer, text, tool_call
from playhead.testing.rules import sequence
from playhead_collector.embedded import start
from playhead_collector.process import CollectorProcess
from playhead_collector.store.packing import packed_runs
from playhead_collector.store.packing.zstd import decompress_json
from playhead_collector.store.ports.spans import Batch
from playhead_collector.store.postgres.dictionaries import Dictionaries
from playhead_collector.store.postgres.store import connect
from tests.integration.store.making import RUN, P, run_number, span
from tests.support.files_below import files_below
from tests.support.stored_objects import files_in, texts_in_objects

ENV = {
    "PLAYHEAD_SEAL_AFTER_SECONDS": "1",
    "PLAYHEAD_FORGET_AFTER_SECONDS": "0",  # the recording program has ended
    "PLAYHEAD_CONTENT_GRACE_SECONDS": "86400",
    "PLAYHEAD_LOG_LEVEL": "warning",
}
SHARED = "shared-words-of-both-users " * 60
DAY_NS = 86_400 * 10**9
PLACES = (
    "prompt", "answer", "argument", "result", "error", "runname", "tag", "state", "message", "checkpoint", "note",
    "label", "score", "promise", "details", "session", "scope", "decision",
)  # fmt: skip
PROGRAM = """
import json, os, sys
import openai
import playhead

who = sys.argv[1]
def only(place):
    return f"{who}only{place} " + f"{place} of {who}; " * 40

SHARED = sys.stdin.read()

@playhead.observe(kind="tool")
def look_up(question):
    if "fail" in question:
        raise ValueError(f"{who}onlyerror")
    return {"found": only("result"), "shared": SHARED}

playhead.configure()
playhead.instrument()
client = openai.OpenAI(http_client=openai.DefaultHttpxClient(trust_env=False))
parameters = {"type": "object", "properties": {"question": {"type": "string"}}}
tools = [{"type": "function", "function": {"name": "look_up", "parameters": parameters}}]
with playhead.run(f"{who}onlyrunname", user=who, session=f"{who}onlysession", tags=[f"{who}onlytag"]) as run:
    messages = [{"role": "system", "content": SHARED}, {"role": "user", "content": only("prompt")}]
    for turn in range(2):
        answer = client.chat.completions.create(model="gpt-4o", messages=messages, tools=tools).choices[0].message
        messages.append(answer.model_dump(exclude_none=True))
        for call in answer.tool_calls or ():
            result = look_up(**json.loads(call.function.arguments))
            messages.append({"role": "tool", "tool_call_id": call.id, "content": json.dumps(result)})
    try:
        look_up("fail " + only("argument"))
    except ValueError:
        pass
    playhead.annotate(decision=f"{who}onlydecision", reason=only("decision"))
    run.state["plan"] = only("state")
    run_id = run.id
conversation = playhead.conversation(f"{who}onlysession", scope=f"{who}onlyscope")
conversation.append("user", only("message"))
conversation.append("assistant", SHARED)
conversation.save()

from typing import Annotated, TypedDict
import operator
from langgraph.graph import START, StateGraph
from playhead.conversations.langgraph import PlayheadSaver
class State(TypedDict):
    kept: Annotated[list[str], operator.add]
graph = StateGraph(State)
graph.add_node("add", lambda state: {"kept": [only("checkpoint")]})
graph.add_edge(START, "add")
thread = {"configurable": {"thread_id": f"{who}onlysession"}}
graph.compile(checkpointer=PlayheadSaver()).invoke({"kept": [SHARED]}, thread)
assert playhead.flush(60)
print(run_id)
"""


@pytest.fixture
def folder() -> Iterator[Path]:
    # Not tmp_path: its parents are closed to others, and as root Postgres runs as somebody else.
    made = Path(tempfile.mkdtemp(prefix="playhead-erasure-"))
    made.chmod(0o711)
    yield made
    shutil.rmtree(made)


def record(who: str, collector: CollectorProcess, journal: Path) -> str:
    """A run of a user, and what people say about it."""
    with MockModelServer() as model:
        model.when(sequence(1), tool_call("look_up", {"question": f"{who}onlyargument " + "what? " * 100}))
        model.otherwise(text(f"{who}onlyanswer " + f"the answer to {who}; " * 40))
        env = {
            **os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "PLAYHEAD_ENDPOINT": collector.url,
            "PLAYHEAD_JOURNAL_DIR": str(journal), "OPENAI_BASE_URL": model.base_url, "OPENAI_API_KEY": "none",
        }  # fmt: skip
        command = [sys.executable, "-c", PROGRAM, who]
        done = subprocess.run(command, input=SHARED, env=env, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    [run] = done.stdout.split()
    with Client(collector.url) as client:
        client.add_note(run, f"{who}onlynote", label=f"{who}onlylabel")
        client.score(run, "quality", 0.5, comment=f"{who}onlyscore")
        client.open_promise(
            id=run[::-1], kind="input", key="k", run=run, name="ask", action=f"{who}onlypromise",
            details={"of": f"{who}onlydetails"},
        )  # fmt: skip
    return run


def settle(collector: CollectorProcess, runs: list[str]) -> None:
    """Until these runs and all others, such as those of LangGraph, are sealed and packed, and texts are indexed."""
    deadline = time.monotonic() + 180
    with Client(collector.url) as client:
        while not all(client.run(run)["completeness"]["sealed"] for run in runs):
            assert time.monotonic() < deadline, "not sealed"
            time.sleep(0.2)
        while len(list(client.search_content(SHARED.split(maxsplit=1)[0]))) < 1:
            assert time.monotonic() < deadline, "not indexed"
            time.sleep(0.2)

    async def packed() -> None:
        conn = await asyncpg.connect(collector.database)
        while await conn.fetchval(
            "select (select count(*) from packing_due) + (select count(*) from run where not sealed)"
        ):
            assert time.monotonic() < deadline, "not packed"
            await asyncio.sleep(0.2)
        await conn.close()

    asyncio.run(packed())


async def bodies(dsn: str, objects: Path | None = None) -> list[bytes]:
    """All bodies of all tables, and of the object store in this folder, decompressed as the product does."""
    conn = await asyncpg.connect(dsn)
    async with conn.transaction(isolation="repeatable_read", readonly=True):  # pages name each other
        found = await _bodies_in(conn, objects)
    await conn.close()
    return found


async def _bodies_in(conn: asyncpg.Connection, objects: Path | None) -> list[bytes]:
    dictionaries, found = Dictionaries(), list[bytes]()
    for table in ("content", "content_pack", "conversation_record"):
        for row in await conn.fetch(f"select project_id, encoding, body from {table} where body is not null"):
            found.append(await dictionaries.plain(conn, row["project_id"], row["encoding"], row["body"]))
    spans = {row["page"]: row["body"] for row in await conn.fetch("select page, body from span_page")}
    found += [decompress_json(body) for body in spans.values()]
    for row in await conn.fetch("select beside, body from event_page"):
        beside = None if row["beside"] is None else decompress_json(spans[row["beside"]])
        found.append(decompress_json(row["body"], beside))
    found += [decompress_json(row["body"]) for row in await conn.fetch("select body from run_snapshot")]
    for row in await conn.fetch("select body from packed_run where body is not null"):
        found += packed_runs.decode(row["body"]).texts()
    if objects is not None:
        found += await texts_in_objects(conn, objects)
    columns = await conn.fetch(
        "select table_name, column_name from information_schema.columns "
        "where table_schema = 'public' and data_type in ('text', 'jsonb', 'ARRAY', 'bytea')"
    )
    for table, column in columns:
        rows = await conn.fetch(f'select "{column}"::text as value from "{table}" where "{column}" is not null')
        found += [row["value"].encode() for row in rows]
    return found


async def objects_of(dsn: str, who: str) -> set[str]:
    """Keys of the objects that have records of this user, perhaps beside those of others."""
    conn = await asyncpg.connect(dsn)
    rows = await conn.fetch(
        "select key from stored_object join packed_run using (object) join run using (project_id, run_id)"
        " where session = $1", f"{who}onlysession",
    )  # fmt: skip
    await conn.close()
    return {row["key"] for row in rows}


def frames_in(data: bytes) -> Iterator[bytes]:
    """What zstd frames with their magic number hold."""
    at = data.find(zstandard.MAGIC_NUMBER.to_bytes(4, "little"))
    while at >= 0:
        with suppress(zstandard.ZstdError):
            yield zstandard.ZstdDecompressor().decompressobj().decompress(data[at:])
        at = data.find(zstandard.MAGIC_NUMBER.to_bytes(4, "little"), at + 4)


def found_in(folder: Path, who: str) -> set[str]:
    """Places whose text of this user is in a file."""
    found = set[str]()
    for _, data in files_below(folder):
        for part in (data, *frames_in(data)):
            found |= {place for place in PLACES if f"{who}only{place}".encode() in part}
    return found


def found_among(texts: list[bytes], who: str) -> set[str]:
    return {place for place in PLACES for each in texts if f"{who}only{place}".encode() in each}


def command(*arguments: str, env: dict[str, str]) -> str:
    path = os.pathsep.join(filter(None, sys.path))
    done = subprocess.run(
        [sys.executable, "-m", "playhead", *arguments], env={**os.environ, "PYTHONPATH": path, **env},
        capture_output=True, text=True, check=False, timeout=180,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
def test_no_file_has_a_text_of_a_forgotten_user(folder: Path):
    data, journal = folder / "data", folder / "journal"
    with CollectorProcess(data_dir=data, env=ENV) as collector:
        runs = [record(who, collector, journal) for who in ("u1", "u2")]
        settle(collector, runs)
        before = found_among(asyncio.run(bodies(collector.database)), "u1")
        assert before == {*PLACES}, {*PLACES} - before
        with Client(collector.url) as client:
            named = [{ref for event in client.events(run) for ref in event["refs"].values()} for run in runs]
            own = named[0] - named[1]
        assert len(own) > 3
        there = {"PLAYHEAD_COLLECTOR_URL": collector.url}
        preview = json.loads(command("forget", "--user", "u1", "--dry-run", "--json", env=there))
        assert (preview["run_count"], preview["conversations"], preview["forks"]) == (2, 2, [])
        answer = json.loads(command("forget", "--user", "u1", "--yes", "--json", env=there))
        assert (answer["phase"], answer["run_count"], answer["conversations"]) == ("done", 2, 2)
        assert answer["contents"] > 10
        [listed] = json.loads(command("forget", "--status", "all", "--json", env=there))
        assert (listed["id"], listed["contents"]) == (answer["id"], answer["contents"])
        assert "others name" in command("forget", "--status", answer["id"], env=there)
        assert any(runs[1] in other["runs"] for other in answer["refs_of_others"])
        local = json.loads(
            command("forget", "--user", "u1", "--yes", "--json", "--local", env={"PLAYHEAD_JOURNAL_DIR": str(journal)})
        )
        assert (local["runs"], local["not_delivered"]) == (2, [])
        with Client(collector.url) as client:
            left = {row["run"] for row in client.runs()}
            assert (runs[0] in left, runs[1] in left, len(left)) == (False, True, 2)
            with pytest.raises(NotFound):
                client.run(runs[0])
            answers = [httpx.get(f"{collector.url}/api/v1/content/{ref}", trust_env=False, timeout=60) for ref in own]
            assert {(each.status_code, each.json()["error"]["code"]) for each in answers} == {
                (410, "content_forgotten")
            }
            assert SHARED in json.dumps(client.context(runs[1])["messages"])
        assert found_among(asyncio.run(bodies(collector.database)), "u1") == set()
        assert found_among(asyncio.run(bodies(collector.database)), "u2") == {*PLACES}
    assert found_in(data, "u1"), "the files still have it in their free space, else this test shows nothing"
    command("scrub", env={"PLAYHEAD_DATA_DIR": str(data)})
    assert found_in(data, "u1") == set()
    assert found_in(journal, "u1") == set()
    assert found_in(data, "u2")
    with CollectorProcess(data_dir=data, env=ENV) as collector, Client(collector.url) as client:
        assert SHARED in json.dumps(client.context(runs[1])["messages"])
        assert {row["run"] for row in client.runs()} == left


@pytest.mark.slow
def test_neither_postgres_nor_the_object_store_has_a_text_of_a_user_whose_runs_were_cold(folder: Path):
    data, journal, objects = folder / "data", folder / "journal", folder / "objects"
    env = {
        **ENV, "PLAYHEAD_OBJECT_STORE": f"file://{objects}", "PLAYHEAD_OBJECT_STORE_WAIT_SECONDS": "0.1",
        "PLAYHEAD_OBJECT_STORE_MIN_BYTES": "65536",
    }  # fmt: skip
    with CollectorProcess(data_dir=data, env=env) as collector:
        runs = [record(who, collector, journal) for who in ("u1", "u2")]
        settle(collector, runs)
        with Client(collector.url) as client:
            for run in runs:  # an open question keeps a run from becoming cold
                client.answer_promise(run[::-1], "answered")
            asyncio.run(grow_cold(collector.database, client))
            before = client.context(runs[1])["messages"]
        assert found_among(asyncio.run(bodies(collector.database, objects)), "u1") == {*PLACES}
        files = {objects / key for key in asyncio.run(objects_of(collector.database, "u1"))}
        assert files
        answer = json.loads(
            command("forget", "--user", "u1", "--yes", "--json", env={"PLAYHEAD_COLLECTOR_URL": collector.url})
        )
        assert (answer["phase"], answer["run_count"]) == ("done", 2)
        deadline = time.monotonic() + 180
        while files & set(files_in(objects)):
            assert time.monotonic() < deadline, "an object that had records of the user is still there"
            time.sleep(0.2)
        assert found_among(asyncio.run(bodies(collector.database, objects)), "u1") == set()
        assert found_among(asyncio.run(bodies(collector.database, objects)), "u2") == {*PLACES}
        with Client(collector.url) as client:
            assert client.context(runs[1])["messages"] == before
    command("scrub", env={"PLAYHEAD_DATA_DIR": str(data)})
    assert found_in(data, "u1") == set()
    assert found_in(objects, "u1") == set()


async def grow_cold(dsn: str, client: Client) -> None:
    """Runs that ended days ago become cold, and their records go to the object store."""
    conn = await asyncpg.connect(dsn)
    client.set_retention({"default": {"hot": "1d", "warm": "2d", "cold": "forever"}})
    deadline = time.monotonic() + 180
    while await conn.fetchval("select count(*) from run where tier < 2"):
        assert time.monotonic() < deadline, "runs do not become cold"
        # Again and again: one that is projected meanwhile has its own end again.
        await conn.execute("update run set ended_ns = $1 where ended_ns > $1", time.time_ns() - 10 * DAY_NS)
        client.retain()
        await asyncio.sleep(0.2)
    while await conn.fetchval("select count(*) from packed_run where body is not null"):
        assert time.monotonic() < deadline, "records do not move"
        await asyncio.sleep(0.2)
    await conn.close()


@pytest.mark.slow
def test_a_trained_dictionary_goes_with_what_it_was_trained_on(folder: Path):
    """Its phrases are those of the contents, erased ones included."""
    data = folder / "data"
    phrase = "the confidential phrase of u1 that is in many contents"

    async def fill(dsn: str) -> list[bytes]:

        store = await connect(dsn, pool_size=2)
        own = [content_of({"text": f"{phrase} {n}", "n": n}) for n in range(1_100)]
        others = [content_of({"text": f"words of u2, number {n} of them", "n": n}) for n in range(300)]
        for run, user, contents in ((RUN, "u1", own), (run_number(1), "u2", others)):
            spans = [span(n, run=run, INPUT_REF=content.ref) for n, content in enumerate(contents, 1)]
            spans[0].attributes |= {names.USER: user, names.RUN_ROOT: True, names.KIND: "agent"}
            await store.contents.put(P, contents)
            await store.spans.ingest(P, Batch(spans=spans))
        await store.close()
        return [content.data for content in others]

    with CollectorProcess(data_dir=data, env=ENV) as collector:
        others = asyncio.run(fill(collector.database))
        with Client(collector.url) as client:
            done = client.forget("user", "u1")
            while done["phase"] != "done":
                time.sleep(0.2)
                done = client.forgetting(done["id"])
            assert done["contents"] == 1_100

        async def trained() -> bool:
            conn = await asyncpg.connect(collector.database)
            body = await conn.fetchval("select string_agg(body, '') from dictionary")
            await conn.close()
            return phrase.encode() in (body or b"")

        assert asyncio.run(trained()), "the dictionary has not learned the phrase, so that this test shows nothing"
    command("scrub", env={"PLAYHEAD_DATA_DIR": str(data)})
    assert not any(phrase.encode() in body for _, body in files_below(data))

    async def read(dsn: str) -> list[bytes]:
        store = await connect(dsn, pool_size=1)
        found = [await store.contents.get(1, content_of(json.loads(each)).ref) for each in others]
        await store.close()
        return [each.data for each in found]

    with start(data) as postgres:
        assert asyncio.run(read(postgres.dsn)) == others
