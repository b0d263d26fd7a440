"""`playhead diff` and `playhead compressions`: what they print, to a person's pipe and to a program."""

import json
from collections.abc import Iterator

import pytest
from typer.testing import CliRunner, Result

from playhead.cli import app
from playhead.client import Client
from playhead.projection.projector import ProjectSettings, project
from playhead.testing import MockModelServer
from playhead.testing import text as says
from playhead_collector.analysis.configuration import Configured
from playhead_collector.analysis.model_api import ModelApi
from tests.support.compressed_runs import RUNS
from tests.support.readers.fake import EPOCH_NS, RUN, FakeStore
from tests.support.readers.served import app_on, served
from tests.support.recorded_runs import Recorded


@pytest.fixture(scope="module")
def store() -> FakeStore:
    store, recorded = FakeStore(), Recorded(RUN, next(run for run in RUNS if run.name == "summed_up"))
    store.bodies.update(recorded.contents)
    store.thread_nodes.update(recorded.nodes)
    store.keep_run(project(recorded.work(), 0, ProjectSettings()).events)
    return store


@pytest.fixture(scope="module")
def url(store: FakeStore) -> Iterator[str]:
    with served(app_on(store)) as url:
        yield url


@pytest.fixture
def playhead(url: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PLAYHEAD_COLLECTOR_URL", url)

    def call(*args: str) -> Result:
        return CliRunner().invoke(app, args)

    return call


def test_compressions_are_listed_a_line_each(playhead):
    names, line = (text.split("\t") for text in playhead("compressions", RUN).stdout.splitlines())
    assert dict(zip(names, line, strict=True)) | {"time": ""} == {
        "seq": "11", "time": "", "actor": "support", "strategy": "summary", "origin": "inferred", "note": "",
        "messages": "7 to 4", "kept": "2", "summarised": "5", "dropped": "0", "written by": "",
        "tokens": "900 to 300",
    }  # fmt: skip


def test_an_audit_names_what_went_what_was_lost_and_what_was_needed(playhead):
    text = playhead("compressions", RUN, "11").stdout
    assert "Summary of the conversation so far" in text
    assert "summarised\t5\tuser\tThe desk lamp has a crack. My account is 77812345." in text
    assert "identifier\t77812345\taccount\t5\tasked_again at 20" in text
    assert "identifier\tLMP-4471\titem_id\t7\twrong_value at 16: LMP-9999" in text
    assert "facts lost\t4\n" in text
    assert "preserved\t3\n" in text
    assert "name\tMaria Lopez\t" in text.partition("preserved\tfact")[2]


def test_a_difference_shows_what_came_and_went(playhead):
    text = playhead("diff", RUN, "--from", "8", "--to", "13").stdout
    assert "context: 1 kept, 3 added, 5 dropped, 0 replaced" in text
    assert "- user\nThe desk lamp has a crack" in text
    assert "+ user\nSummary of the conversation so far" in text
    assert "input_tokens\t0 → 900" in text
    assert "history\t0 fewer, 3 more" in text


def test_what_there_was_not_is_none_and_no_word_of_python(playhead):
    text = playhead("diff", RUN).stdout
    assert "none → " in text
    assert "None" not in text


def test_json_is_the_answer_itself(playhead, url: str):
    with Client(url) as client:
        assert json.loads(playhead("diff", RUN, "--json").stdout) == client.diff(RUN)
        assert json.loads(playhead("compressions", RUN, "--json").stdout) == list(client.compressions(RUN))
        assert json.loads(playhead("compressions", RUN, "11", "--json").stdout) == client.compression(RUN, 11)


def test_an_event_that_is_no_compression_is_not_found(playhead):
    result = playhead("compressions", RUN, "3")
    assert (result.exit_code, "is no compression" in result.stderr) == (1, True)


def test_a_context_is_shown_as_it_would_have_been_without_the_compression(playhead):
    whole = playhead("context", RUN, "--at", "12", "--without", "11")
    assert whole.exit_code == 0, whole.output
    assert "The desk lamp has a crack. My account is 77812345." in whole.stdout
    assert "Summary of the conversation so far" not in whole.stdout
    refused = playhead("context", RUN, "--at", "12", "--without", "11", "--exact")
    assert refused.exit_code == 2
    assert "no request was sent without the compression" in refused.output


def test_a_model_s_opinion_is_asked_for_and_needs_a_model_and_a_compression(playhead):
    without = playhead("compressions", RUN, "11", "--judge")
    assert (without.exit_code, "PLAYHEAD_EXPLAIN_URL" in without.stderr) == (2, True)
    assert "needs the SEQ" in playhead("compressions", RUN, "--judge").stderr


def test_a_model_s_opinion_stands_below_what_the_rules_found(
    store: FakeStore, monkeypatch: pytest.MonkeyPatch, playhead
):
    said = {"facts": [{"number": 1, "quote": "My account is 77812345.", "kind": "goal", "kept": False}]}
    with MockModelServer() as server:
        server.otherwise(says(json.dumps(said)))
        configured = Configured(explainer=ModelApi(server.base_url, "mock-model"), clock=lambda: EPOCH_NS)
        with served(app_on(store, configured)) as url:
            monkeypatch.setenv("PLAYHEAD_COLLECTOR_URL", url)
            text = playhead("compressions", RUN, "11", "--judge").stdout
            value = json.loads(playhead("compressions", RUN, "11", "--judge", "--json").stdout)
    rules, opinion = text.split("facts in the opinion of mock-model")
    assert "asked_again at 20" in rules
    assert "lost\tgoal\tMy account is 77812345.\t5" in opinion
    assert [fact["by"] for fact in value["opinion"]["lost"]] == ["model"]
    assert {fact["by"] for fact in value["audit"]["lost"]} == {"rule"}
