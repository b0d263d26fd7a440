"""Playhead's strategies, each in a managed context that becomes due at the moment at which the conversation is cut."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import version

import openai

from benchmarks.compaction.conversations import CutConversation
from benchmarks.compaction.method import Method
from playhead.context import (
    Chain,
    ClearToolResults,
    Compression,
    Context,
    Hybrid,
    Keep,
    LlmSummary,
    SlidingWindow,
    Strategy,
)
from playhead.models import OpenAIModel
from playhead.testing.request import JsonObject

# Larger than any recorded run: what makes a compression due is the threshold.
_LIMIT = 1_000_000
# The share of the newest part that stays, of the conversation without its system prompt: the same for all where it can
# be set; and that of the defaults (0.3 of the limit) when their threshold (0.7 of the limit) is just reached.
KEEP, DEFAULT_KEEP = 0.3, 0.3 / 0.7


@dataclass(frozen=True, slots=True)
class OwnMethod:
    """One strategy. `strategy` is made for a number of messages that are to stay; `keep`: their share."""

    title: str
    strategy: Callable[[int], Strategy]
    keep: float = KEEP
    project: str = "Playhead"

    @property
    def version(self) -> str:
        return version("playhead")

    def compress(self, conversation: CutConversation) -> Sequence[JsonObject]:
        whole = _context(conversation, None)
        system = sum(entry.tokens for entry in whole.messages if entry.is_instruction)
        tokens = whole.stats.tokens
        policy = Compression(
            limit=_LIMIT,
            threshold=tokens,
            keep=Keep(tokens=system + round(self.keep * (tokens - system))),
            strategy=self.strategy(max(1, round(self.keep * len(conversation.before)))),
        )
        messages = _context(conversation, policy).for_model()
        return [message for message in messages if message["role"] != "system"]


def own_methods(client: openai.OpenAI) -> Iterator[Method]:
    """Yields the strategies. `client` asks the model that writes summaries."""
    model = OpenAIModel("gpt-4o", client=client)
    yield OwnMethod("`LlmSummary`, 30 %", lambda _: LlmSummary(model))
    yield OwnMethod("`LlmSummary`, default: 43 %", lambda _: LlmSummary(model), DEFAULT_KEEP)
    yield OwnMethod("`SlidingWindow`, 30 % of the messages", SlidingWindow)
    yield OwnMethod("`Hybrid`, 30 % of the messages", lambda messages: Hybrid(window=messages, model=model))
    yield OwnMethod("`ClearToolResults`, default: 3 results", lambda _: ClearToolResults())
    yield OwnMethod(
        "`Chain(ClearToolResults(), LlmSummary())`, 30 %", lambda _: Chain(ClearToolResults(), LlmSummary(model))
    )


def _context(conversation: CutConversation, policy: Compression | None) -> Context:
    context = Context(system=conversation.system, compression=policy)
    context.raw.extend(conversation.before)
    return context
