"""Records what a context does: compressions, with the calls that wrote summaries under a step `compress`, and tags of
messages. Outside a run, nothing is recorded."""

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

from playhead.api.log_events import log_event_with_refs
from playhead.api.observe import observe
from playhead.calls.lifecycle import current_span
from playhead.calls.recorder import FrameList, KnownThreads, Recorder
from playhead.context.entries import Entry
from playhead.context.plan import Plan
from playhead.context.report import CompressionReport
from playhead.model import names
from playhead.model.json_value import Json, JsonMapping
from playhead.model.ref import ContentRef
from playhead.models.apis import Api

Refs = Mapping[str, ContentRef | str | Sequence[ContentRef] | None]


@dataclass(frozen=True, slots=True)
class CompressionRecord:
    """What is recorded of a compression: the entries before and after, the plan that was carried out, its report, and
    the policy in words."""

    api: Api
    before: Sequence[Entry]
    after: Sequence[Entry]
    plan: Plan
    summary: Entry | None
    report: CompressionReport
    policy: Json


def compress_step() -> AbstractContextManager[object]:
    """Returns the block around a compression: the step `compress` of the current run."""
    return nullcontext() if current_span() is None else observe("compress")


def record_compression(made: CompressionRecord) -> None:
    """Records the compression in the current run. Never raises."""
    span = current_span()
    if span is None:
        return
    report = made.report
    attributes: dict[str, str | int] = {
        names.COMPRESSION_STRATEGY: report.strategy,
        names.COMPRESSION_TRIGGER: report.trigger,
        names.COMPRESSION_TOKENS_BEFORE: report.tokens_before,
        names.COMPRESSION_TOKENS_AFTER: report.tokens_after,
    }
    said = {names.COMPRESSION_NOTE: report.note, names.COMPRESSION_FALLBACK: report.fallback}
    attributes |= {name: value for name, value in said.items() if value is not None}

    def refs(to: Recorder, frames: FrameList) -> Refs:
        redact, to_message = span.redact, made.api.to_message
        # Not those of the run: a client's calls may have other canonical forms of the same messages (LiteLLM's do).
        threads = KnownThreads()

        def thread(entries: Sequence[Entry]) -> ContentRef | None:
            natives = made.api.thread([entry.native for entry in entries])
            return to.native_thread_ref(natives, to_message, threads, frames, redact)

        def messages(entries: Sequence[Entry]) -> list[ContentRef] | None:
            found = [to.native_message_ref(entry.native, to_message, frames, redact) for entry in entries]
            return [ref for ref in found if ref is not None] or None

        def with_fate(*fates: str) -> list[Entry]:
            return [entry for entry, fate in zip(made.before, made.plan.fates, strict=True) if fate in fates]

        summary = made.summary
        message = None if summary is None else to.native_message_ref(summary.native, to_message, frames, redact)
        return {
            names.COMPRESSION_BEFORE_REF: thread(made.before),
            names.COMPRESSION_AFTER_REF: thread(made.after),
            names.COMPRESSION_SUMMARY_REF: message,
            names.COMPRESSION_SUMMARISED: messages(with_fate("summarise")) or [],
            names.COMPRESSION_DROPPED: messages(with_fate("drop", "mask")) or [],
            names.COMPRESSION_PRESERVED: messages([entry for entry in made.before if entry.preserve]),
            names.COMPRESSION_POLICY_REF: to.payload(made.policy, frames, redact),
        }

    log_event_with_refs(span, names.COMPRESSED, attributes, refs)


def record_marks(api: Api, native: JsonMapping, tags: Sequence[str], *, preserve: bool) -> None:
    """Records a message's tags and whether it is preserved. Never raises."""
    span = current_span()
    if span is None:
        return
    attributes = {names.MESSAGE_TAGS: list(tags), names.MESSAGE_PRESERVED: preserve}

    def refs(to: Recorder, frames: FrameList) -> Refs:
        return {names.MESSAGE_REF: to.native_message_ref(native, api.to_message, frames, span.redact)}

    log_event_with_refs(span, names.MESSAGE_MARKED, attributes, refs)
