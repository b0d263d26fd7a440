"""The context that a model call would have had without the compression before it."""

from collections.abc import Sequence

from playhead.model.event import ContextCompressed
from playhead.model.ref import ContentRef
from playhead.projection.known_messages import KnownMessages
from playhead.projection.message_diff import diff_messages, pair_by_meaning
from playhead.projection.message_outcomes import replaced_messages
from playhead.wire.operations import ContextAt
from playhead_collector.analysis.compression.compressions import find_compression, read_outcomes
from playhead_collector.errors import Refused
from playhead_collector.read.context import context_answer
from playhead_collector.read.owning_call import model_call_at
from playhead_collector.read.record import RunRecord
from playhead_collector.read.state import seq_at
from playhead_collector.read.values import fetch, fetch_thread, known_messages


async def answer_uncut_context(record: RunRecord, at: str | None, compression: str, form: str) -> ContextAt:
    """Returns the call to which `at` belongs, with the messages that it would have had without the compression.

    Raises Refused: 404 if there is no such compression, 409 if this call was not the first to see what it left.
    """
    call = await model_call_at(record, await seq_at(record, at))
    found = await find_compression(record, compression)
    begin, event = call.begin, found.event
    if found.call is None or found.call.seq != begin.seq:
        first = "no call has seen" if found.call is None else f"event {found.call.seq} is the first call that saw"
        raise Refused(409, "other_call", f"{first} what the compression at {event.seq} left: ask at that one")
    before = (await read_outcomes(record, event, {})).diff.before
    after, _ = await fetch_thread(record.store, record.project_id, begin.thread)
    others = (begin.system, begin.tools, begin.request, begin.input)
    cache = await fetch(record.store, record.project_id, (*before, *after, *others))
    messages = uncut_messages(event, before, after, known_messages(cache, (*before, *after)))
    answer = context_answer(record.run, call, messages, cache, form)
    return {**answer, "thread": None, "context_tokens": None}


def uncut_messages(
    event: ContextCompressed, before: Sequence[ContentRef], after: Sequence[ContentRef], messages: KnownMessages
) -> list[ContentRef]:
    """The messages before a compression, then those of the context after it that are new.

    New are those behind the last message that was kept, but for the summary and what stands in the place of a message
    that went. What was put before that message, such as a note that messages were left out, is part of the compression.
    """
    diff = pair_by_meaning(diff_messages(before, after), messages)
    last_kept = max(diff.kept.values(), default=-1)
    in_place = {new for _, new in replaced_messages(diff, messages)}
    new = [place for place in diff.added if place > last_kept and place not in in_place]
    return [*before, *(after[place] for place in new if after[place] != event.summary)]
