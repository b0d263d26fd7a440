"""Phoenix as far as exporters meet it: what it refuses, and how it keeps spans.

Written from its server's code (20.26): protobuf only, a trace stays in the project that got its first span, the first
span of an id stays, a NUL fails the span, and what is behind a span that cannot be stored is lost although the answer
was 200. Over GraphQL, it says which project has a trace or a span.
"""

import re
from typing import Any

from google.protobuf.message import DecodeError
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)

from tests.support.backends.http import (
    Answer,
    HttpBackend,
    Received,
    Refusal,
    attributes_of,
    decompressed,
    json_answer,
)

KEY = "phoenix-key"
_ROUTES = ("/v1/traces", "/v1/span_annotations?sync=true", "/graphql")
_FIELD = re.compile(r'(\w+):(getTraceByOtelId|getSpanByOtelId)\((?:traceId|spanId):"(\w+)"\)')


class Phoenix(HttpBackend):
    """One server; `projects` holds spans by project, then by span id."""

    def __init__(self, key: str | None = None) -> None:
        super().__init__()
        self.projects: dict[str, dict[str, dict[str, Any]]] = {}
        self.annotations: dict[tuple[str, str, str], dict[str, Any]] = {}
        """By name, span id and identifier: one that is sent again replaces itself."""
        self._key = key

    def spans(self, project: str = "default") -> list[dict[str, Any]]:
        return list(self.projects.get(project, {}).values())

    def answer(self, request: Received) -> Answer:
        if request.path not in _ROUTES or request.method != "POST":
            raise Refusal(404, f"no route {request.path}")
        if self._key is not None and request.headers.get("authorization") != f"Bearer {self._key}":
            raise Refusal(401, "Invalid token")
        if request.path != "/v1/traces":
            return (self._say_projects if request.path == "/graphql" else self._annotate)(request.json())
        if request.headers.get("content-type") != "application/x-protobuf":
            raise Refusal(415, "Unsupported content type")
        body = decompressed(request, lambda encoding: encoding in ("gzip", "deflate"))
        try:
            sent = ExportTraceServiceRequest.FromString(body)
        except DecodeError as error:
            raise Refusal(422, "Request body is invalid ExportTraceServiceRequest") from error
        for of_resource in sent.resource_spans:
            resource = attributes_of(of_resource.resource.attributes)
            project = request.headers.get("x-project-name") or resource.get("openinference.project.name") or "default"
            for span in (span for scope in of_resource.scope_spans for span in scope.spans):
                if b"\x00" in span.name.encode() or _has_nul(span):
                    return Answer(200, ExportTraceServiceResponse().SerializeToString(), "application/x-protobuf")
                known = self.projects.setdefault(self._project_of("trace", span.trace_id.hex()) or project, {})
                known.setdefault(span.span_id.hex(), _row(span, resource))
        return Answer(200, ExportTraceServiceResponse().SerializeToString(), "application/x-protobuf")

    def _say_projects(self, body: Any) -> Answer:
        data: dict[str, Any] = {}
        for alias, field, wanted in _FIELD.findall(body["query"]):
            project = self._project_of("trace" if field == "getTraceByOtelId" else "id", wanted)
            data[alias] = None if project is None else {"project": {"name": project}}
        return json_answer({"data": data})

    def _project_of(self, key: str, wanted: str) -> str | None:
        """The project that has a trace (`trace`) or a span (`id`)."""
        of = (name for name, spans in self.projects.items() if any(row[key] == wanted for row in spans.values()))
        return next(of, None)

    def _annotate(self, body: Any) -> Answer:
        data: list[dict[str, Any]] = body["data"]
        known = {span for spans in self.projects.values() for span in spans}
        for one in data:
            if one["annotator_kind"] not in ("LLM", "CODE", "HUMAN") or not one["name"] or one["name"] == "note":
                raise Refusal(422, "Request body is invalid")
            if not {"label", "score", "explanation"} & {
                key for key, value in one["result"].items() if value is not None
            }:
                raise Refusal(422, "At least one of label, score, explanation")
            if one["span_id"] not in known:
                raise Refusal(404, f"Spans with IDs {one['span_id']} do not exist.")
        for one in data:
            self.annotations[one["name"], one["span_id"], one["identifier"]] = one
        return json_answer({"data": [{"id": "U3Bhbg=="} for _ in data]})


def _has_nul(span: Any) -> bool:
    return any("\x00" in str(value) for value in attributes_of(span.attributes).values())


def _row(span: Any, resource: dict[str, Any]) -> dict[str, Any]:
    attributes = attributes_of(span.attributes)
    return {
        "trace": span.trace_id.hex(),
        "id": span.span_id.hex(),
        "parent": span.parent_span_id.hex() or None,
        "name": span.name,
        "kind": attributes.get("openinference.span.kind", "UNKNOWN"),
        "status": {0: "UNSET", 1: "OK", 2: "ERROR"}[span.status.code],
        "status_message": span.status.message,
        "start": span.start_time_unix_nano,
        "end": span.end_time_unix_nano,
        "attributes": attributes,
        "events": [(event.name, attributes_of(event.attributes)) for event in span.events],
        "resource": resource,
    }
