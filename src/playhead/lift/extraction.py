"""The content that is moved out of one span (`ExtractedContent`), and how dialects set refs in its place.

Refs are set under the names that the projector reads. Several dialects, or several attributes of one dialect, may hold
the same content of a span: the first ref stays, equal content is stored once, and other content gets a ref under its
own name (`<key>_ref`). Keys whose JSON was unreadable are noted.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

from playhead.dialect import otel_genai
from playhead.dialect.parts import provider_edits
from playhead.lift.provider_bodies import AnswerBody, RequestBody, read_answer, read_request
from playhead.model import names
from playhead.model.canonical import Content, content_of, parse_bounded
from playhead.model.json_value import JsonMapping, JsonValue, text_at
from playhead.model.message import Message, Part, message_contents
from playhead.model.names import REF_SUFFIX
from playhead.model.ref import ContentRef
from playhead.model.span import Attributes
from playhead.model.thread import node_ref
from playhead.wire.pack import ThreadExtension

# Attribute with the keys whose value looked like JSON and was not (mostly: cut off); the value is kept as text.
UNPARSED = "playhead.lift.unparsed"
# Suffix for a ref set by another program, kept when the span also had the content inline.
EXTERNAL = ".external"


class SharedThreads:
    """Caches messages and threads of spans that are lifted together: calls of a conversation repeat its messages.

    Discard it with the spans.
    """

    def __init__(self) -> None:
        self.texts: dict[tuple[str, str], Content] = {}
        self._nodes: dict[tuple[ContentRef | None, ContentRef], ContentRef] = {}

    def thread_ref(self, messages: Iterable[ContentRef]) -> ContentRef | None:
        """Returns the ref of a thread with these messages; None for an empty thread."""
        nodes, ref = self._nodes, None
        for message in messages:
            parent, ref = ref, nodes.get((ref, message))
            if ref is None:
                ref = nodes[parent, message] = node_ref(message, parent)
        return ref

    def continued(self) -> set[ContentRef]:
        """Returns the threads with which another thread of these spans begins."""
        return {parent for parent, _ in self._nodes if parent is not None}


class ExtractedContent:
    """The content that dialects moved out of one span.

    A subclass may keep contents elsewhere: it overrides `content`, `message`, `reasoning` and `thread`.
    """

    def __init__(self, shared: SharedThreads | None = None) -> None:
        """`shared`: the cache of the spans that are lifted together."""
        self._shared = shared or SharedThreads()
        self._contents: dict[ContentRef, Content] = {}
        self._threads: dict[ContentRef, ThreadExtension] = {}
        self._unparsed: list[str] = []

    @property
    def contents(self) -> list[Content]:
        """All contents, each once."""
        return list(self._contents.values())

    @property
    def threads(self) -> list[ThreadExtension]:
        """All threads, each once and with all its messages."""
        return list(self._threads.values())

    def content(self, value: object) -> ContentRef:
        """Adds any value as content and returns its ref."""
        return self._keep(content_of(value))

    def reasoning(self, value: object) -> ContentRef:
        """Adds a model's reasoning and returns its ref."""
        return self.content(value)

    def thread(self, messages: Iterable[Message]) -> ContentRef | None:
        """Adds a list of messages and returns the thread's ref; None for an empty list."""
        thread = ThreadExtension(None, tuple(map(self.message, messages)))
        ref = self._shared.thread_ref(thread.messages)
        if ref is not None:
            self._threads[ref] = thread
        return ref

    def message(self, message: Message) -> ContentRef:
        """Adds a message and returns its ref."""
        text = _only_text(message)
        if text is not None:
            cached = self._shared.texts.get(text)
            if cached is None:
                cached, *apart = message_contents(message)
                if apart:
                    return self._keep_all(cached, apart)
                self._shared.texts[text] = cached
            return self._keep(cached)
        main, *apart = message_contents(message)
        return self._keep_all(main, apart)

    def _keep_all(self, main: Content, apart: Iterable[Content]) -> ContentRef:
        for content in apart:
            self._keep(content)
        return self._keep(main)

    def keep_unparsed_text(self, key: str, raw: JsonValue) -> ContentRef:
        """Adds a value that could not be read as JSON, unchanged, notes its key, and returns its ref."""
        if key not in self._unparsed:
            self._unparsed.append(key)
        return self.content(raw)

    def mark_unparsed_keys(self, attributes: Attributes) -> None:
        """Sets the attribute UNPARSED to the keys that could not be read; nothing if all could."""
        if self._unparsed:
            attributes[UNPARSED] = self._unparsed

    def _keep(self, content: Content) -> ContentRef:
        self._contents.setdefault(content.ref, content)
        return content.ref


def _only_text(message: Message) -> tuple[str, str] | None:
    """Returns role and text of a message that has nothing else; None for other messages."""
    parts = message["parts"]
    if len(message) == 2 and len(parts) == 1:
        (part,) = parts
        text: JsonValue = part.get("content")
        if len(part) == 2 and part.get("type") == "text" and type(text) is str and type(message["role"]) is str:
            return message["role"], text
    return None


# --- refs in place of content -----------------------------------------------------------------------------------------


_JSON_STARTS: Final = ("{", "[", '"')
_TIMES_ENCODED: Final = 3
_MOST_ID_CHARACTERS: Final = 256
_RESPONSE: Final = "resp_"  # how ids of OpenAI's Responses begin


def json_or_text(raw: JsonValue) -> JsonValue:
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


def set_ref(attributes: Attributes, key: str, ref: ContentRef) -> None:
    """Sets `<key>_ref`.  Another ref that is there already (to external content) moves to `<key>_ref.external`."""
    name = key + REF_SUFFIX
    stamped = attributes.get(name)
    if stamped is not None and stamped != ref:
        attributes[name + EXTERNAL] = stamped
    attributes[name] = ref


def set_ref_attribute(attributes: Attributes, name: str, ref: ContentRef | None, key: str) -> None:
    """Sets attribute `name` to `ref`. If it already holds another ref, sets `<key>_ref` instead. Does nothing for
    None."""
    if ref is None:
        return
    if attributes.setdefault(name, ref) != ref:
        attributes[key + names.REF_SUFFIX] = ref


_VALUE_REF: Final = {False: names.INPUT_REF, True: names.OUTPUT_REF}


def extract_value(attributes: Attributes, name: str, raw: JsonValue, key: str, contents: ExtractedContent) -> None:
    """Adds a single value as content (JSON text as its value, anything else unchanged) and sets its ref."""
    if raw is None:
        return
    try:
        ref = contents.content(json_or_text(raw))
    except ValueError:
        ref = contents.keep_unparsed_text(key, raw)
    set_ref_attribute(attributes, name, ref, key)


def previous_response(attributes: Attributes) -> str | None:
    """Returns the id of the response that a model call's request continues; None if it continues none. Agent
    Framework and Microsoft.Extensions.AI write it as the conversation's id."""
    for name, beginning in ((names.PREVIOUS_RESPONSE, ""), (names.CONVERSATION, _RESPONSE)):
        value = attributes.get(name)
        if isinstance(value, str) and value and value.startswith(beginning):
            return value
    return None


def with_elsewhere(messages: Sequence[Message], response: str | None) -> Sequence[Message]:
    """Returns the messages with a part `playhead.elsewhere` before them if they continue a response: they are the new
    ones alone."""
    if response is None or not messages:
        return messages
    elsewhere: Part = {"type": "playhead.elsewhere", "previous_response_id": response}
    return [{"role": "system", "parts": [elsewhere]}, *messages]


def extract_request(attributes: Attributes, request: RequestBody, key: str, contents: ExtractedContent) -> None:
    """Sets the refs of a model's request: messages, system instructions, tools, and the rest."""
    continued = text_at(request.rest, "previous_response_id", None)
    if continued:
        attributes.setdefault(names.PREVIOUS_RESPONSE, continued)
    messages = with_elsewhere(request.messages, previous_response(attributes))
    set_ref_attribute(attributes, names.INPUT_MESSAGES_REF, contents.thread(messages), key)
    if request.system is not None:
        set_ref_attribute(attributes, names.SYSTEM_INSTRUCTIONS_REF, contents.content(request.system), key + ".system")
    if request.tools is not None:
        extract_tools(attributes, request.tools, key + ".tools", contents)
    if request.rest is not None:
        set_ref_attribute(attributes, names.REQUEST_REF, contents.content(request.rest), key + ".rest")


def extract_answer(attributes: Attributes, answer: AnswerBody, key: str, contents: ExtractedContent) -> None:
    """Sets the refs of a model's answer, its finish reasons and its response id."""
    set_ref_attribute(attributes, names.OUTPUT_MESSAGES_REF, contents.thread(answer.messages), key)
    if answer.reasoning:
        thoughts = answer.reasoning
        attributes.setdefault(names.REASONING_REF, contents.reasoning(thoughts[0] if len(thoughts) == 1 else thoughts))
    if answer.finish_reasons:
        attributes.setdefault(names.FINISH_REASONS, answer.finish_reasons)
    note_compaction(attributes, answer.messages, answer.rest)
    if answer.rest is not None:
        if isinstance(response := answer.rest.get("id"), str) and len(response) <= _MOST_ID_CHARACTERS:
            attributes.setdefault(names.RESPONSE_ID, response)
        set_ref_attribute(attributes, names.RESPONSE_REF, contents.content(answer.rest), key + ".rest")


def note_compaction(attributes: Attributes, messages: Iterable[Message], rest: JsonMapping | None = None) -> None:
    """Sets attributes for the provider's own changes of the context (compactions, edits)."""
    for name, value in provider_edits(messages, rest).items():
        attributes.setdefault(name, value)


def extract_tools(attributes: Attributes, natives: JsonValue, key: str, contents: ExtractedContent) -> None:
    """Sets the ref of tool definitions. `natives`: a list, JSON text, or a list of JSON texts."""
    read = natives if isinstance(natives, list) else otel_genai.tool_value(natives)
    listed = read if isinstance(read, list) else [read]
    tools = otel_genai.tool_definitions(otel_genai.tool_value(native) for native in listed)
    set_ref_attribute(attributes, names.TOOL_DEFINITIONS_REF, contents.content(tools), key)


def extract_input(attributes: Attributes, raw: JsonValue, key: str, contents: ExtractedContent, *, model: bool) -> bool:
    """Sets the refs of a span's input: with `model=True`, of the messages in it; without messages, of the whole value.
    Returns whether messages were found."""
    return _extract_body(attributes, raw, key, contents, model=model, answers=False)


def extract_output(
    attributes: Attributes, raw: JsonValue, key: str, contents: ExtractedContent, *, model: bool
) -> bool:
    """Does for a span's output what `extract_input` does for its input."""
    return _extract_body(attributes, raw, key, contents, model=model, answers=True)


def extract_both(
    attributes: Attributes,
    kind: str | None,
    input_key: str,
    output_key: str,
    contents: ExtractedContent,
    output_of: Callable[[JsonValue], JsonValue] | None = None,
) -> None:
    """Moves the values of two attributes: arguments and result of a tool, messages of a model call, else whole values.

    `output_of` returns the output for the value of its attribute (None: the attribute is absent).
    """
    input_value, output_value = attributes.pop(input_key, None), attributes.pop(output_key, None)
    if output_of is not None:
        output_value = output_of(output_value)
    if kind == "tool":
        extract_value(attributes, names.TOOL_ARGUMENTS_REF, input_value, input_key, contents)
        extract_value(attributes, names.TOOL_RESULT_REF, output_value, output_key, contents)
    else:
        extract_input(attributes, input_value, input_key, contents, model=kind == "llm")
        extract_output(attributes, output_value, output_key, contents, model=kind == "llm")


def _extract_body(
    attributes: Attributes, raw: JsonValue, key: str, contents: ExtractedContent, *, model: bool, answers: bool
) -> bool:
    if raw is None:
        return False
    try:
        value = json_or_text(raw)
    except ValueError:
        set_ref_attribute(attributes, _VALUE_REF[answers], contents.keep_unparsed_text(key, raw), key)
        return False
    if model and answers and (answer := read_answer(value)) is not None:
        extract_answer(attributes, answer, key, contents)
        return True
    if model and not answers and (request := read_request(value)) is not None:
        extract_request(attributes, request, key, contents)
        return True
    set_ref_attribute(attributes, _VALUE_REF[answers], contents.content(value), key)
    return False


def kind_from(attributes: Attributes, key: str, kinds: Mapping[str, str]) -> str | None:
    """Returns the kind for the attribute's value, ignoring case; None if `kinds` does not have it."""
    value: JsonValue = attributes.get(key)
    return kinds.get(value.lower()) if isinstance(value, str) else None
