"""Anthropic's own compaction: its summary is another question to the model, which the counts at the top leave out."""

from playhead.capture.anthropic.messages import read_recorded
from playhead.model import names
from playhead.model.event import TokenUsage
from playhead.model.json_value import Json
from playhead.model.models import BY_NAME
from playhead.model.usage import ModelUsage, add_usage
from playhead.projection.attributes import usage_of

USAGE: Json = {
    "input_tokens": 23_000,
    "output_tokens": 1_000,
    "iterations": [
        {"type": "compaction", "input_tokens": 180_000, "output_tokens": 3_500, "cache_read_input_tokens": 0},
        {"type": "message", "input_tokens": 23_000, "output_tokens": 1_000},
    ],
}
ANSWER: Json = {
    "id": "m1",
    "role": "assistant",
    "model": "claude-opus-4-6",
    "content": [{"type": "compaction", "content": "Summary of the conversation."}, {"type": "text", "text": "Yes."}],
    "stop_reason": "end_turn",
    "usage": USAGE,
}


def test_the_summary_is_counted_apart_and_costs():
    attributes = dict(read_recorded(ANSWER, None, {}).attributes)
    assert attributes[names.INPUT_TOKENS] == 23_000  # the size of the context that goes on
    usage = usage_of(attributes)
    assert (usage.compaction_input_tokens, usage.compaction_output_tokens) == (180_000, 3_500)
    price = BY_NAME["claude-opus-4-6"]
    assert price.cost(usage) == price.cost(TokenUsage(203_000, 4_500))
    sums: dict[tuple[str | None, str | None], ModelUsage] = {}
    add_usage(sums, "m", "m", usage)
    assert (sums["m", "m"].input_tokens, sums["m", "m"].output_tokens) == (203_000, 4_500)


def test_an_answer_in_one_iteration_has_no_such_counts():
    usage: Json = {"input_tokens": 5, "output_tokens": 2, "iterations": [{"type": "message", "input_tokens": 5}]}
    attributes = read_recorded({**ANSWER, "usage": usage}, None, {}).attributes
    assert names.COMPACTION_INPUT_TOKENS not in attributes


def test_a_stream_has_them_in_its_last_event():
    events: list[Json] = [
        {"type": "message_start", "message": {**ANSWER, "content": [], "usage": {"input_tokens": 1}}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": "Yes."}},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": USAGE},
    ]
    attributes = read_recorded({"stream": [*events]}, None, {}).attributes
    assert attributes[names.COMPACTION_INPUT_TOKENS] == 180_000
