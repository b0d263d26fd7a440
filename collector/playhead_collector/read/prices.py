"""[read]: prices of models' tokens, and limits of their contexts, from a table that operators can replace.

The built-in table is `playhead.model.models`. An operator's is JSON: `date`, `source`, `currency`, and `models` by
name, each with `limit` and prices per million tokens: `input`, `output`, and, where the provider has them, `cache_read`
and `cache_write`. A model's `source` says with what its line was compared.  A model that is not in the table has an
unknown price, not a price of zero.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Any, cast

from playhead.model.canonical import parse_json
from playhead.model.event import TokenUsage
from playhead.model.models import BY_NAME, DATE, SOURCE, ModelFacts, context_limit, model_named
from playhead.model.usage import ModelUsage
from playhead_collector.errors import BadSetting

_NUMBERS = ("limit", "input", "output", "cache_read", "cache_write")


@dataclass(frozen=True, slots=True)
class Prices:
    """A table of prices, with its date and source. `windows`: limits of contexts that count more than the table's, by
    the beginning of a model's name."""

    date: str
    source: str
    currency: str
    models: Mapping[str, ModelFacts]
    windows: Mapping[str, int] = field(default_factory=dict[str, int])

    @property
    def number(self) -> int:
        """A number of eight bytes that a table with other prices does not have."""
        lines = sorted((name, repr(model)) for name, model in self.models.items())
        return int.from_bytes(sha256(repr(lines).encode()).digest()[:8], signed=True)

    def of(self, model: str | None) -> ModelFacts | None:
        """Returns the model's line; None if the table does not have the model. See `model_named`."""
        return None if model is None else model_named(model, self.models)

    def cost_of(self, usage: Iterable[ModelUsage]) -> float | None:
        """Returns the cost of the calls whose price is known; None if there are none."""
        costs = [self._cost_of_model(used) for used in usage]
        known_costs = [cost for cost in costs if cost is not None]
        return round(sum(known_costs), 10) if known_costs else None

    def limit_of(self, model: str | None) -> int | None:
        """Returns how many tokens the model's context may have; None when neither the operator nor the table says."""
        return None if model is None else context_limit(model, self.models, self.windows)

    def limit_at(self, models: Iterable[str], tokens: int | None) -> int | None:
        """Returns the context limit of that one of `models` whose context had `tokens` tokens; None if that is
        ambiguous or unknown.

        Models with a smaller limit are ruled out. The others must all have the same limit.
        """
        if tokens is None:
            return None
        limits = {self.limit_of(model) for model in models}
        able = {limit for limit in limits if limit is None or limit >= tokens}
        return able.pop() if len(able) == 1 else None

    def _cost_of_model(self, used: ModelUsage) -> float | None:
        price = self.of(used.model) or self.of(used.asked)
        tokens = TokenUsage(used.input_tokens, used.output_tokens, used.cache_read_tokens, used.cache_write_tokens)
        return price.cost(tokens) if price else None


@lru_cache(maxsize=1)
def shipped() -> Prices:
    """Returns the built-in table."""
    return Prices(DATE, SOURCE, "USD", BY_NAME)


def read_prices(path: Path) -> Prices:
    """Reads a table from a file.  Raises BadSetting."""
    try:
        value = parse_json(path.read_bytes())
        models = cast(dict[str, Any], value["models"])
        lines = {name.lower(): _line(name.lower(), line) for name, line in models.items()}
        return Prices(str(value["date"]), str(value["source"]), str(value.get("currency", "USD")), lines)
    except OSError as error:
        why = error.strerror or str(error)
    except (ValueError, TypeError, AttributeError) as error:
        why = str(error)
    except KeyError as error:
        why = f"it does not say {error}"
    raise BadSetting(
        f"PLAYHEAD_PRICES cannot be {str(path)!r} ({why}): name a JSON file like the one that the documentation shows"
    )


def _line(name: str, line: Any) -> ModelFacts:
    numbers = {field: line[field] for field in _NUMBERS if line.get(field) is not None}
    wrong = [field for field, value in numbers.items() if not isinstance(value, int | float) or not 0 <= value < 1e12]
    if wrong:
        raise ValueError(f"{wrong[0]} of {name} is not a number of 0 or more")
    source = line.get("source")
    return ModelFacts(name, **numbers, source=None if source is None else str(source))
