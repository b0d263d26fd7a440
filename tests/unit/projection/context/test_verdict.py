"""What a context lost is told apart from what only looks like it, on runs that were labelled by hand."""

import json
from collections.abc import Callable
from dataclasses import replace

import pytest

from playhead.model import names
from playhead.model.event import ContextCompressed, LlmCalled, MessageAdded, event_to_json
from playhead.model.message import Message, message_contents
from playhead.projection.projector import ProjectSettings, project
from playhead_collector.store.ports.projections import RunWork
from tests.support.compressed_runs import RUNS, LabelledRun
from tests.support.recorded_runs import Recorded
from tests.unit.projection.recording import Recording

RUN = "0190f5fe" * 4
each_run = pytest.mark.parametrize("labelled", RUNS, ids=lambda labelled: labelled.name)


def events_of(work: RunWork):
    return project(work, work.last_arrival_ns, ProjectSettings()).events


def compressions(work: RunWork) -> list[ContextCompressed]:
    return [event for event in events_of(work) if isinstance(event, ContextCompressed)]


def refs(messages) -> list[str]:
    return [message_contents(message)[0].ref for message in messages]


@each_run
def test_each_compression_is_what_it_is_and_nothing_else_is_one(labelled: LabelledRun):
    work = Recorded(RUN, labelled).work()
    events = events_of(work)
    calls = [event for event in events if isinstance(event, LlmCalled)]
    found = [event for event in events if isinstance(event, ContextCompressed)]
    assert [(each.strategy, each.origin) for each in found] == [(e.strategy, e.origin) for e in labelled.expected]
    for each, expected in zip(found, labelled.expected, strict=True):
        call = next(n for n, call in enumerate(calls) if call.seq > each.seq)
        assert call == expected.call
        assert list(each.summarised) == refs(expected.summarised)
        assert list(each.dropped) == refs(expected.dropped)
        assert each.summary == (None if expected.summary is None else refs([expected.summary])[0])
        assert each.summariser == (None if expected.summariser is None else calls[expected.summariser].span)


@each_run
def test_without_a_word_being_read_no_compression_is_found_that_is_none(labelled: LabelledRun):
    work = replace(Recorded(RUN, labelled).work(), messages={})
    assert len(compressions(work)) <= len(labelled.expected)


@each_run
def test_what_was_asked_to_be_read_is_enough(labelled: LabelledRun):
    whole = Recorded(RUN, labelled).work()
    read, passes = {}, 0
    while unread := project(replace(whole, messages=read), 0, ProjectSettings()).unread - read.keys():
        read |= {ref: whole.messages[ref] for ref in unread}
        passes += 1
    assert passes <= 3
    assert events_of(replace(whole, messages=read)) == events_of(whole)
    if not labelled.expected:
        assert len(read) <= len(whole.messages) // 2


@each_run
def test_every_message_enters_the_run_once_for_each_time_that_it_was_said(labelled: LabelledRun):
    work = Recorded(RUN, labelled).work()
    added = [event.message for event in events_of(work) if isinstance(event, MessageAdded)]
    said = {ref for node in work.nodes.values() for ref in [node.message]}
    assert said == set(added)


@each_run
def test_these_runs_are_these_events(labelled: LabelledRun, golden: Callable[[str, str], None]):
    recorded = Recorded(RUN, labelled)
    lines = [json.dumps(_short(event_to_json(event)), ensure_ascii=False) for event in events_of(recorded.work())]
    text = "[\n" + ",\n".join(lines) + "\n]\n"
    for ref, message in recorded.work().messages.items():
        text = text.replace(ref, f"<{message['role']}: {_words(message)}>")
    for ref, node in recorded.nodes.items():
        text = text.replace(ref, f"<thread of {node.depth}>")
    golden(f"projection/compressed/{labelled.name}.events.json", text)


def _short(value: dict) -> dict:
    return {name: value[name] for name in ("seq", "kind", "actor", "data", "refs")}


def _words(message: Message) -> str:
    """The beginning of what it says, in a form that may stand within JSON."""
    parts = [part.get("content", part.get("response", part.get("name"))) for part in message["parts"]]
    return " ".join(str(part) for part in parts)[:60].replace('"', "'").replace("\n", " ")


def declared(r: Recording, **more) -> ContextCompressed:
    with r.root():
        r.model(["system: s", "user: a", "user: b", "user: c"], "assistant: D")
        r.log(names.COMPRESSED, **more)
    (event,) = [event for event in r.events() if isinstance(event, ContextCompressed)]
    return event


def test_what_was_declared_of_single_messages_is_believed():
    r = Recording()
    threads = {
        "playhead__compression__before_ref": r.thread("system: s", "user: a", "user: b", "user: c", "assistant: D"),
        "playhead__compression__after_ref": r.thread("system: s", "user: z", "assistant: D"),
        "playhead__compression__summary_ref": r.message("user: z"),
    }
    event = declared(r, **threads, playhead__compression__dropped=[r.message("user: b")])
    assert list(event.summarised) == [r.message("user: a"), r.message("user: c")]
    assert (list(event.dropped), event.strategy) == ([r.message("user: b")], "summary")
    other = Recording()
    other.nodes |= r.nodes
    event = declared(other, **threads, playhead__compression__summarised=[r.message("user: a")])
    assert list(event.dropped) == [r.message("user: b"), r.message("user: c")]


def test_a_declaration_without_threads_is_kept_as_it_came():
    event = declared(Recording(), playhead__compression__strategy="mine", playhead__compression__tokens_before=900)
    assert (event.origin, event.strategy, event.tokens_before) == ("declared", "mine", 900)
    assert (event.before, event.kept, event.summarised, event.dropped) == (None, (), (), ())
