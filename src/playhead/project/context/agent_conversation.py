"""A conversation of one agent (consecutive model calls), and how a new input compares to it. Pure."""

from collections.abc import Container
from dataclasses import dataclass

from playhead.model.ref import ContentRef
from playhead.model.thread import ThreadNode
from playhead.project.context.message_diff import MessageListDiff, diff_messages


@dataclass(slots=True, eq=False)
class AgentConversation:
    """One agent's conversation. `path`: the last call's input and, once it has ended, its output; `input_length`: how
    many of these messages were its input.

    `answers_before`: number of answers in the whole run when the last call began; `call`: the last call's span id.
    """

    actor: str | None
    path: list[ThreadNode]
    input_length: int = 0
    tokens: int | None = None
    is_open: bool = True
    answers_before: int = 0
    call: str = ""

    def has(self, node: ThreadNode) -> bool:
        return len(self.path) >= node.depth and self.path[node.depth - 1].ref == node.ref


_NOTHING = MessageListDiff((), (), {}, 0)


@dataclass(slots=True)
class ConversationMatch:
    """How a new input compares to a conversation: depth of the shared prefix, and the difference after it."""

    conversation: AgentConversation
    shared_depth: int
    after: list[ThreadNode]
    diff: MessageListDiff = _NOTHING

    @property
    def input_length(self) -> int:
        return max(0, self.conversation.input_length - self.shared_depth)

    def may_continue(self, messages: Container[ContentRef]) -> bool:
        """A quick check: whether the last answer may be among `messages`, the new input after the shared prefix."""
        path, input_length = self.conversation.path, self.conversation.input_length
        if input_length == len(path) or any(node.message in messages for node in path[input_length:]):
            return True
        last = path[input_length - 1].message
        return last in messages and last != self.after[-1].message

    def compute_diff(self) -> None:
        rest = self.conversation.path[self.shared_depth :]
        self.diff = diff_messages([node.message for node in rest], [node.message for node in self.after], 0)

    def kept(self) -> tuple[ContentRef, ...]:
        return tuple(self.diff.after[position] for position in sorted(self.diff.kept.values()))
