"""The context that a call would have had without the compression before it."""

import pytest

from playhead.model.message import Message, text_message
from playhead.wire.operations.compression import RecordedCompression
from playhead_collector.analysis.compression.compressions import list_compressions
from playhead_collector.analysis.compression.uncut import answer_uncut_context
from playhead_collector.errors import Refused
from playhead_collector.read.context import OPENAI, PARTS
from playhead_collector.read.record import RunRecord
from tests.support.compressed_runs import FOUND, LAMP, LONG, ORDER, PLACE, RUNS, SENT, SYSTEM, YES, Call, LabelledRun
from tests.support.compressed_runs import user as user_of
from tests.unit.analysis.test_compressions import recorded


async def uncut(labelled: LabelledRun, read_json) -> list[Message]:
    """The messages that the first call after the only compression would have had."""
    record = recorded(labelled)
    (cut,) = (await list_compressions(record, 10, 0))["items"]
    answer = read_json(await answer_uncut_context(record, str(cut["call"]), str(cut["seq"]), PARTS))
    assert (answer["thread"], answer["context_tokens"], answer["missing"]) == (None, None, [])
    return answer["messages"]


def named(name: str) -> LabelledRun:
    return next(run for run in RUNS if run.name == name)


async def test_what_was_summarised_stands_in_the_place_of_its_summary(read_json):
    assert await uncut(named("summed_up"), read_json) == LONG


async def test_a_summary_that_another_call_wrote_is_left_out_and_what_is_new_stays(read_json):
    goes_on = named("summed_up_by_a_call").calls[-1].given[-1]
    assert await uncut(named("summed_up_by_a_call"), read_json) == [*LONG, SENT, goes_on]


async def test_a_note_that_messages_were_left_out_is_part_of_the_compression(read_json):
    note = text_message("user", "[4 messages were left out here]")
    short = [SYSTEM, note, ORDER, FOUND, YES]
    labelled = LabelledRun("noted", [Call(LONG[:-1], FOUND), Call([*short, user_of("And fast.")], PLACE)])
    whole = await uncut(labelled, read_json)
    assert (note in whole, LAMP in whole, whole[-1]) == (False, True, user_of("And fast."))


async def test_messages_are_given_in_the_form_of_chat_completions(read_json):
    record, cut = await record_and_cut()
    answer = read_json(await answer_uncut_context(record, str(cut["call"]), str(cut["seq"]), OPENAI))
    assert [message["role"] for message in answer["messages"]] == [message["role"] for message in LONG]
    assert answer["messages"][4]["tool_calls"][0]["function"]["name"] == "get_order"


async def record_and_cut() -> tuple[RunRecord, RecordedCompression]:
    record = recorded(named("summed_up"))
    return record, (await list_compressions(record, 10, 0))["items"][0]


async def test_only_the_first_call_that_saw_what_was_left_has_such_a_context():
    record, cut = await record_and_cut()
    with pytest.raises(Refused, match=f"event {cut['call']} is the first call that saw"):
        await answer_uncut_context(record, "last", str(cut["seq"]), PARTS)
    with pytest.raises(Refused, match="is no compression"):
        await answer_uncut_context(record, str(cut["call"]), "1", PARTS)
