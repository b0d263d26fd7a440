"""The exact input of a model call, also as the request body that was sent.

The SDK records how a request differs from what its canonical messages restore (attribute `playhead.exact_ref`):

    {"parent": ref | null, "place": n, "patch": [...]}     message n as a JSON Patch (RFC 6902) of its restored form,
                                                           and a link to the patches of earlier messages; with `above`,
                                                           also links to several of these, which are read together
    {"dialect", "input", "before", "messages": ref | null} for an API other than Chat Completions: the key of the
                                                           messages, how many of the first are not in the request, and
                                                           the patches.  Messages of Anthropic and Bedrock are cut, and
                                                           one of them is the system prompt: see
                                                           `playhead.dialect.anthropic`
    {"dialect": "openai_text", "input", "is_list", ...}    a text completion: the key of its prompt (none: it is among
                                                           the settings), and whether that is a list of texts
    {"dialect": "google_genai", "messages", ...}           and a `playhead.dialect.google_genai.TurnShape`

If a library builds the body from other arguments, the body itself is recorded after it was sent. `"sent": false` in a
shape: what was sent is not known, since a framework's model made the request, or (without a dialect) other
instrumentation recorded it.
"""

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, cast

import orjson

from playhead.dialect import anthropic, bedrock, google_genai, openai_chat, openai_responses
from playhead.model.canonical import canonical_json
from playhead.model.event import LlmCalled
from playhead.model.json_changes import patched
from playhead.model.json_value import list_of
from playhead.model.message import Message
from playhead.model.ref import ContentRef, is_ref
from playhead.wire.operations import ContextAt
from playhead_collector.errors import Refused
from playhead_collector.read.calls import CallEvents, LlmEnd, llm_call
from playhead_collector.read.owning_call import model_call_at
from playhead_collector.read.record import RunRecord
from playhead_collector.read.state import seq_at
from playhead_collector.read.values import ContentCache, fetch, fetch_thread

PARTS, OPENAI = "parts", "openai"


async def answer_context(record: RunRecord, at: str | None, form: str = PARTS, exact: bool = False) -> ContextAt:
    """Returns the model call to which `at` belongs, and its whole context; with `exact`, also the request's body.
    Raises Refused."""
    call = await model_call_at(record, await seq_at(record, at))
    begin = call.begin
    others = (begin.system, begin.tools, begin.request, begin.input)
    thread, cache = await fetch_thread(record.store, record.project_id, begin.thread, *others)
    answer = context_answer(record.run, call, thread, cache, form)
    if exact:
        answer["request"] = orjson.Fragment(canonical_json(await exact_request(record, call, thread, cache)))
    return answer


def context_answer(
    run: str, call: CallEvents[LlmCalled, LlmEnd], thread: Sequence[ContentRef], cache: ContentCache, form: str
) -> ContextAt:
    """Builds the answer from fetched contents."""
    begin, call_answer = call.begin, llm_call(call)
    in_form = _as_openai if form == OPENAI else ContentCache.message
    return {
        "run": run,
        "call": call_answer,
        "form": form,
        "thread": begin.thread,
        "system": cache.value(begin.system),
        "tools": cache.value(begin.tools),
        "messages": [in_form(cache, ref) for ref in thread],
        "settings": cache.value(begin.request),
        "input": cache.value(begin.input),
        "context_tokens": call_answer["usage"].get("input_tokens"),
        "missing": cache.missing,
        "masked": cache.masked,
    }


def _as_openai(cache: ContentCache, ref: ContentRef) -> Any:
    message = cache.parsed_message(ref)
    # A content that is no valid message is shown unchanged: better than nothing, and better than an error.
    return cache.message(ref) if message is None else orjson.Fragment(canonical_json(openai_chat.from_message(message)))


# --- the request's body ----------------------------------------------------------------------------------------------

_BEDROCK_TEXT = "bedrock_text"  # a model on Bedrock whose input is a single text
_OPENAI_TEXT = "openai_text"  # a text completion: its prompt is a text, or a list of texts
_DIALECTS = {
    openai_chat.NAME: openai_chat.from_message,
    openai_responses.NAME: openai_responses.from_message,
    anthropic.NAME: anthropic.from_message,
    bedrock.NAME: bedrock.from_message,
    google_genai.NAME: google_genai.from_message,
    _BEDROCK_TEXT: openai_chat.from_message,
    _OPENAI_TEXT: openai_chat.from_message,
}
_MERGED: Mapping[str, Callable[[list[Any]], tuple[Any, list[Any]]]] = {
    anthropic.NAME: anthropic.merge_turns,
    bedrock.NAME: bedrock.merge_turns,
}
_BY_OTHERS = "was recorded without its request, as other instrumentation does"
_CHAT: Mapping[str, Any] = {"dialect": openai_chat.NAME}


async def exact_request(
    record: RunRecord, call: CallEvents[LlmCalled, LlmEnd], thread: Sequence[ContentRef], cache: ContentCache
) -> dict[str, Any]:
    """Returns the request's body as JSON values. Raises Refused (404) when the body was not recorded or a part is not
    stored."""
    begin, end = call.begin, call.end
    if end is not None and end.sent is not None:
        return await _sent_body(record, begin, end.sent, end.sent_thread)
    if begin.request is None:
        raise _not_exact(begin, _BY_OTHERS)
    shape, patches = await _read_shape(record, begin, begin.exact, len(thread))
    with _readable(begin):
        return _restored_body(begin, shape, patches, thread, cache)


def _restored_body(
    begin: LlmCalled,
    shape: Mapping[str, Any],
    patches: Mapping[int, Any],
    thread: Sequence[ContentRef],
    cache: ContentCache,
) -> dict[str, Any]:
    if shape.get("sent") is False:
        by_framework = "was recorded as a framework's model got it, and what its library sent was not seen"
        raise _not_exact(begin, by_framework if "dialect" in shape else _BY_OTHERS)
    restore = _DIALECTS.get(str(shape.get("dialect")))
    if restore is None:
        raise _not_exact(begin, f"speaks {shape.get('dialect')!r}, which this collector does not know: upgrade it")
    messages = [
        _restored_message(cache, ref, restore, patches.get(place, ()), begin) for place, ref in enumerate(thread)
    ]
    body = _messages_in(shape, messages)
    if begin.system is not None:
        body["instructions"] = _or_refused(cache.parsed(begin.system), begin)
    settings = _or_refused(cache.parsed(begin.request), begin)
    if not isinstance(settings, dict):
        raise _not_exact(begin, "has a request that was not recorded whole")
    body |= cast("dict[str, Any]", settings)
    if begin.tools is not None:
        tools = _or_refused(cache.parsed(begin.tools), begin)
        _add_tools(body, tools, shape)
    return body


async def _sent_body(
    record: RunRecord, begin: LlmCalled, sent: ContentRef, thread: ContentRef | None
) -> dict[str, Any]:
    """Returns the body that a library built from its arguments: see `playhead.capture.model_call`."""
    refs, cache = await fetch_thread(record.store, record.project_id, thread)
    shape, patches = await _read_shape(record, begin, sent, len(refs))
    at = ContentRef(str(shape.get("body")))
    body = _or_refused((await fetch(record.store, record.project_id, [at])).parsed(at), begin)
    if not isinstance(body, dict) or (thread is not None and not refs):
        raise _not_exact(begin, "has a request that was not recorded whole")
    if shape.get("list") is None:
        return cast("dict[str, Any]", body)
    with _readable(begin):
        restore = openai_chat.from_message
        messages = [
            _restored_message(cache, ref, restore, patches.get(place, ()), begin) for place, ref in enumerate(refs)
        ]
    return {**cast("dict[str, Any]", body), str(shape["list"]): messages}


@contextmanager
def _readable(begin: LlmCalled) -> Generator[None]:
    """Raises Refused for requests, messages and patches that cannot be read, because recorders may send anything."""
    try:
        yield
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError) as error:
        raise _not_exact(begin, f"was recorded otherwise than it can be read ({error})") from error


def _add_tools(body: dict[str, Any], tools: object, shape: Mapping[str, Any]) -> None:
    if shape.get("dialect") == bedrock.NAME:
        body["toolConfig"] = {**(body.get("toolConfig") or {}), "tools": tools}
    else:
        body["tools"] = tools


def _messages_in(shape: Mapping[str, Any], messages: list[Any]) -> dict[str, Any]:
    if shape.get("dialect") == openai_chat.NAME:
        return {"messages": messages}
    if shape.get("dialect") == google_genai.NAME:
        contents, system = google_genai.contents_of(messages, cast("google_genai.TurnShape", shape))
        return {"contents": contents} if system is None else {"contents": contents, "systemInstruction": system}
    sent = messages[int(shape.get("before") or 0) :]
    if merge_turns := _MERGED.get(str(shape.get("dialect"))):
        system, joined = merge_turns(sent)
        return {"messages": joined} if system is None else {"messages": joined, "system": system}
    if shape.get("dialect") == _BEDROCK_TEXT:
        return {str(shape.get("input")): sent[0].get("content") if sent else ""}
    if shape.get("dialect") == _OPENAI_TEXT:
        return _prompt_in(shape, sent)
    match shape.get("input"):
        case "absent":
            return {}
        case "text":
            return {"input": sent[0].get("content") if sent else ""}
        case _:
            return {"input": sent}


def _prompt_in(shape: Mapping[str, Any], messages: list[Any]) -> dict[str, Any]:
    """Returns the prompt of a text completion; nothing if it is among the settings."""
    if shape.get("input") is None:
        return {}
    texts = [message.get("content") for message in messages]
    return {str(shape["input"]): texts if shape.get("is_list") else texts[0]}


async def _read_shape(
    record: RunRecord, begin: LlmCalled, ref: ContentRef | None, messages: int
) -> tuple[Mapping[str, Any], Mapping[int, Any]]:
    """Reads the shape of a request, and the patches by message position, from content `ref`. `messages`: the number of
    messages."""
    nodes = await _read_nodes(record, begin, ref, messages)
    shape = _CHAT
    patches: dict[int, Any] = {}
    while ref is not None:
        node = nodes[ref]
        if "patch" in node:
            place = node.get("place")
            if not isinstance(place, int):
                raise _not_exact(begin, "has content that cannot be read where its exact form should be")
            patches.setdefault(place, node["patch"])
            ref = _ref_of(node.get("parent"))
        else:
            shape, ref = node, _ref_of(node.get("messages"))
    return shape, patches


async def _read_nodes(
    record: RunRecord, begin: LlmCalled, first: ContentRef | None, messages: int
) -> Mapping[ContentRef, Mapping[str, Any]]:
    """Reads the linked list that begins with content `first`. Each step reads all nodes that the previous step
    named."""
    nodes: dict[ContentRef, Mapping[str, Any]] = {}
    named = [] if first is None else [first]
    while named:
        if len(nodes) + len(named) > messages + 1:  # the shape, and at most a patch for each message
            raise _not_exact(begin, "names more changes than it has messages")
        cache = await fetch(record.store, record.project_id, named)
        read: list[Mapping[str, Any]] = []
        for ref in named:
            node = _or_refused(cache.parsed(ref), begin)
            if not isinstance(node, dict):
                raise _not_exact(begin, "has content that cannot be read where its exact form should be")
            read.append(cast("dict[str, Any]", node))
        nodes |= zip(named, read, strict=True)
        named = list(dict.fromkeys(ref for node in read for ref in _refs_of_node(node) if ref not in nodes))
    return nodes


def _refs_of_node(node: Mapping[str, Any]) -> Iterator[ContentRef]:
    above: Any = node.get("above")
    others = list_of(above)
    for value in (node.get("parent" if "patch" in node else "messages"), *others):
        if (ref := _ref_of(value)) is not None:
            yield ref


def _ref_of(value: object) -> ContentRef | None:
    return ContentRef(value) if is_ref(value) else None


def _restored_message(cache: ContentCache, ref: ContentRef, restore: Any, patch: Any, begin: LlmCalled) -> Any:
    message = cast("Message", _or_refused(cache.parsed_message(ref), begin))
    return patched(restore(message), patch)


def _or_refused(value: object, begin: LlmCalled) -> Any:
    if value is None:
        raise _not_exact(begin, "has content that is not stored (yet)")
    return value


def _not_exact(begin: LlmCalled, why: str) -> Refused:
    message = f"the exact request of the call at {begin.seq} is not known: it {why}; ask without exact=true"
    return Refused(404, "not_exact", message)
