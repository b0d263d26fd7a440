"""Answers of Gemini's API as capture reads them: what the mock server does not say, and what older clients return."""

import json
from typing import Any

import pytest

from playhead.capture.google_genai import GoogleGenAIInstrumentor, patch, unpatch
from playhead.capture.google_genai.content import assemble, json_of, read_recorded, read_response, usage_of
from playhead.model import names
from playhead.model.json_value import list_at


class Body:
    """What the client gets, as far as capture looks at it."""

    def __init__(self, body: Any):
        self.body = body


def test_usage_counts_as_the_conventions_do():
    usage = {
        "promptTokenCount": 100,
        "toolUsePromptTokenCount": 20,
        "cachedContentTokenCount": 60,
        "candidatesTokenCount": 7,
        "thoughtsTokenCount": 30,
        "totalTokenCount": 157,
        "promptTokensDetails": [{"modality": "AUDIO", "tokenCount": 90}, {"modality": "TEXT", "tokenCount": 10}],
    }
    assert usage_of(usage) == {
        names.INPUT_TOKENS: 120,
        names.OUTPUT_TOKENS: 37,
        names.CACHE_READ_TOKENS: 60,
        names.REASONING_TOKENS: 30,
        names.AUDIO_INPUT_TOKENS: 90,
    }
    assert usage_of({"promptTokenCount": 1}) == {names.INPUT_TOKENS: 1}
    assert usage_of(None) == {}


@pytest.mark.parametrize(
    ("response", "reasons"),
    [
        ({"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}}, ["content_filter"]),
        ({"candidates": [{"finishReason": "SAFETY", "safetyRatings": []}]}, ["content_filter"]),
        ({"candidates": [{"finishReason": "MAX_TOKENS", "content": {"role": "model"}}]}, ["length"]),
        ({"candidates": [{"finishReason": "OTHER"}, {"content": {"parts": [{"text": "x"}]}}]}, ["other", ""]),
        ({}, []),
    ],
)
def test_what_was_blocked_or_cut_off_has_no_message_and_says_so(response: Any, reasons: list[str]):
    read = read_recorded(response)
    assert read.attributes[names.FINISH_REASONS] == reasons
    assert len(read.messages) == sum("parts" in (each.get("content") or {}) for each in response.get("candidates", []))
    assert read.raw == response


def test_chunks_are_put_together_by_candidate():
    def chunk(index: int, *parts: Any, **more: Any) -> Any:
        return Body(json.dumps({"candidates": [{"index": index, "content": {"parts": parts}, **more}]}))

    last = Body('{"usageMetadata": {"candidatesTokenCount": 3}, "responseId": "r"}')
    first = Body('{"usageMetadata": {"promptTokenCount": 2}, "candidates": []}')
    chunks = [
        first,
        chunk(0, {"text": "a"}),
        chunk(1, {"text": "b"}),
        chunk(0, {"text": "c"}, finishReason="STOP"),
        last,
    ]
    read = assemble(chunks)
    assert read is not None
    assert [message["parts"] for message in read.messages] == [
        [{"type": "text", "content": "ac"}],
        [{"type": "text", "content": "b"}],
    ]
    assert read.attributes[names.FINISH_REASONS] == ["stop", ""]
    assert (read.attributes[names.INPUT_TOKENS], read.attributes[names.OUTPUT_TOKENS]) == (2, 3)
    assert read.attributes[names.RESPONSE_ID] == "r"
    assert len(list_at(read.raw, "stream")) == 5
    assert assemble([]) is None


def test_an_answer_of_an_older_client_is_the_json_itself():
    answer = {"candidates": [{"content": {"parts": [{"text": "x"}]}}]}
    assert json_of(answer) is answer
    read = read_response(answer)
    assert read is not None
    assert read.raw == answer


@pytest.mark.parametrize(
    "answer",
    [None, Body(None), Body(""), Body("[1]"), 5],
    ids=["none", "no body", "empty", "list", "number"],
)
def test_what_is_no_answer_is_none(answer: Any):
    assert read_response(answer) is None


def test_the_instrumentor_switches_it_on_and_off():
    from google.genai import _api_client

    instrumentor = GoogleGenAIInstrumentor()
    assert instrumentor.instrumentation_dependencies() == ("google-genai >= 1.10",)
    request = vars(_api_client.BaseApiClient)["request"]
    instrumentor.instrument(skip_dep_check=True)
    patch()
    assert vars(_api_client.BaseApiClient)["request"].__wrapped__ is request
    instrumentor.uninstrument()
    unpatch()
    assert vars(_api_client.BaseApiClient)["request"] is request
