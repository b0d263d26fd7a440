"""Models: how many tokens fit into their contexts, and what they cost.

Both halves use this table: a program's warnings that a context is nearly full, and the collector's costs and ratios.
Prices are in US dollars per million tokens, in the provider's standard tier. A line without a source was written from
memory. Models with several prices by length have none here: a wrong cost is worse than none.

To correct a line, write its source and the month of that source behind it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, cast

if TYPE_CHECKING:
    from playhead.model.event import TokenUsage

DATE: Final = "2026-11-27"
SOURCE: Final = (
    "standard tier, per million tokens; a line with a source was checked against that, every other line is from memory "
    "and unverified: replace the table with PLAYHEAD_PRICES before relying on costs"
)
_MILLION: Final = 1_000_000
# What providers add to a model's name: a prefix for who serves it, and a suffix for its version.
_SERVED_BY = re.compile(r"^(?:.{0,200}/|(?:[a-z]{2,6}\.)?(?:anthropic|openai|google|meta|amazon)\.)")
_ISSUE = re.compile(r"(?:[-@:](?:\d{4}-\d\d-\d\d|\d{8}|\d{3,4}|latest|preview|exp|v\d{1,4}(?::\d{1,4})?)){1,4}$")


@dataclass(frozen=True, slots=True)
class ModelFacts:
    """A line of a table. `limit`: most tokens of a context. Prices are per million tokens. None: not known."""

    name: str
    limit: int | None = None
    input: float | None = None
    output: float | None = None
    cache_read: float | None = None
    cache_write: float | None = None
    source: str | None = None
    """The source with which the line was compared; None: the source of the table."""
    is_family: bool = False
    """Whether `limit` also holds for models whose names begin with this name, and that have no line of their own."""

    def cost(self, usage: TokenUsage) -> float | None:
        """Returns the cost of a call; None if a number of tokens or a price is not known.

        Cached tokens without a price of their own cost the input price.
        """
        if None in (self.input, self.output, usage.input_tokens, usage.output_tokens):
            return None
        plain, output = cast(float, self.input), cast(float, self.output)
        read, written = usage.cache_read_tokens or 0, usage.cache_write_tokens or 0
        fresh = max(0, cast(int, usage.input_tokens) - read - written)
        total = fresh * plain + cast(int, usage.output_tokens) * output
        total += read * (plain if self.cache_read is None else self.cache_read)
        total += written * (plain if self.cache_write is None else self.cache_write)
        total += (usage.compaction_input_tokens or 0) * plain + (usage.compaction_output_tokens or 0) * output
        return round(total / _MILLION, 10)


def model_named(name: str, table: Mapping[str, ModelFacts]) -> ModelFacts | None:
    """Returns the line of a model. Looks for the exact name, then for the name without the provider's prefix, then
    without the version, then with hyphens for dots (`claude-sonnet-4.5`). None: the table does not have the model."""
    exact, bare = _names(name)
    plain = _ISSUE.sub("", bare)
    tried = (exact, bare, plain, plain.replace(".", "-"))
    return next((table[candidate] for candidate in tried if candidate in table), None)


def context_limit(name: str, table: Mapping[str, ModelFacts], configured: Mapping[str, int]) -> int | None:
    """Returns how many tokens the context of a model may have; None: unknown.

    `configured`: limits by the beginning of a model's name, with or without the provider's prefix. The longest
    beginning counts, and what is configured counts more than the table.
    """
    names = _names(name)
    limit = configured.get(_longest(configured, names) or "")
    if limit is not None:
        return limit
    line = model_named(name, table)
    if line is None:
        family = _longest((each.name for each in table.values() if each.is_family), names)
        line = table[family] if family else None
    return line.limit if line else None


def _names(name: str) -> tuple[str, str]:
    exact = name.strip().lower()
    return exact, _SERVED_BY.sub("", exact)


def _longest(beginnings: Iterable[str], names: tuple[str, str]) -> str | None:
    """Returns the longest beginning of one of the names, whatever its case."""
    found = (beginning for beginning in beginnings if any(name.startswith(beginning.lower()) for name in names))
    return max(found, key=len, default=None)


# --- the table -------------------------------------------------------------------------------------------------------

_ANTHROPIC = "platform.claude.com/docs, models, as stored in late 2026"
_ANTHROPIC_OWN = f"{_ANTHROPIC}: limit, input and output; cache prices by Anthropic's factors (0.1 and 1.25 of input)"
_DEPLOYBASE = "deploybase.ai/articles/openai-pricing, March 2026, which names OpenAI's price list: input and output"
_DEPLOYBASE_CACHED = f"{_DEPLOYBASE}; cache_read from memory"
_AIMODELCALC = (
    "aimodelcalc.pages.dev/guides/openai-api-pricing.html, May 2026, which names OpenAI's price list: limit, "
)
_GITHUB = (
    "GitHub's table of models and pricing (github/docs, models-and-pricing.yml), 2026: input, cache_read and output"
)
_COMMITBRIEF = "github.com/CommitBrief/commitbrief/wiki/Provider-OpenAI, 2026-05-27, which names openai.com/api/pricing"
_PYDANTIC = "pydantic/genai-prices, openai.yml, November 2025, which names OpenAI's price list"

MODELS: Final = (
    # Anthropic. There is no line for all of them: from Opus 4.6 and Sonnet 4.6 on, a context has 1,000,000 tokens.
    ModelFacts(
        "claude-3", 200_000, source="pydantic/genai-prices, anthropic.yml, 2025: all of Claude 3", is_family=True
    ),
    ModelFacts("claude-3-haiku", 200_000, 0.25, 1.25, 0.03, 0.3),
    ModelFacts("claude-3-opus", 200_000, 15, 75, 1.5, 18.75),
    ModelFacts("claude-3-5-haiku", 200_000, 0.8, 4, 0.08, 1),
    ModelFacts("claude-3-5-sonnet", 200_000, 3, 15, 0.3, 3.75),
    ModelFacts("claude-3-7-sonnet", 200_000, 3, 15, 0.3, 3.75),
    ModelFacts("claude-haiku-4-5", 200_000, 1, 5, 0.1, 1.25, _ANTHROPIC_OWN),
    ModelFacts("claude-opus-4", 200_000, 15, 75, 1.5, 18.75),
    ModelFacts("claude-opus-4-0", 200_000, 15, 75, 1.5, 18.75),
    ModelFacts(
        "claude-opus-4-1", 200_000, 15, 75, 1.5, 18.75, "platform.claude.com/docs/en/about-claude/pricing, late 2026"
    ),
    ModelFacts("claude-opus-4-5", 200_000, 5, 25, 0.5, 6.25, _ANTHROPIC_OWN),
    ModelFacts("claude-opus-4-6", 1_000_000, 5, 25, 0.5, 6.25, _ANTHROPIC_OWN),
    ModelFacts("claude-opus-4-8", 1_000_000, 5, 25, 0.5, 6.25, _ANTHROPIC_OWN),
    ModelFacts("claude-opus-5", 1_000_000, 5, 25, 0.5, 6.25, _ANTHROPIC),
    ModelFacts("claude-opus-5-5", 1_000_000, 4, 20, 0.4, 5, _ANTHROPIC_OWN),
    ModelFacts("claude-sonnet-4", 200_000, 3, 15, 0.3, 3.75),
    ModelFacts("claude-sonnet-4-0", 200_000, 3, 15, 0.3, 3.75),
    ModelFacts("claude-sonnet-4-5", 200_000, 3, 15, 0.3, 3.75, _ANTHROPIC_OWN),
    ModelFacts("claude-sonnet-4-6", 1_000_000, 3, 15, 0.3, 3.75, _ANTHROPIC_OWN),
    ModelFacts("claude-sonnet-5", 1_000_000, 2, 10, 0.2, 2.5, _ANTHROPIC),
    ModelFacts("claude-sonnet-5-5", 1_000_000, 2, 10, 0.2, 2.5, _ANTHROPIC_OWN),
    # OpenAI.
    ModelFacts("gpt-3.5-turbo", 16_385, 0.5, 1.5, source=f"{_AIMODELCALC}input and output", is_family=True),
    # genai-prices says 16,385 here. OpenAI's page of this model said 4,096 while it was served; its 16k form was a
    # model of its own.
    ModelFacts("gpt-3.5-turbo-0613", 4_096, 1.5, 2),
    ModelFacts("gpt-3.5-turbo-1106", 16_385, 1, 2, source=_PYDANTIC),
    ModelFacts("gpt-4", 8_192, 30, 60, source=_PYDANTIC),
    ModelFacts("gpt-4-32k", 32_768, 60, 120, source=f"{_PYDANTIC}: input and output; limit from memory"),
    ModelFacts("gpt-4-turbo", 128_000, 10, 30, source=_PYDANTIC, is_family=True),
    ModelFacts("gpt-4-0125-preview", 128_000, 10, 30, source=_PYDANTIC),
    ModelFacts("gpt-4-1106-preview", 128_000, 10, 30, source=_PYDANTIC),
    ModelFacts("gpt-4.1", 1_047_576, 2, 8, 0.5, source=_GITHUB, is_family=True),
    ModelFacts("gpt-4.1-mini", 1_047_576, 0.4, 1.6, 0.1, source=_DEPLOYBASE_CACHED),
    ModelFacts("gpt-4.1-nano", 1_047_576, 0.1, 0.4, 0.025, source=_DEPLOYBASE_CACHED),
    ModelFacts("gpt-4o", 128_000, 2.5, 10, 1.25, source=_COMMITBRIEF, is_family=True),
    ModelFacts("gpt-4o-2024-05-13", 128_000, 5, 15),
    ModelFacts("gpt-4o-mini", 128_000, 0.15, 0.6, 0.075, source=_COMMITBRIEF),
    ModelFacts("gpt-5", 400_000, 1.25, 10, 0.125, source=_DEPLOYBASE_CACHED),
    ModelFacts("gpt-5-chat", 128_000, 1.25, 10, 0.125),
    ModelFacts(
        "gpt-5-codex", 400_000, 1.25, 10, 0.125, source="developers.openai.com/api/docs/models/gpt-5-codex, 2026"
    ),
    ModelFacts("gpt-5-mini", 400_000, 0.25, 2, 0.025, source=_GITHUB),
    ModelFacts("gpt-5-nano", 400_000, 0.05, 0.4, 0.005, source=_DEPLOYBASE_CACHED),
    ModelFacts("gpt-5-pro", 400_000, 15, 120, source=_PYDANTIC),
    ModelFacts("gpt-5.1", 400_000, 1.25, 10, 0.125, source=_PYDANTIC, is_family=True),
    ModelFacts("gpt-5.2", 400_000, source="vercel.com/ai-gateway/models/openai/gpt-5.2-fast, 2026: limit"),
    ModelFacts("gpt-5.4", 1_050_000, source="getmaxim.ai/bifrost, compare gpt-5.4, 2026: limit; prices by length"),
    ModelFacts(
        "o1", 200_000, 15, 60, 7.5, source=f"{_AIMODELCALC}input and output; cache_read from memory", is_family=True
    ),
    ModelFacts("o1-mini", 128_000),
    ModelFacts("o1-preview", 128_000, 15, 60, 7.5),
    ModelFacts("o3", 200_000, 2, 8, 0.5, source=_DEPLOYBASE_CACHED, is_family=True),
    ModelFacts("o3-mini", 200_000, 1.1, 4.4, 0.55, source=f"{_AIMODELCALC}input and output; cache_read from memory"),
    ModelFacts("o4-mini", 200_000, 1.1, 4.4, 0.275, source=_DEPLOYBASE_CACHED, is_family=True),
    # Google. The Pro models have two prices, by the length of the context.
    ModelFacts("gemini-1.5-flash", 1_048_576, is_family=True),
    ModelFacts("gemini-1.5-pro", 2_097_152, is_family=True),
    ModelFacts("gemini-2.0", 1_048_576, is_family=True),
    ModelFacts("gemini-2.0-flash", 1_048_576, 0.1, 0.4, 0.025),
    ModelFacts("gemini-2.5", 1_048_576, source="docs.cloud.google.com, gemini-2.5-pro, 2026: limit", is_family=True),
    ModelFacts("gemini-2.5-flash", 1_048_576, 0.3, 2.5, 0.075),
    ModelFacts("gemini-2.5-flash-lite", 1_048_576, 0.1, 0.4, 0.025),
    ModelFacts(
        "gemini-3-", 1_048_576, source="ai.google.dev, gemini-3-pro-preview, November 2025: limit", is_family=True
    ),
    ModelFacts("gemini-3.1-", 1_048_576, source="ai.google.dev, gemini-3.1-pro-preview, 2026: limit", is_family=True),
    # Served by many, at many prices.
    ModelFacts("command-r", 128_000, is_family=True),
    ModelFacts("deepseek-", 128_000, is_family=True),
    ModelFacts("llama-3.1", 131_072, is_family=True),
    ModelFacts("llama-3.3", 131_072, is_family=True),
    ModelFacts("mistral-large", 128_000, source="openrouter.ai/mistralai/mistral-large, 2026: limit", is_family=True),
)
BY_NAME: Final[Mapping[str, ModelFacts]] = {model.name: model for model in MODELS}
