"""What did other model calls choose in exactly the same context?

Two model calls, of any runs, had the same context if their threads have the same ref. Their answers are compared
exactly, except for call ids.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from playhead.model import event as ev
from playhead.model.canonical import canonical_json
from playhead.model.message import Message
from playhead.model.ref import ContentRef
from playhead_collector.read.record import RunRecord
from playhead_collector.read.values import ContentCache, fetch

# Other calls that are compared. Runs that share a context are trials of one task, or forks: more calls add little.
_MAX_CALLS = 100
_AT_ONCE = 256


@dataclass(frozen=True, slots=True)
class Sibling:
    """A model call with the same context, and the messages that it answered with."""

    run: str
    seq: int
    ended_seq: int | None
    outputs: Sequence[ContentRef]


@dataclass(slots=True)
class Choice:
    """An answer, and the calls that gave it."""

    chosen: Any
    calls: list[Sibling] = field(default_factory=list[Sibling])


async def choices_elsewhere(record: RunRecord, begin: ev.LlmCalled) -> list[Choice]:
    """Returns the different answers of other calls with the context of this call, the most frequent first."""
    if begin.thread is None:
        return []
    calls = await record.store.calls_with_thread(record.project_id, begin.thread, limit=_MAX_CALLS + 1)
    siblings = [
        sibling
        for run, seq in calls
        if (run, seq) != (begin.run, begin.seq) and (sibling := await read_sibling(record, run, seq, begin.thread))
    ][:_MAX_CALLS]
    cache = await fetch(record.store, record.project_id, (ref for sibling in siblings for ref in sibling.outputs))
    return grouped(siblings, cache)


def grouped(siblings: Iterable[Sibling], cache: ContentCache) -> list[Choice]:
    """Groups calls by their answer, the most frequent first.  Pure."""
    choices: dict[bytes, Choice] = {}
    for sibling in siblings:
        chosen = chosen_in(message for ref in sibling.outputs if (message := cache.parsed_message(ref)))
        choices.setdefault(canonical_json(chosen), Choice(chosen)).calls.append(sibling)
    return sorted(choices.values(), key=lambda choice: -len(choice.calls))


def chosen_in(messages: Iterable[Message]) -> dict[str, Any]:
    """Returns the answer in messages: the requested tools and the text, without ids, which differ from call to call."""
    calls: list[dict[str, Any]] = []
    texts: list[str] = []
    for part in (part for message in messages for part in message["parts"]):
        if part.get("type") == "tool_call":
            calls.append({"name": part.get("name"), "arguments": part.get("arguments")})
        elif part.get("type") == "text" and part.get("content"):
            texts.append(str(part["content"]))
    return {"tools": calls, "text": "\n".join(texts) or None}


async def read_sibling(record: RunRecord, run: str, seq: int, thread: ContentRef) -> Sibling | None:
    """Reads the call at this seq with its answer; None if its thread differs or it has not ended."""
    after = seq - 1
    begin: ev.LlmCalled | None = None
    outputs: list[ContentRef] = []
    ended: int | None = None
    while events := await record.store.events(record.project_id, run, after=after, limit=_AT_ONCE):
        for event in events:
            if begin is None:
                if not isinstance(event, ev.LlmCalled) or event.thread != thread:
                    return None
                begin = event
            elif event.span == begin.span:
                outputs += _output(event)
                ended = event.seq if isinstance(event, ev.LlmCompleted | ev.LlmFailed) else ended
            elif ended is not None:
                return Sibling(run, seq, ended, outputs)
        after = events[-1].seq
    return Sibling(run, seq, ended, outputs) if begin is not None and ended is not None else None


def _output(event: ev.RunEvent) -> Iterator[ContentRef]:
    if isinstance(event, ev.MessageAdded) and event.source == "output" and event.message is not None:
        yield event.message
