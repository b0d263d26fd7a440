"""Spans with ten thousand attributes: lifting takes time in proportion to them, whatever they are called."""

import pytest

from playhead.lift import lift
from tests.support.processor_time import assert_takes_at_most
from tests.unit.lift.spans import a_span

NAMES = [
    "x.{}",
    "llm.input_messages.{}.message.content",
    "llm.output_messages.0.message.contents.{}.message_content.text",
    "gen_ai.prompt.{}.content",
    "gen_ai.completion.0.tool_calls.{}.arguments",
    "llm.request.functions.{}.description",
    "retrieval.documents.{}.document.content",
    "llm.input_messages." + "0." * 20 + "{}",
    "traceloop.association.properties.{}",
    "logfire.{}",
]


@pytest.mark.parametrize("name", NAMES)
def test_ten_times_as_many_attributes_take_about_ten_times_as_long(name: str):
    few, many = ({name.format(n): f"text {n}" for n in range(count)} for count in (1_000, 10_000))
    extra = {"openinference.span.kind": "LLM"}
    # A square would take a hundred times as long.
    assert_takes_at_most(40, lambda: lift(a_span(many | extra)), lambda: lift(a_span(few | extra)))
    lifted = lift(a_span(many | extra))
    assert lifted.span.span_id == "b" * 16


def test_a_gap_in_indexed_names_leaves_the_order():
    """SDKs drop the oldest attributes beyond a limit."""
    attributes = {f"llm.input_messages.{n}.message.content": str(n) for n in (9, 30, 10)}
    lifted = lift(a_span(attributes | {"openinference.span.kind": "LLM"}))
    [thread] = lifted.threads
    said = [content.data for ref in thread.messages for content in lifted.contents if content.ref == ref]
    assert [b'"9"' in data or b'"10"' in data or b'"30"' in data for data in said] == [True] * 3
    assert [data.split(b'"content":"')[1].split(b'"')[0] for data in said] == [b"9", b"10", b"30"]
