"""Classifies a cut: summary, sliding window, masked tool results, edit, ... or no compression.

| difference | result |
|---|---|
| only system messages changed, or the message that every call ends with | none |
| a message stands for several: it repeats a model's answer, says that it is a summary, restates them, or precedes kept ones | summary |
| tool messages were replaced by shorter ones that answer the same calls | tool_result_masking |
| summary and tool_result_masking | hybrid |
| messages were replaced one for one in any other way | edit |
| only tool results, or these and their calls, were removed, not in one range | dropped_tool_results |
| one range of messages was removed | sliding_window |
| messages in several ranges were removed | selection |
| the new input has neither the last answer nor a summary, but later messages, or results of the last answer's tool calls | sliding_window or selection if nothing is new, else unknown |
| the new input has none of these | none: another conversation |

Usually refs, roles and positions are enough.  Where text is needed, `KnownMessages` notes which messages to read; until
they are read, the result is based on positions alone.  Pure.
"""  # noqa: E501 - a table reads best whole

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from playhead.model.ref import ContentRef
from playhead.projection.known_messages import KnownMessages
from playhead.projection.message_diff import DiffHunk, MessageListDiff
from playhead.projection.message_outcomes import DROPPED, SUMMARISED, message_outcomes, replaced_messages
from playhead.projection.summary_texts import (
    common_beginning,
    gives_account,
    may_restate,
    repeats,
    restates,
    says_removed,
    says_summary,
    shares_facts,
    shares_words,
)

SUMMARY, HYBRID, MASKING, EDIT = "summary", "hybrid", "tool_result_masking", "edit"
WINDOW, DROPPED_RESULTS, SELECTION, UNKNOWN = "sliding_window", "dropped_tool_results", "selection", "unknown"

_INSTRUCTIONS = ("system", "developer")
# Minimum messages, without instructions, that were removed before a new list of messages is taken for their summary.
WORTH = 4
# Removed messages that a new text is compared with, from the last one back.
_MOST_COMPARED = 256
# Messages at the beginning of a list that state its task.
_FIRST = 16
# Characters of a note at most.
_SHORT = 120


@dataclass(frozen=True, slots=True)
class CompressionVerdict:
    """A compression. `summary` replaces the messages in `summarised`; those in `dropped` were removed without
    replacement."""

    strategy: str
    summary: ContentRef | None
    summarised: tuple[ContentRef, ...]
    dropped: tuple[ContentRef, ...]


def is_same_conversation(diff: MessageListDiff, input_length: int, messages: KnownMessages) -> bool:
    """Whether the new input continues the same conversation: it has the last answer.

    `input_length`: how many messages of `before` were the last call's input; the others are its answer.
    """
    if input_length < len(diff.before):
        answered = any(position in diff.kept for position in range(input_length, len(diff.before)))
        return answered or _altered_answer(diff, input_length, messages) is not None
    stayed = [position for position in diff.kept if position >= diff.prefix]
    return any(messages.role(diff.before[position]) != "system" for position in stayed) or any(
        _all_tools(diff, gap, messages) for gap in diff.hunks
    )


def classify_cut(
    diff: MessageListDiff,
    input_length: int,
    written: ContentRef | None,
    messages: KnownMessages,
    *,
    same: bool,
    shared: Sequence[ContentRef] = (),
    same_work: bool = False,
) -> CompressionVerdict | None:
    """Classifies the cut; None when it is not a compression.

    `written`: the new message that repeats a model's answer, if there is one; `same`: whether the new input continues
    the conversation; `shared`: messages that both lists begin with, if they are not in `diff`; `same_work`: the call
    was made inside the same agent's call as the last one, with the same tools.
    """
    if not same:
        return _classify_rewritten(diff, input_length, written, messages, shared, same_work=same_work)
    pairs, altered = replaced_messages(diff, messages), _altered_answer(diff, input_length, messages)
    old = {position for position, _ in pairs} | set(range(input_length, len(diff.before)) if altered else ())
    gone = [position for position in diff.removed if position not in old]
    telling = [pair for pair in pairs if messages.role(diff.before[pair[0]]) != "system"]
    if not gone and (
        not telling or (not telling[1:] and _is_last_input_of_both(diff, input_length, telling[0], messages))
    ):
        return None
    masked = [pair for pair in telling if _is_masked(diff, pair, messages)]
    summary, summarised = _summary(diff, gone, pairs, written, messages)
    if summary is not None:
        return _verdict(HYBRID if masked else SUMMARY, diff, summarised, summary)
    if not gone:
        if len(masked) == len(telling):
            return _verdict(MASKING, diff)
        # Messages that were not read may differ in their names only.
        return _verdict(EDIT, diff) if all(_is_read(diff, pair, messages) for pair in telling) else None
    if _is_changing_last_message(diff, input_length, gone, messages):
        return None
    return _verdict(_shape(diff, gone, messages), diff)


# --- summaries --------------------------------------------------------------------------------------------------------


def _summary(
    diff: MessageListDiff, gone: Sequence[int], pairs: Sequence[tuple[int, int]], written: ContentRef | None,
    messages: KnownMessages,
) -> tuple[ContentRef | None, list[int]]:  # fmt: skip
    """The summary message, and the positions of the messages that it replaces, in a conversation that goes on."""
    if not gone:
        return None, []
    new = {position for _, position in pairs if messages.role(diff.after[position]) not in _INSTRUCTIONS}
    for gap in diff.hunks:
        candidates = [position for position in gap.added if position not in new]
        if gap.is_last and len(candidates) == 1 and diff.after[candidates[0]] != written:
            continue  # what was said next
        lost = [position for position in gap.removed if position in gone]
        best = next((place for place in candidates if _stands_for(diff, place, written, messages)), None)
        if best is not None:
            return diff.after[best], lost or list(gone)
        others = [position for position in candidates if messages.role(diff.after[position]) not in _INSTRUCTIONS]
        if not gap.is_last and others and len(others) < len(lost) and not _is_note(diff, others, lost, messages):
            return diff.after[_representative(diff, others, messages)], lost
    changed = next(_instructions_that_restate(diff, gone, messages), None)
    return (None, []) if changed is None else (changed, list(gone))


def _stands_for(diff: MessageListDiff, position: int, written: ContentRef | None, messages: KnownMessages) -> bool:
    """Whether a new message is the one in which a model's answer was found, or says that it is a summary."""
    ref = diff.after[position]
    if ref == written:
        return True
    role = messages.role(ref)
    if role == "tool":
        return False
    return says_summary(_added_text(diff, position, messages) if role in _INSTRUCTIONS else messages.text(ref))


def _is_note(diff: MessageListDiff, others: Sequence[int], lost: Sequence[int], messages: KnownMessages) -> bool:
    """Whether the only new message is a short one that says nothing of the removed ones (`7 messages left out`), or
    says that they were left out and has no fact of them."""
    text = messages.text(diff.after[others[0]])
    is_said = says_removed(text)
    if len(others) > 1 or not text or (len(text) > _SHORT and not is_said):
        return False
    shares = shares_facts if is_said else shares_words
    return not any(shares(text, messages.text(diff.before[position])) for position in lost[-_MOST_COMPARED:])


def _added_text(diff: MessageListDiff, position: int, messages: KnownMessages) -> str:
    """The text of new instructions without what they have in common with the instructions before."""
    text = messages.text(diff.after[position])
    same = max((common_beginning(text, messages.text(ref)) for ref in _instructions(diff, messages)), default=0)
    return text[same:]


def _instructions(diff: MessageListDiff, messages: KnownMessages) -> list[ContentRef]:
    return [diff.before[position] for position in diff.removed if messages.role(diff.before[position]) in _INSTRUCTIONS]


def _instructions_that_restate(
    diff: MessageListDiff, gone: Sequence[int], messages: KnownMessages
) -> Iterator[ContentRef]:
    """Yields new instructions that restate removed messages: a program may keep its summary there."""
    for position in diff.added:
        ref = diff.after[position]
        if messages.role(ref) in _INSTRUCTIONS and may_restate(text := _added_text(diff, position, messages)):
            removed = [messages.text(diff.before[place]) for place in gone[-_MOST_COMPARED:]]
            known = [messages.text(other) for other in _instructions(diff, messages)]
            if restates(text, removed, known):
                yield ref


def _representative(diff: MessageListDiff, positions: Sequence[int], messages: KnownMessages) -> int:
    """Returns the position of the message to name as the summary when several new messages replace more old ones."""
    return next(
        (position for position in positions if messages.role(diff.after[position]) != "assistant"), positions[0]
    )


# --- lists without the last answer ------------------------------------------------------------------------------------


def _classify_rewritten(
    diff: MessageListDiff, input_length: int, written: ContentRef | None, messages: KnownMessages,
    shared: Sequence[ContentRef], *, same_work: bool,
) -> CompressionVerdict | None:  # fmt: skip
    """Classifies an input that has not the last answer: a summary of the conversation, a selection from it, or None."""
    gone = [position for position in diff.removed if messages.role(diff.before[position]) not in _INSTRUCTIONS]
    new = [position for position in diff.added if messages.role(diff.after[position]) != "tool"]
    spoken = [position for position in new if messages.role(diff.after[position]) not in _INSTRUCTIONS]
    if len(gone) < 2 or len(spoken) >= len(gone):
        return None
    alike = _has_same_instructions(diff, messages)
    for position in new:
        told = messages.role(diff.after[position]) in _INSTRUCTIONS
        if (alike or told) and _stands_for(diff, position, written, messages):
            return _verdict(SUMMARY, diff, gone, diff.after[position])
    if not alike:
        return None
    if len(gone) >= WORTH:
        restated = (
            diff.after[position]
            for position in spoken
            if _restates(diff, position, gone, messages, shared, same_work=same_work)
        )
        summary = next(restated, None) or next(_instructions_that_restate(diff, gone, messages), None)
        if summary is not None:
            return _verdict(SUMMARY, diff, gone, summary)
    if not _goes_on(diff, input_length, gone, messages):
        return None
    asked = [position for position in gone if position < input_length]
    return _verdict(UNKNOWN if spoken or not asked else _shape(diff, asked, messages), diff)


def _has_same_instructions(diff: MessageListDiff, messages: KnownMessages) -> bool:
    """Whether the new list has the instructions of the old one, or the same with a few other words (the time)."""
    old = [messages.text(ref) for ref in _instructions(diff, messages)]
    new = [
        messages.text(diff.after[place]) for place in diff.added if messages.role(diff.after[place]) in _INSTRUCTIONS
    ]
    return not old or not new or any(_is_variant(one, other) for one in old for other in new)


def _is_variant(one: str, other: str) -> bool:
    return 2 * common_beginning(one, other) >= min(len(one), len(other)) > 0 or repeats(one, other)


def _restates(
    diff: MessageListDiff, position: int, gone: Sequence[int], messages: KnownMessages, shared: Sequence[ContentRef],
    *, same_work: bool,
) -> bool:  # fmt: skip
    """Whether a new message restates removed ones, apart from what the model is told anyway and from the message that
    began the conversation: another task often begins alike."""
    text = messages.text(diff.after[position])
    if not may_restate(text):
        return False
    known = [*shared[:_FIRST], *(diff.before[place] for place in list(diff.kept)[:_MOST_COMPARED])]
    removed = [diff.before[place] for place in gone[-_MOST_COMPARED:]]
    if all(messages.role(ref) in _INSTRUCTIONS for ref in known):
        known.append(diff.before[gone[0]])
        removed = [ref for ref in removed if ref != diff.before[gone[0]]]
    instructions = _instructions(diff, messages)
    told = [messages.text(ref) for ref in (*instructions, *known)]
    went = [*map(messages.written, removed)]
    return restates(text, went, told) or (same_work and gives_account(text, went, told))


def _goes_on(diff: MessageListDiff, input_length: int, gone: Sequence[int], messages: KnownMessages) -> bool:
    """Whether the new list was made from the conversation: it keeps two or more messages after a removed one, up to
    the last input, or answers the tool calls of the last answer."""
    later = [
        place
        for place in diff.kept
        if place > gone[0] and messages.role(diff.before[place]) not in _INSTRUCTIONS
    ]  # fmt: skip
    if len(later) >= 2 and input_length - 1 in diff.kept:
        return True
    results = [diff.after[place] for place in diff.added if messages.role(diff.after[place]) == "tool"]
    answers = [diff.before[place] for place in range(input_length, len(diff.before))]
    asked = {call for ref in answers for call in messages.requests(ref)} if results else set[str]()
    return any(call in asked for ref in results for call in messages.calls(ref))


# --- shapes -----------------------------------------------------------------------------------------------------------


def _verdict(
    strategy: str, diff: MessageListDiff, summarised: Iterable[int] = (), summary: ContentRef | None = None
) -> CompressionVerdict:
    outcomes = message_outcomes(diff, summarised)
    return CompressionVerdict(strategy, summary, outcomes.refs(SUMMARISED), outcomes.refs(DROPPED))


def _shape(diff: MessageListDiff, gone: Sequence[int], messages: KnownMessages) -> str:
    roles = {messages.role(diff.before[position]) for position in gone}
    if roles == {"tool"}:
        return DROPPED_RESULTS
    if gone[-1] - gone[0] + 1 == len(gone):
        return WINDOW
    spoken = (diff.before[position] for position in gone if messages.role(diff.before[position]) != "tool")
    return DROPPED_RESULTS if roles == {"tool", "assistant"} and all(map(messages.requests, spoken)) else SELECTION


def _altered_answer(diff: MessageListDiff, input_length: int, messages: KnownMessages) -> int | None:
    """The position in the new input of the last answer, sent back in another form: an assistant message right after the
    message that it answers. None if there is none."""
    position = diff.kept.get(input_length - 1)
    following = None if position is None else position + 1
    if following is None or following not in diff.added or input_length - 1 < diff.prefix:
        return None
    lost = all(position not in diff.kept for position in range(input_length, len(diff.before)))
    return following if lost and messages.role(diff.after[following]) == "assistant" else None


def _is_last_input_of_both(
    diff: MessageListDiff, input_length: int, pair: tuple[int, int], messages: KnownMessages
) -> bool:
    """Whether the pair is the last input message of the previous call and the last one of the new call, and not a
    tool's."""
    return pair == (input_length - 1, len(diff.after) - 1) and messages.role(diff.before[pair[0]]) != "tool"


def _is_changing_last_message(
    diff: MessageListDiff, input_length: int, gone: Sequence[int], messages: KnownMessages
) -> bool:
    """Whether the removed messages were the end of the last input (such as a view of the current state), and the new
    input ends with as many of the same roles."""
    count = len(gone)
    if list(gone) != list(range(input_length - count, input_length)) or count > len(diff.added):
        return False
    ends = diff.added[-count:]
    roles = [messages.role(diff.before[position]) for position in gone]
    return ends[-1] == len(diff.after) - 1 and roles == [messages.role(diff.after[position]) for position in ends]


def _is_masked(diff: MessageListDiff, pair: tuple[int, int], messages: KnownMessages) -> bool:
    """Whether a tool's message was replaced by a shorter one. True while one of them was not read."""
    old, new = diff.before[pair[0]], diff.after[pair[1]]
    if messages.role(old) != "tool" or messages.role(new) != "tool":
        return False
    read = [messages.message(ref) for ref in (old, new)]
    return None in read or messages.size(new) < messages.size(old)


def _is_read(diff: MessageListDiff, pair: tuple[int, int], messages: KnownMessages) -> bool:
    return all(messages.message(ref) is not None for ref in (diff.before[pair[0]], diff.after[pair[1]]))


def _all_tools(diff: MessageListDiff, gap: DiffHunk, messages: KnownMessages) -> bool:
    went = [messages.role(diff.before[position]) for position in gap.removed]
    return bool(went) and {*went, *(messages.role(diff.after[position]) for position in gap.added)} == {"tool"}
