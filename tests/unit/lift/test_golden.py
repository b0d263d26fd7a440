"""Spans as they come in, and what becomes of them: the files beside each other under tests/golden/lift."""

import dataclasses
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from playhead.lift import lift
from playhead.model.canonical import value_of
from playhead.model.span import Span, SpanEvent
from tests.unit.lift.spans import thread_to_json

GOLDEN = Path(__file__).parents[2] / "golden" / "lift"
SPANS = sorted(path.name.removesuffix(".span.json") for path in GOLDEN.glob("*.span.json"))


def read_span(path: Path) -> Span:
    fields: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    fields["events"] = [SpanEvent(**event) for event in fields.get("events", ())]
    return Span(**fields)


@pytest.mark.parametrize("name", SPANS)
def test_a_span_is_lifted_as_its_golden_file_says(name: str, golden: Callable[[str, str], None]):
    lifted = lift(read_span(GOLDEN / f"{name}.span.json"))
    value = {
        "span": dataclasses.asdict(lifted.span),
        "contents": {
            content.ref: {"media_type": content.media_type, "value": value_of(content)} for content in lifted.contents
        },
        "threads": [thread_to_json(thread) for thread in lifted.threads],
    }
    golden(f"lift/{name}.lifted.json", json.dumps(value, indent=2, ensure_ascii=False) + "\n")


def test_the_spans_that_matter_have_golden_files():
    assert set(SPANS) >= {"chat_with_tool_calls", "execute_tool", "invoke_agent", "own_llm"}
