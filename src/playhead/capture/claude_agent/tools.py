"""The program's own tools: those of MCP servers that run in its process (`create_sdk_mcp_server`).

Claude Code calls them with MCP messages; the answer to the message is recorded, and returned again on resume.
"""

import inspect
import json
from typing import Any, cast
from weakref import WeakKeyDictionary

from playhead.calls.lifecycle import current_span, inside
from playhead.calls.span import ObservedSpan
from playhead.capture.frameworks import Begin, call_async, is_observed, none_on_error, tool
from playhead.capture.mcp.server_side import trace_context
from playhead.errors import RunStopped
from playhead.model import names

_CALL_ID = "claudecode/toolUseId"
_ERROR = 2  # OTLP's status code
turn_spans: WeakKeyDictionary[Any, ObservedSpan] = WeakKeyDictionary()
"""The SDK's connection → span of the current turn, for clients with several turns."""
_observed: WeakKeyDictionary[Any, set[str]] = WeakKeyDictionary()
"""Server → its tools whose functions are under `@observe`."""


def build_server(wrapped: Any, instance: Any, args: Any, kwargs: Any) -> Any:
    """Wraps a function that `create_sdk_mcp_server` calls.  That one itself cannot be wrapped: programs import it by
    name."""
    made = wrapped(*args, **kwargs)
    _note_observed(made, kwargs.get("run_tool", args[-1] if args else None))
    return made


@none_on_error
def _note_observed(server: Any, run_tool: Any) -> None:
    """Remembers which tools of the server are under `@observe`.  `run_tool`: the SDK's function that calls the tools;
    its closure has them."""
    tools_by_name = inspect.getclosurevars(run_tool).nonlocals.get("tools_by_name", {})
    _observed[server] = {name for name, entry in tools_by_name.items() if is_observed(entry.handler)}


async def handle_request(wrapped: Any, instance: Any, args: Any, kwargs: Any) -> Any:
    """Wraps the function that answers a message to one of the program's servers."""
    call = _call(instance, *args, **kwargs)
    if call is None:
        return await wrapped(*args, **kwargs)
    around, begin, message_id = call
    with inside(around):
        try:
            answer = await call_async(begin, _result(wrapped, *args, **kwargs), names.TOOL_RESULT_REF)
        except RunStopped as stopped:
            await _stop(instance, stopped)
            raise
    return {"jsonrpc": "2.0", "id": message_id, **_outcome(answer)}


def _outcome(recorded: Any) -> dict[str, Any]:
    """Returns the message's `result` or `error`.  A person may set an outcome of any other form: it becomes the text of
    a `result`."""
    outcome = cast("dict[str, Any]", recorded) if isinstance(recorded, dict) else {}
    if outcome.keys() == {"error"}:
        return outcome
    text = recorded if isinstance(recorded, str) else json.dumps(recorded, ensure_ascii=False)
    return {"result": outcome if "content" in outcome else {"content": [{"type": "text", "text": text}]}}


async def _stop(connection: Any, stopped: RunStopped) -> None:
    """Raises `stopped` in the reader of the messages, and does not answer Claude Code: otherwise the SDK would only
    report an error to the model, which would continue."""
    import anyio  # noqa: PLC0415 - what the SDK runs on

    await connection._message_send.send({"type": "error", "error": str(stopped), "exception": stopped})
    await anyio.sleep_forever()  # until the connection is closed


@none_on_error
def _call(connection: Any, server_name: str, message: dict[str, Any]) -> tuple[ObservedSpan, Begin, Any] | None:
    """Returns the enclosing span, the `Begin` of the call, and the message's id; None: it is not recorded here."""
    around = turn_spans.get(connection) or current_span()
    if around is None or message.get("method") != "tools/call":
        return None
    parameters: dict[str, Any] = message["params"]
    server = connection.sdk_mcp_servers.get(server_name)
    if server is None or parameters["name"] in _observed.get(server, ()):
        return None
    meta: dict[str, Any] = parameters.get("_meta") or {}
    name = f"mcp__{server_name}__{parameters['name']}"
    return around, tool(name, parameters.get("arguments") or {}, meta.get(_CALL_ID)), message.get("id")


async def _result(wrapped: Any, server_name: str, message: dict[str, Any]) -> Any:
    span = current_span()
    if span is None:
        answer = await wrapped(server_name, message)
    else:
        params: dict[str, Any] = message["params"]
        meta: dict[str, Any] = params.get("_meta") or {}
        # So that calls which the tool makes are inside its span, though the server has its own task.
        answer = await wrapped(server_name, {**message, "params": {**params, "_meta": {**trace_context(span), **meta}}})
    _note_error(answer)
    return answer["result"] if "result" in answer else {"error": answer.get("error")}


@none_on_error
def _note_error(answer: dict[str, Any]) -> None:
    """Marks a tool call as failed if its result is an error."""
    span = current_span()
    result: dict[str, Any] = answer.get("result") or {}
    if span is None or not (result.get("isError") or "error" in answer):
        return
    blocks: list[dict[str, Any]] = result.get("content") or []
    texts = [str(block.get("text", "")) for block in blocks] or [str(answer.get("error"))]
    span.attributes[names.ERROR_TYPE], span.status = "tool_error", _ERROR
    span.status_message = span.recorder.text(" ".join(texts), span.redact)
