"""store → [projection]: what each model call added to its conversation, and where a conversation lost messages (a cut).

A *conversation* is a sequence of model calls of one agent: each call's input is expected to be the previous input plus
the previous output.  Messages are identified by their position in a thread, not by their text: a user who writes "yes"
twice added two messages.  Threads are walked from their ends back to the first known node, so the cost depends on the
new messages only, not on the length of the conversation.

`Conversations` has all conversations of a run; `ConversationMatch` compares a new input to one of them. Pure.
"""

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice

from playhead.model.ref import ContentRef
from playhead.model.thread import ThreadNode, extend
from playhead.projection.cuts import CompressionVerdict, classify_cut, is_same_conversation, may_be_summarised
from playhead.projection.known_messages import KnownMessages
from playhead.projection.message_diff import MessageListDiff, diff_messages
from playhead.projection.message_outcomes import DROPPED, KEPT, SUMMARISED, message_outcomes

# --- one agent's conversation -----------------------------------------------------------------------------------------


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


_NO_DIFFERENCE = MessageListDiff((), (), {}, 0)


@dataclass(slots=True)
class ConversationMatch:
    """How a new input compares to a conversation: depth of the shared prefix, and the difference after it."""

    conversation: AgentConversation
    shared_depth: int
    after: list[ThreadNode]
    diff: MessageListDiff = _NO_DIFFERENCE

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


# --- the run's conversations ------------------------------------------------------------------------------------------


# How many conversations of an agent are searched for a cut, most recently used first. A cut is missed only if an agent
# has more conversations at a time and cuts one that it has not used for long.
_MOST_COMPARED = 16


@dataclass(frozen=True, slots=True)
class Cut:
    """Messages that were in the conversation before a call and are no longer.

    `before`: the previous call's input thread.  `kept`: the messages in both threads, without their common prefix.
    """

    before: ContentRef | None
    kept: tuple[ContentRef, ...]
    verdict: CompressionVerdict
    tokens: int | None = None


@dataclass(frozen=True, slots=True)
class InputDelta:
    """The messages that a call's input added, and the cut found in it, if any."""

    new: list[ThreadNode] = field(default_factory=list[ThreadNode])
    cut: Cut | None = None


@dataclass(slots=True)
class _DeclaredCompression:
    """A declared compression that was not found in a call's input yet."""

    actor: str | None
    after: ContentRef
    gone: set[ContentRef]


def _without_resent_outputs(fresh: list[ThreadNode], unsent: Sequence[ThreadNode]) -> list[ThreadNode]:
    """The messages of `fresh` without those that are outputs of the previous call, in any order."""
    diff = diff_messages([node.message for node in unsent], [node.message for node in fresh], 0)
    return [fresh[position] for position in diff.added]


class Conversations:
    """All conversations of a run. Call its methods for each model call, in order."""

    def __init__(self, nodes: Mapping[ContentRef, ThreadNode], known: KnownMessages) -> None:
        self._nodes = nodes
        self._known_messages = known
        self._known: dict[ContentRef, ThreadNode] = {}
        self._messages: set[ContentRef] = set()
        # The conversation that last used a node. It may have dropped the node since: check with `has`.
        self._holder: dict[ContentRef, AgentConversation] = {}
        self._of_actor: dict[str | None, dict[int, AgentConversation]] = {}
        self._last: dict[str | None, AgentConversation] = {}  # by agent, most recently used last
        self._open: dict[str, AgentConversation] = {}
        self.interrupted: set[str] = set()
        """Spans of calls that were open when the process died."""
        self._answers: list[ContentRef] = []
        self._declared: list[_DeclaredCompression] = []

    def call_started(
        self, span_id: str, actor: str | None, thread: ContentRef | None, tokens: int | None
    ) -> InputDelta:
        """Records the start of a call with this input thread. Returns the messages that it added, and a cut if one was
        found; an empty delta if the thread is not completely stored."""
        walked = self._walk(thread)
        if walked is None:
            return InputDelta()
        fresh, last_node = walked
        holder = None if last_node is None else self._holder[last_node.ref]
        if (
            holder is not None
            and last_node is not None
            and holder.has(last_node)
            and last_node.depth >= holder.input_length
        ):
            entered = self._append(span_id, holder, actor, fresh, last_node, tokens)
        else:
            entered = self._cut_or_begin(span_id, actor, fresh, last_node, tokens)
        return replace(entered, new=self._not_handed_over(self._open[span_id], entered.new))

    def call_ended(self, span_id: str, output: ContentRef | None) -> list[ThreadNode]:
        """Records the end of a call. Returns its output messages."""
        nodes = self._whole(output)
        self._answers += [node.message for node in nodes]
        conversation = self._open.pop(span_id, None)
        if conversation is not None:
            conversation.is_open = False
            tip = conversation.path[-1]
            expected = extend((node.message for node in nodes), tip.ref, tip.depth)
            self._hold(conversation, expected)
            conversation.path += expected
        return nodes

    def compression_declared(
        self, actor: str | None, before: ContentRef | None, after: ContentRef | None, summary: ContentRef | None
    ) -> Cut | None:
        """Records a program's declaration that thread `after` replaced `before`. Returns the cut; None when either
        thread is not completely stored."""
        olds, news = ([node.message for node in self._whole(thread)] for thread in (before, after))
        if not olds or not news or after is None:
            return None
        diff = diff_messages(olds, news)
        outcomes = message_outcomes(diff, () if summary is None else diff.removed)
        summarised, dropped = outcomes.refs(SUMMARISED), outcomes.refs(DROPPED)
        self._declared.append(_DeclaredCompression(actor, after, {*summarised, *dropped}))
        kept_refs = outcomes.refs(KEPT)[diff.prefix :]
        return Cut(before, kept_refs, CompressionVerdict("", summary, summarised, dropped))

    def length(self, thread: ContentRef | None) -> int | None:
        """The number of messages of a thread; None when it is not stored."""
        node = None if thread is None else self._node(thread)
        return None if node is None else node.depth

    def interrupt_open_calls(self) -> None:
        """Records that the process died: open calls will not end, except those that the next attempt continues."""
        self.interrupted |= self._open.keys()
        for conversation in self._open.values():
            conversation.is_open = False

    def set_input_tokens(self, span_id: str, tokens: int | None) -> bool:
        """Sets the input tokens of a call, which are known at its end. Returns False when an event may have used the
        missing value already: after a crash, other calls continue the conversation of a call that is still open."""
        conversation = self._open.get(span_id)
        if conversation is None:
            return True
        conversation.tokens = tokens
        return conversation.is_open and conversation.call == span_id

    def keep_nodes(self) -> dict[ContentRef, ThreadNode]:
        """Copies the dictionary in which nodes are looked up, and returns the copy, to which the caller may add."""
        self._nodes = nodes = dict(self._nodes)
        return nodes

    # --- the three ways a call can begin ---------------------------------------------------------------------------

    def _append(
        self,
        span_id: str,
        conversation: AgentConversation,
        actor: str | None,
        fresh: list[ThreadNode],
        last_node: ThreadNode,
        tokens: int | None,
    ) -> InputDelta:
        """Handles an input that continues a conversation after its last input, or after a part of its last output."""
        # Outputs that are sent back unchanged are not new, even if other outputs are left out or rewritten.
        new = fresh if conversation.is_open else _without_resent_outputs(fresh, conversation.path[last_node.depth :])
        if conversation.is_open or conversation.actor != actor:  # a parallel call, or another agent: a branch
            self._use(span_id, AgentConversation(actor, [*conversation.path[: last_node.depth], *fresh]), tokens, fresh)
            return InputDelta(new)
        conversation.path[last_node.depth :] = fresh
        self._use(span_id, conversation, tokens, fresh)
        return InputDelta(new)

    def _cut_or_begin(
        self, span_id: str, actor: str | None, fresh: list[ThreadNode], last_node: ThreadNode | None, tokens: int | None
    ) -> InputDelta:
        match_ = self._continued(actor, fresh, last_node)
        best = match_ or self._possibly_summarised(actor, fresh, last_node)
        if best is None:
            self._use(span_id, AgentConversation(actor, [*self._up_to(last_node), *fresh]), tokens, fresh)
            return InputDelta(fresh)
        same = match_ is not None and (
            not best.diff.removed or is_same_conversation(best.diff, best.input_length, self._known_messages)
        )
        cut = self._cut(best, same=same)
        if same:
            conversation = best.conversation
            conversation.path[best.shared_depth :] = best.after
        else:
            conversation = AgentConversation(actor, [*best.conversation.path[: best.shared_depth], *best.after])
        self._use(span_id, conversation, tokens, fresh)
        new = [best.after[position] for position in best.diff.added]
        return InputDelta([node for node in new if last_node is None or node.depth > last_node.depth], cut)

    def _cut(self, match_: ConversationMatch, *, same: bool) -> Cut | None:
        """The cut that the input shows; None if it shows none or the program declared it."""
        conversation, diff = match_.conversation, match_.diff
        if not diff.removed:
            return None
        verdict = classify_cut(
            diff, match_.input_length, self._answers[conversation.answers_before :], self._known_messages, same=same
        )
        self._known_messages.check()
        if verdict is None or self._was_declared(match_):
            return None
        return Cut(conversation.path[conversation.input_length - 1].ref, match_.kept(), verdict, conversation.tokens)

    def _not_handed_over(self, conversation: AgentConversation, new: list[ThreadNode]) -> list[ThreadNode]:
        """The new messages without those of another agent, if this agent continues that agent's conversation under
        other instructions (a handoff): their inputs and answers were added before."""
        messages = {node.message for node in new if not self._is_system(node)}
        for other in islice(reversed(self._last.values()), _MOST_COMPARED if messages else 0):
            answers = other.path[other.input_length :]
            if other is conversation or other.is_open or not any(node.message in messages for node in answers):
                continue
            inputs = {node.message for node in conversation.path if not self._is_system(node)}
            if any(node.message in inputs for node in other.path[: other.input_length]):
                diff = diff_messages(
                    [node.message for node in other.path], [node.message for node in conversation.path], 0
                )
                came = {conversation.path[position].ref for position in diff.added}
                return [node for node in new if node.ref in came]
        return new

    def _was_declared(self, match_: ConversationMatch) -> bool:
        refs, gone = (
            {node.ref for node in match_.after},
            {match_.diff.before[position] for position in match_.diff.removed},
        )
        for declared in self._declared:
            if declared.actor == match_.conversation.actor and (declared.after in refs or gone <= declared.gone):
                self._declared.remove(declared)
                return True
        return False

    def _possibly_summarised(
        self, actor: str | None, fresh: list[ThreadNode], last_node: ThreadNode | None
    ) -> ConversationMatch | None:
        """The match with this agent's last conversation, if the new input is short enough to be a summary of it."""
        last = next(reversed(self._of_actor.get(actor, {}).values()), None)
        if last is None or last.is_open or not may_be_summarised(len(last.path), len(fresh)):
            return None
        match_ = self._match(last, fresh, last_node)
        match_.compute_diff()
        return match_

    def _continued(
        self, actor: str | None, fresh: list[ThreadNode], last_node: ThreadNode | None
    ) -> ConversationMatch | None:
        """The match with the conversation of this agent that the input continues: the one that shares most messages.
        None if none shares a message other than system messages, or a parallel call continues it."""
        recent = islice(reversed(self._of_actor.get(actor, {}).values()), _MOST_COMPARED)
        matches = [self._match(conversation, fresh, last_node) for conversation in recent]
        deepest = max((match_.shared_depth for match_ in matches), default=0)
        matches = [match_ for match_ in matches if match_.shared_depth == deepest]
        shares = bool(matches) and self._beyond_system(matches[0])
        if shares and any(match_.conversation.is_open for match_ in matches):
            return None  # one of several calls that start from the same conversation
        seen = any(len(match_.after) > len(fresh) for match_ in matches) or any(
            node.message in self._messages and not self._is_system(node) for node in fresh
        )
        if not shares and not seen:
            return None  # returns early for most calls that begin a new conversation
        closed = [match_ for match_ in matches if not match_.conversation.is_open]
        messages = {node.message for node in closed[0].after} if closed else set[ContentRef]()
        likely = [match_ for match_ in closed if match_.may_continue(messages)] or closed[:1]
        best, most = None, -1
        for match_ in likely:
            match_.compute_diff()
            count = sum(1 for message in match_.kept() if self._known_messages.role(message) != "system")
            if (shares or count) and count > most:
                best, most = match_, count
        return best

    # --- conversations ---------------------------------------------------------------------------------------------

    def _use(self, span_id: str, conversation: AgentConversation, tokens: int | None, fresh: list[ThreadNode]) -> None:
        conversation.input_length, conversation.tokens, conversation.is_open = len(conversation.path), tokens, True
        conversation.answers_before, conversation.call = len(self._answers), span_id
        self._open[span_id] = conversation
        mine = self._of_actor.setdefault(conversation.actor, {})
        mine.pop(id(conversation), None)
        mine[id(conversation)] = conversation
        self._last.pop(conversation.actor, None)
        self._last[conversation.actor] = conversation
        self._hold(conversation, fresh)
        self._hold(conversation, conversation.path[-1:])

    def _hold(self, conversation: AgentConversation, nodes: Iterable[ThreadNode]) -> None:
        for node in nodes:
            self._known[node.ref] = node
            self._holder[node.ref] = conversation
            self._messages.add(node.message)

    def _match(
        self, conversation: AgentConversation, fresh: list[ThreadNode], node: ThreadNode | None
    ) -> ConversationMatch:
        restored: list[ThreadNode] = []
        while node is not None and not conversation.has(node):
            restored.append(node)
            node = None if node.parent is None else self._known[node.parent]
        restored.reverse()
        return ConversationMatch(conversation, 0 if node is None else node.depth, [*restored, *fresh])

    # --- threads ---------------------------------------------------------------------------------------------------

    def _walk(self, thread: ContentRef | None) -> tuple[list[ThreadNode], ThreadNode | None] | None:
        """The nodes of the thread that no call had before, and the known node before them (None if all are new). None
        if the thread is not completely stored."""
        if thread is None:
            return None
        fresh: list[ThreadNode] = []
        here: ContentRef | None = thread
        while here is not None and here not in self._known:
            node = self._node(here)
            if node is None:
                return None
            fresh.append(node)
            here = node.parent
        fresh.reverse()
        return fresh, None if here is None else self._known[here]

    def _whole(self, thread: ContentRef | None) -> list[ThreadNode]:
        """All nodes of an output thread; empty when it is not stored."""
        nodes: list[ThreadNode] = []
        while thread is not None:
            node = self._node(thread)
            if node is None:
                return []
            nodes.append(node)
            thread = node.parent
        nodes.reverse()
        return nodes

    def _node(self, ref: ContentRef) -> ThreadNode | None:
        node = self._nodes.get(ref)
        if node is None:
            self._known_messages.missing.add(ref)
        return node

    def _up_to(self, node: ThreadNode | None) -> list[ThreadNode]:
        """All nodes of the thread that ends in `node`."""
        if node is None:
            return []
        holder = self._holder[node.ref]
        if holder.has(node):
            return holder.path[: node.depth]
        nodes = [node]
        while nodes[-1].parent is not None:
            nodes.append(self._known[nodes[-1].parent])
        nodes.reverse()
        return nodes

    def _beyond_system(self, match_: ConversationMatch) -> bool:
        return any(not self._is_system(node) for node in reversed(match_.conversation.path[: match_.shared_depth]))

    def _is_system(self, node: ThreadNode) -> bool:
        """Whether it is a system message. A first message that is not stored yet counts as one: mostly it is."""
        return self._known_messages.role(node.message, "system" if node.depth == 1 else "") == "system"
