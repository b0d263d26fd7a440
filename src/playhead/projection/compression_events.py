"""store → [projection]: the event of a compression, declared by the program or inferred from a call's input."""

from collections.abc import Mapping
from typing import Any

from playhead.model import event as ev
from playhead.model import names
from playhead.model.ref import ContentRef, is_ref
from playhead.model.span import LogEvent
from playhead.projection.attributes import ref, text, texts, whole
from playhead.projection.conversations import Conversations, Cut, ProviderCompaction
from playhead.projection.cuts import SUMMARY
from playhead.projection.message_outcomes import declared_outcomes

INFERRED, DECLARED, PROVIDER = "inferred", "declared", "provider"


def inferred(
    head: Mapping[str, Any],
    cut: Cut,
    after: ContentRef | None,
    tokens_after: int | None,
    *,
    by_provider: bool = False,
) -> ev.RunEvent:
    """The event of a cut that was inferred from a call's input. `by_provider`: the agent's previous answer was a
    compaction by the provider."""
    return ev.ContextCompressed(
        **head,
        origin=PROVIDER if by_provider else INFERRED,
        strategy=cut.verdict.strategy,
        tokens_before=cut.tokens,
        tokens_after=tokens_after,
        kept=cut.kept,
        summarised=cut.verdict.summarised,
        dropped=cut.verdict.dropped,
        before=cut.before,
        after=after,
        summary=cut.verdict.summary,
        summariser=cut.summariser,
    )


def compacted(head: Mapping[str, Any], made: ProviderCompaction, attributes: Mapping[str, Any]) -> ev.RunEvent:
    """The event for an answer that has the provider's summary of the input: the model sees the answer in the place of
    these messages, although the program may go on sending them.

    With a readable summary, the provider counts the input that goes on, and what writing the summary took, which does
    not say how large the context was. Else it counts the input as it was sent."""
    counted = whole(attributes, names.INPUT_TOKENS)
    return ev.ContextCompressed(
        **head,
        origin=PROVIDER,
        strategy=SUMMARY,
        summariser=head["span"],
        tokens_before=None if made.is_readable else counted,
        tokens_after=counted if made.is_readable else None,
        summarised=made.replaced,
        before=ref(attributes, names.INPUT_MESSAGES_REF),
        after=ref(attributes, names.OUTPUT_MESSAGES_REF),
        summary=made.summary,
    )


def edited(head: Mapping[str, Any], attributes: Mapping[str, Any], thread: ContentRef | None) -> ev.RunEvent | None:
    """The event for a provider's removal of a part of a call's input; None when the span reports none.

    Providers report only how many tokens they removed, not which messages.
    """
    strategy, tokens = text(attributes, names.CONTEXT_EDITS), whole(attributes, names.INPUT_TOKENS)
    if strategy is None:
        return None
    cleared = whole(attributes, names.CONTEXT_CLEARED_TOKENS)
    before = None if tokens is None or cleared is None else tokens + cleared
    return ev.ContextCompressed(
        **head,
        origin=PROVIDER,
        strategy=strategy,
        tokens_before=before,
        tokens_after=tokens,
        before=thread,
        after=thread,
    )


def declared(head: Mapping[str, Any], log: LogEvent, actor: str | None, conversations: Conversations) -> ev.RunEvent:
    """The event of a declared compression. Values that were not declared are computed from the two threads."""
    attributes = log.attributes
    before, after = ref(attributes, names.COMPRESSION_BEFORE_REF), ref(attributes, names.COMPRESSION_AFTER_REF)
    summary = ref(attributes, names.COMPRESSION_SUMMARY_REF)
    cut = conversations.compression_declared(actor, before, after, summary)
    verdict = cut.verdict if cut else None
    gone = (*verdict.summarised, *verdict.dropped) if verdict is not None else ()
    lists = _refs(attributes, names.COMPRESSION_SUMMARISED), _refs(attributes, names.COMPRESSION_DROPPED)
    summarised, dropped = declared_outcomes(gone, *lists, summed_up=summary is not None)
    return ev.ContextCompressed(
        **head,
        origin=DECLARED,
        strategy=text(attributes, names.COMPRESSION_STRATEGY) or ("summary" if summary else None),
        tokens_before=whole(attributes, names.COMPRESSION_TOKENS_BEFORE),
        tokens_after=whole(attributes, names.COMPRESSION_TOKENS_AFTER),
        kept=_refs(attributes, names.COMPRESSION_KEPT) or (cut.kept if cut else ()),
        summarised=summarised,
        dropped=dropped,
        before=before,
        after=after,
        preserved=_refs(attributes, names.COMPRESSION_PRESERVED) or (),
        note=text(attributes, names.COMPRESSION_NOTE),
        trigger=text(attributes, names.COMPRESSION_TRIGGER),
        fallback=text(attributes, names.COMPRESSION_FALLBACK),
        summary=summary,
        summariser=cut and cut.summariser,
        policy=ref(attributes, names.COMPRESSION_POLICY_REF),
    )


def _refs(attributes: Mapping[str, Any], name: str) -> tuple[ContentRef, ...] | None:
    """A list of refs; None when it is missing."""
    return tuple(ContentRef(item) for item in texts(attributes, name) if is_ref(item)) if name in attributes else None
