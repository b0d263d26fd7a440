"""What is chosen when the context contains a text, asked of a journal's runs."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from playhead.local.client import JournalClient
from playhead.model.message import text_message
from playhead_collector.analysis.across.contexts import CallContext, had_text
from playhead_collector.store.ports.spans import Batch
from tests.integration.read.recorded import Recorder
from tests.support.readers.journaled import write_journal


def shop_run(number: int, asked: str, tool: str) -> Batch:
    """A run that is asked something, calls one tool, and answers."""
    recorder = Recorder(f"{number:032x}")
    question = text_message("user", asked)
    recorder.model([question], text_message("assistant", "I look."))
    recorder.tool(tool, {}, "ok")
    recorder.model([question, text_message("assistant", "I look.")], text_message("assistant", "Done."))
    return recorder.batch()


@pytest.fixture
def client(tmp_path: Path) -> Iterator[JournalClient]:
    runs = [shop_run(number, "Where is my PARCEL?", "track") for number in range(1, 7)]
    runs += [shop_run(number, "I want my money back.", "refund") for number in range(11, 18)]
    runs.append(shop_run(21, "My parcel is broken.", "refund"))
    write_journal(tmp_path, runs)
    with JournalClient(tmp_path, print) as client:
        yield client


def test_only_choices_with_the_text_in_their_context_are_counted(client: JournalClient):
    every = {(row["tool"], row["choice"]): row for row in client.patterns()["patterns"]}
    assert every["(begin)", "track"]["share"] == pytest.approx(6 / 14, abs=1e-6)
    answer = client.patterns(contains="parcel")
    found = {(row["tool"], row["choice"]): row for row in answer["patterns"]}
    assert found["(begin)", "track"]["share"] == pytest.approx(6 / 7, abs=1e-6)
    assert found["(begin)", "track"]["runs"] == 6
    assert found["track", "(end)"]["share"] == 1.0
    assert ("(begin)", "refund") not in found  # one run: no pattern
    assert answer["rare"] == 2
    assert answer["population"] == client.patterns()["population"]


def test_a_text_that_no_context_has_leaves_nothing(client: JournalClient):
    assert client.patterns(contains="zeppelin")["patterns"] == []


def test_a_choice_is_that_of_the_last_model_call_before_it():
    contexts = [CallContext(2, True), CallContext(6, False)]
    assert not had_text(contexts, 2)
    assert had_text(contexts, 5)
    assert not had_text(contexts, 9)
    assert not had_text(contexts, None)
    assert not had_text([], None)
