"""What a program made of a model's answer is the model's words: why, causes and goals see through a summary."""

from collections.abc import Sequence

import pytest

from playhead.model.event import LlmCompleted, MessageAdded, ToolCalled
from playhead.model.message import message_contents
from playhead.projection.projector import ProjectSettings, project
from playhead_collector.analysis.causes import answer_causes
from playhead_collector.analysis.compression.compressions import audit_compression, list_compressions
from playhead_collector.analysis.provenance.attributions import answer_attribution
from playhead_collector.analysis.reasoning.inferred import infer_reasoning
from playhead_collector.analysis.suspects.suspects import answer_suspects
from playhead_collector.analysis.transcript.loading import read_transcript
from playhead_collector.read.record import RunRecord
from tests.support.compressed_runs import (
    FOUND,
    HELLO,
    KNOWN,
    LAMP,
    LONG,
    PLACE,
    SYSTEM,
    YES,
    Call,
    LabelledRun,
    agent,
    calls,
    gives,
    user,
)
from tests.support.compression_forms import HISTORY, NEXT, TALK, TEXT, summarisers
from tests.support.readers.fake import RUN, FakeStore, record_of
from tests.support.recorded_runs import Recorded

REFUND = calls("c7", "open_refund", account="77812345")


def recorded(*made: Call) -> RunRecord:
    store, run = FakeStore(), Recorded(RUN, LabelledRun("summed up", made))
    store.bodies.update(run.contents)
    store.thread_nodes.update(run.nodes)
    store.keep_run(project(run.work(), 0, ProjectSettings()).events)
    return record_of(store)


def summed_up(by: Sequence[Call] = ()) -> RunRecord:
    """The program goes on with a summary as the only message, and the model uses an account that stands in it."""
    return recorded(*HISTORY, *by, Call([SYSTEM, user(TEXT)], REFUND, runs="ok"))


async def events_of(record: RunRecord):
    return [event async for block in record.onwards(0) for event in block]


async def seq_of(record: RunRecord, message) -> int:
    ref = message_contents(message)[0].ref
    return next(e.seq for e in await events_of(record) if isinstance(e, MessageAdded) and e.message == ref)


WRITERS = {name: by for name, by in summarisers(TALK, TEXT) if name not in ("another_agent", "asked_twice")}
each_writer = pytest.mark.parametrize("by", [(), *WRITERS.values()], ids=["no_call", *WRITERS])


@each_writer
async def test_a_value_from_a_summary_is_no_users_value(by: Sequence[Call]):
    record = summed_up(by)
    (tool,) = [event for event in await events_of(record) if isinstance(event, ToolCalled)]
    answer = await answer_attribution(record, str(tool.seq))
    (account,) = answer["values"]
    assert (account["source"], account["strength"]) == ("assistant", "likely")
    assert answer["kind"] == "agent_initiative"
    assert "user" not in answer["reason"]


@each_writer
async def test_the_causes_go_on_through_the_summary_to_the_user(by: Sequence[Call]):
    record = summed_up(by)
    events = await events_of(record)
    (tool,) = [event for event in events if isinstance(event, ToolCalled)]
    graph = await answer_causes(record, str(tool.seq), "back")
    edges = {(edge["cause"], edge["effect"]): edge["why"] for edge in graph["edges"]}
    summary, said = await seq_of(record, user(TEXT)), await seq_of(record, LAMP)
    assert edges[summary, tool.seq] == "value"
    if by:
        writer = [event.seq for event in events if isinstance(event, LlmCompleted)][len(HISTORY) + len(by) - 1]
        assert edges[writer, summary] == "said"
        assert edges[said, writer] == "cites"
    else:
        assert edges[said, summary] == "cites"
    assert said in {node["seq"] for node in graph["nodes"]}
    later = await answer_causes(record, str(said), "forward")
    assert tool.seq in {node["seq"] for node in later["nodes"]}


@each_writer
async def test_a_goal_is_what_the_user_asked_for(by: Sequence[Call]):
    transcript = await read_transcript(summed_up(by))
    inferred = infer_reasoning(transcript, transcript.turns[-1])
    assert inferred["goal"] is not None
    assert inferred["goal"]["ref"] in {message_contents(message)[0].ref for message in (HELLO, LAMP)}
    assert inferred["trigger"] == "compression"


async def test_a_user_who_speaks_after_a_summary_is_heard():
    transcript = await read_transcript(recorded(*HISTORY, Call([SYSTEM, user(TEXT), NEXT], REFUND)))
    inferred = infer_reasoning(transcript, transcript.turns[-1])
    assert inferred["goal"] is not None
    assert (inferred["goal"]["text"], inferred["trigger"]) == ("When will it come?", "user_message")


async def test_a_lost_fact_has_one_strength_in_the_audit_and_among_the_suspects():
    short = [SYSTEM, FOUND, YES, PLACE, KNOWN]
    wrong, asked = calls("c9", "get_order", order_id="W0000000"), agent("Could you tell me your account again?")
    said = user("It is 77812345.")
    record = recorded(
        Call(LONG, PLACE),
        Call(short, wrong, runs="Error: no such order"),
        Call([*short, wrong, gives("c9", "Error: no such order")], asked),
        Call([*short, wrong, gives("c9", "Error: no such order"), asked, said], agent("Item LMP-4471 it is.")),
    )
    (item,) = (await list_compressions(record, 10, 0))["items"]
    audit = await audit_compression(record, str(item["seq"]))
    strengths = {fact["text"]: {need["strength"] for need in fact["needed"]} for fact in audit["lost"]}
    suspects = (await answer_suspects(record, limit=20))["items"]
    found = [finding for item in suspects for finding in item["findings"] if finding["rule"] == "fact_lost"]
    assert len(found) >= 3
    for finding in found:
        fact = finding["reason"].split("'")[1]
        assert finding["strength"] in strengths[fact]
    assert {finding["strength"] for finding in found} > {"strong"}
    # A rule counts once for a step, whatever its strengths there.
    for item in suspects:
        others = {finding["rule"] for finding in item["findings"]} - {"fact_lost"}
        assert item["points"] <= 4 + 4 * len(others)
