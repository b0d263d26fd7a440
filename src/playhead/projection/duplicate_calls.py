"""store → [projection]: which spans count as calls, where several instrumentations describe the same call.

Model calls (`merge_duplicate_calls`):

| spans | result |
|---|---|
| a model call without content and model, with others inside (`@observe(kind="llm")` around a client) | a step |
| a model call with the same content as those inside it (a framework's span around the client's) | a step |
| one request recorded by several instrumentations of clients | one of them is the call, the others give no events |
| a sibling with the same content (a framework's span that is not current during its client's call) | gives no events |
| an inner one with the same content, but without the outer span's messages (a client's telemetry) | gives no events |
| a single inner one that names a model and nothing else | gives no events |

Of several instrumentations, ours takes precedence, then the one that the program prefers, then the order of
`model.instrumentations.FAMILIES`.  A function of kind llm counts as a model call until a model call begins inside it;
then it becomes a step, and its event keeps its seq.  Two spans have the same content if their input messages, output
messages or response ids are equal, or if the tokens of the outer call equal those of the inner call or the sum of
several; for two instrumentations of clients, the same model and fitting times are enough.

Agents and tool calls (`merge_framework_spans`): frameworks with telemetry of their own make a span for each of them, in
addition to ours. Our spans give the events; theirs stay in the tree and give none.

| their span | is the same as ours if |
|---|---|
| of a tool call | the tool call ids are equal; if one has no id: one span began and ended during the other |
| of an agent | the agents have the same name, and one span began and ended during the other |

Each of our spans replaces at most one span per instrumentation: the one that began at the nearest time. Pure.
"""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from itertools import islice

from playhead.model import names
from playhead.model.event import TokenUsage
from playhead.model.instrumentations import FAMILIES, family_of, is_of_client
from playhead.projection.attributes import ref, text, usage_of
from playhead.projection.span_tree import SpanNode

_CONTENT_NAMES = (
    names.INPUT_MESSAGES_REF, names.OUTPUT_MESSAGES_REF, names.RESPONSE_REF, names.RESPONSE_ID, names.INPUT_TOKENS,
    names.OUTPUT_TOKENS,
)  # fmt: skip

# How many calls are compared with each call, by start time (of agents and tools: before and after it). Two spans of one
# call begin at nearly the same time: only calls that run in parallel can begin between them.
_AT_A_TIME = 100


class _Requests:
    """Groups of spans that describe one request, at most one per instrumentation. The span of a group with the best
    `_rank` is the call."""

    def __init__(self, calls: Iterable[SpanNode]) -> None:
        self._alike = {node.span.span_id: [node] for node in calls}

    def join(self, node_a: SpanNode, node_b: SpanNode) -> None:
        """Joins the groups of the two, unless an instrumentation has a call in both groups."""
        first, second = self._alike[node_a.span.span_id], self._alike[node_b.span.span_id]
        if {family_of(node.span.scope) for node in first} & {family_of(node.span.scope) for node in second}:
            return
        together = [*first, *second]
        best = min((node for node in together if node.kind == "llm"), key=_rank, default=None)
        for node in together:
            self._alike[node.span.span_id] = together
            if node is not best and node.kind == "llm":
                node.kind = None


def merge_duplicate_calls(nodes: Sequence[SpanNode]) -> None:
    """Sets `kind` to "step" or None on nodes whose model call another node describes. `nodes`: parents before their
    children."""
    calls = [node for node in nodes if node.kind == "llm"]
    requests = _Requests(calls)
    _merge_nested(calls, requests)
    if any(not is_ours(node) for node in calls):
        _merge_frameworks(calls)
        _merge_beside([node for node in calls if node.kind != "step"], requests)
    for node in nodes:
        above = node.parent
        if above is not None:
            node.enclosing_model_call = above if above.kind == "llm" else above.enclosing_model_call


def _merge_nested(calls: Sequence[SpanNode], requests: _Requests) -> None:
    """Merges calls with the calls inside them, innermost first: when a call becomes a step, the calls inside it count
    as inside the next outer one."""
    within: dict[str, list[SpanNode]] = {}
    for node in reversed(calls):
        inner = within.pop(node.span.span_id, [])
        node.around = bool(inner)
        if inner:
            _merge_outer(node, inner, requests)
        if node.enclosing_model_call is not None:
            same_level = [node] if node.kind == "llm" else [call for call in inner if call.kind == "llm"]
            within.setdefault(node.enclosing_model_call.span.span_id, []).extend(same_level)


def _merge_outer(outer: SpanNode, inner: Sequence[SpanNode], requests: _Requests) -> None:
    if not has_content(outer):
        outer.kind = "step"
        return
    if len(inner) == 1 and not has_content(inner[0]) and not is_ours(inner[0]) and not _is_client(inner[0]):
        inner[0].kind = None
        return
    # Our own spans never describe one call twice, and events of a call that is still open must not change.
    # A client's span may stay current after its end; then later calls have it as parent, and are not the same call.
    others = [
        node
        for node in inner
        if not (is_ours(outer) and is_ours(node)) and (not _is_client(outer) or _overlap(outer, node))
    ]
    same = [node for node in others if _is_same_model_call(outer, node) or _is_same_request(outer, node)]
    if same and _are_one_request(same) and (_is_client(outer) or _rank(outer) < min(map(_rank, same))):
        for node in same:
            requests.join(outer, node)
    elif len(same) == 1 and not is_ours(same[0]) and _has_messages(outer) > _has_messages(same[0]):
        same[0].kind = None
    elif same or (others and _is_sum_of_tokens(outer, inner)):
        outer.kind = "step"


def _are_one_request(calls: Sequence[SpanNode]) -> bool:
    """Whether these calls inside one outer call can be the same request: no two are of the same instrumentation."""
    families = {family_of(node.span.scope) for node in calls}
    return len(calls) == 1 or (len(families) == len(calls) and all(map(_is_client, calls)))


def _merge_beside(calls: Sequence[SpanNode], requests: _Requests) -> None:
    """Joins duplicates that are siblings: spans of streams, and of instrumentations that do not make their span
    current."""
    by_id: dict[str, list[SpanNode]] = {}
    by_parent: dict[str | None, list[SpanNode]] = {}
    for node in calls:
        response = text(node.span.attributes, names.RESPONSE_ID)
        if response is not None:
            by_id.setdefault(response, []).append(node)
        if _is_client(node):
            by_parent.setdefault(node.span.parent_id, []).append(node)
    for alike in by_id.values():
        _join_pairs(alike, _overlap, requests)
    for siblings in by_parent.values():
        _join_pairs(
            siblings, lambda node_a, node_b: _overlap(node_a, node_b) and _is_same_model_call(node_a, node_b), requests
        )
        _join_pairs(
            siblings, lambda node_a, node_b: _is_within(node_a, node_b) and _is_same_request(node_a, node_b), requests
        )


def _merge_frameworks(calls: Sequence[SpanNode]) -> None:
    """Sets `kind` to None on one of two spans of a request, a framework's and a client's, that are not nested."""
    clients = sorted((node for node in calls if node.kind == "llm" and (is_ours(node) or _is_client(node))), key=_start)
    for node in calls:
        if node.kind != "llm" or _is_client(node) or is_ours(node):
            continue
        first = bisect_left(clients, node.span.start_ns, key=_start)
        for other in clients[first : first + _AT_A_TIME]:
            if other.kind == "llm" and _is_within(node, other) and _is_same_model_call(node, other):
                is_fuller = _has_messages(node) > _has_messages(other) and not is_ours(other)
                (other if is_fuller else node).kind = None
                break


def _start(node: SpanNode) -> int:
    return node.span.start_ns


def _join_pairs(alike: Sequence[SpanNode], are_one: Callable[[SpanNode, SpanNode], bool], requests: _Requests) -> None:
    """Joins calls that `are_one` request and are not nested."""
    if len({family_of(node.span.scope) for node in alike}) == 1:
        return
    in_time = sorted(alike, key=_start)
    for index, call in enumerate(in_time):
        for other in in_time[index + 1 : index + _AT_A_TIME]:
            if are_one(call, other) and not _is_around(call, other):
                requests.join(call, other)


def _is_around(outer: SpanNode, inner: SpanNode) -> bool:
    above = inner.parent
    while above is not None and above is not outer:
        above = above.parent
    return above is not None


def _rank(node: SpanNode) -> int:
    """The precedence of a span's instrumentation: the lowest number wins."""
    if is_ours(node):
        return 0
    if node.span.attributes.get(names.PREFERRED) is True:
        return 1
    family = family_of(node.span.scope)
    return FAMILIES.index(family) + 2 if family is not None and is_of_client(node.span.scope) else len(FAMILIES) + 2


def has_content(node: SpanNode) -> bool:
    """Whether a span has a model call's input or output."""
    return any(name in node.span.attributes for name in _CONTENT_NAMES)


def _has_messages(node: SpanNode) -> bool:
    """Whether the span has input messages. A client's own span inside an instrumentation's span often has none."""
    return names.INPUT_MESSAGES_REF in node.span.attributes


def is_ours(node: SpanNode) -> bool:
    """Whether the span is from our own instrumentation."""
    return node.span.scope == names.SCOPE


def _is_same_model_call(outer: SpanNode, inner: SpanNode) -> bool:
    first, second = outer.span.attributes, inner.span.attributes
    for name in (names.INPUT_MESSAGES_REF, names.OUTPUT_MESSAGES_REF):
        if (thread := ref(first, name)) is not None and thread == ref(second, name):
            return True
    response = text(first, names.RESPONSE_ID)
    if response is not None and response == text(second, names.RESPONSE_ID):
        return True
    return _token_counts(usage_of(first)) is not None and _token_counts(usage_of(first)) == _token_counts(
        usage_of(second)
    )


def _is_same_request(node_a: SpanNode, node_b: SpanNode) -> bool:
    """Whether both spans are from client instrumentations, from different ones, and do not name different models."""
    if not (_is_client(node_a) and _is_client(node_b)) or family_of(node_a.span.scope) == family_of(node_b.span.scope):
        return False
    models = [text(node.span.attributes, names.REQUEST_MODEL) for node in (node_a, node_b)]
    return None in models or models[0] == models[1]


def _is_client(node: SpanNode) -> bool:
    """Whether the span is a client's request. Our spans of functions with `kind="llm"` are not: they have no model."""
    ours = is_ours(node) and names.REQUEST_MODEL in node.span.attributes
    return ours or is_of_client(node.span.scope)


def _is_sum_of_tokens(outer: SpanNode, inner: Sequence[SpanNode]) -> bool:
    tokens = [_token_counts(usage_of(node.span.attributes)) for node in inner]
    counts = [pair for pair in tokens if pair is not None]
    total = (sum(inputs for inputs, _ in counts), sum(answered for _, answered in counts))
    return bool(counts) and len(counts) == len(tokens) and _token_counts(usage_of(outer.span.attributes)) == total


def _token_counts(usage: TokenUsage) -> tuple[int, int] | None:
    if usage.input_tokens is None or usage.output_tokens is None:
        return None
    return usage.input_tokens, usage.output_tokens


def _overlap(node_a: SpanNode, node_b: SpanNode) -> bool:
    first, second = node_a.span, node_b.span
    ends = first.end_ns or first.start_ns, second.end_ns or second.start_ns
    return first.start_ns <= ends[1] and second.start_ns <= ends[0]


def _is_within(node_a: SpanNode, node_b: SpanNode) -> bool:
    """Whether one of them began and ended during the other."""
    inner, outer = sorted((node_a.span, node_b.span), key=lambda span: (span.end_ns or span.start_ns) - span.start_ns)
    return outer.start_ns <= inner.start_ns and (inner.end_ns or inner.start_ns) <= (outer.end_ns or outer.start_ns)


# --- agents and tool calls --------------------------------------------------------------------------------------------


# Attributes with the name of a call, by its kind.
_NAME_OF_KIND = {"tool": names.TOOL_NAME, "agent": names.AGENT_NAME}


def merge_framework_spans(nodes: Sequence[SpanNode]) -> None:
    """Sets `kind` to None on nodes whose agent or tool call one of our spans describes."""
    theirs = [node for node in nodes if node.kind in _NAME_OF_KIND and not is_ours(node) and not node.root]
    if not theirs:
        return
    ours = _by_name(node for node in nodes if node.kind in _NAME_OF_KIND and is_ours(node))
    stood_for: set[tuple[str, str | None]] = set()
    for node in theirs:
        for other in _nearest(ours.get(_name_of(node), []), node):
            if (other.span.span_id, node.span.scope) not in stood_for and _is_same_agent_or_tool(node, other):
                stood_for.add((other.span.span_id, node.span.scope))
                node.kind = None
                break


def _name_of(node: SpanNode) -> tuple[str, str]:
    kind = str(node.kind)
    return kind, text(node.span.attributes, _NAME_OF_KIND.get(kind, "")) or node.span.name


def _by_name(nodes: Iterable[SpanNode]) -> dict[tuple[str, str], list[SpanNode]]:
    """The nodes by kind and name, in order of their start."""
    by_name: dict[tuple[str, str], list[SpanNode]] = defaultdict(list)
    for node in sorted(nodes, key=_start):
        by_name[_name_of(node)].append(node)
    return by_name


def _nearest(ours: list[SpanNode], node: SpanNode) -> list[SpanNode]:
    """The up to 200 spans of `ours` around the node's start, the nearest first."""
    index = bisect_left(ours, _start(node), key=_start)
    near = islice(ours, max(0, index - _AT_A_TIME), index + _AT_A_TIME)
    return sorted(near, key=lambda other: (abs(_start(other) - _start(node)), other.span.span_id))


def _is_same_agent_or_tool(node_a: SpanNode, node_b: SpanNode) -> bool:
    first, second = (text(node.span.attributes, names.TOOL_CALL_ID) for node in (node_a, node_b))
    if node_a.kind == "tool" and first is not None and second is not None:
        return first == second
    return _is_within(node_a, node_b)
