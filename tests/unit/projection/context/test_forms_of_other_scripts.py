"""Compressions are found in conversations of other scripts and languages too, and another task is none there either.

No call wrote the summaries, and none says that it is one: they are found by what they restate.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from playhead.model.event import ContextCompressed
from playhead.model.message import Message, message_contents
from playhead.projection.projector import ProjectSettings, project
from tests.support.compressed_runs import Call, LabelledRun, agent, user
from tests.support.compression_forms import system
from tests.support.recorded_runs import Recorded

RUN = "0190f5ff" * 4
_FILE = Path(__file__).parents[3] / "fixtures" / "conversations_in_other_languages.json"
CONVERSATIONS: dict[str, dict[str, Any]] = json.loads(_FILE.read_text("utf-8"))
"""By language: instructions, the talk, its summary, what is said next, and how other tasks begin."""


def talk(language: str) -> list[Message]:
    said = CONVERSATIONS[language]["talk"]
    return [agent(text) if number % 2 else user(text) for number, text in enumerate(said)]


def forms(language: str) -> dict[str, list[Message]]:
    told = CONVERSATIONS[language]
    rules, text, question = system(told["instructions"]), told["summary"], user(told["question"])
    first, *_, last = talk(language)
    return {
        "before a question": [rules, user(text), question],
        "alone": [rules, user(text)],
        "behind the first message": [rules, first, user(text), question],
        "of an assistant": [rules, agent(text), question],
        "before the last answer": [rules, user(text), last, question],
        "in the instructions": [system(f"{told['instructions']}\n{text}"), question],
    }


PLACES = {"behind the first message": 2, "in the instructions": 0}


def compressions(language: str, then: list[Message]) -> list[ContextCompressed]:
    rules, said = system(CONVERSATIONS[language]["instructions"]), talk(language)
    history = [Call([rules, *said[:end]], said[end]) for end in range(1, len(said), 2)]
    run = LabelledRun(language, [*history, Call(then, agent("OK."))])
    events = project(Recorded(RUN, run).work(), 0, ProjectSettings()).events
    return [event for event in events if isinstance(event, ContextCompressed)]


@pytest.mark.parametrize("form", forms("zh"))
@pytest.mark.parametrize("language", CONVERSATIONS)
def test_a_summary_in_other_words_is_found(language: str, form: str):
    then = forms(language)[form]
    (cut,) = compressions(language, then)
    assert (cut.strategy, cut.summary) == ("summary", message_contents(then[PLACES.get(form, 1)])[0].ref)


@pytest.mark.parametrize("language", CONVERSATIONS)
def test_another_task_of_the_same_agent_is_no_compression(language: str):
    rules = system(CONVERSATIONS[language]["instructions"])
    for other in CONVERSATIONS[language]["other_tasks"]:
        assert compressions(language, [rules, user(other)]) == []
