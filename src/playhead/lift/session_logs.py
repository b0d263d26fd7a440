"""Log records of coding agents (Claude Code, Codex, Gemini CLI): sets which part of a session each record is.

These agents write prompts, model calls and tool calls as log records, with or without traces. The run of a record
without a trace is its session. The same holds for all records of Codex, and for all records and spans of Gemini CLI,
which gives each call its own trace. `playhead.log.part` is the part of the session; other attributes get
OpenTelemetry's names. The projector makes calls from these records.

| part | Claude Code | Codex | Gemini CLI |
|---|---|---|---|
| prompt | user_prompt | user_prompt | user_prompt |
| sent: the start of a request | api_request_body | api_request | api_request |
| answered: the end of a request | api_request, api_response_body, assistant_response | sse_event | api_response |
| failed: a request | api_error | api_request | api_error |
| tool | tool_result | tool_result | tool_call |
"""

import dataclasses
import hashlib
from typing import Final, TypeVar

from playhead.lift.dialects.coding_agents import add_tokens, model_answer
from playhead.lift.extraction import (
    ExtractedContent,
    extract_input,
    extract_output,
    extract_value,
    json_or_text,
    set_ref_attribute,
)
from playhead.model import names
from playhead.model.json_value import JsonMapping, JsonValue, list_of, value_at
from playhead.model.message import Message
from playhead.model.span import Attributes, LogEvent, Span

PROMPT, SENT, ANSWERED, FAILED, TOOL = "prompt", "sent", "answered", "failed", "tool"
_GEMINI: Final = "gemini-cli"
# Beginning of an agent's scope name → beginning of the names of its records.
_SCOPES: Final = {"com.anthropic.claude_code": "claude_code.", "codex": "codex.", _GEMINI: "gemini_cli."}
_PARTS: Final = {
    "claude_code.user_prompt": PROMPT,
    "claude_code.api_request_body": SENT,
    "claude_code.api_request": ANSWERED,
    "claude_code.api_response_body": ANSWERED,
    "claude_code.assistant_response": ANSWERED,
    "claude_code.api_error": FAILED,
    "claude_code.tool_result": TOOL,
    "codex.user_prompt": PROMPT,
    "codex.api_request": SENT,
    "codex.sse_event": ANSWERED,
    "codex.tool_result": TOOL,
    "gemini_cli.user_prompt": PROMPT,
    "gemini_cli.api_request": SENT,
    "gemini_cli.api_response": ANSWERED,
    "gemini_cli.api_error": FAILED,
    "gemini_cli.tool_call": TOOL,
}
_MOST_CHARACTERS: Final = 256  # of a session's id
# Their names → ours. Numbers may come as text.
_NAMES: Final = {
    "session.id": names.CONVERSATION,
    "conversation.id": names.CONVERSATION,
    "model": names.REQUEST_MODEL,
    "request_id": names.RESPONSE_ID,
    "tool_name": names.TOOL_NAME,
    "function_name": names.TOOL_NAME,
    "tool_use_id": names.TOOL_CALL_ID,
    "call_id": names.TOOL_CALL_ID,
    "finish_reasons": names.FINISH_REASONS,
}
_NUMBERS: Final = {
    "input_token_count": names.INPUT_TOKENS,
    "output_token_count": names.OUTPUT_TOKENS,
    "cached_token_count": names.CACHE_READ_TOKENS,
    "cached_content_token_count": names.CACHE_READ_TOKENS,
    "cache_write_token_count": names.CACHE_WRITE_TOKENS,
    "reasoning_token_count": names.REASONING_TOKENS,
    "thoughts_token_count": names.REASONING_TOKENS,
    "duration_ms": names.LOG_DURATION,
}
_COUNTED: Final = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_creation_tokens")
T = TypeVar("T")

_PROVIDERS: Final = {"claude_code": "anthropic", "codex": "openai", "gemini_cli": "gcp.gemini"}
_CODEX_ITSELF: Final = "/root"  # Codex's name for its main agent; agents that it started have other names
_ERRORS: Final = ("error", "error.message", "error_message")
_ERROR_TYPES: Final = ("error_type", "error.type", "status_code", "http.response.status_code")


def belongs_to_session(name: str, attributes: JsonMapping, scope: str) -> bool:
    """Whether a log record is a part of a coding agent's session, with or without a trace."""
    return _session(attributes) is not None and _read(name, attributes, scope) is not None


def in_session(span: Span) -> Span:
    """Moves a span of Gemini CLI, which gives each call its own trace, into the run of its session. Returns other spans
    unchanged."""
    session = span.attributes.get(names.CONVERSATION) if span.scope == _GEMINI else None
    if not isinstance(session, str) or not 0 < len(session) <= _MOST_CHARACTERS:
        return span
    attributes = {**span.attributes, names.SESSION_RUN: True, names.SESSION_TRACE: span.trace_id}
    return dataclasses.replace(span, trace_id=_run("gemini_cli", session), attributes=attributes)


def read_record(log: LogEvent, contents: ExtractedContent) -> LogEvent:
    """Returns a record of a coding agent with neutral attribute names and without content; others unchanged.  Never
    raises."""
    session = _session(log.attributes)
    if session is None:
        return log
    name = _read(log.name, log.attributes, log.scope)
    if name is None:
        return _beside(log, session)
    try:
        return _with_part(log, name, session, contents)
    except Exception:  # noqa: BLE001 - a mistake of ours must not cost anybody a record
        return log


def _with_part(log: LogEvent, name: str, session: str, contents: ExtractedContent) -> LogEvent:
    agent = name.partition(".")[0]
    attributes = dict(log.attributes)
    part = _part(name, attributes)
    _rename(attributes, agent, has_failed=part == FAILED)
    if part == PROMPT:
        _extract_prompt(attributes, contents)
    elif part == TOOL:
        _extract_tool(attributes, contents)
    else:
        _extract_call(name, attributes, contents)
    attributes[names.LOG_PART] = part
    trace = log.trace_id
    if trace is None or agent != "claude_code":
        trace = _run(agent, session)
        attributes[names.SESSION_RUN] = True
    return dataclasses.replace(log, name=name, trace_id=trace, attributes=attributes)


def _beside(log: LogEvent, session: str) -> LogEvent:
    """Sets `event.name` on another record of a coding agent, so that its dialect recognises it. Moves a record of
    Gemini CLI into the run of its session. Returns records of others unchanged."""
    begin = next((begin for scope, begin in _SCOPES.items() if log.scope.startswith(scope)), None)
    if begin is None:
        return log
    attributes = dict(log.attributes)
    attributes.setdefault("event.name", begin + log.name.removeprefix(begin))
    if log.scope != _GEMINI:
        return dataclasses.replace(log, attributes=attributes)
    attributes[names.SESSION_RUN] = True
    return dataclasses.replace(log, trace_id=_run("gemini_cli", session), attributes=attributes)


def _read(name: str, attributes: JsonMapping, scope: str) -> str | None:
    """Returns the full name of a record that is a part of a session; None for any other record."""
    begin = next((begin for prefix, begin in _SCOPES.items() if scope.startswith(prefix)), None)
    if begin is None:
        return None
    # The name of a Codex record is a line of its source; `event.name` is the real name.
    event_name = str(attributes.get("event.name", name)) if begin == "codex." else name
    full = begin + event_name.removeprefix(begin)
    if full not in _PARTS or (full == "codex.sse_event" and "input_token_count" not in attributes):
        return None
    return full


def _session(attributes: JsonMapping) -> str | None:
    session = attributes.get("conversation.id", attributes.get("session.id"))
    return session if isinstance(session, str) and 0 < len(session) <= _MOST_CHARACTERS else None


def _run(agent: str, session: str) -> str:
    return hashlib.sha256(f"{agent} session {session}".encode("utf-8", "surrogatepass")).hexdigest()[:32]


def _part(name: str, attributes: JsonMapping) -> str:
    part = _PARTS[name]
    if part == SENT and _number(attributes.get("http.response.status_code"), 0) >= 400:
        return FAILED
    return part


def _rename(attributes: Attributes, agent: str, *, has_failed: bool) -> None:
    for theirs, ours in _NAMES.items():
        if theirs in attributes and not isinstance(attributes[theirs], dict):
            attributes.setdefault(ours, attributes.pop(theirs))
    for theirs, ours in _NUMBERS.items():
        if theirs in attributes and (number := _number(attributes[theirs], -1)) >= 0:
            attributes.setdefault(ours, number)
    for key in _COUNTED:
        if key in attributes:
            attributes[key] = _number(attributes[key], attributes[key])
    add_tokens(attributes)
    if attributes.get("agent_name") == _CODEX_ITSELF:
        del attributes["agent_name"]
    attributes.setdefault(names.PROVIDER, _PROVIDERS[agent])
    has_failed = has_failed or str(attributes.get("success", "true")).lower() == "false"
    if has_failed or any(attributes.get(key) for key in _ERRORS):
        error = next((str(attributes[key]) for key in _ERROR_TYPES if attributes.get(key)), "_OTHER")
        attributes.setdefault(names.ERROR_TYPE, error[:_MOST_CHARACTERS])


def _number(value: JsonValue, otherwise: T) -> float | T:
    """Returns the value as a number, also if it is written as text; `otherwise` if it is not a number."""
    if isinstance(value, str) and len(value) <= 20:
        try:
            value = float(value) if "." in value else int(value)
        except ValueError:
            return otherwise
    return value if isinstance(value, int | float) and not isinstance(value, bool) else otherwise


def _extract_prompt(attributes: Attributes, contents: ExtractedContent) -> None:
    prompt = attributes.pop("prompt", None)
    if isinstance(prompt, str):
        message: Message = {"role": "user", "parts": [{"type": "text", "content": prompt}]}
        attributes[names.MESSAGE_REF] = contents.message(message)
        attributes[names.INPUT_REF] = contents.content(prompt)


def _extract_tool(attributes: Attributes, contents: ExtractedContent) -> None:
    for key in ("tool_input", "arguments", "function_args", "tool_parameters"):
        if key in attributes:
            extract_value(attributes, names.TOOL_ARGUMENTS_REF, attributes.pop(key), key, contents)
    if "output" in attributes:
        extract_value(attributes, names.TOOL_RESULT_REF, attributes.pop("output"), "output", contents)


def _extract_call(name: str, attributes: Attributes, contents: ExtractedContent) -> None:
    if name == "claude_code.api_request_body":
        extract_input(attributes, attributes.pop("body", None), "body", contents, model=True)
    elif name == "claude_code.api_response_body":
        extract_output(attributes, attributes.pop("body", None), "body", contents, model=True)
    elif name == "claude_code.assistant_response" and isinstance(attributes.get("response"), str):
        text = attributes.pop("response")
        message: Message = {"role": "assistant", "parts": [{"type": "text", "content": text}]}
        set_ref_attribute(attributes, names.OUTPUT_MESSAGES_REF, contents.thread([message]), "response")
    elif "request_text" in attributes:
        extract_input(attributes, attributes.pop("request_text"), "request_text", contents, model=True)
    elif "response_text" in attributes:
        _extract_gemini_answer(attributes, contents)


def _extract_gemini_answer(attributes: Attributes, contents: ExtractedContent) -> None:
    """Takes an answer of Gemini: the text is a list of responses, one per chunk of the stream."""
    raw = attributes.pop("response_text")
    try:
        answer = model_answer([content for response in _listed(json_or_text(raw)) for content in _contents(response)])
    except ValueError:
        answer = None
    if answer is None:
        extract_value(attributes, names.OUTPUT_REF, raw, "response_text", contents)
    else:
        set_ref_attribute(attributes, names.OUTPUT_MESSAGES_REF, contents.thread([answer]), "response_text")


def _contents(response: JsonValue) -> list[JsonValue]:
    candidates = value_at(response, "candidates")
    return [
        candidate["content"]
        for candidate in _listed(candidates)
        if isinstance(candidate, dict) and "content" in candidate
    ]


def _listed(value: JsonValue) -> list[JsonValue]:
    return list_of(value)
