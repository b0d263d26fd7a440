"""store → [reading] → source.  Reads the parts of a run that its test file needs."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from playhead.model import event as ev
from playhead.model import names
from playhead.model.message import Message
from playhead.model.ref import ContentRef
from playhead.model.span import Span
from playhead.model.times import rfc3339
from playhead_collector.errors import ContentMissing, Refused
from playhead_collector.read.as_test.model_answers import RecordedTurn, asked_text
from playhead_collector.read.as_test.source import RunToTest, pytest_source
from playhead_collector.read.as_test.waits import RunWaits, answers_given, refs_of
from playhead_collector.read.calls import LLM_END, TOOL_END, CallEvents, CallPairing, LlmEnd, ToolEnd
from playhead_collector.read.record import RunRecord
from playhead_collector.read.values import ContentCache, fetch, messages_of
from playhead_collector.store.ports.run_filter import RunFilter

# Nobody reads a longer file, and the whole thread of each call is read to get its last message.
MAX_MODEL_CALLS = 500
_MAX_TOOL_CALLS = 10_000
# At most this many runs of the session are searched for the question with whose answer a run begins.
_MOST_BEFORE = 50


async def read_test_file(record: RunRecord) -> str:
    """Returns the text of a pytest file.  Raises Refused if there are no model calls or too many calls, or if contents
    are not stored."""
    models: CallPairing[ev.LlmCalled, LlmEnd] = CallPairing(ev.LlmCalled, LLM_END, MAX_MODEL_CALLS)
    tools: CallPairing[ev.ToolCalled, ToolEnd] = CallPairing(ev.ToolCalled, TOOL_END, _MAX_TOOL_CALLS)
    ends: list[ev.RunEvent] = []
    waits = RunWaits()
    async for events in record.onwards(0):
        models.take(events)
        tools.take(events)
        waits.take(events)
        ends += [event for event in events if isinstance(event, ev.RunStarted | ev.RunCompleted | ev.RunFailed)]
    _check(record, models, tools)
    try:
        earlier = await _asked_before(record, waits.asked_before)
        return await _read(record, models.calls, tools.calls, ends, [*earlier, _RunBefore(record, models.calls, waits)])
    except ContentMissing as error:
        raise _without_content(record, str(error)) from error


def _check(record: RunRecord, models: CallPairing[Any, Any], tools: CallPairing[Any, Any]) -> None:
    if not models.calls:
        raise Refused(
            409, "no_model_calls", f"run {record.run} has no model call that a test could play: choose another run"
        )
    if models.more or tools.more:
        limits = f"{MAX_MODEL_CALLS} model calls and {_MAX_TOOL_CALLS:,} tool calls"
        raise Refused(413, "too_large", f"run {record.run} has more than {limits}: make a test of a shorter run")


@dataclass(slots=True)
class _RunBefore:
    """A run with its model calls and its questions to people."""

    record: RunRecord
    models: Sequence[CallEvents[ev.LlmCalled, LlmEnd]]
    waits: RunWaits


async def _asked_before(record: RunRecord, waits: set[str]) -> list[_RunBefore]:
    """Returns earlier runs of the session, oldest first: the runs that asked these questions, and the runs that asked
    the questions with whose answers those runs begin."""
    session, wanted, runs = record.row.session, set(waits), list[_RunBefore]()
    if session is None or not wanted:
        return []
    where = RunFilter(session=session, until_ns=record.row.started_ns)
    for row in await record.store.runs(record.project_id, where, limit=_MOST_BEFORE):
        if not wanted or row.run == record.run:
            continue
        models: CallPairing[ev.LlmCalled, LlmEnd] = CallPairing(ev.LlmCalled, LLM_END, MAX_MODEL_CALLS)
        before = _RunBefore(RunRecord(record.store, record.project_id, row), models.calls, RunWaits())
        async for events in before.record.onwards(0):
            models.take(events)
            before.waits.take(events)
        if wanted & before.waits.asked.keys():
            runs.insert(0, before)
            wanted = (wanted - before.waits.asked.keys()) | before.waits.asked_before
    return runs


async def _read(
    record: RunRecord,
    models: Sequence[CallEvents[ev.LlmCalled, LlmEnd]],
    tools: Sequence[CallEvents[ev.ToolCalled, ToolEnd]],
    ends: Sequence[ev.RunEvent],
    runs: Sequence[_RunBefore],
) -> str:
    """Returns the text of the file. `runs`: the runs that the program makes first, and then this run."""
    played = [(run.record, call) for run in runs for call in run.models]
    threads = [await _last_messages(of, call) for of, call in played]
    begun = next((event for event in ends if isinstance(event, ev.RunStarted)), None)
    done = next((event for event in reversed(ends) if isinstance(event, ev.RunCompleted)), None)
    failed = next((event for event in reversed(ends) if isinstance(event, ev.RunFailed)), None)
    refs = [ref for pair in threads for ref in pair] + [call.begin.arguments for call in tools]
    refs += [begun and begun.input, done and done.output, *refs_of([run.waits for run in runs])]
    cache = await fetch(record.store, record.project_id, refs)
    exchanges = [_exchange(call, pair, cache) for (_, call), pair in zip(played, threads, strict=True)]
    own_turns = exchanges[len(exchanges) - len(models) :]
    waits = runs[-1].waits
    answers = answers_given([run.waits for run in runs], cache)
    called = [(call.begin.name, cache.parsed(call.begin.arguments)) for call in tools]
    output = cache.parsed(done.output) if done is not None else None
    if cache.missing:
        raise _without_content(record, f"{len(cache.missing)} contents are not stored")
    spans = await record.store.spans(record.project_id, record.run)
    row = record.row
    return pytest_source(
        RunToTest(
            run=record.run,
            name=row.name,
            begun=rfc3339(row.started_ns),
            status=row.status,
            exchanges=exchanges,
            tools=called,
            in_order=_is_in_order(tools),
            output=output,
            answer=_last_answer(own_turns),
            given=answers,
            runs_before=len(runs) - 1,
            waits=any(waits.is_left(wait) for wait in waits.asked),
            error_type=failed.error_type if failed is not None and row.status == "failed" else None,
            program=_of_root(spans, names.PROGRAM),
            function=_of_root(spans, names.CODE_FUNCTION),
            input=cache.parsed(begun.input) if begun is not None else None,
        )
    )


async def _last_messages(
    record: RunRecord, call: CallEvents[ev.LlmCalled, LlmEnd]
) -> tuple[ContentRef | None, ContentRef | None]:
    """Returns the refs of the last message that the model was sent, and of the last message of its answer."""
    sent = await messages_of(record.store, record.project_id, call.begin.thread)
    answered = await messages_of(record.store, record.project_id, call.end.thread if call.end is not None else None)
    return sent[-1] if sent else None, answered[-1] if answered else None


def _exchange(
    call: CallEvents[ev.LlmCalled, LlmEnd], pair: tuple[ContentRef | None, ContentRef | None], cache: ContentCache
) -> RecordedTurn:
    sent_message, answered = (cache.parsed_message(ref) for ref in pair)
    end = call.end
    if isinstance(end, ev.LlmFailed):
        error = (end.error_type, end.message) if end.outcome is None else None
        return RecordedTurn(asked_text(sent_message), None, error=error)
    return RecordedTurn(asked_text(sent_message), answered, end.finish_reasons if end is not None else ())


def _last_answer(exchanges: Sequence[RecordedTurn]) -> str | None:
    answers: list[Message] = [turn.answer for turn in exchanges if turn.answer is not None]
    texts = [part.get("content") for part in answers[-1]["parts"] if part.get("type") == "text"] if answers else []
    return "".join(text for text in texts if isinstance(text, str)) or None


def _is_in_order(tools: Sequence[CallEvents[ev.ToolCalled, ToolEnd]]) -> bool:
    """Returns whether each tool call had ended before the next one began."""
    ended = 0
    for call in tools:
        if call.begin.seq < ended:
            return False
        ended = max(ended, call.end.seq if call.end is not None else call.begin.seq)
    return True


def _of_root(spans: Sequence[Span], attribute: str) -> str | None:
    """Returns an attribute of the run's root span; None if it is missing or not a string."""
    root = next((span for span in spans if span.attributes.get(names.RUN_ROOT)), None)
    value = root.attributes.get(attribute) if root is not None else None
    return value if isinstance(value, str) else None


def _without_content(record: RunRecord, why: str) -> Refused:
    return Refused(
        404,
        "content_missing",
        f"run {record.run} cannot become a test ({why}): that takes a run with its content (PLAYHEAD_CAPTURE_CONTENT)",
    )
