"""Langfuse as far as exporters meet it: what it refuses, and which attribute becomes which field.

Written from its server's code (v4.16): refusals concern the whole batch, and of the attributes that may say a field,
the first in the table wins.
"""

import base64
import hashlib
import json
from typing import Any

from google.protobuf.message import DecodeError
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from tests.support.backends.http import (
    Answer,
    HttpBackend,
    Received,
    Refusal,
    attributes_of,
    decompressed,
    json_answer,
)

PUBLIC, SECRET = "pk-lf-test", "sk-lf-test"
_TYPES = {"span", "generation", "event", "embedding", "agent", "tool", "chain", "retriever", "guardrail", "evaluator"}
_OPERATIONS = {
    "chat": "GENERATION", "completion": "GENERATION", "text_completion": "GENERATION", "embeddings": "EMBEDDING",
    "generate_content": "GENERATION", "invoke_agent": "AGENT", "create_agent": "AGENT", "execute_tool": "TOOL",
}  # fmt: skip
_LEVELS = {"DEBUG", "DEFAULT", "WARNING", "ERROR"}
_MODELS = ("langfuse.observation.model.name", "gen_ai.response.model", "ai.model.id", "gen_ai.request.model",
           "llm.response.model", "llm.model_name", "model")  # fmt: skip
_INPUTS = ("langfuse.observation.input", "mlflow.spanInputs", "traceloop.entity.input", "input.value", "input",
           "gen_ai.input.messages", "gen_ai.tool.call.arguments")  # fmt: skip
_OUTPUTS = ("langfuse.observation.output", "mlflow.spanOutputs", "traceloop.entity.output", "output.value", "output",
            "gen_ai.output.messages", "gen_ai.tool.call.result")  # fmt: skip


class Langfuse(HttpBackend):
    """A project of Langfuse with one key pair."""

    def __init__(self) -> None:
        super().__init__()
        self.observations: dict[str, dict[str, Any]] = {}
        """By span id: a span that is sent again replaces itself."""
        self.scores: dict[str, dict[str, Any]] = {}
        """By id: a score that is sent again replaces itself."""
        self.media: dict[str, bytes] = {}
        self.media_fields: list[dict[str, Any]] = []

    def answer(self, request: Received) -> Answer:
        if request.path.startswith("/upload/"):
            return self._upload(request)
        pair = base64.b64encode(f"{PUBLIC}:{SECRET}".encode()).decode()
        if request.headers.get("authorization") != f"Basic {pair}":
            raise Refusal(401, "Invalid credentials")
        if request.path == "/api/public/otel/v1/traces" and request.method == "POST":
            return self._traces(request)
        if request.path == "/api/public/scores" and request.method == "POST":
            return self._score(request.json())
        if request.path == "/api/public/media" and request.method == "POST":
            return self._media(request)
        if request.path.startswith("/api/public/media/") and request.method == "PATCH":
            return json_answer({})
        if request.path.startswith("/api/public/projects"):
            return json_answer({"data": [{"id": "project-1", "name": "test"}]})
        raise Refusal(404, f"no route {request.path}")

    def _traces(self, request: Received) -> Answer:
        version = request.headers.get("x-langfuse-ingestion-version")
        if version is not None and int(version) > 4:
            raise Refusal(400, f"ingestion version {version} is not known")
        body = decompressed(request, lambda encoding: encoding == "gzip")
        if request.headers.get("content-type") != "application/x-protobuf":
            raise Refusal(400, "this test takes protobuf only")
        try:
            sent = ExportTraceServiceRequest.FromString(body)
        except DecodeError as error:
            raise Refusal(400, "Failed to parse OTel Protobuf Trace") from error
        found = [
            (resource.resource, scope.scope, span)
            for resource in sent.resource_spans
            for scope in resource.scope_spans
            for span in scope.spans
        ]
        for _, _, span in found:  # one bad span, and nothing of the batch is taken
            if len(span.trace_id) != 16 or len(span.span_id) != 8 or not any(span.trace_id) or not any(span.span_id):
                raise Refusal(400, "Invalid OTel trace: span has no ids")
        from_sdk = request.headers.get("x-langfuse-sdk-name") == "python"
        for resource, scope, span in found:
            self.observations[span.span_id.hex()] = {
                **observation(attributes_of(resource.attributes), scope.name, span),
                "from_sdk": from_sdk or scope.name.startswith("langfuse-sdk"),
                "shown_at_once": version == "4",
            }
        return Answer(200, b"", "application/x-protobuf")

    def _score(self, body: dict[str, Any]) -> Answer:
        kind, value = body.get("dataType"), body.get("value")
        fits = {
            "NUMERIC": type(value) in (int, float), "BOOLEAN": value in (0, 1), "CATEGORICAL": isinstance(value, str),
        }  # fmt: skip
        if not body.get("name") or not body.get("traceId") or not fits.get(str(kind)):
            raise Refusal(400, "Invalid request data")
        self.scores[body["id"]] = body
        return json_answer({"id": body["id"]})

    def _media(self, request: Received) -> Answer:
        asked = request.json()
        assert asked["field"] in ("input", "output", "metadata")
        assert len(asked["sha256Hash"]) == 44
        media = asked["sha256Hash"].replace("+", "-").replace("/", "_")[:22]
        self.media_fields.append(asked)
        known = media in self.media
        return json_answer({"mediaId": media, "uploadUrl": None if known else f"{self.url}/upload/{media}"})

    def _upload(self, request: Received) -> Answer:
        digest = base64.b64encode(hashlib.sha256(request.body).digest()).decode()
        media = request.path.removeprefix("/upload/")
        if digest.replace("+", "-").replace("/", "_")[:22] != media:
            raise Refusal(400, "the bytes are not those of the hash")
        self.media[media] = request.body
        return Answer(200)


def observation(resource: dict[str, Any], scope: str, span: Any) -> dict[str, Any]:
    """The row that Langfuse makes of a span."""
    attributes = attributes_of(span.attributes)
    kind = _type(attributes)
    is_agent = attributes.get("gen_ai.operation.name") == "invoke_agent"
    level = str(attributes.get("langfuse.observation.level") or "").upper()
    return {
        "traceId": span.trace_id.hex(),
        "id": span.span_id.hex(),
        "parent": span.parent_span_id.hex() or None,
        "isRoot": not span.parent_span_id or attributes.get("langfuse.internal.as_root") is True,
        "isAppRoot": attributes.get("langfuse.internal.is_app_root") is True,
        "type": kind,
        "name": _first(attributes, ("gen_ai.tool.name", "genkit:name", "logfire.msg", "ai.toolCall.name")) or span.name,
        "input": _first(attributes, _INPUTS),
        "output": _first(attributes, _OUTPUTS),
        "model": None if is_agent else _first(attributes, _MODELS),
        "modelParameters": _json(attributes.get("langfuse.observation.model.parameters")),
        "usageDetails": {} if is_agent else _json(attributes.get("langfuse.observation.usage_details")) or {},
        "costDetails": {} if is_agent else _json(attributes.get("langfuse.observation.cost_details")) or {},
        "completionStartTime": attributes.get("langfuse.observation.completion_start_time"),
        "sessionId": _id(_first(attributes, ("langfuse.session.id", "session.id", "gen_ai.conversation.id"))),
        "userId": _id(_first(attributes, ("langfuse.user.id", "user.id"))),
        "tags": _first(attributes, ("langfuse.trace.tags", "langfuse.tags", "tag.tags")) or [],
        "traceName": attributes.get("langfuse.trace.name"),
        "metadata": _below(attributes, "langfuse.observation.metadata."),
        "traceMetadata": _below(attributes, "langfuse.trace.metadata."),
        "otherAttributes": {key: value for key, value in attributes.items() if not key.startswith("langfuse.")},
        "level": level if level in _LEVELS else "ERROR" if span.status.code == 2 else "DEFAULT",
        "statusMessage": attributes.get("langfuse.observation.status_message") or span.status.message or None,
        "promptName": attributes.get("langfuse.observation.prompt.name") if kind == "GENERATION" else None,
        "promptVersion": attributes.get("langfuse.observation.prompt.version") if kind == "GENERATION" else None,
        "environment": _environment(attributes, resource),
        "release": _first({**resource, **attributes}, ("langfuse.release",)),
        "version": _first({**resource, **attributes}, ("langfuse.version", "service.version")),
        "startTime": span.start_time_unix_nano,
        "endTime": span.end_time_unix_nano,
        "events": [(event.name, attributes_of(event.attributes)) for event in span.events],
        "scope": scope,
    }


def _type(attributes: dict[str, Any]) -> str:
    own = attributes.get("langfuse.observation.type")
    if own in _TYPES:
        return own.upper()
    kind = str(attributes.get("openinference.span.kind") or "").upper()
    if kind:
        return {"LLM": "GENERATION"}.get(kind, kind if kind.lower() in _TYPES else "SPAN")
    if (operation := attributes.get("gen_ai.operation.name")) in _OPERATIONS:
        return _OPERATIONS[operation]
    if "gen_ai.tool.name" in attributes or "gen_ai.tool.call.id" in attributes:
        return "TOOL"
    return "GENERATION" if any(name in attributes for name in _MODELS) else "SPAN"


def _first(attributes: dict[str, Any], candidates: tuple[str, ...]) -> Any:
    return next((attributes[name] for name in candidates if attributes.get(name) is not None), None)


def _below(attributes: dict[str, Any], prefix: str) -> dict[str, Any]:
    return {key.removeprefix(prefix): value for key, value in attributes.items() if key.startswith(prefix)}


def _json(text: Any) -> Any:
    return None if text is None else json.loads(text)


def _id(text: Any) -> Any:
    return text if isinstance(text, str) and len(text) <= 200 else None


def _environment(attributes: dict[str, Any], resource: dict[str, Any]) -> str:
    candidates = ("langfuse.environment", "deployment.environment.name", "deployment.environment")
    named = str(_first({**resource, **attributes}, candidates) or "default")
    taken = len(named) <= 40 and all(letter in "abcdefghijklmnopqrstuvwxyz0123456789-_" for letter in named)
    return named if taken and not named.startswith("langfuse") else "default"
