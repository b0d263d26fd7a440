"""Reads the texts in a chunk of a provider's stream. Chunks are objects of the providers' clients."""

from collections.abc import Callable, Iterator
from typing import Any

from playhead.models.model import ModelChunk

Pieces = Callable[[Any], Iterator[ModelChunk]]


def chat_pieces(chunk: Any) -> Iterator[ModelChunk]:
    """Of Chat Completions."""
    if not chunk.choices:
        return
    delta = chunk.choices[0].delta
    for name in ("reasoning_content", "reasoning"):  # of servers that have one of them; OpenAI has neither
        if isinstance(text := getattr(delta, name, None), str) and text:
            yield ModelChunk(reasoning=text)
            break
    if delta.content:
        yield ModelChunk(text=delta.content)


def anthropic_pieces(event: Any) -> Iterator[ModelChunk]:
    """Of Anthropic's Messages."""
    if event.type != "content_block_delta":
        return
    if event.delta.type == "text_delta":
        yield ModelChunk(text=event.delta.text)
    elif event.delta.type == "thinking_delta":
        yield ModelChunk(reasoning=event.delta.thinking)


def gemini_pieces(chunk: Any) -> Iterator[ModelChunk]:
    """Of Gemini."""
    content = chunk.candidates[0].content if chunk.candidates else None
    parts: list[Any] = (content.parts or []) if content is not None else []
    for part in parts:
        if part.text:
            yield ModelChunk(reasoning=part.text) if part.thought else ModelChunk(text=part.text)
