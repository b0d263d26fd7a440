"""[analysis]: the parts of a turn's context in tokens, and what changed since the agent's last call.  Pure.

The parts add up to what the provider counted.  System and tools count as in the first call of the model that was
counted, so that the same text has the same number at each call; see `tokens.split`.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

from playhead.model.json_value import JsonValue
from playhead.model.message import Message
from playhead.model.ref import ContentRef
from playhead.model.token_estimates import estimate_value
from playhead.projection.message_diff import diff_messages
from playhead.wire.operations.turns import ContextPart
from playhead_collector.analysis.tokens.split import counted_parts, parts_of

ELSEWHERE = "playhead.elsewhere"
"""The type of a part that stands for messages that only the provider has."""
_KINDS: Final = ("system", "tools", "user", "model", "results", "new")


@dataclass(slots=True)
class PartEstimates:
    """Unscaled estimates of the parts of a context, in tokens."""

    system: float = 0.0
    tools: float = 0.0
    user: float = 0.0
    model: float = 0.0
    results: float = 0.0
    new: float = 0.0

    @property
    def total(self) -> float:
        """The sum of the parts."""
        return self.system + self.tools + self.user + self.model + self.results + self.new

    def parts(self, whole: int, factor: float) -> list[ContextPart]:
        """The parts in tokens, which add up to `whole`; empty ones are left out. `factor`: of system and tools."""
        rest = [self.user, self.model, self.results, self.new]
        counts = counted_parts(whole, [self.system, self.tools], rest, factor)
        return [{"kind": kind, "tokens": count} for kind, count in zip(_KINDS, counts, strict=True) if count]


def part_estimates(
    messages: Iterable[tuple[Message | None, bool]], system: JsonValue, tools: JsonValue, given: JsonValue
) -> PartEstimates:
    """Estimates the parts of a context. `messages`: each with whether it is new; `given`: an input that is no list of
    messages, which counts as the user's."""
    parts = PartEstimates(system=estimate_value(system), tools=estimate_value(tools), user=estimate_value(given))
    for message, is_new in messages:
        if message is None:
            continue
        estimate = parts_of(message)
        parts.system += estimate.system
        if is_new:
            parts.new += estimate.history + estimate.retrieved
            continue
        parts.results += estimate.retrieved
        if message["role"] == "assistant":
            parts.model += estimate.history
        else:
            parts.user += estimate.history
    return parts


def is_complete(messages: Iterable[Message | None]) -> bool:
    """Whether the record has all messages; no part stands for some that only the provider has."""
    return not any(part.get("type") == ELSEWHERE for message in messages if message for part in message["parts"])


# --- what is new -----------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class ContextChange:
    """What is new in a context since the agent's last call, without its own answer to that call."""

    added: list[ContentRef] = field(default_factory=list[ContentRef])
    dropped: list[ContentRef] = field(default_factory=list[ContentRef])
    summarised: list[ContentRef] = field(default_factory=list[ContentRef])
    added_at: frozenset[int] = frozenset()
    """The positions of the added messages in the context."""


def context_change(
    before: Sequence[ContentRef],
    answered: Sequence[ContentRef],
    after: Sequence[ContentRef],
    summarised: Collection[ContentRef] = (),
) -> ContextChange:
    """Compares two contexts of an agent. `answered`: what it answered to the first one; `summarised`: messages that a
    summary stands for."""
    diff = diff_messages([*before, *answered], after)
    # An answer that the program did not put into the context was never in it.
    removed = [diff.before[position] for position in diff.removed if position < len(before)]
    return ContextChange(
        added=[after[position] for position in diff.added],
        dropped=[ref for ref in removed if ref not in summarised],
        summarised=[ref for ref in removed if ref in summarised],
        added_at=frozenset(diff.added),
    )
