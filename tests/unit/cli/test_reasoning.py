"""`playhead tokens`, `reasoning`, `explain`, and the conversation with what was taken out of it."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from fastapi import FastAPI
from typer.testing import CliRunner, Result

from playhead.cli import app
from playhead.model import event as ev
from playhead.testing import MockModelServer, text
from playhead_collector.analysis.configuration import Configured
from playhead_collector.analysis.model_api import ModelApi
from playhead_collector.serve import errors, query_api
from tests.support.readers.chat import Chat
from tests.support.readers.fake import RUN, FakeRunner, FakeStore
from tests.support.readers.served import served


@pytest.fixture(scope="module")
def server() -> Iterator[MockModelServer]:
    with MockModelServer() as server:
        server.otherwise(
            text('{"goal": "refund\x1b[2J", "key_decisions": ["looked"], "mistakes": [], "alternatives": []}')
        )
        yield server


@pytest.fixture(scope="module")
def url(server: MockModelServer) -> Iterator[str]:
    chat = Chat(FakeStore(), "Be kind.")
    chat.user("Refund my order A1, please.\x1b[2J")
    form = "<reasoning>Goal: refund\nOptions:\n- Wait: a bit\n  Pros: cheap\nDecision: look</reasoning>"
    chat.asks("find", {"order": "A1"}, {"status": "late"}, said=form, thinks="hm")
    gone = tuple(event.message for event in chat.events if isinstance(event, ev.MessageAdded) and event.role == "user")
    chat.add(ev.ContextCompressed, origin="declared", dropped=gone, tokens_before=90, tokens_after=10)
    chat.thread = [each for each in chat.thread if each["role"] != "user"]
    chat.says("It is late.")
    chat.done()
    web = FastAPI()
    explainer = ModelApi(server.base_url, "mock-model")
    configured = Configured(explainer=explainer, chat_models=explainer)
    query_api.add_routes(web, chat.store, FakeRunner(), configured)  # type: ignore[arg-type]
    errors.install(web)
    with served(web) as url:
        yield url


@pytest.fixture
def playhead(url: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PLAYHEAD_COLLECTOR_URL", url)

    def call(*args: str) -> Result:
        result = CliRunner().invoke(app, args)
        assert "\x1b" not in result.stdout
        assert result.exit_code == 0, result.stderr
        return result

    return call


def test_a_call_is_asked_again_with_other_words(playhead, server: MockModelServer, tmp_path: Path):
    out = playhead("ask-again", RUN, "--at", "4", "--system", "Be brief.").stdout
    assert server.requests[-1].messages[0] == {"role": "system", "content": "Be brief."}
    facts = dict(line.split("\t", 1) for line in out.splitlines() if "\t" in line)
    assert (facts["call"], facts["changed"], facts["same answer"]) == ("4", "system", "no")
    assert "recorded:\n<reasoning>" in out
    assert 'find({"order": "A1"})' in out
    given = tmp_path / "messages.json"
    given.write_text('[{"role": "user", "content": "Hello"}]')
    answer = json.loads(playhead("ask-again", RUN, "--messages", str(given), "--json").stdout)
    assert (answer["changed"], answer["messages"]) == (["messages"], [{"role": "user", "content": "Hello"}])


def test_a_call_is_asked_again_with_other_settings(playhead, server: MockModelServer):
    given = ("--setting", "temperature=0.7", "--setting", "stop=END")
    answer = json.loads(playhead("ask-again", RUN, *given, "--json").stdout)
    assert answer["changed"] == ["settings"]
    assert (server.requests[-1].body["temperature"], server.requests[-1].body["stop"]) == (0.7, "END")


def test_a_setting_without_a_value_is_no_question(url: str):
    done = CliRunner().invoke(app, ["--url", url, "ask-again", RUN, "--setting", "temperature"])
    assert (done.exit_code, "temperature=0.7" in done.stderr) == (2, True)


@pytest.mark.parametrize("written", ["{", "[1]", None])
def test_a_file_without_messages_is_no_question(url: str, tmp_path: Path, written: str | None):
    given = tmp_path / "messages.json"
    if written is not None:
        given.write_text(written)
    done = CliRunner().invoke(app, ["--url", url, "ask-again", RUN, "--messages", str(given)])
    assert (done.exit_code, f"playhead: {given} " in done.stderr) == (2, True)


def test_tokens_sum_up_the_run_and_list_its_points(playhead):
    out = playhead("tokens", RUN).stdout
    assert "model m\tlimit unknown" in out
    assert "unreported_calls\t2" in out
    lines = [line.split("\t") for line in out.splitlines()]
    assert ["message_added", "system"] in [line[1:3] for line in lines]
    assert ["context_compressed", "", "-80", "10"] in [line[1:5] for line in lines]
    assert "message_added" not in playhead("tokens", RUN, "--calls").stdout


def test_tokens_are_split_by_what_the_contexts_consist_of(playhead):
    lines = [line.split("\t") for line in playhead("tokens", RUN, "--split").stdout.splitlines()]
    head = next(n for n, line in enumerate(lines) if line[0] == "seq")
    assert lines[head] == ["seq", "model", "context", "system", "tools", "history", "retrieved", "output", "basis"]
    first, second, total = lines[head + 1 :]
    assert [total[3 + n] for n in range(5)] == [str(int(first[3 + n]) + int(second[3 + n])) for n in range(5)]
    assert (first[6], int(second[6]) > 0, total[0], total[-1]) == ("0", True, "sum", "estimated")
    answer = json.loads(playhead("tokens", RUN, "--split", "--json").stdout)
    assert answer["totals"]["split"]["calls"] == 2


def test_tokens_are_fetched_page_by_page_and_no_further_than_wanted(playhead):
    whole = json.loads(playhead("tokens", RUN, "--json").stdout)
    some = json.loads(playhead("tokens", RUN, "--limit", "3", "--json").stdout)
    assert some["items"] == whole["items"][:3]
    assert whole["next_cursor"] is None


def test_reasoning_shows_what_was_written_down_and_what_is_inferred(playhead):
    out = playhead("reasoning", RUN, "4").stdout
    for line in ("captured\thm", "goal\trefund", "option\tWait: a bit; + cheap", "decision\tlook"):
        assert line in out
    assert "inferred\tAfter a user's message, it called find." in out
    assert json.loads(playhead("reasoning", RUN, "4", "--json").stdout)["captured"] == "hm"


def test_an_explanation_says_who_gave_it_and_from_what(playhead):
    out = playhead("explain", RUN).stdout
    assert out.startswith("explains\tthe run, by mock-model, from ")
    assert "key decisions\tlooked" in out
    assert json.loads(playhead("explain", RUN, "--json").stdout)["cached"] is True
    assert playhead("explain", RUN, "--at", "4").stdout.startswith("explains\tthe decision at 4")
    assert "goal\trefund" in playhead("reasoning", RUN, "4").stdout


def test_the_conversation_says_what_was_taken_out(playhead):
    out = playhead("messages", RUN).stdout
    assert "(dropped at 9) user" in out
    assert "dropped" not in playhead("messages", RUN, "--at", "5").stdout
