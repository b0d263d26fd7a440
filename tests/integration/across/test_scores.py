"""Scores of a real collector: from a program, from evaluators, by HTTP; once each, the latest counts, none is lost."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from opentelemetry._logs import LogRecord
from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import SimpleLogRecordProcessor
from opentelemetry.trace import NonRecordingSpan, SpanContext, set_span_in_context
from typer.testing import CliRunner

import playhead
from playhead import observe
from playhead.cli import app
from playhead.client import Client
from playhead.errors import BadRequest, Conflict, NotAuthorized, NotFound
from playhead.model import names
from playhead_collector.process import CollectorProcess
from tests.test_docs import code_of

KEY = "the operator's"


@pytest.fixture(scope="module")
def collector(module_database_url: str) -> Iterator[CollectorProcess]:
    with CollectorProcess(
        database_url=module_database_url, env={"PLAYHEAD_SEAL_AFTER_SECONDS": "0.2", "PLAYHEAD_ADMIN_KEY": KEY}
    ) as running:
        yield running
        assert "Traceback" not in running.log()


@pytest.fixture
def client(collector: CollectorProcess, tmp_path: Path) -> Iterator[Client]:
    playhead.shutdown()
    playhead.configure(endpoint=collector.url, api_key=KEY, journal_dir=tmp_path / "journal", record="always")
    with Client(collector.url, KEY) as client:
        yield client
    playhead.shutdown()


@observe(kind="tool")
def search(query: str) -> str:
    return query


def recorded(name: str = "support", **scores: Any) -> str:
    """A run with a tool call, which scores itself; its id."""
    with playhead.run(name) as run:
        search("lamp")
        for score, value in scores.items():
            playhead.score(score, value)
    assert run.id is not None
    assert playhead.flush(60)
    return run.id


def test_a_program_scores_its_run_and_afterwards_again(client: Client):
    run = recorded(resolved=False, quality=0.5, verdict="refund")
    before = [event["id"] for event in client.events(run)]
    playhead.score("resolved", True, run=run, comment="she wrote back")
    assert playhead.flush(60)
    found = list(client.scores(run))
    assert [(each["name"], each["value"], each["latest"]) for each in found] == [
        ("resolved", True, True),
        ("verdict", "refund", True),
        ("quality", 0.5, True),
        ("resolved", False, False),
    ]
    assert {each["source"] for each in found} == {"playhead"}
    assert found[0]["comment"] == "she wrote back"
    detail = client.run(run)
    assert [each["name"] for each in detail["scores"]] == ["resolved", "verdict", "quality"]
    assert (detail["status"], detail["completeness"]["complete"]) == ("completed", True)
    assert [event["id"] for event in client.events(run)][: len(before)] == before


def test_people_score_over_http_once_for_each_id(client: Client):
    run = recorded()
    posted = client.score(run, "resolved", True, author="Ada", comment="checked", id="review-1")
    assert client.score(run, "resolved", True, author="Ada", comment="checked", id="review-1") == posted
    assert (posted["source"], posted["author"], posted["key"], posted["latest"]) == ("api", "Ada", None, True)
    with pytest.raises(Conflict, match="another score with the id review-1"):
        client.score(run, "resolved", False, author="Ada", comment="checked", id="review-1")
    again = client.score(run, "resolved", False)
    assert again["time"] > posted["time"]
    found = list(client.scores(run, name="resolved"))
    assert [(each["value"], each["latest"]) for each in found] == [(False, True), (True, False)]
    assert [each["value"] for each in client.scores(run, latest=True)] == [False]


def test_a_score_that_is_moved_keeps_its_call_and_its_time(client: Client):
    run = recorded()
    span = next(event["span"] for event in client.events(run, kinds=["tool_called"]))
    given = {"span": span, "time": "2026-01-31T12:00:00.000000007Z", "id": "old-1"}
    newer = client.score(run, "good", True, span=span)
    moved = client.score(run, "good", False, **given)
    assert (moved["span"], moved["time"], moved["latest"]) == (span, given["time"], False)
    assert client.score(run, "good", False, **given) == moved
    assert client.score(run, "good", False, span=span, id="old-1") == moved
    assert [each["latest"] for each in client.scores(run)] == [True, False]
    assert newer["time"] > moved["time"]
    with pytest.raises(Conflict, match="another score with the id old-1"):
        client.score(run, "good", False, **given | {"time": "2026-02-01"})
    for wrong in ({"at": 2, "span": span}, {"span": "7"}, {"time": "yesterday"}):
        with pytest.raises(BadRequest):
            client.score(run, "good", False, **wrong)


def test_a_score_names_the_key_that_authorized_it_and_no_other_that_was_sent(
    client: Client, collector: CollectorProcess
):
    run = recorded()
    expired = client.create_key("expired", ["ingest"], expires_seconds=1e-9)["key"]
    valid = client.create_key("valid", ["ingest", "read"])["key"]
    url = f"{collector.url}/api/v1/runs/{run}/scores"
    with httpx.Client(trust_env=False, timeout=60) as http:
        headers = {"x-api-key": expired, "authorization": f"Bearer {valid}"}
        assert http.post(url, json={"name": "a", "value": 1}, headers=headers).json()["key"] == "valid"
        assert http.post(f"{collector.url}/api/v1/session", json={"key": valid}).status_code == 200  # sets a cookie
        assert http.post(url, json={"name": "b", "value": 1}).json()["key"] == "valid"
    assert client.score(run, "c", 1)["key"] is None


def test_a_call_is_scored_at_one_of_its_events(client: Client):
    run = recorded()
    called = next(event for event in client.events(run, kinds=["tool_called"]))
    about = client.score(run, "relevant", 1, label="good", at=called["seq"])
    assert (about["span"], about["value"], about["label"]) == (called["span"], 1.0, "good")
    client.score(run, "relevant", 0)
    assert all(each["latest"] for each in client.scores(run, name="relevant"))  # one of a call, one of the run
    with pytest.raises(NotFound, match="no event"):
        client.score(run, "relevant", 1, at="999")


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"name": "x"},
        {"name": "", "value": 1},
        {"name": "x", "value": None},
        {"name": "x", "value": []},
        {"name": "x", "value": ""},
        {"name": "x", "value": "a\x00b"},
        {"name": "x", "value": 10**400},
        {"name": "x" * 201, "value": 1},
        {"name": "x", "value": 1, "id": "a.b"},
        {"name": "x", "value": "good", "label": "good"},
        {"name": "x", "value": 1, "at": "\x00"},
    ],
)
def test_what_is_no_score_is_refused(client: Client, collector: CollectorProcess, body: dict[str, Any]):
    run = recorded()
    address, key = f"{collector.url}/api/v1/runs/{run}/scores", {"x-api-key": KEY, "content-type": "application/json"}
    answer = httpx.post(address, json=body, headers=key, trust_env=False, timeout=60)
    assert answer.status_code == 422
    nan = httpx.post(address, content=b'{"name": "x", "value": NaN}', headers=key, trust_env=False, timeout=60)
    assert nan.status_code == 422
    assert list(client.scores(run)) == []


def test_runs_are_found_by_their_latest_score(client: Client):
    good, bad, none = recorded("a", helpful=0.9, verdict="kept"), recorded("b", helpful=0.9), recorded("c")
    client.score(bad, "helpful", 0.1)
    client.score(none, "helpful", True, at="last")  # of a call, not of the run
    for run in (good, bad, none):
        client.run(run)  # waits for the projection, as lists do not

    def found(condition: str) -> set[str]:
        return {row["run"] for row in client.runs(score=condition)}

    assert found("helpful") == {good, bad}
    assert found("helpful>=0.9") == found("helpful>0.1") == found("helpful=0.9") == {good}
    assert found("helpful<=0.1") == found("helpful<0.9") == {bad}
    assert found("verdict=kept") == {good}
    assert found("verdict=lost") == found("nobody") == set()
    with pytest.raises(BadRequest, match="compares with no number"):
        found("helpful>=much")


def test_lists_of_scores_are_paged_newest_first(client: Client):
    run = recorded()
    for number in range(5):
        client.score(run, "paged", number)
    pages = client.scores(name="paged")
    assert [each["value"] for each in pages] == [4, 3, 2, 1, 0]
    http = client._http
    page = http.get("scores", params={"name": "paged", "limit": 2}).json()
    rest = http.get("scores", params={"name": "paged", "limit": 9, "cursor": page["next_cursor"]}).json()
    assert [each["value"] for each in page["items"] + rest["items"]] == [4, 3, 2, 1, 0]
    assert rest["next_cursor"] is None
    assert list(client.scores(name="paged", until="2000-01-01")) == []


def test_an_evaluator_s_log_record_scores_the_call(client: Client, collector: CollectorProcess):
    run = recorded()
    span = next(span for span in client.spans(run) if span["name"].endswith("search"))
    provider = LoggerProvider(shutdown_on_exit=False)
    exporter = OTLPLogExporter(f"{collector.url}/v1/logs", headers={"x-api-key": KEY})
    provider.add_log_record_processor(SimpleLogRecordProcessor(exporter))
    scored = SpanContext(int(run, 16), int(span["span"], 16), is_remote=True)
    explanation = "It found nothing that was asked for. " * 300
    provider.get_logger("my.evaluator").emit(
        LogRecord(
            context=set_span_in_context(NonRecordingSpan(scored)),
            event_name=names.EVALUATION,
            attributes={
                names.RUN_ID: run,
                names.EVALUATION_NAME: "relevance",
                names.EVALUATION_VALUE: 0.25,
                names.EVALUATION_LABEL: "poor",
                names.EVALUATION_EXPLANATION: explanation,
            },
        )
    )
    provider.shutdown()
    (score,) = client.scores(run)
    assert (score["value"], score["label"], score["span"], score["source"]) == (
        0.25,
        "poor",
        span["span"],
        "my.evaluator",
    )
    assert score["comment"] is None
    assert score["explanation"] is not None
    assert client.content(score["explanation"]).data.decode() == explanation


def test_a_deleted_run_takes_its_scores_with_it(client: Client):
    run = recorded(resolved=True)
    client.score(run, "resolved", False)
    client.delete_run(run)
    assert run not in {each["run"] for each in client.scores()}
    with pytest.raises(NotFound):
        client.score(run, "resolved", True)


def test_the_commands_score_and_show(client: Client, collector: CollectorProcess):
    run, env = recorded(), {"PLAYHEAD_COLLECTOR_URL": collector.url, "PLAYHEAD_API_KEY": KEY}

    def invoke(*args: str) -> Any:
        return CliRunner().invoke(app, args, env=env)

    for value in ("0.5", "true", "good"):
        done = invoke("score", run, "quality", value, "--comment", "by hand")
        assert done.exit_code == 0, done.output
    done = invoke("score", run, "version", "2", "--text", "--json")
    assert json.loads(done.output)["value"] == "2"
    shown = invoke("show", run).output
    assert "version 2" in shown
    assert "quality good" in shown
    listed = invoke("scores", run, "--all", "--json").output
    assert [each["value"] for each in json.loads(listed)] == ["2", "good", True, 0.5]
    found = invoke("runs", "--score", "quality=good", "--json").output
    assert run in {row["run"] for row in json.loads(found)}


def test_a_posted_score_says_which_key_it_came_with(client: Client, collector: CollectorProcess):
    run = recorded()
    evaluator = client.create_key("evaluator", ["ingest", "read"])["key"]
    reader = client.create_key("reader", ["read"])["key"]
    with Client(collector.url, evaluator) as evaluating:
        assert evaluating.score(run, "resolved", True)["key"] == "evaluator"
    assert client.score(run, "resolved", True)["key"] is None
    with Client(collector.url, reader) as reading, pytest.raises(NotAuthorized, match="scope ingest"):
        reading.score(run, "resolved", True)


def test_the_page_s_code_runs_as_it_stands(
    client: Client, collector: CollectorProcess, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setenv("PLAYHEAD_COLLECTOR_URL", collector.url)
    monkeypatch.setenv("PLAYHEAD_API_KEY", KEY)
    code = code_of("docs/scores.md")
    scope: dict[str, Any] = {"__name__": "scores"}
    exec(compile(code["program"], "scores.md", "exec"), scope)
    assert playhead.flush(60)
    exec(compile(code["afterwards"], "scores.md", "exec"), scope)
    printed = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert [name for name, *_ in printed] == ["relevant", "verdict", "quality", "resolved"]
    assert printed[0] == ["relevant", "0.25", "api", "True"]
