"""[analysis]: what the context of a model call consists of: system, tools, history, retrieved; and its output.

The parts are estimated from the lengths of the texts. Where the provider counted the input, they add up to that number:
system and tools, which most calls of an agent repeat, have one factor for all calls of a model, so that the same text
has the same number of tokens at each of them; the other parts share what is left. Pure.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from playhead.model import event as ev
from playhead.model.message import Message
from playhead.model.ref import ContentRef
from playhead.model.token_estimates import estimate_message, estimate_value
from playhead.wire.operations.tokens import SectionTokens, TokenSplit, TotalSplit
from playhead_collector.analysis.tokens.measures import TokenCounts, model_of, usage_of
from playhead_collector.analysis.transcript.transcript import Transcript, Turn
from playhead_collector.read.token_estimates import CALIBRATED, ESTIMATED, REPORTED

_SYSTEM_ROLES = ("system", "developer")
_WEAKEST_FIRST = (ESTIMATED, CALIBRATED, REPORTED)


@dataclass(frozen=True, slots=True)
class ContextParts:
    """Unscaled estimates of the tokens of each part of a context."""

    system: float = 0.0
    history: float = 0.0
    retrieved: float = 0.0
    tools: float = 0.0

    @property
    def total(self) -> float:
        """The sum of the parts."""
        return self.system + self.history + self.retrieved + self.tools

    def __add__(self, other: "ContextParts") -> "ContextParts":
        return ContextParts(
            self.system + other.system,
            self.history + other.history,
            self.retrieved + other.retrieved,
            self.tools + other.tools,
        )


class ContextSplits:
    """The parts of the contexts of a run; each message is estimated once."""

    def __init__(self, transcript: Transcript, counts: TokenCounts) -> None:
        self._transcript = transcript
        self._counts = counts
        self._threads: dict[ContentRef, ContextParts | None] = {}
        self._factors: dict[str | None, float] | None = None

    def of(self, turn: Turn) -> TokenSplit | None:
        """Tokens of the call's input by part, and of its output; None when a part is not stored."""
        parts, output = self._parts(turn), self._counts.output(turn)
        if parts is None or output[0] is None or output[1] is None:
            return None
        reported, scale = usage_of(turn).input_tokens, self._counts.scale(turn)
        fixed, rest = [parts.system, parts.tools], [parts.history, parts.retrieved]
        whole = scale.tokens(sum(fixed) + sum(rest)) if reported is None else reported
        basis = scale.basis if reported is None else CALIBRATED
        factor = self._factor(model_of(turn), scale.factor)
        system, tools, history, retrieved = counted_parts(whole, fixed, rest, factor)
        split: TokenSplit = {
            "system": system,
            "tools": tools,
            "history": history,
            "retrieved": retrieved,
            "output": output[0],
            "basis": min(basis, output[1], key=_WEAKEST_FIRST.index),
        }
        if sections := section_tokens(turn.begin, system, parts.system):
            split["sections"] = sections
        return split

    def _parts(self, turn: Turn) -> ContextParts | None:
        """Estimates of the parts of a call's input; None when a part is not stored."""
        begin, cache = turn.begin, self._transcript.cache
        if any(ref is not None and cache.value(ref) is None for ref in (begin.system, begin.tools, begin.input)):
            return None
        thread = ContextParts() if begin.thread is None else self._thread(begin.thread)
        others = ContextParts(
            system=estimate_value(cache.parsed(begin.system)),
            tools=estimate_value(cache.parsed(begin.tools)),
            history=estimate_value(cache.parsed(begin.input)),
        )
        return None if thread is None else thread + others

    def _factor(self, model: str | None, default: float) -> float:
        """The factor for system and tools: of the first call of the model that reported its input; else the default."""
        if self._factors is None:
            self._factors = {}
            for turn in self._transcript.turns:
                reported = usage_of(turn).input_tokens
                if reported and model_of(turn) not in self._factors and (parts := self._parts(turn)) is not None:
                    self._factors[model_of(turn)] = reported / parts.total if parts.total else 1.0
        return self._factors.get(model, default)

    def _thread(self, ref: ContentRef) -> ContextParts | None:
        path: list[ContentRef] = []
        here: ContentRef | None = ref
        nodes = self._transcript.nodes
        while here is not None and here not in self._threads and here in nodes:
            path.append(here)
            here = nodes[here].parent
        total = ContextParts() if here is None else self._threads.get(here)
        for node_ref in reversed(path):
            message = self._transcript.message(nodes[node_ref].message)
            total = None if total is None or message is None else total + parts_of(message)
            self._threads[node_ref] = total
        return self._threads.get(ref)


def parts_of(message: Message) -> ContextParts:
    """Estimates the parts of a message: tool results count as retrieved, whatever the role.  Pure."""
    if message["role"] in _SYSTEM_ROLES:
        return ContextParts(system=estimate_message(message))
    results = [part for part in message["parts"] if _is_result(part)]
    if not results:
        return ContextParts(history=estimate_message(message))
    others = [part for part in message["parts"] if not _is_result(part)]
    retrieved = estimate_message({**message, "parts": results})
    return ContextParts(retrieved=retrieved, history=estimate_message({**message, "parts": others}) if others else 0.0)


def _is_result(part: Mapping[str, Any]) -> bool:
    """Whether the part is a result of a tool of the program, or of one that the provider runs."""
    return str(part.get("type")).endswith("tool_call_response")


def counted_parts(whole: int, fixed: Sequence[float], rest: Sequence[float], factor: float) -> list[int]:
    """Divides `whole` among parts, given by their estimates: those in `fixed` are their estimate times the factor, and
    those in `rest` share what is left in proportion. The integers add up to `whole`.  Pure.

    If nothing is left, or there is no rest, all parts share `whole` in proportion.
    """
    counted = [round(factor * estimate) for estimate in fixed]
    left = whole - sum(counted)
    if left <= 0 or sum(rest) <= 0:
        return shares(whole, [*fixed, *rest])
    return [*counted, *shares(left, list(rest))]


def section_tokens(begin: ev.LlmCalled, system: int, estimate: float) -> list[SectionTokens]:
    """Tokens of the sections of the system prompt, which has `system` tokens and this estimate; [] if it has none.

    The estimates of the sections are the program's; what they leave of the system prompt is in no section.  Pure.
    """
    if not begin.prompt_sections or len(begin.prompt_sections) != len(begin.section_tokens):
        return []
    around = max(0.0, estimate - sum(begin.section_tokens))
    *counted, _ = shares(system, [*map(float, begin.section_tokens), around])
    return [{"name": name, "tokens": tokens} for name, tokens in zip(begin.prompt_sections, counted, strict=True)]


def shares(whole: int, estimates: list[float]) -> list[int]:
    """Divides `whole` in the proportions of the estimates. The integers add up to `whole`.  Pure."""
    total = sum(estimates)
    if total <= 0:
        return [0] * (len(estimates) - 2) + [whole, 0]
    exact = [whole * value / total for value in estimates]
    rounded = [int(value) for value in exact]
    by_rest = sorted(range(len(exact)), key=lambda index: rounded[index] - exact[index])
    for index in by_rest[: whole - sum(rounded)]:
        rounded[index] += 1
    return rounded


def summed(splits: Iterable[TokenSplit | None]) -> TotalSplit | None:
    """The sums over the calls whose split is known; None when there are none.  Pure."""
    known_splits = [split for split in splits if split is not None]
    if not known_splits:
        return None
    total: TotalSplit = {
        "system": sum(split["system"] for split in known_splits),
        "tools": sum(split["tools"] for split in known_splits),
        "history": sum(split["history"] for split in known_splits),
        "retrieved": sum(split["retrieved"] for split in known_splits),
        "output": sum(split["output"] for split in known_splits),
        "basis": min((split["basis"] for split in known_splits), key=_WEAKEST_FIRST.index),
        "calls": len(known_splits),
    }
    sections = Counter[str]()
    for split in known_splits:
        sections.update({section["name"]: section["tokens"] for section in split.get("sections", ())})
    if sections:
        total["sections"] = [{"name": name, "tokens": tokens} for name, tokens in sections.items()]
    return total
