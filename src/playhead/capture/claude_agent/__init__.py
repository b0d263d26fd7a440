"""The Claude Agent SDK: each prompt to Claude Code is an agent. Its model calls and tools are read from Claude Code's
messages.

Claude Code is another process, which calls the model itself. The program's own tools, those of MCP servers that run in
its process (`create_sdk_mcp_server`), are called with MCP messages. The answer to such a message is recorded, and
returned again on resume; nothing else is answered from the record.
"""

import inspect
import json
from collections.abc import AsyncGenerator, AsyncIterable, Awaitable, Callable, Mapping
from typing import Any, Protocol
from weakref import WeakKeyDictionary

from playhead.calls.functions import NO_RESULT, EventStreamReader, iterate_async
from playhead.calls.lifecycle import as_current, current_span, detach, enter, fail, set_payload
from playhead.calls.span import ObservedSpan
from playhead.capture.claude_agent.turn import ClaudeTurn, system_message
from playhead.capture.frameworks.observing import (
    StartSpan,
    agent,
    call_async,
    is_observed,
    log_errors_and_return_none,
    tool,
)
from playhead.capture.mcp import trace_context
from playhead.capture.patching import Instrumentation, Wrap
from playhead.capture.wrapping import MethodCall, intercepted
from playhead.errors import RunStopped
from playhead.model import names
from playhead.model.json_value import Json, JsonValue, object_at, object_of, objects_at
from playhead.model.span import STATUS_ERROR

SUPPORTS = "claude-agent-sdk >= 0.2.160"

_NAME = "claude"
_Prompt = str | AsyncIterable[Json]


class _SdkClient(Protocol):
    options: object


class _SdkConnection(Protocol):
    """The SDK's connection to Claude Code."""

    sdk_mcp_servers: Mapping[str, object]


turn_spans: WeakKeyDictionary[object, ObservedSpan] = WeakKeyDictionary()
"""The SDK's connection → span of the current turn, for clients with several turns."""


class _ClaudeSession:
    """The conversation of one `query()`, or of one client in all its turns.  Its methods do not raise."""

    def __init__(self, options: object):
        configs = object_of(getattr(options, "mcp_servers", None))
        own_names = [name for name, server in configs.items() if isinstance(server, dict) and "instance" in server]
        self._own_tools = tuple(f"mcp__{name}__" for name in own_names)
        self._messages = [system_message(getattr(options, "system_prompt", None))]
        self._span: ObservedSpan | None = None
        self.turn: ClaudeTurn | None = None
        """The current turn; None: there is none, or it is not recorded."""

    def begin(self, prompt: object) -> ObservedSpan | None:
        """Begins a turn.  Returns its span, or None if the turn is not recorded."""
        text = prompt if isinstance(prompt, str) else None
        if text is not None:
            self.add_prompt(text)
        self._span = span = agent(_NAME, text)()
        self.turn = None if span is None else ClaudeTurn(span, self._messages, self._own_tools)
        return span

    @log_errors_and_return_none
    def add_prompt(self, content: JsonValue) -> None:
        """Adds the program's prompt to the conversation."""
        if self._span is not None and names.INPUT_REF not in self._span.attributes:
            set_payload(self._span, names.INPUT_REF, {"input": content})
        self._messages.append({"role": "user", "content": content})

    async def noting(self, prompts: AsyncIterable[Json]) -> AsyncGenerator[Json, None]:
        """Yields the program's prompts, and adds each to the conversation."""
        async for prompt in prompts:
            self._note(prompt)
            yield prompt

    @log_errors_and_return_none
    def _note(self, prompt: Json) -> None:
        self.add_prompt(object_at(prompt, "message")["content"])


# --- query() ----------------------------------------------------------------------------------------------------------


@intercepted
def _process_query(function: Callable[..., AsyncGenerator[object, None]], called: MethodCall) -> object:
    query = _read_query(called)
    if query is None:
        return called.make(function)
    session, prompt, more = query
    noted_prompt = prompt if isinstance(prompt, str) else session.noting(prompt)
    reader = EventStreamReader(
        lambda _, message: _take(session, message), lambda _: []
    )  # its answers are never replayed
    return iterate_async(
        lambda: session.begin(prompt), names.OUTPUT_REF, _ending(session, function(noted_prompt, **more)), reader
    )


@log_errors_and_return_none
def _read_query(called: MethodCall) -> tuple[_ClaudeSession, _Prompt, Mapping[str, object]]:
    parameters = called.arguments("prompt", "options", "transport")
    prompt: _Prompt = parameters.pop("prompt")
    return _ClaudeSession(parameters.get("options")), prompt, parameters


async def _ending(session: _ClaudeSession, messages: AsyncGenerator[object, None]) -> AsyncGenerator[object, None]:
    """Yields the messages, then ends the open calls inside the turn, before the turn itself ends."""
    try:
        async for message in messages:
            yield message
    finally:
        await messages.aclose()
        if session.turn is not None:
            session.turn.end_inside()


def _take(session: _ClaudeSession, message: object) -> object:
    if session.turn is None:
        return NO_RESULT
    session.turn.take(message)
    return NO_RESULT if session.turn.answer is None else session.turn.answer


# --- ClaudeSDKClient --------------------------------------------------------------------------------------------------

_sessions: WeakKeyDictionary[object, _ClaudeSession] = WeakKeyDictionary()


@log_errors_and_return_none
def _begin_turn(client: _SdkClient, prompt: object) -> _ClaudeSession:
    """Begins a turn with this prompt, or adds the prompt to the client's current turn."""
    session = _sessions.get(client)
    if session is None:
        session = _sessions[client] = _ClaudeSession(client.options)
    if session.turn is not None:
        if isinstance(prompt, str):
            session.add_prompt(prompt)
    elif (span := session.begin(prompt)) is not None:
        enter(span)
        detach(span)  # the client's own tasks, which call tools, have begun in another context
        _note_connection(client, span)
    return session


def _note_connection(client: object, span: ObservedSpan) -> None:
    connection = getattr(client, "_query", None)
    if connection is not None:
        turn_spans[connection] = span


@intercepted
async def _client_query(function: Callable[..., Awaitable[object]], called: MethodCall) -> object:
    """Wraps `query`, and `connect` with a prompt."""
    parameters = called.arguments("prompt")
    prompt: _Prompt | None = parameters.pop("prompt", None)
    if prompt is None:
        return await called.make(function)
    session = _begin_turn(called.client, prompt)
    if session is not None and not isinstance(prompt, str):
        prompt = session.noting(prompt)
    try:
        result = await function(prompt, *called.args[1:], **parameters)
    except BaseException as error:
        _fail_turn(called.client, error)
        raise
    if session is not None and session.turn is not None:
        _note_connection(called.client, session.turn.span)
    return result


@intercepted
async def _client_messages(
    function: Callable[..., AsyncGenerator[object, None]], called: MethodCall
) -> AsyncGenerator[object, None]:
    messages = called.make(function)
    try:
        async for message in messages:
            _take_of_client(called.client, message)
            yield message
    except GeneratorExit:  # the turn continues, and the program may read again
        raise
    except BaseException as error:
        _fail_turn(called.client, error)
        raise
    finally:
        await messages.aclose()


@log_errors_and_return_none
def _take_of_client(client: _SdkClient, message: object) -> None:
    session = _sessions.get(client)
    if type(message).__name__ == "AssistantMessage" and (session is None or session.turn is None):
        session = _begin_turn(client, None)  # a turn that a background task has begun
    if session is None or session.turn is None:
        return
    turn = session.turn
    turn.take(message)
    if turn.has_ended:
        session.turn = None
        turn.finish()


@log_errors_and_return_none
def _fail_turn(client: object, raised: BaseException) -> None:
    session = _sessions.get(client)
    if session is not None and session.turn is not None:
        turn, session.turn = session.turn, None
        turn.end_inside()
        fail(turn.span, raised)


@intercepted
async def _disconnect(function: Callable[..., Awaitable[object]], called: MethodCall) -> object:
    try:
        return await called.make(function)
    finally:
        _fail_turn(called.client, GeneratorExit())


# --- the program's own tools ------------------------------------------------------------------------------------------

_CALL_ID = "claudecode/toolUseId"
_observed_tools: WeakKeyDictionary[object, set[str]] = WeakKeyDictionary()
"""Server → its tools whose functions are under `@observe`."""


@intercepted
def build_server(function: Callable[..., object], called: MethodCall) -> object:
    """Wraps a function that `create_sdk_mcp_server` calls.  That one itself cannot be wrapped: programs import it by
    name."""
    made = called.make(function)
    _note_observed_tools(made, called.kwargs.get("run_tool", called.args[-1] if called.args else None))
    return made


@log_errors_and_return_none
def _note_observed_tools(server: object, run_tool: Any) -> None:
    """Remembers which tools of the server are under `@observe`.  `run_tool`: the SDK's function that calls the tools;
    its closure has them."""
    tools_by_name: Mapping[str, object] = inspect.getclosurevars(run_tool).nonlocals.get("tools_by_name", {})
    observed = {name for name, entry in tools_by_name.items() if is_observed(getattr(entry, "handler", None))}
    _observed_tools[server] = observed


@intercepted
async def handle_request(function: Callable[..., Awaitable[Json]], called: MethodCall) -> Json:
    """Wraps the function that answers a message to one of the program's servers."""
    server_name: str = called.argument(0, "server_name")
    message: Json = called.argument(1, "message")
    call = _tool_call(called.client, server_name, message)
    if call is None:
        return await called.make(function)
    around, begin, message_id = call
    with as_current(around):
        try:
            answer = await call_async(begin, _tool_result(function, server_name, message), names.TOOL_RESULT_REF)
        except RunStopped as stopped:
            await _stop_reader(called.client, stopped)
            raise
    return {"jsonrpc": "2.0", "id": message_id, **_message_outcome(answer)}


def _message_outcome(recorded: object) -> Json:
    """Returns the message's `result` or `error`.  A person may set an outcome of any other form: it becomes the text of
    a `result`."""
    outcome = object_of(recorded)
    if outcome.keys() == {"error"}:
        return outcome
    text = recorded if isinstance(recorded, str) else json.dumps(recorded, ensure_ascii=False)
    return {"result": outcome if "content" in outcome else {"content": [{"type": "text", "text": text}]}}


async def _stop_reader(connection: Any, stopped: RunStopped) -> None:
    """Raises `stopped` in the reader of the messages, and does not answer Claude Code: otherwise the SDK would only
    report an error to the model, which would continue."""
    import anyio  # noqa: PLC0415 - what the SDK runs on

    await connection._message_send.send({"type": "error", "error": str(stopped), "exception": stopped})
    await anyio.sleep_forever()  # until the connection is closed


@log_errors_and_return_none
def _tool_call(
    connection: _SdkConnection, server_name: str, message: Json
) -> tuple[ObservedSpan, StartSpan, JsonValue] | None:
    """Returns the enclosing span, the `StartSpan` of the call, and the message's id; None: it is not recorded here."""
    around = turn_spans.get(connection) or current_span()
    if around is None or message.get("method") != "tools/call":
        return None
    parameters = object_of(message["params"])
    server = connection.sdk_mcp_servers.get(server_name)
    if server is None or parameters["name"] in _observed_tools.get(server, ()):
        return None
    meta = object_at(parameters, "_meta")
    name = f"mcp__{server_name}__{parameters['name']}"
    return around, tool(name, object_at(parameters, "arguments"), meta.get(_CALL_ID)), message.get("id")


async def _tool_result(function: Callable[..., Awaitable[Json]], server_name: str, message: Json) -> JsonValue:
    span = current_span()
    if span is None:
        answer = await function(server_name, message)
    else:
        params = object_at(message, "params")
        meta = object_at(params, "_meta")
        # So that calls which the tool makes are inside its span, though the server has its own task.
        with_context = {**params, "_meta": {**trace_context(span), **meta}}
        answer = await function(server_name, {**message, "params": with_context})
    _note_error(answer)
    return answer["result"] if "result" in answer else {"error": answer.get("error")}


@log_errors_and_return_none
def _note_error(answer: Json) -> None:
    """Marks a tool call as failed if its result is an error."""
    span = current_span()
    result = object_at(answer, "result")
    if span is None or not (result.get("isError") or "error" in answer):
        return
    texts = [str(block.get("text", "")) for block in objects_at(result, "content")] or [str(answer.get("error"))]
    span.attributes[names.ERROR_TYPE], span.status = "tool_error", STATUS_ERROR
    span.status_message = span.recorder.text(" ".join(texts), span.redact)


# --- what is wrapped --------------------------------------------------------------------------------------------------

_CLIENT_MODULE = "claude_agent_sdk.client"
_claude_agent = Instrumentation(
    [
        Wrap("claude_agent_sdk._internal.client", "InternalClient.process_query", _process_query),
        Wrap(_CLIENT_MODULE, "ClaudeSDKClient.connect", _client_query),
        Wrap(_CLIENT_MODULE, "ClaudeSDKClient.query", _client_query),
        Wrap(_CLIENT_MODULE, "ClaudeSDKClient.receive_messages", _client_messages),
        Wrap(_CLIENT_MODULE, "ClaudeSDKClient.disconnect", _disconnect),
        Wrap("claude_agent_sdk", "build_tool_server", build_server, is_optional=True),
        Wrap("claude_agent_sdk._internal.query", "Query._handle_sdk_mcp_request", handle_request),
    ]
)
patch, unpatch = _claude_agent.patch, _claude_agent.unpatch
