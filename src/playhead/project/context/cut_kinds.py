"""Classifies a cut: summary, sliding window, masked tool results, edit, ... or no compression.

| what is seen | verdict |
|---|---|
| the last answer is not in the new input, nor does anything there stand for it | another conversation: none |
| only system messages changed, or the message that every call ends with | none |
| a new message stands before those that stayed, in the place of several; or says that it is a summary | summary |
| tool messages were replaced by shorter ones that answer the same calls | tool_result_masking |
| both | hybrid |
| messages were replaced one for one in any other way | edit |
| only answers of tools went, or these and what called them, here and there | dropped_tool_results |
| one stretch of messages went | sliding_window |
| messages went here and there | selection |

Mostly refs, roles and places tell.  Where words are needed, `Known` notes which messages to read; without them the
verdict is what places alone say.  Pure.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from playhead.model.ref import ContentRef
from playhead.project.context.fates import DROPPED, SUMMARISED, message_fates, replaced
from playhead.project.context.known_messages import Known
from playhead.project.context.list_change import Change, Gap

SUMMARY, HYBRID, MASKING, EDIT = "summary", "hybrid", "tool_result_masking", "edit"
WINDOW, DROPPED_RESULTS, SELECTION = "sliding_window", "dropped_tool_results", "selection"

_TALK = (
    r"(?:conversation|discussion|dialog(?:ue)?|session|history|context|messages|chat|transcript|so far|above|earlier)"
)
_SUMMED = r"(?:summary|summari[sz]ed|recap|condensed|compacted|compressed)"
# How summaries begin; and how those begin who want one made, which are none.
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
# Shorter answers (`ok`) stand in many messages that have nothing to do with them.
_TELLING = 40
# A conversation of less than this is not worth a summary, so that what follows it is not read in search of one.
_WORTH = 4


@dataclass(frozen=True, slots=True)
class Verdict:
    """A compression. `summary` replaces the messages in `summarised`; those in `dropped` were removed without
    replacement."""

    strategy: str
    summary: ContentRef | None
    summarised: tuple[ContentRef, ...]
    dropped: tuple[ContentRef, ...]


def goes_on(change: Change, asked: int, known: Known) -> bool:
    """Whether the new input is the same conversation: what was said last is in it.

    `asked`: how many messages of `before` were the last call's input; the others are its answer.
    """
    if asked < len(change.before):
        answered = any(place in change.stayed for place in range(asked, len(change.before)))
        return answered or _altered_answer(change, asked, known) is not None
    stayed = [place for place in change.stayed if place >= change.prefix]
    return any(known.role(change.before[place]) != "system" for place in stayed) or any(
        _all_tools(change, gap, known) for gap in change.gaps
    )


def could_be_summed_up(before: int, after: int) -> bool:
    """Whether so few messages may stand for so many."""
    return before >= _WORTH and 2 * after <= before


def judge(change: Change, asked: int, said: Sequence[ContentRef], known: Known, *, same: bool) -> Verdict | None:
    """What the cut is; None when it is no compression.

    `said`: what other calls have answered in the meantime; `same`: whether the conversation goes on.
    """
    if not same:
        summary = _begins_with_summary(change, asked, known)
        return None if summary is None else _verdict(SUMMARY, change, change.went, summary)
    pairs, altered = replaced(change, known), _altered_answer(change, asked, known)
    old = {place for place, _ in pairs} | set(range(asked, len(change.before)) if altered else ())
    gone = [place for place in change.went if place not in old]
    telling = [pair for pair in pairs if known.role(change.before[pair[0]]) != "system"]
    if not gone and (not telling or (not telling[1:] and _ends_both(change, asked, telling[0], known))):
        return None
    masked = [pair for pair in telling if _is_masked(change, pair, known)]
    summary, summarised = _summary(change, asked, gone, pairs, said, known)
    if summary is not None:
        return _verdict(HYBRID if masked else SUMMARY, change, summarised, summary)
    if not gone:
        return _verdict(MASKING if len(masked) == len(telling) else EDIT, change)
    if _passing(change, asked, gone, known):
        return None
    return _verdict(_shape(change, gone, known), change)


# --- summaries --------------------------------------------------------------------------------------------------------


def _summary(
    change: Change, asked: int, gone: Sequence[int], pairs: Sequence[tuple[int, int]], said: Sequence[ContentRef],
    known: Known,
) -> tuple[ContentRef | None, list[int]]:  # fmt: skip
    """The message that sums up, and the places of those that it stands for."""
    if not gone:
        return None, []
    new = {place for _, place in pairs if known.role(change.after[place]) not in ("system", "developer")}
    inner = [gap for gap in change.gaps if not gap.last]
    for gap in inner:
        candidates = [place for place in gap.came if place not in new]
        lost = [place for place in gap.went if place in gone]
        best = _best(change, candidates, said, known)
        if best is not None:
            return change.after[best], lost or list(gone)
        others = [place for place in candidates if known.role(change.after[place]) not in ("system", "developer")]
        if others and len(others) < len(lost):
            return change.after[_spokesman(change, others, known)], lost
    kept = _answer_that_sums_up(change, asked, known)
    return (None, []) if kept is None else (kept, list(gone))


def _best(change: Change, places: Iterable[int], said: Sequence[ContentRef], known: Known) -> int | None:
    """The message that says what it is, or what another call was made to say."""
    for place in places:
        ref = change.after[place]
        if known.role(ref) in ("tool", "assistant"):
            continue
        text = known.text(ref)
        if says_summary(text) or any(_quotes(text, known.text(answer)) for answer in said):
            return place
    return None


def _spokesman(change: Change, places: Sequence[int], known: Known) -> int:
    """Returns the position of the message to name as the summary when several new messages replace more old ones."""
    return next((place for place in places if known.role(change.after[place]) != "assistant"), places[0])


def _answer_that_sums_up(change: Change, asked: int, known: Known) -> ContentRef | None:
    """The last call was asked for a summary, and its answer stayed where all else went."""
    answers = [place for place in range(asked, len(change.before)) if place in change.stayed]
    stayed = [place for place in change.stayed if place >= change.prefix]
    if len(answers) != 1 or stayed != answers or asked - 1 < change.prefix:
        return None
    return change.before[answers[0]] if _WANTS_SUMMARY.search(known.text(change.before[asked - 1])) else None


def _begins_with_summary(change: Change, asked: int, known: Known) -> ContentRef | None:
    """Nothing that was said last is there any more, but a message that says that it stands for it."""
    lost = [place for place in change.went if known.role(change.before[place]) != "system"]
    came = [place for place in change.came if known.role(change.after[place]) not in ("tool", "assistant")]
    if not could_be_summed_up(len(lost), len(change.came)):
        return None
    wanted = asked - 1 >= change.prefix and _WANTS_SUMMARY.search(known.text(change.before[asked - 1]))
    answers = [known.text(answer) for answer in change.before[asked:]]
    texts = {change.after[place]: known.text(change.after[place]) for place in came}
    for ref, text in texts.items():
        if says_summary(text) or (wanted and any(_quotes(text, answer) for answer in answers)):
            return ref
    return None


def says_summary(text: str) -> bool:
    """Whether a text begins by saying that it is a summary, and not by asking for one."""
    beginning = text[:_BEGINNING]
    return bool(_IS_SUMMARY.search(beginning)) and not _WANTS_SUMMARY.search(beginning)


def _quotes(text: str, answer: str) -> bool:
    """Whether one is most of the other: a summary is put into a message, or taken out of an answer."""
    if min(len(text), len(answer)) < _TELLING:
        return False
    return answer in text or text in answer


# --- shapes -----------------------------------------------------------------------------------------------------------


def _verdict(
    strategy: str, change: Change, summarised: Iterable[int] = (), summary: ContentRef | None = None
) -> Verdict:
    fates = message_fates(change, summarised)
    return Verdict(strategy, summary, fates.refs(SUMMARISED), fates.refs(DROPPED))


def _shape(change: Change, gone: Sequence[int], known: Known) -> str:
    roles = {known.role(change.before[place]) for place in gone}
    if roles == {"tool"}:
        return DROPPED_RESULTS
    if gone[-1] - gone[0] + 1 == len(gone):
        return WINDOW
    return DROPPED_RESULTS if roles == {"tool", "assistant"} else SELECTION


def _altered_answer(change: Change, asked: int, known: Known) -> int | None:
    """Where the last answer is if it was sent back in another form: right after the message that it answers."""
    place = change.stayed.get(asked - 1)
    following = None if place is None else place + 1
    if following is None or following not in change.came or asked - 1 < change.prefix:
        return None
    lost = all(place not in change.stayed for place in range(asked, len(change.before)))
    return following if lost and known.role(change.after[following]) == "assistant" else None


def _ends_both(change: Change, asked: int, pair: tuple[int, int], known: Known) -> bool:
    """Whether the message that a call ended with was replaced by the one that the next call ends with."""
    return pair == (asked - 1, len(change.after) - 1) and known.role(change.before[pair[0]]) != "tool"


def _passing(change: Change, asked: int, gone: Sequence[int], known: Known) -> bool:
    """Whether what went is what every call ends with (a view of the world, say), and this one ends with its like."""
    count = len(gone)
    if list(gone) != list(range(asked - count, asked)) or count > len(change.came):
        return False
    ends = change.came[-count:]
    roles = [known.role(change.before[place]) for place in gone]
    return ends[-1] == len(change.after) - 1 and roles == [known.role(change.after[place]) for place in ends]


def _is_masked(change: Change, pair: tuple[int, int], known: Known) -> bool:
    """Whether a tool's message was replaced by a shorter one; as long as neither was read, probably."""
    old, new = change.before[pair[0]], change.after[pair[1]]
    if known.role(old) != "tool" or known.role(new) != "tool":
        return False
    read = [known.message(ref) for ref in (old, new)]
    return None in read or known.size(new) < known.size(old)


def _all_tools(change: Change, gap: Gap, known: Known) -> bool:
    went = [known.role(change.before[place]) for place in gap.went]
    return bool(went) and {*went, *(known.role(change.after[place]) for place in gap.came)} == {"tool"}
