"""`playhead tree --decisions`: what it prints, to a person's pipe and to a program."""

import json
from collections.abc import Iterator

import pytest
from typer.testing import CliRunner, Result

from playhead.cli import app
from tests.support.readers.fake import RUN, FakeStore
from tests.support.readers.served import app_on, served
from tests.unit.analysis.test_tree import OTHER, chat_of


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    store = FakeStore()
    chat_of(store, [("user", "go"), ("asks", "card"), ("says", "Paid.\x1b[2J")])[0].done()
    chat_of(store, [("user", "go"), ("says", "No.")], OTHER)[0].done()
    with served(app_on(store)) as url:
        yield url


@pytest.fixture
def playhead(url: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PLAYHEAD_COLLECTOR_URL", url)

    def call(*args: str) -> Result:
        return CliRunner().invoke(app, ("tree", RUN, "--decisions", *args))

    return call


def test_the_tree_shows_the_path_what_was_left_and_the_other_run(playhead):
    lines = [line.strip(" │├└─") for line in playhead().stdout.splitlines()]
    assert lines == [
        "support  running",
        '5 tool_selection  refund({"to": "card"})',
        "left  cancel",
        f"sibling {OTHER} from 4  running",
        "No.",
        '7 tool_arguments  {"name": "refund", "arguments": {"to": "card"}}',
        "left  to = voucher",
        "11 answer  Paid.\N{REPLACEMENT CHARACTER}[2J",
        "left  refund, cancel",
        '13 stop  {"outcome": "completed"}',
        "left  refund, cancel",
    ]


def test_what_does_not_fit_is_said(playhead):
    assert "there are more decisions than these 2" in playhead("--limit", "2").stderr


def test_a_program_gets_the_whole_tree_as_json(playhead):
    answer = json.loads(playhead("--json").stdout)
    assert [node["kind"] for node in answer["items"]] == ["tool_selection", "tool_arguments", "answer", "stop"]
    assert [branch["run"] for branch in answer["items"][0]["branches"]] == [OTHER]
