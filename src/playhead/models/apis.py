"""The APIs that a context can be written for: how their requests are made of messages, and how their answers are read.

A message has two forms: canonical (`playhead.model.message`) and native, as the API's client takes it. Anthropic and
Gemini put results of several tools into one message of the user; here, each is a message of its own, as in the record.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, Protocol, cast

from playhead.capture.anthropic import messages as anthropic_capture
from playhead.capture.google_genai import content as gemini_capture
from playhead.capture.litellm import completion as litellm_capture
from playhead.capture.model_call import ObservedResponse
from playhead.capture.openai import chat as chat_capture
from playhead.capture.openai import responses as responses_capture
from playhead.capture.stainless import answer_json, sent_json
from playhead.dialect import anthropic, google_genai, openai_chat, openai_responses
from playhead.model import names
from playhead.model.event import TokenUsage
from playhead.model.json_value import Json, JsonMapping, JsonValue, list_of, object_of
from playhead.model.message import Message

ApiName = Literal["chat", "responses", "anthropic", "gemini", "canonical"]
"""`canonical`: messages as the record has them (`playhead.model.message`), for models of `playhead.models`."""


class _Dumped(Protocol):
    """A client's object, or a message of it."""

    def model_dump(self, *, mode: str, exclude_unset: bool, warnings: bool, by_alias: bool) -> Json: ...


@dataclass(frozen=True, slots=True)
class SentMessages:
    """The messages of a request. `system`: the system prompt, where the API takes it apart from the messages; else
    None."""

    system: JsonValue
    messages: list[JsonMapping]


@dataclass(frozen=True, slots=True)
class ApiAnswer:
    """A model's answer. `usage`: as reported. `reasoning`: what stands beside the messages, e.g. the
    `reasoning_content` of Chat Completions; an empty text if there is none. `is_continued`: the server keeps the
    messages before it (`previous_response_id`)."""

    natives: Sequence[JsonMapping]
    model: str | None = None
    usage: TokenUsage = TokenUsage()
    reasoning: str = ""
    is_continued: bool = False


@dataclass(frozen=True, slots=True)
class Api:
    """One API. `to_message` and `from_message` convert one message; `cut` cuts a native message into those that are
    messages of their own; `thread` joins what is the system prompt; `request` makes the request of such a thread."""

    name: ApiName
    to_message: Callable[[JsonMapping], Message]
    from_message: Callable[[Message], JsonMapping]
    cut: Callable[[JsonMapping], Sequence[JsonMapping]]
    thread: Callable[[Sequence[JsonMapping]], list[JsonMapping]]
    request: Callable[[Sequence[JsonMapping]], SentMessages]
    read: Callable[[Json], ObservedResponse]

    def native(self, role: str, content: JsonValue) -> JsonMapping:
        """Returns the native message of a role whose content is a list, as the API takes it."""
        if self.name == "gemini":
            return {"role": "model" if role == "assistant" else role, "parts": content}
        if self.name == "canonical":
            return {"role": role, "parts": content}
        return {"role": role, "content": content}

    def result(self, call: str | None, name: str | None, result: str | list[JsonValue]) -> Message:
        """Returns the canonical message with the result of a tool call: a text, or parts as the API has them."""
        part: Json = {"type": "tool_call_response", "response": {"result": result} if self.name == "gemini" else result}
        if call is not None:
            part["id"] = call
        if name is not None and self.name == "gemini":
            part["name"] = name
        return {"role": "tool", "parts": [part]}

    def answer(self, response: object) -> ApiAnswer:
        """Reads an answer: the client's object, its JSON, or the chunks of a stream in a list. Raises ValueError for
        anything else."""
        raw = _raw(response)
        read = self.read(raw)
        if not read.messages:
            raise ValueError(f"this is no answer of the API {self.name!r}: {type(response).__name__} has no message")
        counts = read.attributes
        model = counts.get(names.RESPONSE_MODEL)
        several = read.messages if self.name == "responses" else read.messages[:1]  # of several choices, the first
        return ApiAnswer(
            [self.from_message(message) for message in several],
            model if isinstance(model, str) else None,
            usage_of(counts),
            _reasoning_text(read.reasoning),
            self.name == "responses" and bool(object_of(raw).get("previous_response_id")),
        )


def _reasoning_text(reasoning: object) -> str:
    if isinstance(reasoning, Mapping):  # several fields, each with a text: the first
        reasoning = next(iter(cast("Mapping[str, object]", reasoning).values()), None)
    return reasoning if isinstance(reasoning, str) else ""


USAGE_ATTRIBUTES: Final[Mapping[str, str]] = {
    "input_tokens": names.INPUT_TOKENS,
    "output_tokens": names.OUTPUT_TOKENS,
    "cache_read_tokens": names.CACHE_READ_TOKENS,
    "cache_write_tokens": names.CACHE_WRITE_TOKENS,
    "reasoning_tokens": names.REASONING_TOKENS,
    "compaction_input_tokens": names.COMPACTION_INPUT_TOKENS,
    "compaction_output_tokens": names.COMPACTION_OUTPUT_TOKENS,
}
"""Field of `TokenUsage` → the attribute of a call that has it."""


def usage_of(attributes: Mapping[str, object]) -> TokenUsage:
    """Returns the token usage in a call's attributes."""
    found = {name: attributes.get(attribute) for name, attribute in USAGE_ATTRIBUTES.items()}
    return TokenUsage(**{name: count for name, count in found.items() if isinstance(count, int)})


def _raw(response: object) -> Json:
    chunks = list_of(response)
    return {"stream": [as_json(chunk) for chunk in chunks]} if isinstance(response, list) else as_json(response)


def as_json(value: object) -> Json:
    """Returns the JSON of a message or an answer: a dictionary, or a client's object. Raises TypeError."""
    if isinstance(value, Mapping):
        return object_of(sent_json(dict(value)))  # pyright: ignore[reportUnknownArgumentType]
    dump = getattr(value, "model_dump", None)
    if dump is None:
        raise TypeError(f"expected a dictionary or an object of the provider's client, and got {type(value).__name__}")
    dumped: _Dumped = value  # pyright: ignore[reportAssignmentType]
    return answer_json(dumped)


# --- Chat Completions, and LiteLLM ------------------------------------------------------------------------------------


def _chat_message(native: JsonMapping) -> Message:
    """Returns the canonical message. What LiteLLM adds to an answer is no part of it, as in the record of its calls."""
    is_from_litellm = "provider_specific_fields" in native
    return litellm_capture.to_message(native) if is_from_litellm else openai_chat.to_message(native)


def _whole(native: JsonMapping) -> Sequence[JsonMapping]:
    return [native]


def _unchanged(natives: Sequence[JsonMapping]) -> list[JsonMapping]:
    return [*natives]


def _list_request(natives: Sequence[JsonMapping]) -> SentMessages:
    return SentMessages(None, [*natives])


CHAT: Final = Api(
    "chat", _chat_message, openai_chat.from_message, _whole, _unchanged, _list_request,
    chat_capture.read_recorded,
)  # fmt: skip


# --- OpenAI's Responses -----------------------------------------------------------------------------------------------


def _read_response(raw: Json) -> ObservedResponse:
    chunks = [chunk for chunk in list_of(raw.get("stream")) if isinstance(chunk, dict)]
    return responses_capture.model_response(responses_capture.joined_response(chunks) if "stream" in raw else raw)


RESPONSES: Final = Api(
    "responses", openai_responses.to_message, openai_responses.from_message, _whole, _unchanged, _list_request,
    _read_response,
)  # fmt: skip


# --- Anthropic --------------------------------------------------------------------------------------------------------


def _anthropic_cut(native: JsonMapping) -> Sequence[JsonMapping]:
    return [native] if native.get("role") == "system" else anthropic.split_turns([native])


def _anthropic_thread(natives: Sequence[JsonMapping]) -> list[JsonMapping]:
    """Joins the first messages of the system to one, as the API takes them."""
    count = _systems(natives)
    if count < 2:
        return [*natives]
    blocks: list[JsonValue] = []
    for native in natives[:count]:
        content = native.get("content")
        if isinstance(content, str):
            blocks.append({"type": "text", "text": content})
        else:
            blocks += list_of(content)
    return [{"role": "system", "content": blocks}, *natives[count:]]


def _anthropic_request(natives: Sequence[JsonMapping]) -> SentMessages:
    system, messages = anthropic.merge_turns(_anthropic_thread(natives))
    return SentMessages(system, [*messages])


def _systems(natives: Sequence[JsonMapping]) -> int:
    return next((index for index, native in enumerate(natives) if native.get("role") != "system"), len(natives))


ANTHROPIC: Final = Api(
    "anthropic", anthropic.to_message, anthropic.from_message, _anthropic_cut, _anthropic_thread, _anthropic_request,
    lambda raw: anthropic_capture.read_recorded(raw, None, {}),
)  # fmt: skip


# --- Gemini -----------------------------------------------------------------------------------------------------------


def _gemini_cut(native: JsonMapping) -> Sequence[JsonMapping]:
    if native.get("role") == "system":
        return [native]
    thread, _ = google_genai.thread_of([native])
    return thread


def _gemini_thread(natives: Sequence[JsonMapping]) -> list[JsonMapping]:
    count = _systems(natives)
    if count < 2:
        return [*natives]
    parts = [part for native in natives[:count] for part in list_of(native.get("parts"))]
    return [{"role": "system", "parts": parts}, *natives[count:]]


def _gemini_request(natives: Sequence[JsonMapping]) -> SentMessages:
    contents, system = google_genai.contents_of(_gemini_thread(natives), {})
    return SentMessages(system, contents)


GEMINI: Final = Api(
    "gemini", google_genai.to_message, google_genai.from_message, _gemini_cut, _gemini_thread, _gemini_request,
    gemini_capture.read_recorded,
)  # fmt: skip


# --- canonical messages -----------------------------------------------------------------------------------------------


def _is_no_answer(_: Json) -> ObservedResponse:
    """Canonical answers are `ModelResponse`s, whose message needs no reading."""
    return ObservedResponse([], None)


def _canonical_cut(native: JsonMapping) -> Sequence[JsonMapping]:
    if not isinstance(native.get("role"), str) or not isinstance(native.get("parts"), list):
        raise ValueError(
            "a canonical message has a role and a list of parts, such as {'type': 'text', 'content': 'hi'}"
        )
    return [native]


CANONICAL: Final = Api(
    "canonical", lambda native: cast(Message, native), lambda message: cast(JsonMapping, message), _canonical_cut,
    _unchanged, _list_request, _is_no_answer,
)  # fmt: skip


APIS: Final[Mapping[ApiName, Api]] = {api.name: api for api in (CHAT, RESPONSES, ANTHROPIC, GEMINI, CANONICAL)}
