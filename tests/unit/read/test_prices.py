"""Limits of contexts, from the table of prices."""

import pytest

from playhead_collector.read.prices import Price, Prices

TABLE = Prices(
    "2026-01-01",
    "made up",
    "USD",
    {each.name: each for each in (Price("large", 200_000), Price("also-large", 200_000), Price("small", 8_000))},
)


@pytest.mark.parametrize(
    ("models", "tokens", "limit"),
    [
        (("large",), 120_000, 200_000),
        (("large", "also-large-2026-01-01"), 5, 200_000),
        (("large", "small"), 9_000, 200_000),  # the small one cannot have had as many
        (("large", "small"), 5_000, None),  # it may have been either
        (("large", "unknown"), 5_000, None),
        (("unknown",), 5_000, None),
        (("small",), 9_000, None),  # the table is older than the model
        (("large",), None, None),
        ((), 5, None),
    ],
)
def test_the_limit_of_the_largest_context_of_a_run(models: tuple[str, ...], tokens: int | None, limit: int | None):
    assert TABLE.limit_at(models, tokens) == limit
