"""What is in the files of an encrypted project, and what is answered about it."""

import asyncio
import re
from collections.abc import Iterator
from typing import Any

import asyncpg
import httpx
import pytest

from playhead.errors import Conflict
from tests.integration.encryption.conftest import Filled, client_of, http_of
from tests.integration.encryption.recorded_texts import RUNS, TEXTS, run_id
from tests.integration.encryption.scanning import found_in
from tests.support.sweep import PREFIX, RULES, Question, Swept

# --- answers ----------------------------------------------------------------------------------------------------------

# Times and days of the database's clock: records and posts have other ones. And numbers that grow with each projection.
_TIMES = re.compile(
    r'"(?!2025-10-09|2026-01-01)\d{4}-\d\d-\d\d(?:T[^"]*)?"|(?<="next_cursor":)"[^"]*"|(?:since|at) \d{4}-[^"]*'
)
_NOT_ABOUT_RUNS = re.compile(r"/(storage|project|projects|keys|forward|gc|search/|runs/\{run\}/bundle)")


def answers(filled: Filled) -> Iterator[tuple[str, int, str]]:
    """Each question of the sweep about a run, with its answer."""
    with http_of(filled.url) as http:
        events = http.get(f"{PREFIX}/runs/{run_id(0)}/events", params={"limit": 1000}).json()["items"]
        decisions = http.get(f"{PREFIX}/runs/{run_id(0)}/decisions", params={"limit": 1000}).json()["items"]
        swept = Swept(run_id(0), [run_id(1)], events, decisions, one_in=5)
        for operation, rule in RULES.items():
            if _NOT_ABOUT_RUNS.search(operation):
                continue
            for question in rule(swept):
                yield asked(http, operation, question)


def asked(http: httpx.Client, operation: str, question: Question) -> tuple[str, int, str]:
    params = {name: value for name, value in question.params.items() if name != "text"}
    answer = http.request(operation.partition(" ")[0].upper(), question.path, params=params, json=question.body)
    text = _TIMES.sub("", answer.text)
    if operation == "post /content/batch":  # contents come in any order
        text = "".join(sorted(text))
    return f"{operation} {question.path} {params} {question.body}", answer.status_code, text


def test_answers_are_those_of_a_project_that_is_not_encrypted(plain: Filled, encrypted: Filled):
    expected, found = list(answers(plain)), list(answers(encrypted))
    assert len(expected) > 200
    assert [(where, status) for where, status, _ in found] == [(where, status) for where, status, _ in expected]
    different = [
        (where, one[:3000], other[:3000])
        for (where, _, one), (_, _, other) in zip(expected, found, strict=True)
        if one != other
    ]
    assert [where for where, *_ in different] == []


@pytest.mark.parametrize(
    "where",
    [
        {"tag": TEXTS["tag"]}, {"session": TEXTS["session"]}, {"user": TEXTS["user"]}, {"agent": "support"},
        {"model": "gpt-4o"}, {"tool": "search"}, {"tag": "beta", "user": TEXTS["user"], "sort": "started"},
        {"user": "nobody"}, {"score": f"mood={TEXTS['score_label']}"}, {"score": "mood=nobody"},
    ],
)  # fmt: skip
def test_runs_are_found_by_tags_sessions_and_users(plain: Filled, encrypted: Filled, where: dict[str, Any]):
    with http_of(plain.url) as one, http_of(encrypted.url) as other:
        expected, found = (http.get(f"{PREFIX}/runs", params={"limit": 100} | where).json() for http in (one, other))
    assert [run["run"] for run in found["items"]] == [run["run"] for run in expected["items"]]
    assert len(found["items"]) == (0 if "nobody" in str(where) else 1 if "score" in where else RUNS)


def test_runs_have_their_names_tags_sessions_and_users(encrypted: Filled):
    with client_of(encrypted.url) as client:
        row = client.run(run_id(3))
    assert row["name"] == f"{TEXTS['run_name']} 3"
    assert (row["session"], row["user"]) == (TEXTS["session"], TEXTS["user"])
    assert set(row["tags"]) == {"beta", TEXTS["tag"]}


def test_what_people_and_programs_say_is_read_back(encrypted: Filled):
    with client_of(encrypted.url) as client:
        by_name = {score["name"]: score for score in client.run_scores(run_id(0))}
        assert by_name["quality"]["label"] == TEXTS["score_label"]
        assert (by_name["quality"]["comment"], by_name["quality"]["author"]) == (
            f"since {TEXTS['score_comment']}", TEXTS["score_author"],
        )  # fmt: skip
        assert by_name["mood"]["value"] == TEXTS["score_label"]
        assert by_name["relevance"]["label"] == TEXTS["recorded_label"]
        assert by_name["relevance"]["comment"] == f"since {TEXTS['recorded_comment']}"
        [note] = client.notes(run_id(0))
        assert (note["text"], note["label"]) == (f"look at {TEXTS['note_text']}", TEXTS["note_label"])
        answer = client.promise("a" * 32)["answer"]
        assert answer is not None
        assert answer["reason"] == f"since {TEXTS['answer_reason']}"
        assert [view["name"] for view in client.views()] == ["another", TEXTS["view_name"]]
        assert [view["name"] for view in client.views(limit=1)] == ["another"]
        chats = {(chat["scope"], chat["id"]) for chat in client.conversations()}
        assert chats == {
            (f"{TEXTS['scope']}/0", f"chat with {TEXTS['conversation']}"),
            (f"{TEXTS['scope']}/1", "another chat"),
        }
        [graph] = client.conversations(prefix="langgraph-thread/")
        assert graph["id"] == f"langgraph-thread/{TEXTS['conversation']}"
        stored = client.conversation(graph["id"], scope=TEXTS["scope"], records_after=0)
        assert TEXTS["record"] in stored["records"][0]


def test_the_search_of_texts_is_off_and_says_so(encrypted: Filled):
    with client_of(encrypted.url) as client:
        for ask in (
            lambda: list(client.search_content("refund")),
            lambda: list(client.search_decisions(tool="search")),
            lambda: list(client.runs(text="anything")),
        ):
            with pytest.raises(Conflict, match="encrypted"):
                ask()


def test_how_much_is_stored_is_what_it_is_without_encryption(plain: Filled, encrypted: Filled):
    with client_of(plain.url) as one, client_of(encrypted.url) as other:
        expected, found = one.storage()["project"], other.storage()["project"]
    for name in ("contents", "content_bytes", "inline_bytes"):
        assert found[name] == expected[name]


# --- files ------------------------------------------------------------------------------------------------------------


async def nothing_is_left_in_memory(filled: Filled) -> None:
    connection = await asyncpg.connect(filled.collector.database)
    await connection.execute("checkpoint")
    await connection.close()


def test_no_file_has_a_text_of_an_encrypted_project(plain: Filled, encrypted: Filled):
    """The scan finds all of them where nothing is encrypted, also those that are only compressed."""
    for filled in (plain, encrypted):
        asyncio.run(nothing_is_left_in_memory(filled))
    assert found_in(plain.folder, TEXTS).keys() == TEXTS.keys()
    assert found_in(encrypted.folder, TEXTS) == {}
