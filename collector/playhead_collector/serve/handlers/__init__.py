"""[serve]: routes of the query API, a file for each kind of answer. `serve.routing` registers them.

`analysis` has the questions that [workers] compute, and `asking_models` those that are sent to a model.
"""

from collections.abc import Mapping

from fastapi import APIRouter

from playhead_collector.analysis.configuration import Configured
from playhead_collector.live.hub import LiveHub, StreamLimits
from playhead_collector.read.record import RunProjector
from playhead_collector.retain.sweeper import Sweeper
from playhead_collector.serve.analysis_pool import AnalysisHandlers, LimitedAnalysis
from playhead_collector.serve.handlers import (
    analysis as analysis_routes,
)
from playhead_collector.serve.handlers import (
    asking_models,
    content,
    exporting,
    keys,
    promises,
    runs,
    scores,
    search,
    session,
    storage,
    streams,
)
from playhead_collector.serve.handlers.streams import LiveStreams
from playhead_collector.serve.keyring import Keyring
from playhead_collector.serve.read_limiter import ReadLimiter
from playhead_collector.serve.routing import add_routers, new_router
from playhead_collector.store.ports import Store
from playhead_collector.workers.ports import Analysis, InProcessAnalysis
from playhead_collector.workers.questions import AnalysisSettings

# Defaults of the settings PLAYHEAD_MAX_READS and of the queue before it.
_READS, _READS_WAITING = 4, 64
TAGS = [
    {"name": "runs", "description": "Runs and their events."},
    {"name": "scores", "description": "How good runs and calls were."},
    {"name": "analytics", "description": "Questions across runs."},
    {"name": "moments", "description": "State, context and reasoning at an event."},
    {"name": "calls", "description": "Messages, model calls, tool calls and spans of a run."},
    {"name": "why", "description": "Decisions, reasons of tool calls, and causes of events."},
    {"name": "search", "description": "Decisions and texts of all runs."},
    {"name": "content", "description": "Stored content, by ref."},
    {"name": "senders", "description": "Instrumentation scopes whose content could not be read."},
    {"name": "promises", "description": "What runs wait for: approvals, answers, events, requests to stop."},
    {"name": "keys", "description": "API keys."},
    {"name": "forward", "description": "What is forwarded to other backends."},
]


def router(
    store: Store,
    runner: RunProjector,
    project_id: int = 1,
    configured: Configured | None = None,
    keyring: Keyring | None = None,
    analysis: Analysis | None = None,
    not_understood: Mapping[str, int] | None = None,
    reads: ReadLimiter | None = None,
    hub: LiveHub | None = None,
) -> APIRouter:
    """Returns the routes of the query API. `runner` projects newly arrived spans of a run before it is read.

    `analysis` answers analysis questions; by default they are computed in this process. `reads` limits concurrent reads
    of the database. `hub` serves the live streams.
    """
    configured, reads = configured or Configured(), reads or ReadLimiter(_READS, _READS_WAITING)
    api = new_router()
    if analysis is None:
        analysis = LimitedAnalysis(InProcessAnalysis(store, AnalysisSettings.of(project_id, configured)), reads)
    analysis_handlers = AnalysisHandlers(store, runner, project_id, analysis, reads)
    limited = new_router(reads)
    live = LiveStreams(hub or LiveHub(store, project_id, StreamLimits()), store, project_id, reads.turn)
    streams.add_routes(limited, live)
    runs.add_routes(limited, store, runner, project_id, configured.prices, live)
    runs.add_lease_routes(api, store, project_id)
    promises.add_routes(api, store, project_id)
    scores.add_routes(limited, store, runner, project_id)
    analysis_routes.add_routes(api, analysis_handlers)
    asking_models.add_routes(api, analysis_handlers, configured)
    content.add_routes(limited, store, project_id)
    storage.add_routes(limited, store, project_id)
    search.add_routes(limited, store, project_id, configured.search)
    exporting.add_routes(limited, store, runner, project_id)
    # Separate limit: a key can be revoked while requests with that key fill the other limit.
    operators = new_router(ReadLimiter(1, _READS_WAITING))
    keyring = keyring or Keyring(store, project_id, None)
    keys.add_routes(operators, store, project_id, keyring)
    session.add_routes(api, keyring)
    content.add_scope_routes(api, {} if not_understood is None else not_understood)
    add_routers(api, limited, operators)
    return api


def deletion_router(
    store: Store, runner: RunProjector, project_id: int, sweeper: Sweeper, reads: ReadLimiter
) -> APIRouter:
    """Returns the routes that delete. They share the limit `reads` with the routes that read."""
    api = new_router(reads)
    storage.add_deletion_routes(api, store, runner, project_id, sweeper)
    return api
