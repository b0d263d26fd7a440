"""store → [project]: what each model call added to its conversation, and where a conversation lost messages (a cut).

A *lineage* is a line of consecutive model calls of one agent: each call's input is expected to be the one before it
plus what that one put out.  Messages are told apart by their place in a thread, not by what they say: a user who says
"yes" twice says it twice.  Threads are walked from their ends back to what is known already, so that the cost is that
of what is new, however long the conversation.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice

from playhead.model.ref import ContentRef
from playhead.model.thread import ThreadNode, extend
from playhead.project.context.cut_kinds import Verdict, could_be_summed_up, goes_on, judge
from playhead.project.context.fates import DROPPED, KEPT, SUMMARISED, message_fates
from playhead.project.context.known_messages import Known
from playhead.project.context.lineage import Lineage, Survey
from playhead.project.context.list_change import compare

# A cut is looked for in this many lineages of an agent, those used last first: an agent with more conversations
# open at a time than this would have to cut one that it has left alone for long.
_LOOK_BACK = 16


@dataclass(frozen=True, slots=True)
class Cut:
    """Messages that were in the conversation before a call and are no longer.

    `before` is the previous call's input.  What both threads begin with is kept by its place and not listed; `kept` are
    the messages that are found again after that.
    """

    before: ContentRef | None
    kept: tuple[ContentRef, ...]
    verdict: Verdict
    tokens: int | None = None


@dataclass(frozen=True, slots=True)
class Entered:
    """Messages that a call's input added, and the cut it shows, if any."""

    new: list[ThreadNode] = field(default_factory=list[ThreadNode])
    cut: Cut | None = None


@dataclass(slots=True)
class _Declared:
    """A compression that somebody declared, until the call that shows it."""

    actor: str | None
    after: ContentRef
    gone: set[ContentRef]


def _not_put_out(fresh: list[ThreadNode], unsent: Sequence[ThreadNode]) -> list[ThreadNode]:
    """Returns the messages that are not outputs which were sent back, in whatever order."""
    change = compare([node.message for node in unsent], [node.message for node in fresh], 0)
    return [fresh[place] for place in change.came]


class Conversations:
    """All lineages of a run, fed with its model calls in order."""

    def __init__(self, nodes: Mapping[ContentRef, ThreadNode], known: Known) -> None:
        self._nodes = nodes
        self._about = known
        self._known: dict[ContentRef, ThreadNode] = {}
        self._messages: set[ContentRef] = set()
        # The lineage that brought a node last; it may have moved on, so ask it (`has`).
        self._holder: dict[ContentRef, Lineage] = {}
        self._of_actor: dict[str | None, dict[int, Lineage]] = {}
        self._last: dict[str | None, Lineage] = {}  # of each agent, those used last at the end
        self._open: dict[str, Lineage] = {}
        self.interrupted: set[str] = set()
        """Calls that were open when the process died, or were never told of as ended."""
        self._said: list[ContentRef] = []
        self._declared: list[_Declared] = []

    def enter(self, span_id: str, actor: str | None, thread: ContentRef | None, tokens: int | None) -> Entered:
        """A call starts with this thread as its input. Returns what it added; nothing while the thread is not stored
        yet."""
        walked = self._walk(thread)
        if walked is None:
            return Entered()
        fresh, at = walked
        holder = None if at is None else self._holder[at.ref]
        if holder is not None and at is not None and holder.has(at) and at.depth >= holder.asked:
            entered = self._append(span_id, holder, actor, fresh, at, tokens)
        else:
            entered = self._cut_or_begin(span_id, actor, fresh, at, tokens)
        return replace(entered, new=self._not_handed_over(self._open[span_id], entered.new))

    def leave(self, span_id: str, output: ContentRef | None) -> list[ThreadNode]:
        """A call ends. Returns its output messages."""
        nodes = self._whole(output)
        self._said += [node.message for node in nodes]
        lineage = self._open.pop(span_id, None)
        if lineage is not None:
            lineage.open = False
            tip = lineage.path[-1]
            expected = extend((node.message for node in nodes), tip.ref, tip.depth)
            self._hold(lineage, expected)
            lineage.path += expected
        return nodes

    def declare(
        self, actor: str | None, before: ContentRef | None, after: ContentRef | None, summary: ContentRef | None
    ) -> Cut | None:
        """A program declares that `after` replaced `before`. Returns the cut; None when either thread is not
        completely stored."""
        olds, news = ([node.message for node in self._whole(thread)] for thread in (before, after))
        if not olds or not news or after is None:
            return None
        change = compare(olds, news)
        fates = message_fates(change, () if summary is None else change.went)
        summarised, dropped = fates.refs(SUMMARISED), fates.refs(DROPPED)
        self._declared.append(_Declared(actor, after, {*summarised, *dropped}))
        kept = fates.refs(KEPT)[change.prefix :]
        return Cut(before, kept, Verdict("", summary, summarised, dropped))

    def length(self, thread: ContentRef | None) -> int | None:
        """How many messages a thread has; None when it is not here."""
        node = None if thread is None else self._node(thread)
        return None if node is None else node.depth

    def interrupt(self) -> None:
        """The process died: calls that are open will not end, but for those that the next attempt goes on with."""
        self.interrupted |= self._open.keys()
        for lineage in self._open.values():
            lineage.open = False

    def counted(self, span_id: str, tokens: int | None) -> bool:
        """What the input of a call took is known now.  False when it may have been asked for already: after a crash,
        other calls go on with the conversation of one that is still open."""
        lineage = self._open.get(span_id)
        if lineage is None:
            return True
        lineage.tokens = tokens
        return lineage.open and lineage.call == span_id

    def keep_nodes(self) -> dict[ContentRef, ThreadNode]:
        """The nodes that threads are looked up in, from now on in a dictionary of its own."""
        self._nodes = own = dict(self._nodes)
        return own

    # --- the three ways a call can begin ---------------------------------------------------------------------------

    def _append(
        self,
        span_id: str,
        lineage: Lineage,
        actor: str | None,
        fresh: list[ThreadNode],
        at: ThreadNode,
        tokens: int | None,
    ) -> Entered:
        """The input continues the end of a lineage, somewhere from its last input to its last output."""
        # Of several outputs some may be left out or written anew: those that are sent back as they were are not new.
        new = fresh if lineage.open else _not_put_out(fresh, lineage.path[at.depth :])
        if lineage.open or lineage.actor != actor:  # a call beside that one, or another agent: a branch
            self._use(span_id, Lineage(actor, [*lineage.path[: at.depth], *fresh]), tokens, fresh)
            return Entered(new)
        lineage.path[at.depth :] = fresh
        self._use(span_id, lineage, tokens, fresh)
        return Entered(new)

    def _cut_or_begin(
        self, span_id: str, actor: str | None, fresh: list[ThreadNode], at: ThreadNode | None, tokens: int | None
    ) -> Entered:
        survey = self._continued(actor, fresh, at)
        found = survey or self._summed_up(actor, fresh, at)
        if found is None:
            self._use(span_id, Lineage(actor, [*self._up_to(at), *fresh]), tokens, fresh)
            return Entered(fresh)
        same = survey is not None and (not found.change.went or goes_on(found.change, found.asked, self._about))
        cut = self._cut(found, same=same)
        if same:
            lineage = found.lineage
            lineage.path[found.shared :] = found.after
        else:
            lineage = Lineage(actor, [*found.lineage.path[: found.shared], *found.after])
        self._use(span_id, lineage, tokens, fresh)
        new = [found.after[place] for place in found.change.came]
        return Entered([node for node in new if at is None or node.depth > at.depth], cut)

    def _cut(self, survey: Survey, *, same: bool) -> Cut | None:
        """What the input shows to be missing, unless that was declared."""
        lineage, change = survey.lineage, survey.change
        if not change.went:
            return None
        verdict = judge(change, survey.asked, self._said[lineage.heard :], self._about, same=same)
        self._about.check()
        if verdict is None or self._was_declared(survey):
            return None
        return Cut(lineage.path[lineage.asked - 1].ref, survey.kept(), verdict, lineage.tokens)

    def _not_handed_over(self, lineage: Lineage, new: list[ThreadNode]) -> list[ThreadNode]:
        """What is new although another agent's conversation goes on in this one, under other instructions: all but what
        that one was told and has answered."""
        messages = {node.message for node in new if not self._is_system(node)}
        for other in islice(reversed(self._last.values()), _LOOK_BACK if messages else 0):
            answers = other.path[other.asked :]
            if other is lineage or other.open or not any(node.message in messages for node in answers):
                continue
            told = {node.message for node in lineage.path if not self._is_system(node)}
            if any(node.message in told for node in other.path[: other.asked]):
                change = compare([node.message for node in other.path], [node.message for node in lineage.path], 0)
                came = {lineage.path[place].ref for place in change.came}
                return [node for node in new if node.ref in came]
        return new

    def _was_declared(self, survey: Survey) -> bool:
        refs, gone = {node.ref for node in survey.after}, {survey.change.before[place] for place in survey.change.went}
        for declared in self._declared:
            if declared.actor == survey.lineage.actor and (declared.after in refs or gone <= declared.gone):
                self._declared.remove(declared)
                return True
        return False

    def _summed_up(self, actor: str | None, fresh: list[ThreadNode], at: ThreadNode | None) -> Survey | None:
        """The conversation that this agent had last, if what begins here may be its summary."""
        last = next(reversed(self._of_actor.get(actor, {}).values()), None)
        if last is None or last.open or not could_be_summed_up(len(last.path), len(fresh)):
            return None
        survey = self._survey(last, fresh, at)
        survey.compare()
        return survey

    def _continued(self, actor: str | None, fresh: list[ThreadNode], at: ThreadNode | None) -> Survey | None:
        """The lineage of this agent that the input comes from: the one that shares most, if that is enough."""
        recent = islice(reversed(self._of_actor.get(actor, {}).values()), _LOOK_BACK)
        surveys = [self._survey(lineage, fresh, at) for lineage in recent]
        deepest = max((survey.shared for survey in surveys), default=0)
        surveys = [survey for survey in surveys if survey.shared == deepest]
        shares = bool(surveys) and self._beyond_system(surveys[0])
        if shares and any(survey.lineage.open for survey in surveys):
            return None  # one of several calls that were given the same conversation to start from
        seen = any(len(survey.after) > len(fresh) for survey in surveys) or any(
            node.message in self._messages and not self._is_system(node) for node in fresh
        )
        if not shares and not seen:
            return None  # a quick no: most calls that begin something new end here
        closed = [survey for survey in surveys if not survey.lineage.open]
        messages = {node.message for node in closed[0].after} if closed else set[ContentRef]()
        likely = [survey for survey in closed if survey.may_go_on(messages)] or closed[:1]
        best, most = None, -1
        for survey in likely:
            survey.compare()
            kept = sum(1 for message in survey.kept() if self._about.role(message) != "system")
            if (shares or kept) and kept > most:
                best, most = survey, kept
        return best

    # --- lineages --------------------------------------------------------------------------------------------------

    def _use(self, span_id: str, lineage: Lineage, tokens: int | None, fresh: list[ThreadNode]) -> None:
        lineage.asked, lineage.tokens, lineage.open = len(lineage.path), tokens, True
        lineage.heard, lineage.call = len(self._said), span_id
        self._open[span_id] = lineage
        mine = self._of_actor.setdefault(lineage.actor, {})
        mine.pop(id(lineage), None)
        mine[id(lineage)] = lineage
        self._last.pop(lineage.actor, None)
        self._last[lineage.actor] = lineage
        self._hold(lineage, fresh)
        self._hold(lineage, lineage.path[-1:])

    def _hold(self, lineage: Lineage, nodes: Iterable[ThreadNode]) -> None:
        for node in nodes:
            self._known[node.ref] = node
            self._holder[node.ref] = lineage
            self._messages.add(node.message)

    def _survey(self, lineage: Lineage, fresh: list[ThreadNode], at: ThreadNode | None) -> Survey:
        restored: list[ThreadNode] = []
        while at is not None and not lineage.has(at):
            restored.append(at)
            at = None if at.parent is None else self._known[at.parent]
        restored.reverse()
        return Survey(lineage, 0 if at is None else at.depth, [*restored, *fresh])

    # --- threads ---------------------------------------------------------------------------------------------------

    def _walk(self, thread: ContentRef | None) -> tuple[list[ThreadNode], ThreadNode | None] | None:
        """The nodes that no call had before, and the node they continue.  None when the thread is not (wholly) here."""
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
        """All nodes of an (output) thread; none when it is not here."""
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
            self._about.missing.add(ref)
        return node

    def _up_to(self, at: ThreadNode | None) -> list[ThreadNode]:
        """The whole thread that ends in a node that is known."""
        if at is None:
            return []
        holder = self._holder[at.ref]
        if holder.has(at):
            return holder.path[: at.depth]
        nodes = [at]
        while nodes[-1].parent is not None:
            nodes.append(self._known[nodes[-1].parent])
        nodes.reverse()
        return nodes

    def _beyond_system(self, survey: Survey) -> bool:
        return any(not self._is_system(node) for node in reversed(survey.lineage.path[: survey.shared]))

    def _is_system(self, node: ThreadNode) -> bool:
        """A first message that is not stored yet counts as a system message, which it mostly is."""
        return self._about.role(node.message, "system" if node.depth == 1 else "") == "system"
