"""Applies a plan: the entries that a context has afterwards. Pure."""

from collections.abc import Sequence

from playhead.context.entries import SYSTEM, USER, Entry, masked_message
from playhead.context.plan import Plan
from playhead.context.summaries import BEGINNING
from playhead.model.message import text_message
from playhead.models.apis import Api


def applied(entries: Sequence[Entry], plan: Plan, api: Api, summary: Entry | None) -> list[Entry]:
    """Returns the entries after the plan. The summary stands where the first summarised entry stood; as a part of the
    system prompt, directly after it."""
    place = _place_of_summary(entries, plan, summary)
    result: list[Entry] = []
    for index, (entry, fate) in enumerate(zip(entries, plan.fates, strict=True)):
        if summary is not None and index == place:
            result.append(summary)
        if fate == "keep":
            result.append(entry)
        elif fate == "mask":
            result.append(masked(entry, api))
    if summary is not None and place == len(entries):
        result.append(summary)
    return result


def summary_entry(text: str, api: Api, number: int, *, in_system: bool) -> Entry:
    """Returns the entry that stands for the summarised ones."""
    message = text_message(SYSTEM if in_system else USER, f"{BEGINNING}\n\n{text}")
    return Entry(api.from_message(message), message, number, kind="summary")


def masked(entry: Entry, api: Api) -> Entry:
    """Returns the entry with a line in the place of each tool result."""
    message = masked_message(entry)
    return Entry(api.from_message(message), message, entry.number, entry.tags, entry.preserve, "masked")


def _place_of_summary(entries: Sequence[Entry], plan: Plan, summary: Entry | None) -> int:
    if summary is not None and summary.role == SYSTEM:
        return next((index for index, entry in enumerate(entries) if not entry.is_instruction), len(entries))
    return next(iter(plan.indexes("summarise")), len(entries))
