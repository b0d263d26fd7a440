"""Tokens of sound that a model of OpenAI's heard and said; LiteLLM's answers are read by the same reader."""

from typing import Any

from openai.types.chat import ChatCompletion, ChatCompletionChunk

from playhead.capture.openai.chat import assemble, read_response
from playhead.model import names

_HEARD = {"audio_tokens": 40, "cached_tokens": 0}
_SAID = {"audio_tokens": 9, "reasoning_tokens": 0}
_USAGE = {
    "prompt_tokens": 50, "completion_tokens": 12, "total_tokens": 62,
    "prompt_tokens_details": _HEARD, "completion_tokens_details": _SAID,
}  # fmt: skip
_HEAD: dict[str, Any] = {"id": "c", "created": 1, "model": "gpt-audio"}


def completion(usage: dict[str, Any]) -> ChatCompletion:
    message = {"role": "assistant", "content": None, "audio": {"id": "a", "data": "", "transcript": "Hi."}}
    choice = {"index": 0, "finish_reason": "stop", "message": message}
    return ChatCompletion.construct(**_HEAD, object="chat.completion", choices=[choice], usage=usage)


def test_tokens_of_sound_are_counted_among_the_others():
    read = read_response(completion(_USAGE))
    assert read is not None
    counted = (names.INPUT_TOKENS, names.AUDIO_INPUT_TOKENS, names.OUTPUT_TOKENS, names.AUDIO_OUTPUT_TOKENS)
    assert [read.attributes[name] for name in counted] == [50, 40, 12, 9]


def test_a_stream_counts_them_in_its_last_chunk():
    chunk = ChatCompletionChunk.construct(**_HEAD, object="chat.completion.chunk", choices=[], usage=_USAGE)
    read = assemble([chunk])
    assert read is not None
    assert (read.attributes[names.AUDIO_INPUT_TOKENS], read.attributes[names.AUDIO_OUTPUT_TOKENS]) == (40, 9)


def test_a_model_that_neither_hears_nor_speaks_has_none():
    silent = {**_USAGE, "prompt_tokens_details": {"audio_tokens": 0}, "completion_tokens_details": {"audio_tokens": 0}}
    read = read_response(completion(silent))
    assert read is not None
    assert not {names.AUDIO_INPUT_TOKENS, names.AUDIO_OUTPUT_TOKENS} & {*read.attributes}
