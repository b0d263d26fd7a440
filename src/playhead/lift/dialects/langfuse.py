"""The Langfuse SDK (`langfuse.observation.*`, `langfuse.trace.*`)."""

import re
from collections.abc import Mapping
from typing import Final

from playhead.lift.extraction import (
    ExtractedContent,
    extract_both,
    extract_tools,
    extract_value,
    json_or_text,
    kind_from,
    set_ref_attribute,
)
from playhead.lift.provider_bodies import read_answer, read_request
from playhead.model import names
from playhead.model.json_value import JsonMapping, JsonValue
from playhead.model.span import Attributes

NAME = "langfuse"
PREFIXES = frozenset({"langfuse"})
ALIASES: Mapping[str, str] = {
    "langfuse.session.id": names.CONVERSATION,
    "langfuse.user.id": names.USER,
    "langfuse.trace.tags": names.RUN_TAGS,
    "langfuse.trace.name": names.RUN_NAME,
    "langfuse.observation.model.name": names.REQUEST_MODEL,
}
_OBSERVATION, _TRACE = "langfuse.observation.", "langfuse.trace."
_INPUT, _OUTPUT = _OBSERVATION + "input", _OBSERVATION + "output"
_KIND: Final = _OBSERVATION + "type"
_KINDS: Final = {
    "span": "step", "event": "step", "generation": "llm", "embedding": "embedding", "agent": "agent", "tool": "tool",
    "chain": "step", "retriever": "retriever", "guardrail": "guardrail", "evaluator": "step",
}  # fmt: skip
_MODEL: Final = _OBSERVATION + "model.name"
# Attributes that only generations have.
_OF_GENERATIONS: Final = (
    _MODEL, _OBSERVATION + "usage_details", _OBSERVATION + "model.parameters", _OBSERVATION + "completion_start_time",
)  # fmt: skip
_EMBEDDING_MODEL: Final = re.compile("embed", re.IGNORECASE)
_LEVEL, _STATUS_MESSAGE = _OBSERVATION + "level", _OBSERVATION + "status_message"
_ERROR_LEVELS: Final = frozenset({"ERROR", "FATAL"})
_CONTENTS: Final = {
    _OBSERVATION + "model.parameters": names.REQUEST_REF,
    _TRACE + "input": names.INPUT_REF,
    _TRACE + "output": names.OUTPUT_REF,
    _TRACE + "metadata": names.RUN_METADATA_REF,
    _OBSERVATION + "metadata": _OBSERVATION + "metadata_ref",
    _STATUS_MESSAGE: _STATUS_MESSAGE + names.REF_SUFFIX,
}
_METADATA: Final = (_OBSERVATION + "metadata.", _TRACE + "metadata.", "langfuse.experiment.")
# The JavaScript SDK puts these parts of a request to OpenAI's Responses into the metadata.
_INSTRUCTIONS, _TOOLS = _OBSERVATION + "metadata.instructions", _OBSERVATION + "metadata.tools"
_PREVIOUS: Final = _OBSERVATION + "metadata.previous_response_id"


def matches(attributes: Attributes) -> bool:
    """Recognises the dialect by any of its names."""
    return any(key.startswith("langfuse.") for key in attributes)


def kind(attributes: Attributes) -> str | None:
    """Reads the kind from `langfuse.observation.type`. The JavaScript SDK calls embeddings of OpenAI generations, too:
    they have no output, and the model of an embedding or a list of texts as input. Python's up to 3.3.0 called
    generations spans."""
    named = kind_from(attributes, _KIND, _KINDS)
    if attributes.get(_KIND) == "span" and any(name in attributes for name in _OF_GENERATIONS):
        named = "llm"
    if named == "llm" and not attributes.get(_OUTPUT):
        model = attributes.get(_MODEL)
        is_named = isinstance(model, str) and _EMBEDDING_MODEL.search(model) is not None
        if is_named or (_OUTPUT in attributes and _is_list_of_texts(attributes.get(_INPUT))):
            return "embedding"
    return named


def _is_list_of_texts(raw: JsonValue) -> bool:
    try:
        value = json_or_text(raw)
    except ValueError:
        return False
    return isinstance(value, list) and bool(value) and all(isinstance(item, str) for item in value)


def error_message(attributes: Attributes) -> str | None:
    """Returns the message of a failed observation, empty if it has none; None if it did not fail. The SDK for
    JavaScript sets a level, and leaves the span's status unset."""
    if str(attributes.get(_LEVEL)).upper() not in _ERROR_LEVELS:
        return None
    message = attributes.get(_STATUS_MESSAGE)
    return message if isinstance(message, str) else ""


def extract(attributes: Attributes, kind: str | None, contents: ExtractedContent) -> None:
    """Moves an observation's input and output: messages of a generation, arguments and result of a tool."""
    if kind == "llm":
        _extract_instructions(attributes, contents)
        if isinstance(response := attributes.get(_PREVIOUS), str) and response:
            attributes.setdefault(names.PREVIOUS_RESPONSE, response)
        attributes |= {key: _as_message(attributes[key], key) for key in (_INPUT, _OUTPUT) if key in attributes}
    extract_both(attributes, kind, _INPUT, _OUTPUT, contents)
    for key, ours in _CONTENTS.items():
        if key in attributes:
            extract_value(attributes, ours, attributes.pop(key), key, contents)
    for key in [key for key in attributes if key.startswith(_METADATA) and not key.endswith(names.REF_SUFFIX)]:
        extract_value(attributes, key + names.REF_SUFFIX, attributes.pop(key), key, contents)
    _add_tokens(attributes)


def _as_message(raw: JsonValue, key: str) -> JsonValue:
    """Returns a list with one message for a generation's bare text, which is a prompt or an answer. Text that is JSON
    is an answer, too, if it is not a form of messages. Returns any other value unchanged."""
    try:
        value = json_or_text(raw)
    except ValueError:
        return raw
    if key == _INPUT:
        is_text, role = isinstance(value, str), "user"
    else:
        is_text, role = isinstance(raw, str) and read_answer(value) is None, "assistant"
    if not is_text or not value:
        return raw
    text = value if isinstance(value, str) else raw
    return [{"role": role, "content": text}]


def _extract_instructions(attributes: Attributes, contents: ExtractedContent) -> None:
    """Moves instructions and tools of a request to OpenAI's Responses out of the metadata. Newer versions also put the
    instructions before the messages; then they stay metadata."""
    instructions = attributes.get(_INSTRUCTIONS)
    if isinstance(instructions, str) and not _has_system(attributes.get(_INPUT)):
        del attributes[_INSTRUCTIONS]
        set_ref_attribute(attributes, names.SYSTEM_INSTRUCTIONS_REF, contents.content(instructions), _INSTRUCTIONS)
    if _TOOLS in attributes:
        extract_tools(attributes, attributes.pop(_TOOLS), _TOOLS, contents)


def _has_system(raw: JsonValue) -> bool:
    try:
        request = read_request(json_or_text(raw))
    except ValueError:
        return False
    return request is not None and any(message["role"] == "system" for message in request.messages)


# --- usage ------------------------------------------------------------------------------------------------------------

_USAGE: Final = _OBSERVATION + "usage_details"
# Names of the same count: Langfuse's own, and those of the providers whose usage its SDKs forward. Dots lead into
# objects, unless there is a count under the whole name.
_TOKENS: Final = {
    names.INPUT_TOKENS: ("input", "prompt_tokens", "input_tokens"),
    names.OUTPUT_TOKENS: ("output", "completion_tokens", "output_tokens"),
    names.CACHE_READ_TOKENS: (
        "input_cached_tokens", "input_cache_read", "cache_read_input_tokens", "prompt_tokens_details.cached_tokens",
        "input_tokens_details.cached_tokens", "prompt_details.cache_read",
    ),
    names.REASONING_TOKENS: (
        "output_reasoning_tokens", "output_reasoning", "completion_tokens_details.reasoning_tokens",
        "output_tokens_details.reasoning_tokens", "completion_details.reasoning",
    ),
    names.AUDIO_INPUT_TOKENS: ("input_audio_tokens", "input_audio", "prompt_tokens_details.audio_tokens"),
    names.AUDIO_OUTPUT_TOKENS: ("output_audio_tokens", "output_audio", "completion_tokens_details.audio_tokens"),
}  # fmt: skip
# Counts that add up. Langfuse's server splits what was written to a cache by how long it is kept.
_CACHE_WRITES: Final = (
    "cache_creation_input_tokens", "input_cache_write_tokens", "input_cache_creation", "input_cache_creation_5m",
    "input_cache_creation_1h", "input_tokens_details.cache_write_tokens",
)  # fmt: skip
# Beginnings of the names of parts that are counted apart from `input` and `output`; of Anthropic's usage, also apart
# from `input_tokens`. Counts by priority repeat others.
_PARTS: Final = {
    "input": ("input_", "cache_read_input_tokens", "cache_creation_input_tokens"),
    "output": ("output_",),
    "input_tokens": ("cache_read_input_tokens", "cache_creation_input_tokens"),
}
_WHOLES: Final = frozenset({"input_tokens", "output_tokens"})
_NO_PART: Final = re.compile("(?:in|out)put_priority")


def _add_tokens(attributes: Attributes) -> None:
    try:
        usage = json_or_text(attributes.get(_USAGE))
    except ValueError:
        return
    if not isinstance(usage, dict):
        return
    for name, count in _token_counts(usage).items():
        attributes.setdefault(name, count)


def _token_counts(usage: JsonMapping) -> dict[str, int]:
    """Returns the counts by our names, where those of the input and the output are whole: Langfuse counts each token
    once, so that its `input` lacks the tokens that were read from a cache."""
    counts: dict[str, int] = {}
    for ours, theirs in _TOKENS.items():
        name = next((path for path in theirs if _count(usage, path) is not None), None)
        if name is not None:
            counts[ours] = (_count(usage, name) or 0) + _parts(usage, name)
    written = [count for name in _CACHE_WRITES if (count := _count(usage, name)) is not None]
    if written:
        counts[names.CACHE_WRITE_TOKENS] = sum(written)
    return counts


def _parts(usage: JsonMapping, whole: str) -> int:
    """Returns the number of tokens to add to a count. 0 if `total` tells that the parts are in it."""
    beginnings = _PARTS.get(whole)
    if beginnings is None or usage.get("total") == _count_of(usage, "input") + _count_of(usage, "output"):
        return 0
    named = [name for name in usage if name.startswith(beginnings) and name not in _WHOLES and not _NO_PART.match(name)]
    return sum(_count_of(usage, name) for name in named)


def _count_of(usage: JsonMapping, name: str) -> int:
    return _count(usage, name) or 0


def _count(usage: JsonMapping, path: str) -> int | None:
    value: JsonValue = usage.get(path)
    if value is None and "." in path:
        above, _, key = path.partition(".")
        inner = usage.get(above)
        value = inner.get(key) if isinstance(inner, dict) else None
    return value if type(value) is int and value >= 0 else None
