"""Compressions are found by what is gone, in every form in which programs shorten a context, and nowhere else."""

from dataclasses import replace

import pytest

from playhead.model.event import ContextCompressed, LlmCalled, MessageAdded
from playhead.model.message import message_contents
from playhead.projection.projector import ProjectSettings, project
from tests.support.compressed_runs import LabelledRun
from tests.support.compression_forms import forms, unshortened
from tests.support.recorded_runs import Recorded

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
