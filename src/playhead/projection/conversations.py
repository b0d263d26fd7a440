"""store → [projection]: what each model call added to its conversation, and where a conversation lost messages (a cut).

A *conversation* is a sequence of model calls of one agent: each call's input is expected to be the previous input plus
the previous output.  Messages are identified by their position in a thread, not by their text: a user who writes "yes"
twice added two messages.  Threads are walked from their ends back to the first known node, so the cost depends on the
new messages only, not on the length of the conversation.

`Conversations` has all conversations of a run; `ConversationMatch` compares a new input to one of them. Pure.
"""

from collections import deque
from collections.abc import Container, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice

from playhead.model.ref import ContentRef
from playhead.model.thread import ThreadNode, extend
from playhead.projection.cuts import WORTH, CompressionVerdict, classify_cut, is_same_conversation
from playhead.projection.known_messages import KnownMessages
from playhead.projection.message_diff import MessageListDiff, diff_messages, pair_by_meaning
from playhead.projection.message_outcomes import DROPPED, KEPT, SUMMARISED, message_outcomes
from playhead.projection.summary_texts import asks_for_summary, quotes_summary, repeats, restates, says_summary

# --- one agent's conversation -----------------------------------------------------------------------------------------


@dataclass(slots=True, eq=False)
class ConversationState:
    """A conversation after one of its calls. `path`: the call's input and, once it has ended, its output; the first
    `input_length` of these messages were its input.

    `tokens`: the call's input tokens, if reported; `tools`: the tools that it was offered; `call`: its span id; `work`:
    the span id of the agent's call around it.
    """

    path: list[ThreadNode]
    input_length: int = 0
    tokens: int | None = None
    tools: ContentRef | None = None
    call: str = ""
    work: str | None = None

    def has(self, node: ThreadNode) -> bool:
        return len(self.path) >= node.depth and self.path[node.depth - 1].ref == node.ref


@dataclass(slots=True, eq=False)
class AgentConversation(ConversationState):
    """One agent's conversation, in its last state.

    `previous`: the state before the last call, of which the first `previous_length` messages of the path are valid.
    """

    actor: str | None = None
    is_open: bool = True
    previous: ConversationState | None = None
    previous_length: int = 0


_NO_DIFFERENCE = MessageListDiff((), (), {}, 0)


@dataclass(slots=True)
class ConversationMatch:
    """How a new input compares to a conversation in one of its states: depth of the shared prefix, and the difference
    after it."""

    conversation: AgentConversation
    state: ConversationState
    shared_depth: int
    after: list[ThreadNode]
    diff: MessageListDiff = _NO_DIFFERENCE

    @property
    def input_length(self) -> int:
        return max(0, self.state.input_length - self.shared_depth)

    @property
    def shared(self) -> list[ContentRef]:
        """The messages of the shared prefix."""
        return [node.message for node in self.state.path[: self.shared_depth]]

    def may_continue(self, messages: Container[ContentRef]) -> bool:
        """A quick check: whether the last answer may be among `messages`, the new input after the shared prefix."""
        path, input_length = self.state.path, self.state.input_length
        if input_length == len(path) or any(node.message in messages for node in path[input_length:]):
            return True
        last = path[input_length - 1].message
        return last in messages and last != self.after[-1].message

    def compute_diff(self, messages: KnownMessages) -> None:
        rest = self.state.path[self.shared_depth :]
        diff = diff_messages([node.message for node in rest], [node.message for node in self.after], 0)
        self.diff = pair_by_meaning(diff, messages) if diff.removed and diff.added else diff

    def kept(self) -> tuple[ContentRef, ...]:
        return tuple(self.diff.after[position] for position in sorted(self.diff.kept.values()))


# --- the run's conversations ------------------------------------------------------------------------------------------


# How many conversations of an agent are searched for a cut, most recently used first. A cut is missed only if an agent
# has more conversations at a time and cuts one that it has not used for long.
_MOST_COMPARED = 16
# How many answers of the run, from the last one back, are compared with a new message that may be a summary.
_MOST_ANSWERS = 32
# How many new messages are compared with them, from both ends of the new ones.
_MOST_NEW = 24
# A text that quotes such a long message, of the last few of a conversation, is a transcript and no summary.
_QUOTED, _FEW = 24, 9
# Messages that an answer is compared with to find whether it restates them.
_MOST_RESTATED = 256


@dataclass(frozen=True, slots=True)
class Cut:
    """Messages that were in the conversation before a call and are no longer.

    `before`: the previous call's input thread; a call that only wrote the summary is not the previous one.  `kept`: the
    messages in both threads, without their common prefix.  `summariser`: span id of the call that wrote the summary.
    """

    before: ContentRef | None
    kept: tuple[ContentRef, ...]
    verdict: CompressionVerdict
    tokens: int | None = None
    summariser: str | None = None


@dataclass(frozen=True, slots=True)
class InputDelta:
    """The messages that a call's input added, the cut found in it, if any, and the marks of the new messages."""

    new: list[ThreadNode] = field(default_factory=list[ThreadNode])
    cut: Cut | None = None
    marks: Mapping[ContentRef, "Mark"] = field(default_factory=dict[ContentRef, "Mark"])


@dataclass(frozen=True, slots=True)
class Mark:
    """What a managed context says about a message: its tags, and whether no compression removes it (True or None)."""

    tags: tuple[str, ...]
    preserved: bool | None


@dataclass(frozen=True, slots=True)
class _CallSetting:
    """What a call was offered, and inside which agent's call it was made."""

    tools: ContentRef | None
    work: str | None


@dataclass(frozen=True, slots=True)
class _Written:
    """A message that a model wrote, or one that repeats it. `call`: span id of the call that wrote it."""

    message: ContentRef
    call: str


@dataclass(slots=True)
class _DeclaredCompression:
    """A declared compression that was not found in a call's input yet."""

    actor: str | None
    after: ContentRef
    gone: set[ContentRef]


@dataclass(frozen=True, slots=True)
class ProviderCompaction:
    """The provider's own summary of a call's input, in its answer. `summary`: the message that has it; `replaced`: the
    messages that it stands for; `repeated`: messages of the input that the answer has again. `is_readable`: the summary
    is text, and not encrypted."""

    summary: ContentRef
    replaced: tuple[ContentRef, ...]
    repeated: frozenset[ContentRef]
    is_readable: bool


def _remember(conversation: AgentConversation, length: int) -> None:
    """Notes the state before a call that begins. `length`: messages of the path that stay as they are."""
    conversation.previous = ConversationState(
        conversation.path, conversation.input_length, conversation.tokens, conversation.tools, conversation.call,
        conversation.work,
    )  # fmt: skip
    conversation.previous_length = length


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
        self._answers: deque[_Written] = deque(maxlen=_MOST_ANSWERS)
        self._of_call: dict[str, AgentConversation] = {}  # by span id of each conversation's last call
        self._declared: list[_DeclaredCompression] = []

    def call_started(
        self,
        span_id: str,
        actor: str | None,
        thread: ContentRef | None,
        tokens: int | None,
        tools: ContentRef | None = None,
        work: str | None = None,
    ) -> InputDelta:
        """Records the start of a call with this input thread. Returns the messages that it added, and a cut if one was
        found; an empty delta if the thread is not completely stored.

        `tools`: ref of the definitions of the tools that the call was offered; `work`: span id of the agent's call
        around it."""
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
            entered = self._append(span_id, holder, actor, fresh, last_node)
        else:
            entered = self._cut_or_begin(span_id, actor, fresh, last_node, _CallSetting(tools, work))
        begun = self._open[span_id]
        begun.tokens, begun.tools, begun.work = tokens, tools, work
        return replace(entered, new=self._not_handed_over(self._open[span_id], entered.new))

    def call_ended(self, span_id: str, output: ContentRef | None) -> list[ThreadNode]:
        """Records the end of a call. Returns its output messages."""
        nodes = self._whole(output)
        self._answers.extend(_Written(node.message, span_id) for node in nodes)
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
        diff = pair_by_meaning(diff_messages(olds, news), self._known_messages)
        written = None if summary is None else self._written_by_a_model([summary])
        self._known_messages.check()
        outcomes = message_outcomes(diff, () if summary is None else diff.removed)
        summarised, dropped = outcomes.refs(SUMMARISED), outcomes.refs(DROPPED)
        self._declared.append(_DeclaredCompression(actor, after, {*summarised, *dropped}))
        kept_refs = outcomes.refs(KEPT)[diff.prefix :]
        verdict = CompressionVerdict("", summary, summarised, dropped)
        return Cut(before, kept_refs, verdict, summariser=written and written.call)

    def compacted(self, span_id: str, output: ContentRef | None) -> ProviderCompaction | None:
        """Records that the answer of an open call may have the provider's own summary of its input. Returns None
        without one. The messages that it stands for may be missing from later inputs."""
        conversation = self._open.get(span_id)
        answers = [node.message for node in self._whole(output)]
        place = next((at for at, ref in enumerate(answers) if self._known_messages.compaction(ref) is not None), None)
        if conversation is None or place is None or output is None:
            self._known_messages.check()
            return None
        sent = [node.message for node in conversation.path[: conversation.input_length] if not self._is_system(node)]
        # What the answer has before the summary are messages that were sent, and stay.
        diff = pair_by_meaning(diff_messages(sent, answers[:place], 0), self._known_messages)
        self._known_messages.check()
        replaced = tuple(sent[position] for position in diff.removed)
        repeated = frozenset(answers[position] for position in diff.kept.values())
        self._declared.append(_DeclaredCompression(conversation.actor, output, {*replaced}))
        is_readable = bool(self._known_messages.compaction(answers[place]))
        return ProviderCompaction(answers[place], replaced, repeated, is_readable)

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
    ) -> InputDelta:
        """Handles an input that continues a conversation after its last input, or after a part of its last output."""
        # Outputs that are sent back unchanged are not new, even if other outputs are left out or rewritten.
        new = fresh if conversation.is_open else _without_resent_outputs(fresh, conversation.path[last_node.depth :])
        if conversation.is_open or conversation.actor != actor:  # a parallel call, or another agent: a branch
            path = [*conversation.path[: last_node.depth], *fresh]
            self._use(span_id, AgentConversation(path, actor=actor), fresh)
            return InputDelta(new)
        if fresh or last_node.depth > conversation.input_length:  # else the same call is made again
            _remember(conversation, last_node.depth)
        conversation.path[last_node.depth :] = fresh
        self._use(span_id, conversation, fresh)
        return InputDelta(new)

    def _cut_or_begin(
        self,
        span_id: str,
        actor: str | None,
        fresh: list[ThreadNode],
        last_node: ThreadNode | None,
        setting: _CallSetting,
    ) -> InputDelta:
        best, cut, same = self._compare(actor, fresh, last_node, setting)
        if best is None:
            self._use(span_id, AgentConversation([*self._up_to(last_node), *fresh], actor=actor), fresh)
            return InputDelta(fresh)
        path = [*best.state.path[: best.shared_depth], *best.after]
        if same or cut is not None:
            conversation = best.conversation
            _remember(conversation, len(conversation.path))
            conversation.path = path
        else:
            conversation = AgentConversation(path, actor=actor)
        self._use(span_id, conversation, fresh)
        new = [best.after[position] for position in best.diff.added]
        return InputDelta([node for node in new if last_node is None or node.depth > last_node.depth], cut)

    def _compare(
        self, actor: str | None, fresh: list[ThreadNode], last_node: ThreadNode | None, setting: _CallSetting
    ) -> tuple[ConversationMatch | None, Cut | None, bool]:
        """Returns the match with the conversation that the input continues or replaces, the cut, and whether the input
        continues it (has its last answer)."""
        match_ = self._continued(actor, fresh, last_node, None)
        same = match_ is not None and self._is_same(match_)
        written: _Written | None = None
        if match_ is None or not same or self._may_have_summary(match_):
            kept = set[ContentRef]() if match_ is None else {*match_.kept()}
            new = [node.message for node in fresh if self._known_messages.role(node.message) != "tool"]
            written = self._summary_by_a_model(actor, new, kept, match_ and match_.conversation)
            if written is not None:
                match_ = self._continued(actor, fresh, last_node, written.call)
                same = match_ is not None and self._is_same(match_)
        if match_ is None:
            match_ = self._possibly_replaced(actor, fresh, last_node, written, setting.tools)
        cut = None if match_ is None else self._cut(match_, written, setting, same=same)
        self._known_messages.check()
        if match_ is not None and not same and cut is None and not self._shares(match_):
            match_ = None
        return match_, cut, same

    def _is_same(self, match_: ConversationMatch) -> bool:
        return not match_.diff.removed or is_same_conversation(match_.diff, match_.input_length, self._known_messages)

    def _shares(self, match_: ConversationMatch) -> bool:
        return self._beyond_system(match_) or any(
            self._known_messages.role(message) != "system" for message in match_.kept()
        )

    def _cut(
        self, match_: ConversationMatch, written: _Written | None, setting: _CallSetting, *, same: bool
    ) -> Cut | None:
        """The cut that the input shows; None if it shows none or the program declared it."""
        state, diff = match_.state, match_.diff
        if not diff.removed:
            return None
        message = None if written is None else written.message
        shared = () if same else match_.shared
        same_work = setting == _CallSetting(state.tools, state.work)
        verdict = classify_cut(
            diff, match_.input_length, message, self._known_messages, same=same, shared=shared, same_work=same_work
        )
        self._known_messages.check()
        if verdict is None or self._was_declared(match_):
            return None
        summariser = written.call if written is not None and verdict.summary == written.message else None
        return Cut(state.path[state.input_length - 1].ref, match_.kept(), verdict, state.tokens, summariser)

    # --- summaries -------------------------------------------------------------------------------------------------

    def _may_have_summary(self, match_: ConversationMatch) -> bool:
        """Whether a part of the new input may stand for removed messages: a new message before kept ones, other
        instructions, or the last answer without the message that it answers."""
        diff, messages = match_.diff, self._known_messages
        if not diff.removed:
            return False
        if any(gap.added for gap in diff.hunks if not gap.is_last):
            return True
        if any(messages.role(diff.after[position]) in ("system", "developer") for position in diff.added):
            return True
        answers = range(match_.input_length, len(diff.before))
        return match_.input_length - 1 not in diff.kept and any(position in diff.kept for position in answers)

    def _summary_by_a_model(
        self,
        actor: str | None,
        new: Sequence[ContentRef],
        kept: Container[ContentRef],
        conversation: AgentConversation | None,
    ) -> _Written | None:
        """The new message that repeats the answer of a call which only wrote it, and that call. None if there is none.

        `kept`: new messages that were kept from the conversation `conversation`."""
        if not self._has_other_conversation(actor, None):
            return None
        written = self._written_by_a_model([message for message in new if message not in kept])
        if written is not None and self._only_wrote(written) and self._has_other_conversation(actor, written.call):
            return written
        if self._has_summary(new, kept):
            return None  # the answer before it is one like any other
        for answer in reversed(self._answers):
            if (
                answer.message in new
                and self._sums_up(answer, conversation)
                and self._has_other_conversation(actor, answer.call)
            ):
                return _Written(answer.message, answer.call)
        return None

    def _has_summary(self, new: Sequence[ContentRef], kept: Container[ContentRef]) -> bool:
        """Whether one of the first new messages, which no model wrote, says that it is a summary."""
        said = [message for message in new[:_FEW] if message not in kept]
        return any(
            self._known_messages.role(message) not in ("system", "assistant")
            and says_summary(self._known_messages.text(message))
            for message in said
        )

    def _has_other_conversation(self, actor: str | None, summariser: str | None) -> bool:
        """Whether the agent has a conversation that may have been summarised by this call."""
        return any(
            len(state.path) > (WORTH if state is conversation else 2)
            for conversation, state in self._states(actor, summariser)
        )

    def _written_by_a_model(self, new: Sequence[ContentRef]) -> _Written | None:
        """The first of these messages that repeats one of the last answers of the run, and the call that gave it."""
        messages = self._known_messages
        for message in new if len(new) <= _MOST_NEW else (*new[: _MOST_NEW // 2], *new[-_MOST_NEW // 2 :]):
            text = messages.text(message)
            for answer in reversed(self._answers):
                wrote = messages.written(answer.message)
                if repeats(text, wrote) or (quotes_summary(text, wrote) and self._was_asked(answer.call)):
                    return _Written(message, answer.call)
        return None

    def _only_wrote(self, written: _Written) -> bool:
        """Whether a call did nothing but write a text: it was its conversation's only one, or the conversation ended
        with it and a program's request before it."""
        conversation = self._of_call.get(written.call)
        if conversation is None:
            return False
        if conversation.previous is None or self._was_asked(written.call):
            return True
        request = conversation.path[conversation.input_length - 1].message
        text, answer = self._known_messages.text(written.message), conversation.path[-1].message
        others = (self._known_messages.text(node.message) for node in conversation.path[-_FEW:-1])
        quotes = any(len(other) >= _QUOTED and other in text for other in others)
        whole = 2 * len(self._known_messages.written(answer)) >= len(text)
        return self._known_messages.role(request) not in ("tool", "assistant") and whole and not quotes

    def _sums_up(self, answer: _Written, continued: AgentConversation | None) -> bool:
        """Whether an answer that is sent on as it is, without what it answers, stands for the conversation before it.

        `continued`: the conversation from which the new input has most messages."""
        conversation = self._of_call.get(answer.call)
        if conversation is None:
            return False
        if self._was_asked(answer.call):
            return True
        if conversation.previous is None:
            return conversation is not continued
        said = [node.message for node in conversation.path[: conversation.input_length] if not self._is_system(node)]
        if len(said) <= WORTH or self._known_messages.role(said[-1]) == "tool":
            return False
        first, removed = self._known_messages.text(said[0]), [*map(self._known_messages.written, said[1:-1])]
        return restates(self._known_messages.written(answer.message), removed[-_MOST_RESTATED:], [first])

    def _was_asked(self, call: str) -> bool:
        """Whether the last message that a call was given asks for a summary."""
        conversation = self._of_call.get(call)
        return conversation is not None and asks_for_summary(
            self._known_messages.text(conversation.path[conversation.input_length - 1].message)
        )

    def _state_before(self, conversation: AgentConversation) -> ConversationState | None:
        """The conversation before its last call, which only wrote a summary: without the request and the answer."""
        previous = conversation.previous
        if previous is None:
            return None
        path = previous.path[: conversation.previous_length]
        request = conversation.input_length - 1
        if conversation.path is previous.path and len(path) < request:
            path = conversation.path[:request]
        return ConversationState(
            path, previous.input_length, previous.tokens, previous.tools, previous.call, previous.work
        )

    def _possibly_replaced(
        self,
        actor: str | None,
        fresh: list[ThreadNode],
        last_node: ThreadNode | None,
        written: _Written | None,
        tools: ContentRef | None,
    ) -> ConversationMatch | None:
        """The match with this agent's last conversation of some length, of which the new input has nothing."""
        said = [node.message for node in fresh if not self._is_system(node)]
        for conversation, state in self._states(actor, written and written.call):
            least = 2 if state is not conversation or self._has_summary(said[:1], ()) else WORTH
            if sum(1 for node in state.path if not self._is_system(node)) < least:
                continue
            if conversation.is_open or (written is None and state.tools != tools):
                return None  # a call beside the conversation often is offered no tools
            match_ = self._match(conversation, state, fresh, last_node)
            match_.compute_diff(self._known_messages)
            return match_
        return None

    def _states(
        self, actor: str | None, summariser: str | None
    ) -> Iterator[tuple[AgentConversation, ConversationState]]:
        """The agent's conversations, most recently used first, each as it was before the call `summariser`."""
        for conversation in islice(reversed(self._of_actor.get(actor, {}).values()), _MOST_COMPARED):
            is_summarisers = summariser is not None and conversation.call == summariser
            state = self._state_before(conversation) if is_summarisers else conversation
            if state is not None:
                yield conversation, state

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
        own = [declared for declared in self._declared if declared.actor == match_.conversation.actor]
        found = next((declared for declared in own if declared.after in refs or gone <= declared.gone), None)
        if found is None and own:
            found = self._declared_in_other_words(own, gone)
        if found is not None:
            self._declared.remove(found)
        return found is not None

    def _declared_in_other_words(
        self, own: Sequence[_DeclaredCompression], gone: set[ContentRef]
    ) -> _DeclaredCompression | None:
        """The declaration of messages that say the same: a framework may declare in another form than it sends."""
        went = self._pieces(gone)
        found = next((declared for declared in own if went and went <= self._pieces(declared.gone)), None)
        self._known_messages.check()
        return found

    def _pieces(self, refs: Iterable[ContentRef]) -> set[Hashable]:
        return {piece for ref in refs for piece in self._known_messages.pieces(ref)}

    def _continued(
        self, actor: str | None, fresh: list[ThreadNode], last_node: ThreadNode | None, summariser: str | None
    ) -> ConversationMatch | None:
        """The match with the conversation of this agent that the input continues: the one that shares most messages.
        None if none shares a message other than system messages, or a parallel call continues it.

        `summariser`: a call that only wrote a summary; conversations are compared as they were before it."""
        states = self._states(actor, summariser)
        matches = [self._match(conversation, state, fresh, last_node) for conversation, state in states]
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
            match_.compute_diff(self._known_messages)
            count = sum(1 for message in match_.kept() if self._known_messages.role(message) != "system")
            if (shares or count) and count > most:
                best, most = match_, count
        return best

    # --- conversations ---------------------------------------------------------------------------------------------

    def _use(self, span_id: str, conversation: AgentConversation, fresh: list[ThreadNode]) -> None:
        self._of_call.pop(conversation.call, None)
        conversation.input_length, conversation.is_open, conversation.call = len(conversation.path), True, span_id
        self._open[span_id] = self._of_call[span_id] = conversation
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
        self,
        conversation: AgentConversation,
        state: ConversationState,
        fresh: list[ThreadNode],
        node: ThreadNode | None,
    ) -> ConversationMatch:
        restored: list[ThreadNode] = []
        while node is not None and not state.has(node):
            restored.append(node)
            node = None if node.parent is None else self._known[node.parent]
        restored.reverse()
        return ConversationMatch(conversation, state, 0 if node is None else node.depth, [*restored, *fresh])

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
        return any(not self._is_system(node) for node in reversed(match_.state.path[: match_.shared_depth]))

    def _is_system(self, node: ThreadNode) -> bool:
        """Whether it is a system message. A first message that is not stored yet counts as one: mostly it is."""
        return self._known_messages.role(node.message, "system" if node.depth == 1 else "") == "system"
