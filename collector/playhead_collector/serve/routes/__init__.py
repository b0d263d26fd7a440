"""analysis → workers → [serve].  The table of the query API: which path asks which question, and what it answers.

routes     this table                          params     what a URL may say
*_routes   handlers                            answering  answers as HTTP
schemas    types of answers → OpenAPI
"""

from collections.abc import Callable, Mapping
from typing import Any

from fastapi import APIRouter, Response

from playhead.wire import answers as a
from playhead.wire.answers import compression as c
from playhead.wire.answers import deletion as d
from playhead.wire.answers import keys as k
from playhead.wire.answers import leases as le
from playhead.wire.answers import provenance as w
from playhead.wire.answers.compare import Comparison
from playhead.wire.answers.scopes import Scopes
from playhead_collector.analysis.configuration import Configured
from playhead_collector.read.record import Runner
from playhead_collector.retain.sweeper import Sweeper
from playhead_collector.serve.analysis_pool import Asking
from playhead_collector.serve.keyring import Keyring
from playhead_collector.serve.routes.compression import ChangeRoutes
from playhead_collector.serve.routes.content import ContentRoutes
from playhead_collector.serve.routes.deletion import DeletionRoutes
from playhead_collector.serve.routes.keys import KeyRoutes
from playhead_collector.serve.routes.leases import LeaseRoutes
from playhead_collector.serve.routes.params import ONLY_KNOWN
from playhead_collector.serve.routes.provenance import WhyRoutes
from playhead_collector.serve.routes.reasoning import STREAM, ThoughtRoutes
from playhead_collector.serve.routes.runs import RunRoutes
from playhead_collector.serve.routes.scopes import ScopeRoutes
from playhead_collector.serve.schemas import schema
from playhead_collector.store.ports import Store
from playhead_collector.workers.ports import Analysis, InProcess
from playhead_collector.workers.questions import Given

PREFIX = "/api/v1"
TAGS = [
    {"name": "runs", "description": "Which runs there are, and what happened in one."},
    {"name": "moments", "description": "What was at a seq or event: state, context, reasoning."},
    {"name": "calls", "description": "Messages, model calls, tool calls and spans of a run."},
    {"name": "why", "description": "Decisions, why tools were called, and what rested on what."},
    {"name": "content", "description": "What refs name."},
    {"name": "senders", "description": "Which of them are not understood."},
    {"name": "keys", "description": "Who may send, ask, and do the rest."},
]
_BYTES: dict[int | str, dict[str, Any]] = {
    200: {"description": "The bytes, in their own media type; JSON for `as=messages`.", "content": {"*/*": {}}},
    206: {"description": "The range that was asked for.", "content": {"*/*": {}}},
    304: {"description": "The caller has it."},
    416: {"description": "The range lies outside the content.", "model": schema(a.ErrorAnswer)},
}
_EXPLAINED: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "The explanation; streamed, events `text`, `explanation` and `error`.",
        "content": {STREAM: {}},
    }
}
_REFUSALS = {
    400: "A part of the question cannot be understood.",
    404: "There is no such run, event, call or content.",
    409: "No model is configured that could explain.",
    413: "The contents are too large together.",
    422: "A parameter is out of its bounds.",
    502: "The model that explains does not answer, or not as it should.",
    503: "The database does not answer, or too many questions wait: try again after `Retry-After` seconds. Or the "
    "question took too long or too much memory (`took_too_long`, `took_too_much`): ask for less.",
}

_NO_ADMIN = "There would be no key that may make or revoke keys; or there are too many."
_FORKED = "Runs were forked from it, which share its record; the message names some."
_HELD = "Another process goes on with the run; the message says which, and since when."


def router(
    store: Store,
    runner: Runner,
    project: int = 1,
    configured: Configured | None = None,
    keyring: Keyring | None = None,
    analysis: Analysis | None = None,
    not_understood: Mapping[str, int] | None = None,
) -> APIRouter:
    """The query API on this store; the runner is asked to project a run before anything is said about it.

    `analysis` answers what takes computing; without it, that is done in this process.
    """
    configured = configured or Configured()
    api = APIRouter(prefix=PREFIX, responses=_refusals(400, 404, 422, 503), dependencies=ONLY_KNOWN)
    asking = Asking(store, runner, project, analysis or InProcess(store, Given.of(project, configured)))
    runs, contents = RunRoutes(store, runner, project, configured.prices), ContentRoutes(store, project)
    _get(api, "runs", "/runs", runs.runs, a.Page[a.RunSummary])
    _get(api, "runs", "/runs/{run}", runs.run, a.RunDetail)
    _get(api, "runs", "/runs/{run}/events", runs.events, a.Page[a.RecordedEvent])
    _get(api, "moments", "/runs/{run}/state", runs.state, a.StateAt)
    _get(api, "moments", "/runs/{run}/context", runs.context, a.ContextAt)
    _add_thoughts(api, ThoughtRoutes(asking, configured))
    _get(api, "calls", "/runs/{run}/messages", runs.messages, a.Page[a.HistoryEntry])
    _get(api, "calls", "/runs/{run}/llm-calls", runs.llm_calls, a.Page[a.LlmCall])
    _get(api, "calls", "/runs/{run}/tool-calls", runs.tool_calls, a.Page[a.ToolCall])
    _get(api, "calls", "/runs/{run}/spans", runs.spans, a.Page[a.TraceSpan])
    _get(api, "calls", "/runs/{run}/logs", runs.logs, a.Page[le.RunLog])
    _add_leases(api, LeaseRoutes(store, project))
    why = WhyRoutes(asking)
    _get(api, "why", "/runs/{run}/decisions", why.decisions, a.Page[w.Decision])
    _get(api, "why", "/runs/{run}/decisions/{seq}", why.decision, w.DecisionDetail)
    _get(api, "why", "/runs/{run}/attributions", why.attributions, a.Page[w.Attribution])
    _get(api, "why", "/runs/{run}/attributions/{seq}", why.attribution, w.Attribution)
    _get(api, "why", "/runs/{run}/causes/{seq}", why.causes, w.CausalGraph)
    _add_changes(api, ChangeRoutes(asking))
    _add_content(api, contents)
    _add_keys(api, KeyRoutes(store, project, keyring or Keyring(store, project, None)))
    _get(api, "senders", "/scopes", ScopeRoutes({} if not_understood is None else not_understood).scopes, Scopes)
    return api


def _add_changes(api: APIRouter, changes: ChangeRoutes) -> None:
    _get(api, "runs", "/runs/{a}/compare/{b}", changes.compare, Comparison)
    _get(api, "moments", "/runs/{run}/diff", changes.diff, c.Diff)
    _get(api, "moments", "/runs/{run}/compressions", changes.compressions, a.Page[c.Compression])
    _get(api, "moments", "/runs/{run}/compressions/{seq}", changes.compression, c.CompressionAudit)


def deletion_router(store: Store, runner: Runner, project: int, sweeper: Sweeper) -> APIRouter:
    """What takes something away."""
    api = APIRouter(prefix=PREFIX, responses=_refusals(400, 404, 422, 503), dependencies=ONLY_KNOWN)
    deletion = DeletionRoutes(store, runner, project, sweeper)
    refused: dict[int | str, dict[str, Any]] = {409: {"description": _FORKED, "model": schema(a.ErrorAnswer)}}
    deleted = api.delete("/runs/{run}", tags=["runs"], response_model=schema(d.DeletedRuns), responses=refused)
    deleted(deletion.delete_run)
    api.post("/gc", tags=["content"], response_model=schema(d.Collected))(deletion.collect_garbage)
    return api


def _add_content(api: APIRouter, contents: ContentRoutes) -> None:
    content, batch = contents.content, contents.batch
    api.get("/content/{ref}", tags=["content"], name="content", responses=_BYTES, response_class=Response)(content)
    api.head("/content/{ref}", include_in_schema=False)(content)
    values = schema(dict[str, a.ContentValue])
    api.post("/content/batch", tags=["content"], name="batch", response_model=values, responses=_refusals(413))(batch)


def _add_thoughts(api: APIRouter, thoughts: ThoughtRoutes) -> None:
    _get(api, "runs", "/runs/{run}/tokens", thoughts.tokens, a.TokenTimeline)
    _get(api, "moments", "/runs/{run}/reasoning/{seq}", thoughts.reasoning, a.Reasoning)
    answer, responses = schema(a.Explanation), _EXPLAINED | _refusals(409, 502)
    explain = api.post("/runs/{run}/explain", tags=["moments"], response_model=answer, responses=responses)
    explain(thoughts.explain)


def _add_leases(api: APIRouter, leases: LeaseRoutes) -> None:
    path, lease = "/runs/{run}/lease", schema(le.RunLease)
    held: dict[int | str, dict[str, Any]] = {409: {"description": _HELD, "model": schema(a.ErrorAnswer)}}
    api.post(path, tags=["runs"], name="take_lease", response_model=lease, responses=held)(leases.take_lease)
    api.put(path, tags=["runs"], name="renew_lease", response_model=lease, responses=held)(leases.renew_lease)
    api.delete(path, tags=["runs"], name="release_lease", response_model=schema(le.Released))(leases.release_lease)


def _add_keys(api: APIRouter, keys: KeyRoutes) -> None:
    _get(api, "keys", "/keys", keys.keys, k.Keys)
    new = schema(k.NewKey)
    responses: dict[int | str, dict[str, Any]] = {409: {"description": _NO_ADMIN, "model": schema(a.ErrorAnswer)}}
    api.post("/keys", tags=["keys"], name="create_key", response_model=new, responses=responses)(keys.create_key)
    api.delete("/keys/{number}", tags=["keys"], name="revoke_key", response_model=schema(k.Revoked))(keys.revoke_key)


def _get(api: APIRouter, tag: str, path: str, handler: Callable[..., Any], answer: Any) -> None:
    api.get(path, tags=[tag], name=handler.__name__, response_model=schema(answer))(handler)


def _refusals(*statuses: int) -> dict[int | str, dict[str, Any]]:
    error = schema(a.ErrorAnswer)
    return {status: {"description": _REFUSALS[status], "model": error} for status in statuses}
