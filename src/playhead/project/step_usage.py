"""store → [project]: counts the tokens of embeddings and rerankers, once for each request."""

from dataclasses import replace

from playhead.model import names
from playhead.model.event import TokenUsage
from playhead.project.attributes import model_of, text, usage_of
from playhead.project.span_tree import SpanNode

# Kinds of calls for which providers report tokens although they have no conversation.
_WITH_USAGE = frozenset({"embedding", "retriever"})


def asked_model(node: SpanNode) -> str | None:
    """The requested model of an embedding or a reranker; None for other calls."""
    return model_of(node.span.attributes) if node.kind in _WITH_USAGE else None


def answering_model(node: SpanNode) -> str | None:
    """The model that answered an embedding or a reranker, or if unknown the requested one; None for other calls."""
    return (text(node.span.attributes, names.RESPONSE_MODEL) if node.kind in _WITH_USAGE else None) or asked_model(node)


class StepUsage:
    """Counts tokens once where such calls are nested (a framework's span around the client's): for the innermost that
    reported them.  Call `ended` for inner calls before outer ones."""

    def __init__(self) -> None:
        # Open calls inside which another one has reported its tokens.
        self._reported_inside: set[str] = set()

    def ended(self, node: SpanNode) -> TokenUsage | None:
        """The tokens to count for a step that ends now; None if it reported none or an inner call has counted them."""
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
