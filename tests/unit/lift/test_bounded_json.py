"""JSON with more objects than any conversation has stays text, wherever a dialect would read it."""

import json
from typing import Any

import pytest

from playhead.lift import UNPARSED, lift
from playhead.model import names
from tests.unit.lift.spans import a_span, value

MANY: list[Any] = [{}] * 60_000

SPANS = {
    "a tool's result": {"openinference.span.kind": "TOOL", "output.value": json.dumps({"output": MANY})},
    "an answer": {"openinference.span.kind": "LLM", "output.value": json.dumps({"choices": MANY})},
    "a chain's input": {"openinference.span.kind": "CHAIN", "input.value": json.dumps(MANY)},
}


@pytest.mark.parametrize("attributes", SPANS.values(), ids=SPANS.keys())
def test_a_value_with_very_many_objects_is_kept_as_text(attributes: dict[str, Any]):
    lifted = lift(a_span(attributes))
    [key] = lifted.span.attributes[UNPARSED]
    assert attributes[key] in {value(lifted, content.ref) for content in lifted.contents}


def test_arguments_of_a_tool_call_with_very_many_objects_are_kept_as_text():
    call = "llm.output_messages.0.message.tool_calls.0.tool_call.function"
    attributes = {f"{call}.name": "search", f"{call}.arguments": json.dumps(MANY)}
    attributes |= {"openinference.span.kind": "LLM", "llm.output_messages.0.message.role": "assistant"}
    lifted = lift(a_span(attributes))
    [part] = [each for content in lifted.contents if "arguments" in (each := json.loads(content.data))]
    assert part["arguments"] == json.dumps(MANY)


def test_what_another_playhead_has_sent_on_with_very_many_objects_stays_text():
    attributes = {"playhead.output": json.dumps(MANY), names.CONTENT_INLINE: ["playhead.output"]}
    lifted = lift(a_span(attributes, scope=names.SCOPE))
    ref = lifted.span.attributes["playhead.output" + names.REF_SUFFIX]
    assert value(lifted, ref) == json.dumps(MANY)
