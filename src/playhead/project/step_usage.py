"""store → [project]: tokens of embeddings and rerankers, each request's once."""

from dataclasses import replace

from playhead.model import names
from playhead.model.event import TokenUsage
from playhead.project.attributes import model_of, text, usage_of
from playhead.project.span_tree import SpanNode

# Providers report tokens for these, though they have no conversation.
_WITH_USAGE = frozenset({"embedding", "retriever"})


def asked_model(node: SpanNode) -> str | None:
    """The model that an embedding or a reranker asked for; None for other calls."""
    return model_of(node.span.attributes) if node.kind in _WITH_USAGE else None


def answering_model(node: SpanNode) -> str | None:
    """The model that answered an embedding or a reranker, else the one that it asked for; None for other calls."""
    return (text(node.span.attributes, names.RESPONSE_MODEL) if node.kind in _WITH_USAGE else None) or asked_model(node)


class StepUsage:
    """Of such calls inside each other (a framework's span around the client's), the innermost that reported tokens has
    them.  Calls end after those inside them."""

    def __init__(self) -> None:
        # Open calls inside which another one has reported its tokens.
        self._reported_inside: set[str] = set()

    def ended(self, node: SpanNode) -> TokenUsage | None:
        """The tokens that count for a step which ends now; None without any."""
        if node.kind not in _WITH_USAGE:
            return None
        usage = usage_of(node.span.attributes)
        is_counted = node.span.span_id in self._reported_inside
        self._reported_inside.discard(node.span.span_id)
        if not is_counted and usage.input_tokens is None:
            return None
        above = node.parent
        while above is not None and above.kind not in _WITH_USAGE:
            above = above.parent
        if above is not None:
            self._reported_inside.add(above.span.span_id)
        return None if is_counted else replace(usage, output_tokens=usage.output_tokens or 0)
