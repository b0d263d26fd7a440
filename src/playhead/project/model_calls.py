"""store → [project]: which spans are model calls of their own, where several spans tell of one call.

| what is seen | what becomes of it |
|---|---|
| a model call that says nothing of a model, with others inside (`@observe(kind="llm")` around a client) | a step |
| a model call that tells the same as those inside it (a framework's span around the client's) | a step |
| the same, where the inner one is another instrumentation's and ours is around it | the inner one gives no events |
| two at a time, from two instrumentations, with one response id | the other instrumentation's gives no events |

A function of kind llm is told as a model call until one begins inside it: its event has the same seq as a step.
The same: equal input or output messages, one response id, or tokens that are the inner call's, or the sum of several's.
Pure.
"""

from collections.abc import Iterable, Sequence

from playhead.model import names
from playhead.model.event import TokenUsage
from playhead.project.attributes import ref, text, usage_of
from playhead.project.span_tree import SpanNode

_TELLS = (
    names.INPUT_MESSAGES_REF, names.OUTPUT_MESSAGES_REF, names.RESPONSE_REF, names.RESPONSE_ID, names.INPUT_TOKENS,
    names.OUTPUT_TOKENS,
)  # fmt: skip


def merge_duplicate_calls(nodes: Sequence[SpanNode]) -> None:
    """Changes the kind of places that tell of a call which another one tells of.  Parents stand before children."""
    _merge_nested(nodes)
    _merge_beside([node for node in nodes if node.kind == "llm"])
    for node in nodes:
        above = node.parent
        if above is not None:
            node.enclosing_model_call = above if above.kind == "llm" else above.enclosing_model_call


def _merge_nested(nodes: Iterable[SpanNode]) -> None:
    """Innermost first: what is around a step that was a model call is around the calls in that."""
    within: dict[str, list[SpanNode]] = {}
    for node in reversed([node for node in nodes if node.kind == "llm"]):
        inner = within.pop(node.span.span_id, [])
        node.around = bool(inner)
        if inner:
            _merge(node, inner)
        if node.enclosing_model_call is not None:
            told = [node] if node.kind == "llm" else [one for one in inner if one.kind == "llm"]
            within.setdefault(node.enclosing_model_call.span.span_id, []).extend(told)


def _merge(outer: SpanNode, inner: Sequence[SpanNode]) -> None:
    if not says_something(outer):
        outer.kind = "step"
        return
    if is_ours(outer) and all(map(is_ours, inner)):
        return  # our own never tell of one call twice, and what they tell while it happens is not taken back
    same = [node for node in inner if _is_same(outer, node)]
    if len(same) == 1 and is_ours(outer) and not is_ours(same[0]):
        same[0].kind = None
    elif same or _is_sum(outer, inner):
        outer.kind = "step"


def _merge_beside(calls: Iterable[SpanNode]) -> None:
    by_id: dict[str, list[SpanNode]] = {}
    for node in calls:
        response = text(node.span.attributes, names.RESPONSE_ID)
        if response is not None:
            by_id.setdefault(response, []).append(node)
    for alike in by_id.values():
        for kept in filter(is_ours, alike):
            for other in alike:
                if not is_ours(other) and other.kind == "llm" and _overlap(kept, other):
                    other.kind = None


def says_something(node: SpanNode) -> bool:
    """Whether a span says what a model was asked, or answered."""
    return any(name in node.span.attributes for name in _TELLS)


def is_ours(node: SpanNode) -> bool:
    """Whether our own instrumentation tells of it."""
    return node.span.scope == names.SCOPE


def _is_same(outer: SpanNode, inner: SpanNode) -> bool:
    one, other = outer.span.attributes, inner.span.attributes
    for name in (names.INPUT_MESSAGES_REF, names.OUTPUT_MESSAGES_REF):
        if (said := ref(one, name)) is not None and said == ref(other, name):
            return True
    response = text(one, names.RESPONSE_ID)
    if response is not None and response == text(other, names.RESPONSE_ID):
        return True
    return _tokens(usage_of(one)) is not None and _tokens(usage_of(one)) == _tokens(usage_of(other))


def _is_sum(outer: SpanNode, inner: Sequence[SpanNode]) -> bool:
    tokens = [_tokens(usage_of(node.span.attributes)) for node in inner]
    known = [each for each in tokens if each is not None]
    total = (sum(asked for asked, _ in known), sum(answered for _, answered in known))
    return bool(known) and len(known) == len(tokens) and _tokens(usage_of(outer.span.attributes)) == total


def _tokens(usage: TokenUsage) -> tuple[int, int] | None:
    if usage.input_tokens is None or usage.output_tokens is None:
        return None
    return usage.input_tokens, usage.output_tokens


def _overlap(one: SpanNode, other: SpanNode) -> bool:
    first, second = one.span, other.span
    ends = first.end_ns or first.start_ns, second.end_ns or second.start_ns
    return first.start_ns <= ends[1] and second.start_ns <= ends[0]
