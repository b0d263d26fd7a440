"""[read]: prices of models' tokens, and limits of their contexts, from a table that operators can replace.

The table is JSON: `date`, `source`, `currency`, and `models` by name, each with `limit` and prices per million tokens:
`input`, `output`, and, where the provider has them, `cache_read` and `cache_write`. A model's `source` says with what
its line was compared.  A model that is not in the table has an unknown price, not a price of zero.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, cast

from playhead.model.canonical import parse_json
from playhead.model.event import TokenUsage
from playhead.model.usage import ModelUsage
from playhead_collector.errors import BadSetting

SHIPPED = Path(__file__).with_name("prices.json")
_MILLION = 1_000_000
_NUMBERS = ("limit", "input", "output", "cache_read", "cache_write")
# What providers add to a model's name: a prefix for who serves it, and a suffix for its version.
_SERVED_BY = re.compile(r"^(?:.{0,200}/|(?:[a-z]{2,6}\.)?(?:anthropic|openai|google|meta|amazon)\.)")
_ISSUE = re.compile(r"(?:[-@:](?:\d{4}-\d\d-\d\d|\d{8}|\d{3,4}|latest|preview|exp|v\d{1,4}(?::\d{1,4})?)){1,4}$")


@dataclass(frozen=True, slots=True)
class Price:
    """A model in the table.  Prices are per million tokens. None: the table does not say."""

    name: str
    limit: int | None = None
    input: float | None = None
    output: float | None = None
    cache_read: float | None = None
    cache_write: float | None = None
    source: str | None = None
    """The source with which the line was compared; None: the source of the table."""

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
        return round(total / _MILLION, 10)


@dataclass(frozen=True, slots=True)
class Prices:
    """A table of prices, with its date and source."""

    date: str
    source: str
    currency: str
    models: Mapping[str, Price]

    def of(self, model: str | None) -> Price | None:
        """Returns the model's line. Looks for the exact name, then for the name without the provider prefix, then
        without the version suffix. None: the table does not have the model."""
        if model is None:
            return None
        name = model.strip().lower()
        bare = _SERVED_BY.sub("", name)
        tried = (name, bare, _ISSUE.sub("", bare))
        return next((self.models[candidate] for candidate in tried if candidate in self.models), None)

    def cost_of(self, usage: Iterable[ModelUsage]) -> float | None:
        """Returns the cost of the calls whose price is known; None if there are none."""
        costs = [self._cost_of_model(used) for used in usage]
        known_costs = [cost for cost in costs if cost is not None]
        return round(sum(known_costs), 10) if known_costs else None

    def limit_of(self, model: str | None) -> int | None:
        """Returns how many tokens the model's context may have; None when the table does not say."""
        line = self.of(model)
        return line.limit if line else None

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
    return read_prices(SHIPPED)


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


def _line(name: str, line: Any) -> Price:
    numbers = {field: line[field] for field in _NUMBERS if line.get(field) is not None}
    wrong = [field for field, value in numbers.items() if not isinstance(value, int | float) or not 0 <= value < 1e12]
    if wrong:
        raise ValueError(f"{wrong[0]} of {name} is not a number of 0 or more")
    source = line.get("source")
    return Price(name, **numbers, source=None if source is None else str(source))
