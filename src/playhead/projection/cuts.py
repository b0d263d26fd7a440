"""Classifies a cut: summary, sliding window, masked tool results, edit, ... or no compression.

| difference | result |
|---|---|
| the new input has neither the last answer nor a replacement of it | none: another conversation |
| only system messages changed, or the message that every call ends with | none |
| a new message before kept ones replaces several; or its text says that it is a summary | summary |
| tool messages were replaced by shorter ones that answer the same calls | tool_result_masking |
| summary and tool_result_masking | hybrid |
| messages were replaced one for one in any other way | edit |
| only tool results, or these and their calls, were removed, not in one range | dropped_tool_results |
| one range of messages was removed | sliding_window |
| messages in several ranges were removed | selection |

Usually refs, roles and positions are enough.  Where text is needed, `KnownMessages` notes which messages to read; until
they are read, the result is based on positions alone.  Pure.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from playhead.model.ref import ContentRef
from playhead.projection.known_messages import KnownMessages
from playhead.projection.message_diff import DiffHunk, MessageListDiff
from playhead.projection.message_outcomes import DROPPED, SUMMARISED, message_outcomes, replaced_messages

SUMMARY, HYBRID, MASKING, EDIT = "summary", "hybrid", "tool_result_masking", "edit"
WINDOW, DROPPED_RESULTS, SELECTION = "sliding_window", "dropped_tool_results", "selection"

_TALK = (
    r"(?:conversation|discussion|dialog(?:ue)?|session|history|context|messages|chat|transcript|so far|above|earlier)"
)
_SUMMED = r"(?:summary|summari[sz]ed|recap|condensed|compacted|compressed)"
# Beginnings of summaries, and of requests for a summary, which are not summaries.
_IS_SUMMARY = re.compile(
    rf"\b{_SUMMED}\b.{{0,80}}?\b{_TALK}\b|\b{_TALK}\b.{{0,80}}?\b{_SUMMED}\b|<(?:\w+_)?summary>|<state_snapshot>",
    re.IGNORECASE | re.DOTALL,
)
_WANTS_SUMMARY = re.compile(
    rf"\b(?:summari[sz]e|condense|compact|compress|recap)\b.{{0,60}}?\b{_TALK}\b"
    r"|\b(?:write|create|provide|give|generate|produce|make)\b.{0,40}?\bsummary\b",
    re.IGNORECASE | re.DOTALL,
)
_BEGINNING = 400
# Minimum characters of a quoted answer: shorter ones (`ok`) occur by chance in many other messages.
_TELLING = 40
# Minimum messages of a conversation that is summarised: after a shorter one, no summary is looked for.
_WORTH = 4


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


def may_be_summarised(before: int, after: int) -> bool:
    """Whether `after` messages can be a summary of `before` messages."""
    return before >= _WORTH and 2 * after <= before


def classify_cut(
    diff: MessageListDiff,
    input_length: int,
    earlier_answers: Sequence[ContentRef],
    messages: KnownMessages,
    *,
    same: bool,
) -> CompressionVerdict | None:
    """Classifies the cut; None when it is not a compression.

    `earlier_answers`: answers of other calls since this conversation's last call began; `same`: whether the new input
    continues the conversation.
    """
    if not same:
        summary = _begins_with_summary(diff, input_length, messages)
        return None if summary is None else _verdict(SUMMARY, diff, diff.removed, summary)
    pairs, altered = replaced_messages(diff, messages), _altered_answer(diff, input_length, messages)
    old = {position for position, _ in pairs} | set(range(input_length, len(diff.before)) if altered else ())
    gone = [position for position in diff.removed if position not in old]
    telling = [pair for pair in pairs if messages.role(diff.before[pair[0]]) != "system"]
    if not gone and (
        not telling or (not telling[1:] and _is_last_input_of_both(diff, input_length, telling[0], messages))
    ):
        return None
    masked = [pair for pair in telling if _is_masked(diff, pair, messages)]
    summary, summarised = _summary(diff, input_length, gone, pairs, earlier_answers, messages)
    if summary is not None:
        return _verdict(HYBRID if masked else SUMMARY, diff, summarised, summary)
    if not gone:
        return _verdict(MASKING if len(masked) == len(telling) else EDIT, diff)
    if _is_changing_last_message(diff, input_length, gone, messages):
        return None
    return _verdict(_shape(diff, gone, messages), diff)


# --- summaries --------------------------------------------------------------------------------------------------------


def _summary(
    diff: MessageListDiff, input_length: int, gone: Sequence[int], pairs: Sequence[tuple[int, int]],
    earlier_answers: Sequence[ContentRef], messages: KnownMessages,
) -> tuple[ContentRef | None, list[int]]:  # fmt: skip
    """The summary message, and the positions of the messages that it replaces."""
    if not gone:
        return None, []
    new = {position for _, position in pairs if messages.role(diff.after[position]) not in ("system", "developer")}
    inner = [gap for gap in diff.hunks if not gap.is_last]
    for gap in inner:
        candidates = [position for position in gap.added if position not in new]
        lost = [position for position in gap.removed if position in gone]
        best = _best(diff, candidates, earlier_answers, messages)
        if best is not None:
            return diff.after[best], lost or list(gone)
        others = [
            position for position in candidates if messages.role(diff.after[position]) not in ("system", "developer")
        ]
        if others and len(others) < len(lost):
            return diff.after[_representative(diff, others, messages)], lost
    answer = _answer_that_sums_up(diff, input_length, messages)
    return (None, []) if answer is None else (answer, list(gone))


def _best(
    diff: MessageListDiff, positions: Iterable[int], earlier_answers: Sequence[ContentRef], messages: KnownMessages
) -> int | None:
    """The position of the new message whose text says that it is a summary, or quotes an answer of another call; None
    without one."""
    for position in positions:
        ref = diff.after[position]
        if messages.role(ref) in ("tool", "assistant"):
            continue
        text = messages.text(ref)
        if says_summary(text) or any(_quotes(text, messages.text(answer)) for answer in earlier_answers):
            return position
    return None


def _representative(diff: MessageListDiff, positions: Sequence[int], messages: KnownMessages) -> int:
    """Returns the position of the message to name as the summary when several new messages replace more old ones."""
    return next(
        (position for position in positions if messages.role(diff.after[position]) != "assistant"), positions[0]
    )


def _answer_that_sums_up(diff: MessageListDiff, input_length: int, messages: KnownMessages) -> ContentRef | None:
    """The last call's answer if it is a summary: it was kept while everything else was removed."""
    answers = [position for position in range(input_length, len(diff.before)) if position in diff.kept]
    stayed = [position for position in diff.kept if position >= diff.prefix]
    if len(answers) != 1 or stayed != answers or input_length - 1 < diff.prefix:
        return None
    return diff.before[answers[0]] if _WANTS_SUMMARY.search(messages.text(diff.before[input_length - 1])) else None


def _begins_with_summary(diff: MessageListDiff, input_length: int, messages: KnownMessages) -> ContentRef | None:
    """The new message whose text says that it is a summary, or quotes the last answer, if a summary was requested."""
    lost = [position for position in diff.removed if messages.role(diff.before[position]) != "system"]
    came = [position for position in diff.added if messages.role(diff.after[position]) not in ("tool", "assistant")]
    if not may_be_summarised(len(lost), len(diff.added)):
        return None
    wanted = input_length - 1 >= diff.prefix and _WANTS_SUMMARY.search(messages.text(diff.before[input_length - 1]))
    answers = [messages.text(answer) for answer in diff.before[input_length:]]
    texts = {diff.after[position]: messages.text(diff.after[position]) for position in came}
    for ref, text in texts.items():
        if says_summary(text) or (wanted and any(_quotes(text, answer) for answer in answers)):
            return ref
    return None


def says_summary(text: str) -> bool:
    """Whether a text begins by saying that it is a summary, and not by asking for one."""
    beginning = text[:_BEGINNING]
    return bool(_IS_SUMMARY.search(beginning)) and not _WANTS_SUMMARY.search(beginning)


def _quotes(text: str, answer: str) -> bool:
    """Whether one text contains the other, both of at least 40 characters: a summary may be put into a message, or
    taken out of an answer."""
    if min(len(text), len(answer)) < _TELLING:
        return False
    return answer in text or text in answer


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
    return DROPPED_RESULTS if roles == {"tool", "assistant"} else SELECTION


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


def _all_tools(diff: MessageListDiff, gap: DiffHunk, messages: KnownMessages) -> bool:
    went = [messages.role(diff.before[position]) for position in gap.removed]
    return bool(went) and {*went, *(messages.role(diff.after[position]) for position in gap.added)} == {"tool"}
