"""Calls of a record that other processes made: a run that continues cannot answer them, since those processes ask no
record.

They need no answer if a call around them is answered: a tool that hands work on is answered as a whole, and nothing is
handed on again. All others would be made again, which the person who resumes the run must allow.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from playhead.errors import NoRecord, ReplayError
from playhead.model import names
from playhead.model.span import Span
from playhead.replaying.handed_on import latest_by_id, outermost
from playhead.replaying.recorded_calls import RecordedCall

OtherProcesses = Literal["raise", "rerun"]
_MAX_NAMED = 5


@dataclass(frozen=True, slots=True)
class CallsElsewhere:
    """Calls of a record that other processes made, and the calls of the run's own process, both by span id."""

    run_id: str
    spans: Mapping[str, Span]
    own: Mapping[str, RecordedCall]

    @classmethod
    def of(cls, run_id: str, elsewhere: Iterable[Span], calls: Iterable[RecordedCall]) -> "CallsElsewhere":
        """`elsewhere`: spans of other processes; `calls`: calls of the run's own process, for a fork with those that it
        shares with its parent."""
        return cls(run_id, latest_by_id(elsewhere), {call.span.span_id: call for call in calls})

    def check(self, how: OtherProcesses, *, has_completed: bool = False) -> None:
        """Raises ReplayError if calls of other processes would be made again, unless `how` is "rerun".

        `has_completed`: the run only returns its results, so that nothing may be made again.
        """
        if how == "rerun" and not has_completed:
            return
        again = [span for span in self.spans.values() if self._would_be_made_again(span)]
        if not again:
            return
        named = Counter(_name_of(span) for span in again)
        text = ", ".join(f"{name} ({times})" if times > 1 else name for name, times in named.most_common(_MAX_NAMED))
        text += ", ..." if len(named) > _MAX_NAMED else ""
        sentence_start = (
            f"other processes made calls in run {self.run_id} that no answer of the record stands for: {text}. They "
        )
        if has_completed:
            raise ReplayError(
                f"{sentence_start}would be made again, and the run has completed: it only gives its recorded results. "
                "Look its result up, or make a new run of it: playhead.fork(..., other_processes='rerun')"
            )
        raise ReplayError(
            f"{sentence_start}would be made again. Hand work on inside a tool (@observe(kind='tool')), which is "
            "answered as a whole; or let them be made again: other_processes='rerun' (--other-processes rerun)"
        )

    def not_here(self, event: str) -> NoRecord | None:
        """The error for an event of another process, at which no run can go on; None: no other process has this
        event."""
        span = self.spans.get(event.partition(".")[0])
        if span is None:
            return None
        around = self.own.get(outermost(span, self.spans).parent_id or "")
        where = "" if around is None else f" Take {around.span.span_id}, the call of {around.name} that handed it on"
        return NoRecord(
            f"the event {event} of run {self.run_id} is of {_name_of(span)!r}, which another process called: there is "
            f"nothing to go on from.{where}"
        )

    def _would_be_made_again(self, span: Span) -> bool:
        kind = span.attributes.get(names.KIND)
        if kind not in names.REPLAYED_KINDS or span.attributes.get(names.IDEMPOTENT) is True:
            return False
        seen: set[str] = set()
        above = outermost(span, self.spans).parent_id or ""
        while (around := self.own.get(above)) is not None and above not in seen:
            if around.can_answer:  # as a whole, or as its own outcome says
                return False
            seen.add(above)
            above = around.span.parent_id or ""
        return True


def _name_of(span: Span) -> str:
    key = str(span.attributes.get(names.CALL_KEY, span.name))
    return key.rpartition("#")[0].rpartition(":")[0].rpartition("/")[2] or span.name
