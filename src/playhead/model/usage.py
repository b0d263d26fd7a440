"""Token usage summed by model, as far as providers reported it."""

from dataclasses import asdict, dataclass, replace
from typing import Any

from playhead.model.event import TokenUsage


@dataclass(frozen=True, slots=True)
class ModelUsage:
    """Tokens of a run's calls that requested model `asked` and were answered by `model`; None: the name is not
    known."""

    model: str | None
    asked: str | None
    input_tokens: int
    output_tokens: int
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0


def add_usage(
    sums: dict[tuple[str | None, str | None], ModelUsage], model: str | None, asked: str | None, usage: TokenUsage
) -> None:
    """Adds one call's tokens to the sums, with those of the provider's own summary of the context; a call that did not
    report both input and output is left out."""
    if usage.input_tokens is None or usage.output_tokens is None:
        return
    total = sums.get((model, asked)) or ModelUsage(model, asked, 0, 0)
    sums[model, asked] = replace(
        total,
        input_tokens=total.input_tokens + usage.input_tokens + (usage.compaction_input_tokens or 0),
        output_tokens=total.output_tokens + usage.output_tokens + (usage.compaction_output_tokens or 0),
        cache_read_tokens=total.cache_read_tokens + (usage.cache_read_tokens or 0),
        cache_write_tokens=total.cache_write_tokens + (usage.cache_write_tokens or 0),
    )


def model_usage_to_json(used: ModelUsage) -> dict[str, Any]:
    """Every field under its own name; `ModelUsage(**value)` reads it."""
    return asdict(used)
