"""The demo's pure parts."""

from playhead.demo.sizes import ModelExchange


def test_inline_bytes_are_those_of_messages_tools_and_answer_as_json() -> None:
    assert ModelExchange([{"a": 1}], [], "é").inline_bytes == len('[{"a": 1}]') + len('"\\u00e9"')
