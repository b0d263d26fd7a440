"""Reads a client's request to an MCP server from the arguments of the library's methods."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast
from weakref import WeakKeyDictionary

from playhead.api.observe import Observation
from playhead.calls.span import ObservedSpan
from playhead.capture.frameworks import none_on_error
from playhead.model import names

_TOOL = Observation(None, "tool", True, True, None, {}, None)
_RETRIEVER = Observation(None, "retriever", True, True, None, {}, None)
_RESOURCE = "read_resource"
_CLIENT = 3  # OTLP's SpanKind for a call to another service
_EXTENSION = "extension"  # the conventions' word for a tool that the agent's side runs by calling another system

servers: "WeakKeyDictionary[Any, str]" = WeakKeyDictionary()
"""Session → name of its server, for sessions that do not keep it (before mcp 2.0)."""


@dataclass(frozen=True, slots=True)
class ServerCall:
    """A call of an MCP server: `name` is the tool's or the prompt's name, or `read_resource` for all resources."""

    kind: str
    name: str
    arguments: Mapping[str, Any]
    attributes: dict[str, Any]

    def begin(self) -> ObservedSpan | None:
        """Begins the span of the call; returns None if the call is not recorded."""
        observation = _TOOL if self.kind == "tool" else _RETRIEVER
        span = observation.begin(self.name, dict(self.arguments), self.attributes)
        if span is not None:
            span.otel_kind = _CLIENT
        return span


@none_on_error
def read_tool_call(client: Any, args: Any, kwargs: Any) -> ServerCall:
    """Reads `call_tool(name, arguments, ...)`."""
    parameters = _named(("name", "arguments"), args, kwargs)
    about = {names.TOOL_TYPE: _EXTENSION, **_about(client, "tools/call")}
    return ServerCall("tool", str(parameters["name"]), _mapping(parameters.get("arguments")), about)


@none_on_error
def read_resource(client: Any, args: Any, kwargs: Any) -> ServerCall:
    """Reads `read_resource(uri, ...)`."""
    uri = str(_named(("uri",), args, kwargs)["uri"])
    about = {names.MCP_RESOURCE: uri, names.IDEMPOTENT: True, **_about(client, "resources/read")}
    return ServerCall("retriever", _RESOURCE, {"uri": uri}, about)  # addresses are many, and have slashes


@none_on_error
def read_prompt(client: Any, args: Any, kwargs: Any) -> ServerCall:
    """Reads `get_prompt(name, arguments, ...)`."""
    parameters = _named(("name", "arguments"), args, kwargs)
    name, arguments = str(parameters["name"]), _mapping(parameters.get("arguments"))
    about = {names.PROMPT_NAME: name, names.IDEMPOTENT: True, **_about(client, "prompts/get")}
    return ServerCall("retriever", name, {"name": name, "arguments": arguments}, about)


def _named(parameters: tuple[str, ...], args: Any, kwargs: Any) -> dict[str, Any]:
    return {**dict(zip(parameters, args, strict=False)), **kwargs}


def _mapping(arguments: Any) -> Mapping[str, Any]:
    return cast("Mapping[str, Any]", arguments) if isinstance(arguments, Mapping) else {}


def _about(client: Any, method: str) -> dict[str, Any]:
    attributes = {names.MCP_METHOD: method, names.MCP_SERVER: _server_name(client)}
    attributes[names.MCP_PROTOCOL] = getattr(client, "protocol_version", None)
    return {name: value for name, value in attributes.items() if isinstance(value, str)}


def _server_name(client: Any) -> Any:
    try:
        server_info = getattr(client, "server_info", None)
    except RuntimeError:  # of a client that is not connected: the library will say so
        return None
    return servers.get(client) if server_info is None else getattr(server_info, "name", None)
