"""Projects as tenants of one collector: what is of one project is of no other, whatever is asked."""

import asyncio
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import asyncpg
import httpx
import pytest
from typer.testing import CliRunner

from playhead.cli.application import app
from playhead.client import Client
from playhead.errors import BadRequest, ClientError, Conflict, NotAuthorized, NotFound
from playhead.model.canonical import content_of
from playhead.model.message import message_contents, text_message
from playhead.wire.pack import PACK, Pack, encode_pack
from playhead_collector.process import CollectorProcess
from playhead_collector.store.postgres.store import connect
from tests.integration.read.recorded import Recorder
from tests.support.sweep import PREFIX, RULES, Question, Swept

OPERATOR = "the operator's key"
RUN, OTHER_RUN = "0a" * 16, "0b" * 16
SECRET = "only-the-first-project-knows"


@dataclass
class Tenants:
    """A collector with two projects, each with a key of all scopes and a run."""

    url: str
    dsn: str
    keys: dict[str, str]

    def client(self, name: str) -> Client:
        return Client(self.url, self.keys[name])

    def http(self, name: str) -> httpx.Client:
        headers = {"authorization": f"Bearer {self.keys[name]}"}
        return httpx.Client(base_url=self.url, headers=headers, timeout=60, trust_env=False)


def operator(url: str, project: str | None = None) -> Client:
    return Client(url, OPERATOR, project=project)


@pytest.fixture(scope="module")
def tenants(module_database_url: str) -> Iterator[Tenants]:
    with CollectorProcess(env={"PLAYHEAD_ADMIN_KEY": OPERATOR}, database_url=module_database_url) as collector:
        with operator(collector.url) as client:
            client.create_project("blue")
            client.create_project("red")
        keys = {name: new_key(collector.url, name) for name in ("blue", "red")}
        asyncio.run(record(module_database_url, {"blue": (RUN, SECRET), "red": (OTHER_RUN, "red's own")}))
        yield Tenants(collector.url, module_database_url, keys)
        assert "Traceback" not in collector.log()


def new_key(url: str, project: str) -> str:
    with operator(url, project) as client:
        return client.create_key(f"all of {project}", ["ingest", "read", "admin"])["key"]


async def record(dsn: str, runs: dict[str, tuple[str, str]]) -> None:
    store = await connect(dsn, pool_size=1)
    numbers = {project.name: project.number for project in await store.projects.all()}
    for name, (run, text) in runs.items():
        recorder = Recorder(run)
        messages = [text_message("user", f"What does {text} mean?")]
        recorder.model(messages, text_message("assistant", f"I look for {text}."))
        recorder.tool(f"look_{text}", {"what": text}, f"found {text}")
        await store.spans.ingest(numbers[name], recorder.batch())
    await store.close()


def test_a_key_sees_the_runs_of_its_project_and_the_operator_those_of_the_one_that_is_named(tenants: Tenants):
    for name, run in (("blue", RUN), ("red", OTHER_RUN)):
        with tenants.client(name) as client:
            assert [row["run"] for row in client.runs()] == [run]
            assert client.project()["name"] == name
        with operator(tenants.url, name) as client:
            assert [row["run"] for row in client.runs()] == [run]
    with operator(tenants.url) as client:
        assert list(client.runs()) == []
        assert [project["name"] for project in client.projects()["items"]] == ["default", "blue", "red"]


def test_a_key_that_names_another_project_is_refused_and_so_is_a_name_that_nobody_has(tenants: Tenants):
    refused = set[str]()
    for name in ("red", "default", "no-such-project"):
        with Client(tenants.url, tenants.keys["blue"], project=name) as client, pytest.raises(ClientError) as error:
            list(client.runs())
        refused.add(str(error.value).replace(name, "NAME"))
    assert len(refused) == 1  # whether there is such a project is not said
    with operator(tenants.url, "no-such-project") as client, pytest.raises(NotFound, match="no project"):
        list(client.runs())
    with Client(tenants.url, tenants.keys["blue"], project="blue") as client:
        assert len(list(client.runs())) == 1


def test_projects_are_changed_by_the_operator_alone(tenants: Tenants):
    with tenants.client("blue") as client:
        for ask in (
            client.projects,
            lambda: client.create_project("mine"),
            lambda: client.limit_project("blue"),
            lambda: client.delete_project("red"),
            client.destinations,
        ):
            with pytest.raises(NotAuthorized, match="operator"):
                ask()
    with tenants.http("blue") as http:
        assert http.get("/metrics").status_code == 403
        assert http.get(f"{PREFIX}/storage").json()["database"] is None
    with operator(tenants.url) as client:
        with pytest.raises(Conflict, match="already"):
            client.create_project("blue")
        with pytest.raises(BadRequest):
            client.create_project("no spaces, please")
        with pytest.raises(Conflict, match="first project"):
            client.delete_project("default")
        with pytest.raises(NotFound):
            client.delete_project("nobody")


def test_keys_are_listed_and_revoked_within_their_project(tenants: Tenants):
    with tenants.client("blue") as blue, tenants.client("red") as red:
        [ours] = blue.keys()["items"]
        assert ours["name"] == "all of blue"
        with pytest.raises(NotFound):
            red.revoke_key(ours["id"])
        assert len(blue.keys()["items"]) == 1


def test_what_is_stored_for_one_project_is_missing_for_another(tenants: Tenants):
    content = content_of({"only": "blue has this"})
    pack = encode_pack(Pack((content,), ()))
    asked = {"refs": [content.ref.plain]}
    with tenants.http("blue") as blue, tenants.http("red") as red:
        stored = blue.post("/v1/content", content=pack, headers={"content-type": PACK})
        assert stored.json()["stored"] == 1
        assert blue.post("/v1/content/missing", json=asked).json()["missing"] == []
        assert red.post("/v1/content/missing", json=asked).json()["missing"] == [content.ref.plain]
        assert blue.get(f"{PREFIX}/content/{content.ref.plain}").status_code == 200
        assert red.get(f"{PREFIX}/content/{content.ref.plain}").status_code == 404


def test_a_project_over_its_limit_adds_nothing_by_any_way_and_goes_on_with_its_runs(tenants: Tenants):
    with tenants.http("red") as red, tenants.client("red") as program, operator(tenants.url) as client:
        body = {"id": "c", "revision": 0, "records": [f'{{"n": "{"x" * 5_000}"}}']}
        before = red.get(f"{PREFIX}/project").json()["bytes_today"]
        red.put(f"{PREFIX}/conversation", json=body).raise_for_status()
        assert red.get(f"{PREFIX}/project").json()["bytes_today"] - before >= 5_000
        client.limit_project("red", bytes_per_day=1)
        requests = [
            ("PUT", "conversation", body | {"revision": 1}),
            ("POST", f"runs/{OTHER_RUN}/scores", {"name": "quality", "value": 1.0}),
            ("POST", f"runs/{OTHER_RUN}/notes", {"text": "look"}),
            ("POST", "views", {"name": "mine", "query": "status=failed"}),
        ]
        for method, path, sent in requests:
            answer = red.request(method, f"{PREFIX}/{path}", json=sent)
            assert (path, answer.status_code, "over its limit" in answer.text) == (path, 429, True)
            assert 1 <= int(answer.headers["retry-after"]) <= 600
        lease = red.post(f"{PREFIX}/runs/{OTHER_RUN}/lease", json={"holder": "me", "process": "p", "seconds": 5})
        assert lease.status_code == 200, lease.text
        assert program.delete_conversation("c")
        client.limit_project("red")
        again = red.put(f"{PREFIX}/conversation", json=body)
        assert again.status_code == 200, again.text
        assert program.delete_conversation("c")


# --- every question with every foreign id -----------------------------------------------------------------------------

_REF = re.compile(r"[0-9a-f]{64}")


def other_ids(text: str) -> str:
    """The same text with ids and refs that no project has."""
    unknown = "0d" * 16
    text = text.replace(RUN, unknown).replace(RUN[::-1], unknown[::-1])
    return _REF.sub("0e" * 32, text)


def unknown(question: Question) -> Question:
    return replace(
        question,
        path=other_ids(question.path),
        params={name: _with_other_ids(value) for name, value in question.params.items()},
        body=_with_other_ids(question.body),
    )


def _with_other_ids(value: Any) -> Any:
    match value:
        case str():
            return other_ids(value)
        case dict():
            return {other_ids(str(name)): _with_other_ids(each) for name, each in value.items()}
        case list() | tuple():
            return [_with_other_ids(each) for each in value]
        case _:
            return value


def asked(http: httpx.Client, operation: str, question: Question) -> tuple[int, str]:
    method = operation.partition(" ")[0].upper()
    answer = http.request(method, question.path, params=question.params, json=question.body)
    return answer.status_code, answer.text


_CHANGING = re.compile(r"(post|put|delete) /(?!content/(batch|pack))")


def test_no_question_about_a_run_of_another_project_says_more_than_about_one_that_nobody_has(tenants: Tenants):
    """Each rule of the sweep, with the ids, refs and texts of blue's run, asked with red's key."""
    with tenants.http("blue") as blue:
        events = blue.get(f"{PREFIX}/runs/{RUN}/events", params={"limit": 1000}).json()["items"]
        decisions = blue.get(f"{PREFIX}/runs/{RUN}/decisions", params={"limit": 1000}).json()["items"]
    swept = Swept(RUN, [OTHER_RUN], events, decisions)
    with tenants.http("red") as red:  # what both have is no secret of either
        mine = red.get(f"{PREFIX}/runs/{OTHER_RUN}/events", params={"limit": 1000}).json()["items"]
        swept.refs -= {ref for event in mine for ref in event["refs"].values()}
    assert len(swept.refs) > 3
    leaks: list[str] = []
    count = 0
    before = state_of_blue(tenants)
    with tenants.http("red") as red:
        for operation, rule in RULES.items():
            for question in rule(swept):
                count += 1
                _, text = asked(red, operation, question)
                if SECRET in text or any(event["id"] in text and event["id"] not in question.path for event in events):
                    leaks.append(f"{operation} {question}: {text[:200]}")
                if _CHANGING.match(operation):
                    continue  # what red makes of its own under such an id is its own
                if difference := told_apart(red, operation, question):
                    leaks.append(difference)
    assert count > 150
    assert leaks == []
    assert state_of_blue(tenants) == before


def told_apart(http: httpx.Client, operation: str, question: Question) -> str:
    """How the answer differs from that to the same question with ids that nobody has; empty if it does not. Figures may
    grow between the two: a difference that tells something is there each time."""
    difference = ""
    for _ in range(3):
        status, text = asked(http, operation, question)
        reference, same = asked(http, operation, unknown(question))
        if status == reference and len(other_ids(text)) == len(same):
            return ""
        difference = f"{operation} {question}: {status} {text[:200]}, and of nobody's: {reference} {same[:200]}"
    return difference


def state_of_blue(tenants: Tenants) -> list[Any]:
    """What blue's run, keys, notes, scores and promises are."""
    with tenants.http("blue") as http:
        paths = (f"runs/{RUN}/events", f"runs/{RUN}/notes", f"runs/{RUN}/spans", "scores", "promises", "conversations")
        return [http.get(f"{PREFIX}/{path}").raise_for_status().json() for path in paths]


def test_projects_that_have_the_same_ids_answer_each_from_its_own(tenants: Tenants):
    """Ids of runs are chosen by programs: two projects may have the same. The left one has been answered just before,
    so that what a collector keeps in memory of it is there when the right one asks."""
    run, own = "0f" * 16, {"left": "left alone says", "right": "right alone says"}
    with operator(tenants.url) as client:
        for name in own:
            client.create_project(name)
            tenants.keys[name] = new_key(tenants.url, name)
    for name, text in own.items():  # not in one batch: whoever came first may not be the one who is answered
        asyncio.run(record(tenants.dsn, {name: (run, text)}))
    with tenants.http("right") as right, tenants.http("left") as left:
        events = left.get(f"{PREFIX}/runs/{run}/events", params={"limit": 1000}).json()["items"]
        decisions = left.get(f"{PREFIX}/runs/{run}/decisions", params={"limit": 1000}).json()["items"]
        swept = Swept(run, [run], events, decisions, one_in=3)
        wrong: list[str] = []
        said = 0
        for operation, rule in RULES.items():
            if _CHANGING.match(operation):
                continue
            for question in rule(swept):
                if own["left"] in str(question):
                    continue
                _, lefts = asked(left, operation, question)
                status, rights = asked(right, operation, question)
                said += own["left"] in lefts
                if own["left"] in rights or own["right"] in lefts or status >= 500:
                    wrong.append(f"{operation} {question}: {status} {rights[:300]}")
    with operator(tenants.url) as client:
        for name in own:
            client.delete_project(name)
    assert said > 20
    assert wrong == []


# --- what goes -------------------------------------------------------------------------------------------------------


def test_a_deleted_project_has_no_key_no_name_and_after_a_while_no_row(tenants: Tenants):
    async def rows_of(number: int) -> dict[str, int]:
        connection = await asyncpg.connect(tenants.dsn)
        try:
            names = await connection.fetch(
                "select c.relname from pg_class c join pg_attribute a on a.attrelid = c.oid "
                "where a.attname = 'project_id' and c.relkind = 'r' and not a.attisdropped"
            )
            counts = {
                row[0]: await connection.fetchval(f'select count(*) from "{row[0]}" where project_id = $1', number)
                for row in names
            }
        finally:
            await connection.close()
        return {name: count for name, count in counts.items() if count}

    async def number_of(name: str) -> int:
        store = await connect(tenants.dsn, pool_size=1)
        try:
            return next(project.number for project in await store.projects.all() if project.name == name)
        finally:
            await store.close()

    async def removed() -> None:
        connection = await asyncpg.connect(tenants.dsn)
        await connection.execute(
            "update project set deleted_at = deleted_at - interval '2 minutes' where deleted_at is not null"
        )
        await connection.close()
        store = await connect(tenants.dsn, pool_size=1)
        while await store.projects.remove_deleted(3):
            pass
        await store.close()

    with operator(tenants.url) as client:
        client.create_project("gone")
    with operator(tenants.url, "gone") as client:
        key = client.create_key("short", ["read"])["key"]
    asyncio.run(record(tenants.dsn, {"gone": ("0c" * 16, "soon gone")}))
    number = asyncio.run(number_of("gone"))
    with Client(tenants.url, key) as client:
        assert [row["run"] for row in client.runs()] == ["0c" * 16]
    assert {"run", "span_page", "content", "api_key"} <= asyncio.run(rows_of(number)).keys()
    with operator(tenants.url) as client:
        assert client.delete_project("gone") == {"deleted": True}
        client.create_project("gone")  # the name is free
        client.delete_project("gone")
    with Client(tenants.url, key) as client, pytest.raises(NotAuthorized):
        list(client.runs())
    asyncio.run(removed())
    assert asyncio.run(rows_of(number)) == {}
    with tenants.client("blue") as client:
        assert len(list(client.runs())) == 1


def test_the_commands_about_storage_count_what_the_project_of_the_key_has(
    tenants: Tenants, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("PLAYHEAD_COLLECTOR_URL", tenants.url)
    monkeypatch.setenv("PLAYHEAD_API_KEY", tenants.keys["red"])
    large = message_contents(text_message("assistant", "x" * 50_000))[1]
    with tenants.http("red") as http:
        pack = encode_pack(Pack((large,), ()))
        http.post("/v1/content", content=pack, headers={"content-type": PACK}).raise_for_status()

    def said(*words: str) -> list[list[str]]:
        result = CliRunner().invoke(app, words)
        assert result.exit_code == 0, result.output
        return [line.split("\t") for line in result.stdout.splitlines()]

    [heads, listed] = said("contents")
    assert heads[:4] == ["content", "kind", "bytes", "stored"]
    assert listed[:3] == [large.ref, "unknown", "48.9 KiB"]
    assert said("contents", "--kind", "tool_result") == [heads]
    kinds = {line[0]: line for line in said("storage", "--kind", "assistant_message", "--before", "2999-01-01")}
    assert kinds["assistant message"][1] == "1"  # what the model said, without the large part
    assert "unknown" not in kinds
    assert kinds["hot"][1] == kinds["today"][1] == "1"
    monkeypatch.setenv("PLAYHEAD_API_KEY", tenants.keys["blue"])
    assert said("contents") == [heads]


def test_without_an_operator_s_key_there_are_no_projects_to_make(database_url: str):
    with CollectorProcess(database_url=database_url) as collector, Client(collector.url) as client:
        with pytest.raises(Conflict, match="PLAYHEAD_ADMIN_KEY"):
            client.create_project("blue")
        assert client.project()["name"] == "default"
