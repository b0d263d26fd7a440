"""Entries of a context: one message each, as the API's client takes it and in canonical form. And the groups of entries
that stay or go together. Pure.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, get_args

from playhead.dialect.anthropic import PLACE
from playhead.model.json_value import Json, JsonMapping
from playhead.model.message import Message, Part, message_text
from playhead.model.token_estimates import estimate_message

Fate = Literal["keep", "summarise", "mask", "drop"]
"""What a plan does to an entry. `mask`: a tool's result is replaced by a line that says so."""
FATES: tuple[Fate, ...] = get_args(Fate)
EntryKind = Literal["message", "summary", "masked"]

SYSTEM, USER, ASSISTANT, TOOL = "system", "user", "assistant", "tool"
_INSTRUCTIONS: Final = (SYSTEM, "developer")
# With what the line in the place of a tool's result begins.
CLEARED: Final = "[result cleared:"
# A provider's own summary of the messages before it: it has to be sent back unchanged.
_COMPACTION: Final = "compaction"


@dataclass(slots=True, eq=False)
class Entry:
    """A message of a context.

    `native` is the message in the form of the API, `message` the same in canonical form. `number` is its place in the
    context's history, from 0. `kind` is `summary` for a message that stands for others, and `masked` for a tool's
    result that was replaced. `tokens` is an estimate, or what the context's `count` returned.

    `preserve` and `tags` may be set at any time: no compression removes a preserved message.
    """

    native: JsonMapping
    message: Message
    number: int = 0
    tags: tuple[str, ...] = ()
    preserve: bool = False
    kind: EntryKind = "message"
    tokens: int = 0
    text: str = field(init=False)
    """Texts, reasoning and results of the message, one per line."""

    def __post_init__(self) -> None:
        self.text = message_text(self.message)
        self.tokens = self.tokens or self.estimate

    @property
    def estimate(self) -> int:
        """Tokens of the message, estimated."""
        return round(estimate_message(self.message))

    @property
    def role(self) -> str:
        """`system`, `user`, `assistant` or `tool`."""
        return self.message["role"]

    @property
    def is_instruction(self) -> bool:
        """Whether this is a part of the system prompt, and no summary in it."""
        return self.role in _INSTRUCTIONS and self.kind != "summary"

    @property
    def calls(self) -> list[str]:
        """Ids of the tool calls that the message requests; an empty text for a call without an id."""
        return [str(part.get("id") or "") for part in self._parts("tool_call")]

    @property
    def results(self) -> list[str]:
        """Ids of the tool calls that the message answers."""
        return [str(part.get("id") or "") for part in self._parts("tool_call_response")]

    @property
    def is_compaction(self) -> bool:
        """Whether the provider itself wrote this in the place of messages."""
        return bool(self._parts(_COMPACTION))

    def _parts(self, kind: str) -> list[Part]:
        return [part for part in self.message["parts"] if part.get("type") == kind]


def masked_message(entry: Entry) -> Message:
    """Returns the message with each tool result replaced by a line that says how long it was."""
    parts: list[Part] = []
    for part in entry.message["parts"]:
        if part.get("type") != "tool_call_response":
            parts.append(part)
            continue
        line = f"{CLEARED} {entry.tokens} tokens]"
        # Gemini takes objects only.
        cleared: str | Json = {"result": line} if isinstance(part.get("response"), dict) else line
        parts.append({**part, "response": cleared})
    return {**entry.message, "parts": parts}


# --- groups of entries ------------------------------------------------------------------------------------------------


def groups_of(entries: Sequence[Entry]) -> list[range]:
    """Returns the groups of entries that stay or go together, in order: an answer with all its parts, the tool calls in
    it and their results. Every other message is a group of its own.

    Thoughts and encrypted reasoning are refused without the answer that they belong to, and calls without results."""
    ends = _ends(entries)
    groups: list[range] = []
    start = 0
    while start < len(entries):
        end = ends[start]
        at = start
        while at < end:  # an entry inside may reach further than the first one
            end = max(end, ends[at])
            at += 1
        groups.append(range(start, end))
        start = end
    return groups


def _ends(entries: Sequence[Entry]) -> list[int]:
    """For each entry, the end (exclusive) of what it needs to have after it."""
    ends = [index + 1 for index in range(len(entries))]
    waiting: dict[str, int] = {}
    for index, entry in enumerate(entries):
        if index and _belongs_to(entries[index - 1], entry):
            ends[index - 1] = index + 1
        for call in entry.calls:
            if call:
                waiting[call] = index
        for result in entry.results:
            if (caller := waiting.pop(result, None)) is not None:
                ends[caller] = max(ends[caller], index + 1)
    return ends


def _belongs_to(before: Entry, entry: Entry) -> bool:
    if before.kind == "summary" or entry.kind == "summary":
        return False
    if entry.role == ASSISTANT:  # items of one answer
        return before.role == ASSISTANT
    if entry.role == TOOL:
        return before.role in (ASSISTANT, TOOL)
    return entry.native.get(PLACE) == "joined"  # the rest of a message that also has results


def open_calls(entries: Iterable[Entry]) -> bool:
    """Whether a tool call in these entries has no result yet."""
    calls = 0
    for entry in entries:
        calls += len(entry.calls) - len(entry.results)
    return calls > 0
