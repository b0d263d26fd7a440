"""Functions with which dialects replace content on a span by refs, under the names that the projector reads.

Several dialects, or several attributes of one dialect, may hold the same content of a span: the first ref stays, equal
content is stored once, and other content gets a ref under its own name (`<key>_ref`).
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final, cast

from playhead.dialect import otel_genai
from playhead.dialect.parts import provider_edits
from playhead.lift.found import LiftedContent
from playhead.lift.natives.bodies import AnswerBody, RequestBody, read_answer, read_request
from playhead.model import names
from playhead.model.canonical import parse_bounded
from playhead.model.message import Message
from playhead.model.ref import ContentRef
from playhead.model.span import Attributes

_JSON_STARTS: Final = ("{", "[", '"')
_TIMES_ENCODED: Final = 3
_MOST_ID_CHARACTERS: Final = 256


def parsed(raw: Any) -> Any:
    """Returns the value of a JSON text, which may have been encoded up to three times; any other value unchanged.

    Raises ValueError for a text that looks like JSON and is not (mostly: cut off), or has too many objects.
    """
    value = raw
    for _ in range(_TIMES_ENCODED):
        if isinstance(value, bytes):
            value = value.decode("utf-8", "replace")
        if not isinstance(value, str) or not value.startswith(_JSON_STARTS):
            return value
        try:
            inner = parse_bounded(value)
        except ValueError:
            if value is not raw or value.startswith('"'):
                return value
            raise
        value = inner
    return value


def stamp(attributes: Attributes, name: str, ref: ContentRef | None, key: str) -> None:
    """Sets attribute `name` to `ref`. If it already holds another ref, sets `<key>_ref` instead. Does nothing for
    None."""
    if ref is None:
        return
    if attributes.setdefault(name, ref) != ref:
        attributes[key + names.REF_SUFFIX] = ref


def stamp_value(attributes: Attributes, name: str, raw: Any, key: str, contents: LiftedContent) -> None:
    """Adds a single value as content (JSON text as its value, anything else unchanged) and sets its ref."""
    if raw is None:
        return
    try:
        ref = contents.content(parsed(raw))
    except ValueError:
        ref = contents.unparsed(key, raw)
    stamp(attributes, name, ref, key)


def stamp_request(attributes: Attributes, request: RequestBody, key: str, contents: LiftedContent) -> None:
    """Sets the refs of a model's request: messages, system instructions, tools, and the rest."""
    stamp(attributes, names.INPUT_MESSAGES_REF, contents.thread(request.messages), key)
    if request.system is not None:
        stamp(attributes, names.SYSTEM_INSTRUCTIONS_REF, contents.content(request.system), key + ".system")
    if request.tools is not None:
        stamp_tools(attributes, request.tools, key + ".tools", contents)
    if request.rest is not None:
        stamp(attributes, names.REQUEST_REF, contents.content(request.rest), key + ".rest")


def stamp_answer(attributes: Attributes, answer: AnswerBody, key: str, contents: LiftedContent) -> None:
    """Sets the refs of a model's answer, its finish reasons and its response id."""
    stamp(attributes, names.OUTPUT_MESSAGES_REF, contents.thread(answer.messages), key)
    if answer.reasoning:
        thoughts = answer.reasoning
        attributes.setdefault(names.REASONING_REF, contents.reasoning(thoughts[0] if len(thoughts) == 1 else thoughts))
    if answer.finish_reasons:
        attributes.setdefault(names.FINISH_REASONS, answer.finish_reasons)
    note_compaction(attributes, answer.messages, answer.rest)
    if answer.rest is not None:
        if isinstance(response := answer.rest.get("id"), str) and len(response) <= _MOST_ID_CHARACTERS:
            attributes.setdefault(names.RESPONSE_ID, response)
        stamp(attributes, names.RESPONSE_REF, contents.content(answer.rest), key + ".rest")


def note_compaction(attributes: Attributes, messages: Iterable[Message], rest: Mapping[str, Any] | None = None) -> None:
    """Sets attributes for the provider's own changes of the context (compactions, edits)."""
    for name, value in provider_edits(messages, rest).items():
        attributes.setdefault(name, value)


def stamp_tools(attributes: Attributes, natives: Any, key: str, contents: LiftedContent) -> None:
    """Sets the ref of tool definitions. `natives`: a list, JSON text, or a list of JSON texts."""
    listed = cast(list[Any], natives) if isinstance(natives, list) else [natives]
    tools = otel_genai.tool_definitions(otel_genai.tool_value(native) for native in listed)
    stamp(attributes, names.TOOL_DEFINITIONS_REF, contents.content(tools), key)


def stamp_input(attributes: Attributes, raw: Any, key: str, contents: LiftedContent, *, model: bool) -> bool:
    """Sets the refs of a span's input: with `model=True`, of the messages in it; without messages, of the whole value.
    Returns whether messages were found."""
    return _stamp_body(attributes, raw, key, contents, model=model, answers=False)


def stamp_output(attributes: Attributes, raw: Any, key: str, contents: LiftedContent, *, model: bool) -> bool:
    """Does for a span's output what `stamp_input` does for its input."""
    return _stamp_body(attributes, raw, key, contents, model=model, answers=True)


def _stamp_body(
    attributes: Attributes, raw: Any, key: str, contents: LiftedContent, *, model: bool, answers: bool
) -> bool:
    if raw is None:
        return False
    try:
        value = parsed(raw)
    except ValueError:
        stamp(attributes, _REF[answers], contents.unparsed(key, raw), key)
        return False
    if model and answers and (answer := read_answer(value)) is not None:
        stamp_answer(attributes, answer, key, contents)
        return True
    if model and not answers and (request := read_request(value)) is not None:
        stamp_request(attributes, request, key, contents)
        return True
    stamp(attributes, _REF[answers], contents.content(value), key)
    return False


_REF: Final = {False: names.INPUT_REF, True: names.OUTPUT_REF}
