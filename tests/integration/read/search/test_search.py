"""Decisions and texts of all runs: what is found is what a plain scan of the recorded values finds."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from playhead.model import names
from playhead.model.message import text_message
from playhead_collector.store.ports.spans import Batch
from tests.integration.read.recorded import Recorder, conversation, tool_call
from tests.integration.read.search.conftest import Searched
from tests.integration.read.search.scan import ToolCall, texts_with, tool_calls
from tests.integration.store.making import P
from tests.support.many_runs.varied import VariedRun, varied_runs

RUNS = 24


def counted(calls: list[ToolCall]) -> Counter[tuple[str, str, str, str, str]]:
    return Counter(
        (each.run, each.tool, str(sorted((k, str(v)) for k, v in each.arguments.items())), each.result, each.after)
        for each in calls
    )


def found(items: list[dict[str, Any]]) -> list[ToolCall]:
    return [
        ToolCall(
            each["run"], each["seq"], each["tool"], {value["path"]: value["value"] for value in each["values"]},
            each["result"], each["after"],
        )
        for each in items
        if each["kind"] == "tool_call"
    ]  # fmt: skip


async def test_decisions_are_those_that_a_plain_scan_finds(searched: Searched):
    runs = varied_runs(RUNS)
    await searched.made_up(runs)
    calls = list(tool_calls(runs))
    assert len(calls) > 50
    some = calls[7]
    questions: list[tuple[dict[str, Any], Any]] = [
        ({}, lambda each: True),
        ({"tool": some.tool}, lambda each: each.tool == some.tool),
        ({"result": "error"}, lambda each: each.result == "error"),
        ({"result": "empty"}, lambda each: each.result == "empty"),
        ({"after": "error"}, lambda each: each.after == "error"),
        ({"after": "first", "result": "ok"}, lambda each: (each.after, each.result) == ("first", "ok")),
        ({"value": some.arguments["about"]}, lambda each: some.arguments["about"] in each.arguments.values()),
        (
            {"argument": f"about={some.arguments['about']}"},
            lambda each: each.arguments["about"] == some.arguments["about"],
        ),
        ({"argument": f"page={some.arguments['page']}"}, lambda each: each.arguments["page"] == some.arguments["page"]),
        (
            {"argument": [f"case={some.arguments['case']}", f"page={some.arguments['page']}"]},
            lambda each: (
                (each.arguments["case"], each.arguments["page"]) == (some.arguments["case"], some.arguments["page"])
            ),
        ),
        (
            {"tool": some.tool, "after": "ok", "result": "ok"},
            lambda each: (each.tool, each.after, each.result) == (some.tool, "ok", "ok"),
        ),
        ({"tool": "nobody_has"}, lambda each: False),
    ]
    for params, holds in questions:
        for limit in (3, 1000):
            answers = await searched.all("decisions", kind="tool_call", limit=limit, **params)
            assert counted(found(answers)) == counted([each for each in calls if holds(each)]), params
            places = [(each["run"], each["seq"]) for each in answers]
            assert len(set(places)) == len(places)


async def test_decisions_say_where_values_are_from_and_why_the_tool_was_called(searched: Searched):
    runs = varied_runs(RUNS)
    await searched.made_up(runs)
    compared = 0
    for run in runs[:6]:
        answer = (await searched.http.get(f"/api/v1/runs/{run.run}/attributions")).json()["items"]
        for attribution in answer:
            values = {value["path"]: value for value in attribution["values"]}
            asked = {"argument": f"case={run.code}", "attribution": attribution["kind"], "limit": 1000}
            same = [each for each in await searched.all("decisions", **asked) if each["seq"] == attribution["seq"]]
            assert [each["run"] for each in same] == [run.run]
            for value in same[0]["values"]:
                assert (value["source"], value["suspect"]) == (
                    values[value["path"]]["source"], values[value["path"]]["suspect"]
                )  # fmt: skip
                compared += 1
    assert compared > 30
    invented = await searched.all("decisions", source="invented", limit=1000)
    assert invented
    assert all("invented" in {value["source"] for value in each["values"]} for each in invented)
    of_page = await searched.all("decisions", source="invented", argument="page=3", limit=1000)
    assert {(each["run"], each["seq"]) for each in of_page} <= {(each["run"], each["seq"]) for each in invented}
    assert all(
        {"path": "page", "value": "3", "source": "invented", "suspect": True} in each["values"] for each in of_page
    )


async def test_runs_limit_what_is_found(searched: Searched):
    runs = varied_runs(RUNS)
    await searched.made_up(runs)
    failed = {run.run for run in runs if run.number % 11 == 0}
    assert {each["run"] for each in await searched.all("decisions", status="failed", limit=1000)} == failed
    ops = {run.run for run in runs if run.agent == "ops"}
    assert {each["run"] for each in await searched.all("decisions", agent="ops", limit=1000)} == ops
    assert await searched.all("decisions", until="2001-01-01") == []
    assert await searched.all("decisions", since="2099-01-01") == []
    newest = await searched.all("decisions", limit=5)
    assert [(each["run"], each["seq"]) for each in newest] == sorted(
        ((each["run"], each["seq"]) for each in newest), reverse=True
    )  # made-up runs begin at one moment


async def test_decisions_that_are_not_about_tools(searched: Searched):
    recorder = Recorder("01" * 16)
    recorder.say(names.ANNOTATION, **{names.ANNOTATION_REF: recorder.keep({"decision": "refund", "reason": "late"})})
    recorder.say(names.HANDOFF, **{names.HANDOFF_TO: "TechLead"})
    messages = [text_message("user", "Refund order 7, please.")]
    recorder.model(messages, tool_call("c1", "refund", order=7))  # whose execution nobody recorded
    recorder.model([*messages, text_message("user", "And?")], text_message("assistant", "Done."))
    await searched.batch(recorder.batch())
    items = await searched.all("decisions")
    kinds = {each["kind"]: each for each in items}
    assert kinds.keys() == {"branch", "handoff", "tool_request", "answer", "stop"}
    assert (kinds["branch"]["chosen"], kinds["handoff"]["chosen"]) == ("refund", "TechLead")
    assert kinds["tool_request"]["tool"] == "refund"
    assert [each["kind"] for each in await searched.all("decisions", argument="order=7")] == ["tool_request"]
    assert [each["kind"] for each in await searched.all("decisions", kind="handoff")] == ["handoff"]


async def test_texts_are_those_that_a_plain_scan_finds(searched: Searched):
    runs = varied_runs(RUNS)
    await searched.made_up(runs)
    for word in ("invoice", "locked", "q000003z", "wants", "nowhere"):
        await compare_texts(searched, runs, word)


async def compare_texts(searched: Searched, runs: Sequence[VariedRun], word: str) -> None:
    items = await searched.all("content", q=word, limit=7)
    messages = [each for each in items if each["role"] is not None]
    assert {each["ref"] for each in messages} == texts_with(runs, word)
    assert len(messages) == len({each["ref"] for each in messages})
    threads = {run.run: run for run in runs}
    for each in items:
        assert each["quotes"]
        for quote in each["quotes"]:
            assert word in quote["quote"].lower()
            assert quote["length"] >= len(word)
        for place in each["seen"]:
            event = (await searched.store.events.read(P, place["run"], after=place["seq"] - 1, upto=place["seq"]))[0]
            assert each["ref"] in {getattr(event, name, None) for name in ("message", "arguments", "result", "input")}
            assert each["ref"] in threads[place["run"]].contents


async def test_words_phrases_alternatives_and_exclusions(searched: Searched):
    recorder = conversation("01" * 16, 3, "The parcel of customer mia_li_3668 is lost: who pays?")
    await searched.batch(recorder.batch())

    async def count(q: str, **more: Any) -> int:
        return len(await searched.all("content", q=q, **more))

    assert await count("parcel lost") == await count("PARCEL") == await count('"customer mia_li_3668"') == 1
    assert await count('"lost parcel"') == 0
    assert await count("parcel -lost") == 0
    assert await count("nothing or parcel") == 1
    assert await count("mia_li_3668") == 1
    assert await count("way", role="tool") == 2
    assert await count("way", role="user") == 0
    (only,) = await searched.all("content", q="lost who")
    (quote,) = only["quotes"]
    text = "The parcel of customer mia_li_3668 is lost: who pays?"
    assert text[quote["offset"] : quote["offset"] + quote["length"]] == "lost: who"
    assert quote["quote"] == text


async def test_a_content_is_found_by_its_ref_with_the_runs_that_saw_it(searched: Searched):
    for number in range(1, 8):
        await searched.batch(conversation(f"{number:02x}" * 16, 1).batch())
    (found,) = await searched.all("content", q="help")
    assert (len(found["seen"]), found["more_runs"]) == (5, True)
    (same,) = await searched.all("content", ref=found["ref"], limit=100)
    assert (same["ref"], len(same["seen"]), same["more_runs"]) == (found["ref"], 7, False)
    assert await searched.all("content", ref="sha256:" + "0" * 64) == []


async def test_what_a_deleted_run_alone_had_is_not_found_any_more(searched: Searched):
    one, other = VariedRun(2, number=1), VariedRun(2, number=9)
    await searched.made_up([one, other])
    assert await searched.all("content", q=one.code)
    shared = {ref for ref in one.contents if ref in other.contents}
    before = {each["ref"] for each in await searched.all("content", q="my or error or items or you", limit=1000)}
    await searched.store.garbage.delete_run(P, one.run, forks=False)
    assert await searched.all("content", q=one.code) == []
    assert await searched.all("decisions", argument=f"case={one.code}") == []
    assert await searched.all("content", q=other.code)
    left = {each["ref"] for each in await searched.all("content", q="my or error or items or you", limit=1000)}
    assert left == before & (other.contents.keys() | shared)
    assert await searched.sql.fetchval("select count(*) from search_run") == 1


async def test_a_run_with_new_spans_is_indexed_again(searched: Searched):
    run = VariedRun(2, number=1, live=True)
    await searched.made_up([run])
    assert (await searched.ask("decisions"))["items"] == []
    spans, pack = run.step()
    await searched.store.contents.put(P, pack.contents, pack.threads)
    run._end(run._root)
    await searched.store.spans.ingest(P, Batch([*spans, run._root]))
    await searched.seal()
    assert (await searched.ask("decisions"))["unindexed"] == 1
    await searched.index()
    page = await searched.ask("decisions", kind="tool_call")
    assert (len(page["items"]), page["unindexed"]) == (3, 0)


HOSTILE = [
    "' or 1=1 --", "%", "_%_", "a & b | !c <-> d", "((((", '"', "\\", ":*", "a:*", "🙂", "\u202e", "x" * 1000, "-",
    "or", "\n", "'; drop table run; --", "a" * 10_000, "\x00", "a\x00b", "<->", "!!a", "\ud800",
    "(" * 500, "x or " * 199 + "x", "aBcDeFgH " * 99, "転" * 900, r"\b(z+)+$", "[[:alpha:]]{9}", ".*", "z" * 20_000,
    "-" * 33, "-" * 500 + "a", "a" + "-" * 32 + "b", "a-" * 40 + "b", "or " * 300, "-a " * 300, '"' * 99,
]  # fmt: skip


async def test_hostile_questions_are_answered_or_refused(searched: Searched):
    await searched.batch(conversation("01" * 16, 1).batch())
    for text in HOSTILE:
        await ask_hostile(searched, text)


async def ask_hostile(searched: Searched, text: str) -> None:
    raw = text.encode("utf-8", "surrogatepass")
    for what, name in (("content", "q"), ("decisions", "tool"), ("decisions", "value"), ("decisions", "argument")):
        given = b"a=" + raw if name == "argument" else raw
        query = "&".join([f"{name}=" + "".join(f"%{byte:02x}" for byte in given)])
        answer = await searched.http.get(f"/api/v1/search/{what}?{query}")
        assert answer.status_code in (200, 400, 422), answer.text
        if answer.status_code == 200:
            assert answer.json()["items"] == []
        else:
            assert answer.json()["error"]["message"]
    for cursor in (text, "AAAA", "MSAyIDM"):
        answer = await searched.http.get(
            "/api/v1/search/decisions", params={"cursor": cursor.encode("utf-8", "replace")}
        )
        assert answer.status_code in (200, 400, 422)


async def test_hostile_texts_are_indexed(searched: Searched):
    recorder = Recorder("01" * 16)
    messages = [text_message("user", f"before {text} after") for text in (*HOSTILE, "\x01\x02", "word " * 50_000)]
    recorder.model(messages, text_message("assistant", "Done."))
    recorder.tool("read", {"file": "a"}, b"\x89PNG\x00\x01")
    recorder.tool("read", {"cut \ud83d": "\udcff"}, "\ude00")
    await searched.batch(recorder.batch())
    items = await searched.all("content", q="before", limit=1000)
    assert len(items) == len(messages)
    assert len(await searched.all("decisions", tool="read")) == 2
    for each in items:
        (quote, *_) = each["quotes"]
        assert (quote["offset"], quote["length"]) == (0, len("before"))
    assert searched.indexer.counts["failed"] == 0
