"""`playhead suspects`: what it prints, to a person and to a program."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from playhead.cli import app
from tests.support.readers.chat import Chat
from tests.support.readers.fake import RUN, FakeStore
from tests.support.readers.served import app_on, served

PAGE = Path(__file__).parents[3] / "docs" / "suspects.md"
SIBLING = "0190ffff" * 4


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    store = FakeStore()
    for run in (SIBLING, RUN):
        chat = Chat(store, run=run, tools=[{"name": "refund", "input_schema": {}}])
        chat.user("What is left?")
        chat.says("$171 is not more than $100.\x1b[2J")
        chat.user("Thank you")
        chat.says("Bye.")
        chat.done()
    with served(app_on(store)) as url:
        yield url


@pytest.fixture
def playhead(url: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PLAYHEAD_COLLECTOR_URL", url)

    def call(*args: str) -> Result:
        return CliRunner().invoke(app, ("suspects", RUN, *args))

    return call


def test_suspects_are_shown_with_their_evidence_and_no_control_characters(playhead):
    result = playhead()
    assert result.exit_code == 0, result.output
    assert "1 of 2 steps" in result.stdout
    assert "likely  comparison_false" in result.stdout
    assert "$171 is not more than $100" in result.stdout
    assert "\x1b" not in result.stdout


def test_a_program_gets_the_whole_answer_and_names_siblings(playhead):
    answer = json.loads(playhead("--json", "--sibling", SIBLING).stdout)
    assert (answer["siblings"]["chosen"], answer["siblings"]["runs"]) == ("named", [SIBLING])
    assert answer["items"][0]["rule"] == "comparison_false"


def test_without_a_model_there_is_no_other_order(playhead):
    result = playhead("--rerank")
    assert result.exit_code == 2
    assert "PLAYHEAD_EXPLAIN_URL" in result.stderr


def test_the_example_of_the_page_runs_as_it_stands(url: str, monkeypatch: pytest.MonkeyPatch, capsys: Any):
    monkeypatch.setenv("PLAYHEAD_COLLECTOR_URL", url)
    (example,) = re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    exec(compile(example.replace('"last"', repr(RUN)), str(PAGE), "exec"), {})
    assert "likely comparison_false" in capsys.readouterr().out
