"""The table of models: one answer for both halves."""

import pytest

from playhead.api.context_warnings import ContextWarnings
from playhead.model.models import BY_NAME, MODELS, context_limit, model_named
from playhead_collector.read.prices import shipped


@pytest.mark.parametrize(
    ("name", "limit"),
    [
        ("gpt-4", 8_192),
        ("gpt-4-0613", 8_192),
        ("gpt-4-1106-preview", 128_000),
        ("gpt-4-turbo-x", 128_000),
        ("GPT-4o-mini-2024-07-18", 128_000),
        ("gpt-4o-audio", 128_000),
        ("gpt-3.5-turbo-0613", 4_096),
        ("gpt-5.4", 1_050_000),
        ("gpt-5.9", None),
        ("o1-preview", 128_000),
        ("o1-pro", 200_000),
        ("claude-3-sonnet-20240229", 200_000),
        ("claude-opus-4-5-20251101", 200_000),
        ("anthropic/claude-sonnet-4.5", 200_000),
        ("us.anthropic.claude-sonnet-4-20250514-v1:0", 200_000),
        ("claude-opus-5", 1_000_000),
        ("claude-of-tomorrow", None),
        ("models/gemini-2.5-pro", 1_048_576),
        ("my-own-model", None),
    ],
)
def test_both_halves_know_the_same_contexts(name: str, limit: int | None):
    assert ContextWarnings(0.8, {}).window_of(name) == shipped().limit_of(name) == limit


@pytest.mark.parametrize(
    ("name", "limit"),
    [("gpt-4o", 5), ("openai/gpt-4o-2024-08-06", 5), ("gpt-4o-mini", 6), ("Served/Mine-1", 7), ("o3", 200_000)],
)
def test_what_is_configured_counts_more_than_the_table(name: str, limit: int):
    configured = {"gpt-4": 4, "gpt-4o": 5, "gpt-4o-mini": 6, "mine": 7}
    assert context_limit(name, BY_NAME, configured) == limit
    assert context_limit("gpt-4o-x", BY_NAME, {"gpt": 4}) == 4


def test_a_price_holds_for_no_other_model_of_its_family():
    assert model_named("gpt-4o-audio", BY_NAME) is None


def test_each_model_has_one_line():
    assert len(BY_NAME) == len(MODELS)
