"""Answers are read by the serializer of their class: the same JSON as `model_dump` gives, whatever is in them."""

from typing import Any

import pytest
from anthropic.types import Message
from anthropic.types.beta import BetaMessage
from openai.types.chat import ChatCompletion, ChatCompletionChunk
from openai.types.responses import Response

from playhead.capture.stainless import answer_json

_TEXT = {"type": "text", "text": "Hi.", "added": {"later": [1, None]}}
_MESSAGE = {"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": [_TEXT], "unknown": 1.5}
_CHOICE = {"index": 0, "finish_reason": None, "message": {"role": "assistant", "content": None, "reasoning": "Hm."}}
_CHAT = {"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": [_CHOICE]}
_DELTA = {"index": 0, "delta": {"content": "H", "tool_calls": [{"index": 0, "id": "t", "function": {"name": "f"}}]}}
_CHUNK = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [_DELTA], "usage": None}
_SCHEMA = {"type": "json_schema", "name": "n", "schema": {"type": "object"}}
_RESPONSE = {"id": "r", "object": "response", "output": [], "text": {"format": _SCHEMA}, "model": "m"}


@pytest.mark.parametrize(
    ("kind", "sent"),
    [
        (Message, _MESSAGE),
        (BetaMessage, _MESSAGE),
        (ChatCompletion, _CHAT),
        (ChatCompletionChunk, _CHUNK),
        (Response, _RESPONSE),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_an_answer_is_read_as_its_own_method_gives_it(kind: Any, sent: dict[str, Any]):
    answer = kind.construct(**sent)  # as the clients make one of what a provider sent, known to them or not
    assert answer_json(answer) == sent
    assert answer_json(answer) == answer.model_dump(mode="json", exclude_unset=True, warnings=False, by_alias=True)


def test_a_class_with_a_method_of_its_own_is_read_by_that():
    class Own(ChatCompletion):
        def model_dump(self, **_: Any) -> dict[str, Any]:
            return {"own": True}

    assert answer_json(Own.construct(**_CHAT)) == {"own": True}
