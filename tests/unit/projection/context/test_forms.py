"""Compressions are found by what is gone, in every form in which programs shorten a context, and nowhere else."""

from dataclasses import replace

import pytest

from playhead.model.event import ContextCompressed, LlmCalled, MessageAdded
from playhead.model.message import message_contents
from playhead.projection.projector import ProjectSettings, project
from tests.support.compressed_runs import SYSTEM, Call, LabelledRun, agent, user
from tests.support.compression_forms import ASKS, HISTORY, NEXT, TALK, TEXT, forms, summarisers, unshortened
from tests.support.recorded_runs import Recorded
from tests.unit.projection.recording import Recording

RUN = "0190f5ff" * 4
FORMS, OTHERS = list(forms()), list(unshortened())


def projected(run: LabelledRun):
    return project(Recorded(RUN, run).work(), 0, ProjectSettings()).events


@pytest.mark.parametrize("run", FORMS, ids=lambda run: run.name)
def test_a_shortened_context_is_one_compression_with_what_replaced_it(run: LabelledRun):
    events = projected(run)
    calls = [event for event in events if isinstance(event, LlmCalled)]
    found = [event for event in events if isinstance(event, ContextCompressed)]
    (expected,) = run.expected
    assert [(each.strategy, each.origin) for each in found] == [(expected.strategy, "inferred")]
    (cut,) = found
    assert next(n for n, call in enumerate(calls) if call.seq > cut.seq) == expected.call
    assert cut.summary == (None if expected.summary is None else message_contents(expected.summary)[0].ref)
    writer = None if expected.summariser is None else calls[expected.summariser]
    assert cut.summariser == (writer and writer.span)
    # A call that only wrote the summary is not the call before: its request and its answer are not what went.
    if writer is not None:
        last = max(n for n, call in enumerate(run.calls[: expected.call]) if call.tokens in (190, 220))
        assert (cut.before, cut.tokens_before) == (calls[last].thread, run.calls[last].tokens)
        wrote = {event.message for event in events if isinstance(event, MessageAdded) and event.span == writer.span}
        assert not {*cut.summarised, *cut.dropped} & wrote
    assert cut.summarised or cut.summary is None


@pytest.mark.parametrize("run", OTHERS, ids=lambda run: run.name)
def test_lists_that_differ_for_another_reason_are_no_compressions(run: LabelledRun):
    assert [event for event in projected(run) if isinstance(event, ContextCompressed)] == []


@pytest.mark.parametrize("run", [*FORMS, *OTHERS], ids=lambda run: run.name)
def test_messages_are_read_in_few_passes(run: LabelledRun):
    work = Recorded(RUN, run).work()
    read, passes = {}, 0
    while unread := project(replace(work, messages=read), 0, ProjectSettings()).unread - read.keys():
        read |= {ref: work.messages[ref] for ref in unread}
        passes += 1
    assert passes <= 5
    assert project(replace(work, messages=read), 0, ProjectSettings()).events == projected(run)


def test_there_are_forms_enough():
    assert len({run.name.partition("-")[0] for run in FORMS}) >= 40
    assert len(OTHERS) >= 20


@pytest.mark.parametrize("name", ["asked_in_the_same_list", "transcript", "another_agent"])
def test_a_declared_summary_is_told_once_with_the_call_that_wrote_it(name: str):
    by = dict(summarisers(TALK, TEXT))[name]
    short = [SYSTEM, user(TEXT)]
    declares = {"before": TALK, "after": short, "summary": user(TEXT), "strategy": "own"}
    then = Call([*short, NEXT], agent("Tomorrow."), declares=declares)
    events = projected(LabelledRun("declared", [*HISTORY, *by, then]))
    (cut,) = [event for event in events if isinstance(event, ContextCompressed)]
    calls = [event for event in events if isinstance(event, LlmCalled)]
    assert (cut.origin, cut.strategy, cut.summariser) == ("declared", "own", calls[len(HISTORY)].span)


def test_a_second_summary_stands_for_the_first():
    """Two compressions in a row, each with a call that wrote its summary."""
    again = "Maria Lopez waits for the Desk Lamp LMP-4471, which comes tomorrow to 12 Harbour Street; she asked twice."
    first = [SYSTEM, user(TEXT), NEXT]
    more = [
        *first,
        agent("Tomorrow."),
        user("At what time?"),
        agent("At noon."),
        user("Thanks, I shall be there then."),
    ]
    calls = [
        *HISTORY,
        Call([*TALK, ASKS], agent(TEXT)),
        Call(first, agent("Tomorrow.")),
        Call(more[:5], agent("At noon.")),
        Call([*more, ASKS], agent(again)),
        Call([SYSTEM, user(again)], agent("Bye.")),
    ]
    events = projected(LabelledRun("twice", calls))
    cuts = [event for event in events if isinstance(event, ContextCompressed)]
    begun = [event for event in events if isinstance(event, LlmCalled)]
    assert [cut.summariser for cut in cuts] == [begun[4].span, begun[7].span]
    assert [cut.strategy for cut in cuts] == ["summary", "summary"]
    assert cuts[0].summary in cuts[1].summarised


def test_other_tools_do_not_hide_a_summary_that_a_call_wrote():
    history = [replace(call, tools=["get_order"]) for call in HISTORY]
    calls = [*history, Call([*TALK, ASKS], agent(TEXT)), Call([SYSTEM, user(TEXT)], agent("Bye."), tools=["wait"])]
    events = projected(LabelledRun("other tools", calls))
    assert [event.strategy for event in events if isinstance(event, ContextCompressed)] == ["summary"]


def test_runs_whose_summary_no_program_declared_count_as_compressed():
    rows = [project(Recorded(RUN, run).work(), 0, ProjectSettings()).row for run in FORMS[:8]]
    assert [row.compressions for row in rows] == [1] * 8


@pytest.mark.parametrize("is_same", [False, True])
def test_another_job_of_the_same_agent_is_no_compression(is_same: bool):
    """An orchestrator gives a worker a second job with words of the first; inside one job it would be one."""
    r = Recording()
    said = ["system: You do one job.", "user: Find prices of cloud storage."]
    answers = ["assistant: Acme has buckets, Globex has volumes.", "assistant: Acme costs 20 per month, Globex 30."]
    job = "user: Compare the buckets of Acme with the volumes of Globex, by what a month costs."
    with r.root("lead"):
        with r.call("agent", "worker"):
            r.model(said, answers[0])
            r.model([*said, answers[0], "user: And the costs?"], answers[1])
            if is_same:
                r.model([said[0], job], "assistant: Acme.")
        if not is_same:
            with r.call("agent", "worker"):
                r.model([said[0], job], "assistant: Acme.")
    assert len([event for event in r.events() if isinstance(event, ContextCompressed)]) == is_same
