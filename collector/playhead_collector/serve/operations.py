"""wire.operations → [serve].  Makes the routes of declared operations, with their parameters and answers for OpenAPI.

The signature of a route's function is the declaration's (PEP 362), with FastAPI's parameters in place of the bounds.
"""

import inspect
import keyword
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import NoneType, UnionType
from typing import Annotated, Any, TypeVar, Union, cast, get_args, get_origin

from fastapi import Body, Path, Query, Request, Response
from fastapi.responses import StreamingResponse
from pydantic import BaseModel, ConfigDict, Field, StrictBool, StrictFloat, StrictInt, StrictStr, create_model

from playhead.model.canonical import Content, parse_json
from playhead.wire.operations.bounds import Bounds, split
from playhead.wire.operations.operation import (
    NOTHING,
    DeclaredOperation,
    Form,
    Need,
    OperationCall,
    OperationFacts,
    OperationParameter,
)
from playhead_collector.access import access_of
from playhead_collector.errors import Refused
from playhead_collector.handlers import handler_of
from playhead_collector.handlers.asking import Asking, Changing, RequestFacts, Services, no_limit
from playhead_collector.handlers.handling import Handler
from playhead_collector.handlers.replies import BytesReply, EventStreamReply, FileReply, LiveStream, StoredContentReply
from playhead_collector.handlers.settings import AnalysisSettings
from playhead_collector.serve.analysis_pool import AnalysisHandlers
from playhead_collector.serve.responses import (
    FileDownload,
    LiveStreamResponse,
    content_answer,
    finished_answer,
    json_answer,
    stream_has_ended,
)
from playhead_collector.serve.routing import ApiRoutes, Cursor, LastEventId, Responses, refusal, refusals, schema
from playhead_collector.workers.questions import AnalysisQuestion

T = TypeVar("T")
_EVENT_STREAM = "text/event-stream"
_NEEDS: Mapping[Need, str] = {
    "explainer": "No model for explanations is configured.",
    "chat_models": "No model is configured that could be asked.",
    "search": "Search is off.",
}

# --- parameters ------------------------------------------------------------------------------------------------------

_STRICT: Mapping[Any, Any] = {bool: StrictBool, int: StrictInt, float: StrictFloat, str: StrictStr}


def _keywords(bounds: Bounds) -> dict[str, Any]:
    """Returns the bounds as pydantic's keywords."""
    names = ("ge", "gt", "le", "min_length", "max_length", "pattern")
    keywords = {name: value for name in names if (value := getattr(bounds, name)) is not None}
    description = bounds.description or bounds.help
    return keywords if description is None else keywords | {"description": description}


def _pydantic_type(wire: object, *, is_strict: bool) -> Any:
    """Returns a type on the wire with pydantic's fields in place of inner bounds. `is_strict`: of a union of scalars,
    no member takes a value of another one."""
    members = list(get_args(wire)) if get_origin(wire) in (Union, UnionType) else [wire]
    scalars = [member for member in members if member is not NoneType and (split(member)[0] in _STRICT)]
    strictly = is_strict and len(scalars) > 1
    return Union[tuple(_pydantic_member(member, is_strict=strictly) for member in members)]  # noqa: UP007


def _pydantic_member(member: object, *, is_strict: bool) -> Any:
    inner, bounds = split(member)
    if get_origin(inner) is list:
        inner = list[_pydantic_type(get_args(inner)[0], is_strict=False)]
    elif is_strict:
        inner = _STRICT.get(inner, inner)
    return inner if bounds is None else Annotated[inner, Field(**_keywords(bounds))]


def _default(parameter: OperationParameter) -> Any:
    return None if parameter.default == () else parameter.default


def _http_name(parameter: OperationParameter) -> str:
    """Returns the parameter's name in the route's function: that on the wire, where Python and pydantic allow it."""
    name = parameter.wire_name
    usable = name.isidentifier() and not keyword.iskeyword(name) and not hasattr(BaseModel, name)
    return name if usable else parameter.name


def _http_parameter(parameter: OperationParameter, facts: OperationFacts, *, embed: bool) -> inspect.Parameter:
    bounds, wire, default = parameter.bounds, parameter.wire, _default(parameter)
    if facts.form is Form.PAGE and parameter.name == "limit":
        bounds, default = facts.page_limit, facts.page_size
        wire = int if default is not None else int | None
    keywords, name = _keywords(bounds), _http_name(parameter)
    if name != parameter.wire_name:
        keywords["alias"] = parameter.wire_name
    kind: Any = {"path": Path, "query": Query, "body": Body, "bytes": Body}[parameter.place]
    if parameter.place == "bytes":
        keywords["media_type"] = facts.media_type
    if parameter.place == "body" and embed:
        keywords["embed"] = True
    annotation = Annotated[_pydantic_type(wire, is_strict=parameter.place == "body"), kind(**keywords)]
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def _body_model(operation: DeclaredOperation, in_body: Sequence[OperationParameter]) -> type[BaseModel]:
    """Returns the model of a body that may have no other members than the declared ones."""
    body = operation.facts.strict_body
    assert body is not None  # noqa: S101 - called for strict bodies only
    fields: dict[str, Any] = {
        parameter.wire_name: (
            _pydantic_type(parameter.wire, is_strict=True),
            Field(... if parameter.default is NOTHING else _default(parameter), **_keywords(parameter.bounds)),
        )
        for parameter in in_body
    }
    return create_model(body.name, __config__=ConfigDict(extra="forbid"), __doc__=body.description, **fields)


_REQUEST, _CURSOR, _LAST_EVENT_ID, _BODY = "http_request", "cursor", "last_event_id", "body"


def _keyword_only(name: str, annotation: object, default: object = NOTHING) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def route_signature(operation: DeclaredOperation, live: DeclaredOperation | None = None) -> inspect.Signature:
    """Returns the signature of the route's function. `live`: the operation that sends the same events as they
    happen."""
    facts = operation.facts
    in_body = [parameter for parameter in operation.parameters if parameter.place == "body"]
    parameters = [_keyword_only(_REQUEST, Request)]
    for parameter in operation.parameters:
        if parameter.place == "body" and facts.strict_body is not None:
            continue
        parameters.append(_http_parameter(parameter, facts, embed=len(in_body) == 1))
        if facts.form is Form.PAGE and parameter.name == facts.cursor_after:
            parameters.append(_keyword_only(_CURSOR, Cursor, None))
    if facts.strict_body is not None:
        parameters.append(_keyword_only(_BODY, _body_model(operation, in_body)))
    if live is not None or facts.form is Form.EVENTS:
        parameters.append(_keyword_only(_LAST_EVENT_ID, LastEventId, None))
    return inspect.Signature(parameters, return_annotation=Response)


# --- descriptions for OpenAPI ----------------------------------------------------------------------------------------


def _responses(facts: OperationFacts) -> Responses:
    answered: Responses = {}
    if facts.answer_text is not None:
        answered[200] = {"description": facts.answer_text, "content": {facts.media_type: {}}}
    for status, text in facts.also_answers.items():
        has_body = status not in (204, 304)
        answered[status] = {"description": text, **({"content": {facts.media_type: {}}} if has_body else {})}
    needed = {} if facts.needs is None else {409: _NEEDS[facts.needs]}
    also = ({} if 409 in facts.also_refuses else needed) | dict(facts.also_refuses)
    for status, text in also.items():
        words = text or needed.get(status)
        answered |= {status: refusal(words)} if words else refusals(status)
    return answered


# --- routes ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class OperationRoutes:
    """Adds the routes of declared operations, in the place where their handlers have what they need."""

    analysis: AnalysisHandlers
    settings: AnalysisSettings
    services: Services

    def add(
        self,
        routes: ApiRoutes,
        operation: DeclaredOperation,
        *,
        live: DeclaredOperation | None = None,
        with_head: bool = False,
    ) -> None:
        """Adds the route of an operation. `live`: the operation that answers on the same path whoever accepts
        server-sent events. `with_head`: HEAD is answered, too; OpenAPI does not list it."""
        facts = operation.facts
        is_json = facts.form in (Form.JSON, Form.PAGE)
        endpoint = _Endpoint(self, routes, handler_of(operation), None if live is None else handler_of(live)).function()
        query = _query_names(operation)
        if with_head:
            routes.add(facts.path, endpoint, methods=["HEAD"], query=query, include_in_schema=False)
        routes.add(
            facts.path,
            endpoint,
            methods=[facts.method],
            query=query,
            name=facts.route_name or operation.name,
            tags=[facts.tag],
            summary=operation.summary,
            description=operation.description + (f"\n\nDeprecated: {facts.deprecated}" if facts.deprecated else ""),
            deprecated=True if facts.deprecated else None,
            response_model=schema(operation.answer_type) if is_json else None,
            response_class=None if is_json else Response,
            responses=_responses(facts) | ({} if live is None else _responses(live.facts)),
        )


def _query_names(operation: DeclaredOperation) -> list[str]:
    """Returns the names of the parameters in the query of an operation's requests."""
    names = [parameter.wire_name for parameter in operation.parameters if parameter.place == "query"]
    return [*names, _CURSOR] if operation.facts.form is Form.PAGE else names


@dataclass(frozen=True, slots=True)
class _Endpoint:
    """The function of one route. `live` answers whoever accepts server-sent events."""

    routes: OperationRoutes
    group: ApiRoutes
    handler: Handler
    live: Handler | None
    _names: dict[str, str] = field(default_factory=dict[str, str])

    def function(self) -> Callable[..., Any]:
        operation = self.handler.operation
        self._names.update({_http_name(parameter): parameter.name for parameter in operation.parameters})

        async def answer(**received: Any) -> Response:
            return await self._answer(received.pop(_REQUEST), received)

        # FastAPI reads parameters from the signature, and names them in errors as it says.
        answer.__signature__ = route_signature(operation, None if self.live is None else self.live.operation)
        answer.__name__ = operation.name
        return answer

    async def _answer(self, request: Request, received: dict[str, Any]) -> Response:
        facts = self.handler.operation.facts
        cursor = received.pop(_CURSOR, None) if facts.form is Form.PAGE else None
        last_event_id = received.pop(_LAST_EVENT_ID, None)
        if facts.strict_body is not None:
            body = cast(BaseModel, received.pop(_BODY))
            received |= {name: getattr(body, name) for name in type(body).model_fields}
        values = {self._names[name]: value for name, value in received.items() if value is not None}
        asked = RequestFacts(
            cursor=cursor,
            access=access_of(request),
            accept=request.headers.get("accept", ""),
            last_event_id=last_event_id,
        )
        handler = self.handler
        if self.live is not None and _EVENT_STREAM in asked.accept.lower():
            if cursor is not None:
                raise Refused(400, "bad_parameter", "a stream has no pages: leave out `cursor`, or Accept")
            handler = self.live
        computing = RequestComputing(self.routes.analysis, request)
        if facts.in_worker:
            return finished_answer(await computing.body_of(handler.operation, values, asked.cursor))
        return response_of(await handler.answer(self._asking(handler, asked, computing), values), request)

    def _asking(self, handler: Handler, asked: RequestFacts, computing: "RequestComputing") -> Asking:
        analysis = self.routes.analysis
        kind = Changing if handler.with_store else Asking
        return kind(
            store=analysis.store,
            settings=self.routes.settings,
            projector=analysis.runner,
            services=self.routes.services,
            request=asked,
            # A route that is limited itself has a turn already: a second one could wait for the first for ever.
            turn=analysis.reads.turn if self.group.reads is None else no_limit,
            computing=computing,
        )


@dataclass(frozen=True, slots=True)
class RequestComputing:
    """Implements `Computing` for one request."""

    analysis: AnalysisHandlers
    request: Request

    async def answer_of(self, call: OperationCall[T]) -> T:
        return cast(T, parse_json(await self.body_of(call.operation, call.values(), None)))

    async def answer(self, question: str, runs: Sequence[str], options: Mapping[str, Any]) -> Any:
        body = await self.analysis.answered(
            self.request, AnalysisQuestion(question, self._project_id, tuple(runs), options)
        )
        return parse_json(body)

    async def body_of(self, operation: DeclaredOperation, values: Mapping[str, Any], cursor: str | None) -> bytes:
        """Returns the answer of a worker as JSON. Runs are named by their ids there, and projected before."""
        if operation.facts.looks_beyond:
            await self.analysis.catch_up(self._project_id)
        values = dict(values)
        for parameter in operation.parameters:
            if parameter.bounds.names_run and (named := values.get(parameter.name)) is not None:
                values[parameter.name] = await self._ids(named)
        question = AnalysisQuestion(operation.key, self._project_id, (), {"values": values, "cursor": cursor})
        return await self.analysis.answered(self.request, question)

    async def _ids(self, named: str | list[str]) -> str | list[str]:
        if isinstance(named, str):
            return (await self.analysis.record(self._project_id, named)).run
        return [(await self.analysis.record(self._project_id, run)).run for run in named]

    @property
    def _project_id(self) -> int:
        return access_of(self.request).project_id


def response_of(answer: object, request: Request) -> Response:
    """Returns the response for a handler's answer. Raises Refused (416)."""
    match answer:
        case None:
            return stream_has_ended()
        case LiveStream(events, resources):
            return LiveStreamResponse(events, resources)
        case StoredContentReply(ref, content):
            return content_answer(ref, content, request.headers)
        case BytesReply(content, headers):
            return _bytes_response(content, headers)
        case FileReply(file, name, media_type):
            return FileDownload(file, name, media_type)
        case EventStreamReply(events):
            return StreamingResponse(events, media_type=_EVENT_STREAM)
        case Content():
            return _bytes_response(answer, {})
        case _:
            return json_answer(answer)


def _bytes_response(content: Content, headers: Mapping[str, str]) -> Response:
    return Response(content.data, media_type=content.media_type, headers=dict(headers))
