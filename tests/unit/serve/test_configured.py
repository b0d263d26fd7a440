"""What an operator configures is checked at the start, and told in a sentence."""

import json
from pathlib import Path
from typing import Any

import pytest

from playhead_collector.app import configured
from playhead_collector.errors import BadSetting
from playhead_collector.read.prices import shipped
from playhead_collector.settings import load


def test_by_default_nothing_is_sent_to_any_model_and_the_table_is_ours():
    found = configured(load({}))
    assert (found.explainer, found.reasoning_tag, found.prices) == (None, "reasoning", shipped())


def test_a_model_a_tag_and_a_table_can_be_chosen(tmp_path: Path):
    prices = tmp_path / "prices.json"
    prices.write_text(json.dumps({"date": "2026-01-01", "source": "us", "models": {}}))
    environ = {
        "PLAYHEAD_PRICES": str(prices),
        "PLAYHEAD_REASONING_TAG": "think",
        "PLAYHEAD_EXPLAIN_URL": "http://127.0.0.1:1/v1/",
        "PLAYHEAD_EXPLAIN_MODEL": "small",
    }
    found = configured(load(environ))
    assert found.explainer is not None
    assert (found.explainer.model, found.reasoning_tag, found.prices.source) == ("small", "think", "us")


@pytest.mark.parametrize(
    ("environ", "says"),
    [
        ({"PLAYHEAD_EXPLAIN_URL": "http://x/v1"}, "belong together"),
        ({"PLAYHEAD_EXPLAIN_MODEL": "m"}, "set both, or neither"),
        ({"PLAYHEAD_PRICES": "/no/such/file.json"}, "PLAYHEAD_PRICES cannot be '/no/such/file.json'"),
    ],
)
def test_what_cannot_be_used_ends_the_start(environ: dict[str, Any], says: str):
    with pytest.raises(BadSetting, match=says):
        configured(load(environ))
