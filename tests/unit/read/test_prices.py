"""Limits of contexts, from the table of prices."""

from dataclasses import replace

import pytest

from playhead.model.models import ModelFacts
from playhead_collector.read.prices import Prices

TABLE = Prices(
    "2026-01-01",
    "made up",
    "USD",
    {
        each.name: each
        for each in (ModelFacts("large", 200_000), ModelFacts("also-large", 200_000), ModelFacts("small", 8_000))
    },
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


def test_what_an_operator_says_of_contexts_counts_more_than_the_table():
    table = replace(TABLE, windows={"large": 7})
    assert [table.limit_of(name) for name in ("large", "served/large-2026", "small", "unknown", None)] == [
        7, 7, 8_000, None, None,
    ]  # fmt: skip
