"""Chunks of a streamed completion, put together: the same as the completion that was streamed."""

from typing import Any

from playhead.capture.openai.chat import joined_completion


def chunk(*choices: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": list(choices), **more}


def completion_of(chunks: list[dict[str, Any]]) -> Any:
    return joined_completion(chunks)


def delta(index: int = 0, finish: str | None = None, **said: Any) -> dict[str, Any]:
    return {"index": index, "delta": said, "finish_reason": finish}


def test_text_is_joined():
    chunks = [chunk(delta(role="assistant", content="")), chunk(delta(content="Hel")), chunk(delta(content="lo"))]
    assert completion_of([*chunks, chunk(delta(finish="stop"))]) == {
        "id": "c1",
        "created": 1,
        "model": "m",
        "object": "chat.completion",
        "choices": [
            {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "Hello"}},
        ],
    }


def test_parallel_tool_calls_are_told_apart_by_their_index():
    def call(index: int, arguments: str, **more: Any) -> dict[str, Any]:
        return {"index": index, "function": {"arguments": arguments, **more}}

    first = [{**call(0, "", name="a"), "id": "1", "type": "function"}]
    second = [{**call(1, "{", name="b"), "id": "2", "type": "function"}]
    whole = completion_of(
        [
            chunk(delta(role="assistant", content=None)),
            chunk(delta(tool_calls=second)),
            chunk(delta(tool_calls=first)),
            chunk(delta(tool_calls=[call(0, "{}"), call(1, "}")])),
        ]
    )
    [choice] = whole["choices"]
    assert choice["message"]["tool_calls"] == [
        {"id": "1", "type": "function", "function": {"name": "a", "arguments": "{}"}},
        {"id": "2", "type": "function", "function": {"name": "b", "arguments": "{}"}},
    ]
    assert choice["message"]["content"] is None


def test_custom_tools_and_the_older_function_call_are_joined():
    custom = [{"index": 0, "id": "1", "type": "custom", "custom": {"name": "sql", "input": "select "}}]
    whole = completion_of(
        [
            chunk(delta(tool_calls=custom, function_call={"name": "f", "arguments": "{"})),
            chunk(delta(tool_calls=[{"index": 0, "custom": {"input": "1"}}], function_call={"arguments": "}"})),
        ]
    )
    message = whole["choices"][0]["message"]
    assert message["tool_calls"] == [{"id": "1", "type": "custom", "custom": {"name": "sql", "input": "select 1"}}]
    assert message["function_call"] == {"name": "f", "arguments": "{}"}


def test_choices_are_in_order_and_usage_is_the_last():
    whole = completion_of(
        [
            chunk(delta(1, content="b"), delta(0, content="a")),
            chunk(usage={"total_tokens": 1}),
            chunk(usage={"total_tokens": 2}),
        ]
    )
    assert [choice["message"]["content"] for choice in whole["choices"]] == ["a", "b"]
    assert whole["usage"] == {"total_tokens": 2}


def test_reasoning_and_refusals_are_joined():
    whole = completion_of(
        [chunk(delta(reasoning_content="I th", refusal="No")), chunk(delta(reasoning_content="ink", refusal=", no"))]
    )
    assert whole["choices"][0]["message"] == {"reasoning_content": "I think", "refusal": "No, no"}


def test_nothing_is_an_empty_completion():
    assert completion_of([]) == {"object": "chat.completion", "choices": []}


def test_pieces_of_thinking_and_text_become_elements_of_the_content():
    """As Mistral streams them: thinking as elements, the text after it as a text."""

    def thought(text: str, **more: Any) -> dict[str, Any]:
        return {"type": "thinking", "thinking": [{"type": "text", "text": text}], **more}

    pieces = ["", [thought("I ")], [thought("look.", closed=True)], "We", [{"type": "text", "text": "ll."}]]
    whole = completion_of([chunk(delta(content=piece)) for piece in pieces])
    reference = {"type": "reference", "reference_ids": [1]}
    assert whole["choices"][0]["message"]["content"] == [
        thought("I look.", closed=True),
        {"type": "text", "text": "Well."},
    ]
    mixed = completion_of([chunk(delta(content="a")), chunk(delta(content=[reference])), chunk(delta(content="b"))])
    assert mixed["choices"][0]["message"]["content"] == [
        {"type": "text", "text": "a"},
        reference,
        {"type": "text", "text": "b"},
    ]
