"""`playhead compare`: what it prints, to a person's pipe and to a program."""

import json
from collections.abc import Iterator

import pytest
from typer.testing import CliRunner, Result

from playhead.cli import app
from tests.support.readers.fake import RUN
from tests.support.readers.served import app_on, served
from tests.unit.analysis.test_compare import OTHER, Two, lookup


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    two = Two()
    two.told(RUN, *lookup("c"))
    two.told(OTHER, *lookup("c", "lost", "It is lost, sorry."), ("tool", "mail", "ann", "sent"))
    with served(app_on(two.store)) as url:
        yield url


@pytest.fixture
def playhead(url: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PLAYHEAD_COLLECTOR_URL", url)

    def call(*args: str) -> Result:
        return CliRunner().invoke(app, args)

    return call


def test_a_comparison_says_where_runs_part_and_what_came_of_it(playhead):
    text = playhead("compare", RUN, OTHER).stdout
    assert text.startswith("They part at turn 2: B went on to call `mail(ann)`, A made no more calls. Until then both")
    assert "calls\t1 same, 0 similar, 2 changed, 0 only_a, 1 only_b\n" in text
    assert "answer\tIt is late. → It is lost, sorry.\n" in text
    assert "they part: tool look_up at 7 and 7 (result)\n  result:\n    -late\n    +lost\n" in text
    assert "~\t10\t10\tllm\tIt is late.\tmessages, answer\n" in text
    assert "+\t\t13\ttool\tmail(ann)\t\n" in text


def test_runs_that_are_the_same_say_so(playhead):
    text = playhead("compare", RUN, RUN).stdout
    assert "outcome\tthe same" in text
    assert "they part" not in text


def test_what_does_not_fit_is_said(playhead):
    assert "there are more pairs than these 1" in playhead("compare", RUN, OTHER, "--limit", "1").stderr


def test_a_program_gets_the_answer_as_json(playhead):
    answer = json.loads(playhead("compare", RUN, OTHER, "--json").stdout)
    assert (answer["a"]["run"], answer["b"]["run"], answer["common"]["calls"]) == (RUN, OTHER, 1)


def test_a_run_that_is_not_there_is_not_found(playhead):
    done = playhead("compare", RUN, "ff" * 16)
    assert (done.exit_code, "there is no run" in done.stderr) == (1, True)
