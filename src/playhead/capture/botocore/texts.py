"""APIs with one text as the request and one as the answer: Llama, older Mistral, Cohere Command, Titan Text."""

import copy
from collections.abc import Mapping, Sequence
from typing import Any, Self, cast

from playhead.capture.botocore.converse import PROVIDER
from playhead.capture.model_values import ModelRequest, ModelResponse
from playhead.dialect import openai_chat
from playhead.errors import CannotRestore
from playhead.model import names
from playhead.model.message import Message, text_message

_KEYS = ("prompt", "inputText", "message")
"""Keys of the request's text.  Requests with `message` (Cohere's) also contain the earlier messages."""
_REQUEST_ATTRIBUTES = {
    "temperature": names.REQUEST_TEMPERATURE,
    "top_p": names.REQUEST_TOP_P,
    "p": names.REQUEST_TOP_P,
    "max_gen_len": names.REQUEST_MAX_TOKENS,
    "max_tokens": names.REQUEST_MAX_TOKENS,
}
_TEXTS = ("generation", "outputText", "text", "completion")
"""Keys of the answer's text, which is at the top, or in the first item of one of `_LISTS`."""
_LISTS = ("outputs", "results", "generations")
_REASONS = ("stop_reason", "finish_reason", "completionReason")
_USAGE = {
    "prompt_token_count": names.INPUT_TOKENS,
    "inputTextTokenCount": names.INPUT_TOKENS,
    "generation_token_count": names.OUTPUT_TOKENS,
    "tokenCount": names.OUTPUT_TOKENS,
    "totalOutputTextTokenCount": names.OUTPUT_TOKENS,
}
_COHERE_ROLES = {"USER": "user", "CHATBOT": "assistant", "SYSTEM": "system"}
DIALECT = "bedrock_text"


class OneText:
    """An API with one text as request and answer; see `families.Family`."""

    def __init__(self, key: str):
        self._key = key

    @classmethod
    def of(cls, body: Mapping[str, Any]) -> Self | None:
        """Returns the API of a request; None if the request has no text."""
        key = next((key for key in _KEYS if isinstance(body.get(key), str)), None)
        return None if key is None else cls(key)

    def read_request(self, model: str, body: dict[str, Any]) -> ModelRequest:
        settings = {name: value for name, value in body.items() if name != self._key}
        attributes = {to: body[name] for name, to in _REQUEST_ATTRIBUTES.items() if body.get(name) is not None}
        earlier = _earlier(body) if self._key == "message" else []
        return ModelRequest(
            provider=PROVIDER,
            operation="chat",
            model=model,
            messages=[*earlier, {"role": "user", "content": body[self._key]}],
            to_message=openai_chat.to_message,
            from_message=openai_chat.from_message,
            settings=settings,
            attributes=attributes,
            shape={"dialect": DIALECT, "input": self._key, "before": len(earlier)},
        )

    def whole(self, chunks: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        texts: list[str] = []
        answer: dict[str, Any] = {}
        for chunk in chunks:
            path = _text_path(chunk)
            if path is not None and isinstance(text := path[0].get(path[1]), str):
                texts.append(text)
            flat = _flat(chunk)
            answer |= {name: value for name, value in flat.items() if value is not None and name not in _TEXTS}
        return {**answer, "text": "".join(texts)}

    def read_answer(self, answer: Mapping[str, Any], raw: Any) -> ModelResponse:
        path = _text_path(answer)
        text: Any = path[0].get(path[1]) if path is not None else None
        messages: list[Message] = [text_message("assistant", text)] if isinstance(text, str) else []
        flat = _flat(answer)
        attributes: dict[str, Any] = {to: flat[name] for name, to in _USAGE.items() if isinstance(flat.get(name), int)}
        if reason := next((flat[name] for name in _REASONS if flat.get(name)), None):
            attributes[names.FINISH_REASONS] = [str(reason).lower()]
        return ModelResponse(messages, raw, attributes=attributes)

    def with_message(self, recorded: Sequence[Any], message: Any, *, streamed: bool) -> list[Any]:
        content = cast("Mapping[str, Any]", message).get("content") if isinstance(message, Mapping) else message
        if not recorded or not isinstance(content, str):
            raise CannotRestore(
                "this model's answer is one text, and none was recorded to put it into: give the outcome as "
                '{"result": ...}'
            )
        changed = copy.deepcopy(recorded[0])
        path = _text_path(changed)
        if path is None:
            raise CannotRestore('the form of the recorded answer is not known: give the outcome as {"result": ...}')
        cast("dict[str, Any]", path[0])[path[1]] = content
        return [changed, *([recorded[-1]] if streamed and len(recorded) > 1 and not _says(recorded[-1]) else [])]

    def with_messages(self, body: dict[str, Any], messages: Sequence[Any]) -> dict[str, Any] | None:
        if len(messages) != 1 or not isinstance(messages[0].get("content"), str):
            return None
        return {**body, self._key: messages[0]["content"]}


def _earlier(body: Mapping[str, Any]) -> list[Any]:
    """Returns Cohere's preamble (the system prompt) and the earlier messages."""
    messages: list[Any] = []
    if isinstance(preamble := body.get("preamble"), str):
        messages.append({"role": "system", "content": preamble})
    for entry in body.get("chat_history") or ():
        role = str(entry.get("role"))
        messages.append({"role": _COHERE_ROLES.get(role.upper(), role.lower()), "content": entry.get("message") or ""})
    return messages


def _text_path(answer: Mapping[str, Any]) -> tuple[Mapping[str, Any], str] | None:
    """Returns the object that has the answer's text, and the key of the text; None if there is none."""
    for name in _LISTS:
        several = answer.get(name)
        if isinstance(several, list) and several and isinstance(several[0], dict):
            return _text_path(cast("dict[str, Any]", several[0]))
    key = next((key for key in _TEXTS if key in answer), None)
    return None if key is None else (answer, key)


def _says(chunk: Mapping[str, Any]) -> bool:
    path = _text_path(chunk)
    return path is not None and bool(path[0].get(path[1]))


def _flat(answer: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the answer's values and those of the first item of each of its lists."""
    flat = dict(answer)
    for name in _LISTS:
        several = flat.pop(name, None)
        if isinstance(several, list) and several and isinstance(several[0], dict):
            flat |= cast("dict[str, Any]", several[0])
    return flat
