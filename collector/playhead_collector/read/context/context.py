"""Answers what the model's exact input at a call was."""

from collections.abc import Sequence
from typing import Any

import orjson

from playhead.dialect import openai_chat
from playhead.model.canonical import canonical_json
from playhead.model.event import LlmCalled
from playhead.model.ref import ContentRef
from playhead.wire.operations import ContextAt
from playhead_collector.read.calls import CallEvents, LlmEnd, llm_call
from playhead_collector.read.context.request_body import exact_request
from playhead_collector.read.owning_call import model_call_at
from playhead_collector.read.record import RunRecord
from playhead_collector.read.state import seq_at
from playhead_collector.read.values import ContentCache, fetch_thread

PARTS, OPENAI = "parts", "openai"


async def answer_context(record: RunRecord, at: str | None, form: str = PARTS, exact: bool = False) -> ContextAt:
    """Returns the model call to which `at` belongs, and its whole context; with `exact`, also the request's body.
    Raises Refused."""
    call = await model_call_at(record, await seq_at(record, at))
    begin = call.begin
    others = (begin.system, begin.tools, begin.request, begin.input)
    thread, cache = await fetch_thread(record.store, record.project_id, begin.thread, *others)
    answer = context_answer(record.run, call, thread, cache, form)
    if exact:
        answer["request"] = orjson.Fragment(canonical_json(await exact_request(record, call, thread, cache)))
    return answer


def context_answer(
    run: str, call: CallEvents[LlmCalled, LlmEnd], thread: Sequence[ContentRef], cache: ContentCache, form: str
) -> ContextAt:
    """Builds the answer from fetched contents."""
    begin, call_answer = call.begin, llm_call(call)
    in_form = _as_openai if form == OPENAI else ContentCache.message
    return {
        "run": run,
        "call": call_answer,
        "form": form,
        "thread": begin.thread,
        "system": cache.value(begin.system),
        "tools": cache.value(begin.tools),
        "messages": [in_form(cache, ref) for ref in thread],
        "settings": cache.value(begin.request),
        "input": cache.value(begin.input),
        "context_tokens": call_answer["usage"].get("input_tokens"),
        "missing": cache.missing,
    }


def _as_openai(cache: ContentCache, ref: ContentRef) -> Any:
    message = cache.parsed_message(ref)
    # A content that is no valid message is shown unchanged: better than nothing, and better than an error.
    return cache.message(ref) if message is None else orjson.Fragment(canonical_json(openai_chat.from_message(message)))
