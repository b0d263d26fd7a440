"""A conversation of one agent (consecutive model calls), and how a new input compares to it. Pure."""

from collections.abc import Container
from dataclasses import dataclass

from playhead.model.ref import ContentRef
from playhead.model.thread import ThreadNode
from playhead.project.context.list_change import Change, compare


@dataclass(slots=True, eq=False)
class Lineage:
    """One agent's conversation. `path`: the last call's input and, once it has ended, its output; `input_length`: how
    many of these were its input.

    `heard`: how many answers all calls had given when it began; `call`: that call's span.
    """

    actor: str | None
    path: list[ThreadNode]
    asked: int = 0
    tokens: int | None = None
    open: bool = True
    heard: int = 0
    call: str = ""

    def has(self, node: ThreadNode) -> bool:
        return len(self.path) >= node.depth and self.path[node.depth - 1].ref == node.ref


_NOTHING = Change((), (), {}, 0)


@dataclass(slots=True)
class Survey:
    """How a new input compares to a conversation: depth of the shared prefix, and the difference after it."""

    lineage: Lineage
    shared: int
    after: list[ThreadNode]
    change: Change = _NOTHING

    @property
    def asked(self) -> int:
        return max(0, self.lineage.asked - self.shared)

    def may_go_on(self, messages: Container[ContentRef]) -> bool:
        """A quick look: whether what was said last may be among these messages, all that follow what is shared."""
        path, asked = self.lineage.path, self.lineage.asked
        if asked == len(path) or any(node.message in messages for node in path[asked:]):
            return True
        last = path[asked - 1].message
        return last in messages and last != self.after[-1].message

    def compare(self) -> None:
        rest = self.lineage.path[self.shared :]
        self.change = compare([node.message for node in rest], [node.message for node in self.after], 0)

    def kept(self) -> tuple[ContentRef, ...]:
        return tuple(self.change.after[place] for place in sorted(self.change.stayed.values()))
