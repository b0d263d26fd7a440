"""`playhead decisions` and `playhead why`: what they print, to a person and to a program."""

import json
from collections.abc import Iterator

import pytest
from typer.testing import CliRunner, Result

from playhead.cli import app
from tests.support.readers.chat import Chat
from tests.support.readers.fake import RUN, FakeStore
from tests.support.readers.served import app_on, served


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    store = FakeStore()
    for run in ("0190ffff" * 4, RUN):
        chat = Chat(store, run=run, tools=[{"name": "cancel"}, {"name": "wait"}])
        chat.user("Cancel AB12CD\x1b[2J")
        chat.asks("cancel", {"order": "AB12CD", "code": "ZZ99-QQ"}, "cancelled")
        chat.done()
    with served(app_on(store)) as url:
        yield url


@pytest.fixture
def playhead(url: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PLAYHEAD_COLLECTOR_URL", url)

    def call(*args: str) -> Result:
        result = CliRunner().invoke(app, args)
        assert "\x1b" not in result.stdout
        return result

    return call


def test_decisions_are_listed_and_one_is_shown_with_what_else_was_open(playhead):
    lines = playhead("decisions", RUN).stdout.splitlines()
    assert [line.split("\t")[2] for line in lines[1:]] == ["tool_selection"]
    seq = lines[1].split("\t")[0]
    shown = playhead("decisions", RUN, seq).stdout
    assert "wait\t\ttool_definition" in shown
    assert "chosen elsewhere in exactly this context" in shown
    assert "user_request" in shown


def test_why_lists_calls_and_explains_one_value_by_value(playhead):
    header, line = playhead("why", RUN).stdout.splitlines()
    assert header.split("\t")[2] == "why"
    assert line.split("\t")[-1] == "code"
    seq = line.split("\t")[0]
    shown = playhead("why", RUN, seq).stdout
    assert "order\tAB12CD\tuser\texact" in shown
    assert "code\tZZ99-QQ\tinvented\tnowhere" in shown


def test_causes_are_a_table_of_edges(playhead):
    seq = playhead("why", RUN).stdout.splitlines()[1].split("\t")[0]
    lines = playhead("why", RUN, seq, "--causes").stdout.splitlines()
    assert any("\tvalue\t" in line and "message_added: user: Cancel" in line for line in lines[1:])


@pytest.mark.parametrize("command", [("decisions", RUN), ("decisions", RUN, "4"), ("why", RUN), ("why", RUN, "6")])
def test_every_answer_is_one_json_document_on_request(playhead, command: tuple[str, ...]):
    result = playhead(*command, "--json")
    assert (result.exit_code, result.stderr) == (0, "")
    json.loads(result.stdout)


def test_what_cannot_be_answered_says_what_to_do(playhead):
    for command, says in (
        (("why", RUN, "1"), "part of no tool call"),
        (("decisions", RUN, "1"), "part of no decision"),
        (("why", RUN, "--causes"), "Give its seq"),
    ):
        result = playhead(*command)
        assert result.exit_code == 1
        assert says in result.stderr
