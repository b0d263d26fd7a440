"""Adds the routes of the query API, in the order of its description. Those of the session are written by hand."""

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from fastapi import FastAPI

from playhead.wire.operations.across import AcrossOperations
from playhead.wire.operations.calls import CallOperations
from playhead.wire.operations.compare import CompareOperations
from playhead.wire.operations.compression import CompressionOperations
from playhead.wire.operations.content import ContentOperations, ScopeOperations
from playhead.wire.operations.conversations import ConversationOperations
from playhead.wire.operations.exports import ExportOperations
from playhead.wire.operations.forgetting import ForgettingOperations
from playhead.wire.operations.forward import ForwardOperations
from playhead.wire.operations.keys import KeyOperations
from playhead.wire.operations.leases import LeaseOperations
from playhead.wire.operations.moments import DiffOperations, MomentOperations
from playhead.wire.operations.notes import NoteOperations
from playhead.wire.operations.operation import operations_of
from playhead.wire.operations.projects import ProjectOperations
from playhead.wire.operations.promises import PromiseOperations
from playhead.wire.operations.reasoning import ReasoningOperations
from playhead.wire.operations.redaction import RedactionOperations
from playhead.wire.operations.retention import RetentionOperations
from playhead.wire.operations.runs import RunOperations
from playhead.wire.operations.scorers import ScorerOperations
from playhead.wire.operations.scores import ScoreOperations
from playhead.wire.operations.search import SearchOperations
from playhead.wire.operations.storage import StorageOperations
from playhead.wire.operations.suspects import SuspectOperations
from playhead.wire.operations.tokens import TokenOperations
from playhead.wire.operations.turns import TurnOperations
from playhead.wire.operations.verdict import VerdictOperations
from playhead.wire.operations.waterfall import WaterfallOperations
from playhead.wire.operations.why import WhyOperations
from playhead_collector.analysis.configuration import Configured
from playhead_collector.handlers.asking import MaskerDirectory, ScoringService, Services
from playhead_collector.handlers.settings import AnalysisSettings
from playhead_collector.live.hub import LiveHub, StreamLimits
from playhead_collector.read.record import RunProjector
from playhead_collector.serve import session
from playhead_collector.serve.access_control import AccessControl
from playhead_collector.serve.analysis_pool import AnalysisHandlers, LimitedAnalysis
from playhead_collector.serve.keyring import Keyring
from playhead_collector.serve.operations import OperationRoutes
from playhead_collector.serve.read_limiter import ReadLimiter
from playhead_collector.serve.routing import ApiRoutes
from playhead_collector.workers.ports import Analysis, InProcessAnalysis

if TYPE_CHECKING:  # the journal of a machine is read without Postgres' driver
    from playhead_collector.forward.forwarder import Forwarder
    from playhead_collector.retain.forgetter import Forgetter
    from playhead_collector.retain.retainer import Retainer
    from playhead_collector.retain.sweeper import Sweeper
    from playhead_collector.store.postgres.store import PostgresStore

# Defaults of the settings PLAYHEAD_MAX_READS and of the queue before it.
_READS, _READS_WAITING = 4, 64
# A pack may hold a content of 64 MiB and is completely in memory; a content is read completely before it is sent.
_PACKING, _LOOKING_UP = 2, 2
TAGS = [
    {"name": "runs", "description": "Runs and their events."},
    {"name": "scores", "description": "How good runs and calls were."},
    {"name": "conversations", "description": "Lists of messages that go on over runs."},
    {"name": "analytics", "description": "Questions across runs."},
    {"name": "moments", "description": "State, context and reasoning at an event."},
    {"name": "calls", "description": "Messages, model calls, tool calls and spans of a run."},
    {"name": "why", "description": "Decisions, reasons of tool calls, and causes of events."},
    {"name": "search", "description": "Decisions and texts of all runs."},
    {"name": "content", "description": "Stored content, by ref."},
    {"name": "senders", "description": "Instrumentation scopes whose content could not be read."},
    {"name": "promises", "description": "What runs wait for: approvals, answers, events, requests to stop."},
    {"name": "keys", "description": "API keys."},
    {"name": "projects", "description": "Tenants of one collector."},
    {"name": "retention", "description": "How long runs are kept, and in which form."},
    {"name": "forward", "description": "What is forwarded to other backends."},
]


def add_routes(
    app: FastAPI,
    store: "PostgresStore",
    runner: RunProjector,
    configured: Configured | None = None,
    *,
    access_control: AccessControl | None = None,
    analysis: Analysis | None = None,
    not_understood: Mapping[int, Mapping[str, int]] | None = None,
    reads: ReadLimiter | None = None,
    hub: LiveHub | None = None,
    sweeper: "Sweeper | None" = None,
    forgetter: "Forgetter | None" = None,
    retainer: "Retainer | None" = None,
    forwarder: "Forwarder | None" = None,
    scoring: ScoringService | None = None,
    maskers: MaskerDirectory | None = None,
) -> None:
    """Adds the routes of the query API to `app`. `runner` projects newly arrived spans of a run before it is read.

    `analysis` answers analysis questions; by default they are computed in this process. `reads` limits concurrent reads
    of the database. `hub` serves the live streams. Without `sweeper` there are no routes that delete, without
    `forgetter` none that forget, without `retainer` none about retention, without `forwarder` none about forwarding,
    and without `scoring` none about scorers.
    """
    configured, reads = configured or Configured(), reads or ReadLimiter(_READS, _READS_WAITING)
    keyring = Keyring(store.keys, None) if access_control is None else access_control.keyring
    not_understood = {} if not_understood is None else not_understood
    settings = AnalysisSettings.of(configured)
    if analysis is None:
        analysis = LimitedAnalysis(InProcessAnalysis(store, settings, store.search), reads)
    analysis_handlers = AnalysisHandlers(store, runner, analysis, reads)
    packing, looking_up = asyncio.Semaphore(_PACKING), asyncio.Semaphore(_LOOKING_UP)
    services = Services(
        explainer=configured.explainer,
        chat_models=configured.chat_models,
        search=configured.search,
        clock=configured.clock,
        hub=hub or LiveHub(store, store.changes, StreamLimits()),
        changes=store.changes,
        sweeper=sweeper,
        forgetter=forgetter,
        retainer=retainer,
        forwarder=forwarder,
        keys=keyring,
        projects=None if access_control is None else access_control.projects,
        meter=None if access_control is None else access_control.quotas,
        scoring=scoring,
        maskers=maskers,
        not_understood=not_understood,
        reading=reads.turn,
        packing=lambda: packing,
        looking_up=lambda: looking_up,
        asking_models=ReadLimiter(configured.max_asked, 0, advice="raise PLAYHEAD_MAX_ASKED").turn,
    )
    declared = OperationRoutes(analysis_handlers, settings, services)
    # The order of registration is that of the API's description.
    api = ApiRoutes(app)
    _add_all(declared, api, LeaseOperations)
    _add_all(declared, api, PromiseOperations)
    for subject in (DiffOperations, CompareOperations, CompressionOperations, TokenOperations, WhyOperations):
        _add_all(declared, api, subject)
    _add_all(declared, api, AcrossOperations)
    _add_all(declared, api, ReasoningOperations)
    _add_all(declared, api, SuspectOperations)
    _add_all(declared, api, VerdictOperations)
    _add_all(declared, api, TurnOperations)
    _add_all(declared, api, WaterfallOperations)
    session.add_routes(api, keyring)
    declared.add(api, ScopeOperations.scopes)
    limited = ApiRoutes(app, reads)
    declared.add(limited, RunOperations.events_of_all_runs)
    _add_recorded(declared, limited)
    _add_all(declared, limited, ScoreOperations)
    _add_all(declared, limited, NoteOperations)
    _add_all(declared, limited, ConversationOperations)
    declared.add(limited, ContentOperations.content, with_head=True)
    declared.add(limited, ContentOperations.about)
    declared.add(limited, ContentOperations.contents)
    declared.add(limited, StorageOperations.storage)
    declared.add(limited, StorageOperations.large_contents)
    _add_all(declared, limited, SearchOperations)
    declared.add(limited, ExportOperations.otlp)
    declared.add(limited, RunOperations.test_of)
    declared.add(limited, ExportOperations.bundle)
    declared.add(limited, ContentOperations.content_pack)
    # Separate limit: a key can be revoked while requests with that key fill the other limit.
    _add_all(declared, ApiRoutes(app, ReadLimiter(1, _READS_WAITING)), KeyOperations)
    if access_control is not None:
        _add_all(declared, limited, ProjectOperations)
    _add_optional(declared, limited, services)


def _add_optional(declared: OperationRoutes, routes: ApiRoutes, services: Services) -> None:
    """Adds the operations of parts that this collector has."""
    if services.projects is not None and services.maskers is not None:
        _add_all(declared, routes, RedactionOperations)
    if services.scoring is not None:
        _add_all(declared, routes, ScorerOperations)
    if services.sweeper is not None:
        declared.add(routes, StorageOperations.delete_run)
        declared.add(routes, StorageOperations.collect_garbage)
    if services.forgetter is not None:
        _add_all(declared, routes, ForgettingOperations)
    if services.retainer is not None:
        _add_all(declared, routes, RetentionOperations)
    if services.forwarder is not None:
        _add_all(declared, routes, ForwardOperations)


def _add_recorded(declared: OperationRoutes, routes: ApiRoutes) -> None:
    """Adds the operations that read what was recorded in a run."""
    declared.add(routes, RunOperations.runs)
    declared.add(routes, RunOperations.runs_overview)
    declared.add(routes, RunOperations.run)
    declared.add(routes, RunOperations.events, live=RunOperations.live_events)
    declared.add(routes, MomentOperations.state)
    declared.add(routes, CallOperations.context)
    declared.add(routes, MomentOperations.checkpoints)
    declared.add(routes, CallOperations.messages)
    declared.add(routes, CallOperations.llm_calls)
    declared.add(routes, CallOperations.tool_calls)
    declared.add(routes, CallOperations.spans)
    declared.add(routes, CallOperations.span)
    declared.add(routes, RunOperations.logs)


def _add_all(declared: OperationRoutes, routes: ApiRoutes, owner: type[Any]) -> None:
    """Adds all operations of a class."""
    for operation in operations_of(owner):
        declared.add(routes, operation)
