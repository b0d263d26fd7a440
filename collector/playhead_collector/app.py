"""The composition root: the only module that imports all stages and connects them.

    receive → lift → store → projection → read → workers → serve

`create_app` builds the application on a given store; `open_collector` starts everything, including the database, and
stops it again.
"""

import asyncio
import gc
import os
import time
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial
from importlib import metadata
from pathlib import Path

from fastapi import FastAPI, Request, Response
from starlette.middleware.cors import CORSMiddleware
from starlette.routing import Match
from starlette.types import Scope

from playhead.model.names import COLLECTOR_PATH
from playhead_collector import embedded
from playhead_collector.access import FIRST_PROJECT
from playhead_collector.analysis.configuration import Configured
from playhead_collector.analysis.model_api import ModelApi
from playhead_collector.analysis.search.settings import SearchSettings
from playhead_collector.background import BackgroundWorker, running
from playhead_collector.embedded.postgres import supervise
from playhead_collector.errors import BadSetting, Refused, StoreUnavailable
from playhead_collector.forward.destination import destination
from playhead_collector.forward.forwarder import forwarder_of
from playhead_collector.forward.webhook import announcer_of, check_webhook, observe_announcer
from playhead_collector.handlers.settings import AnalysisSettings
from playhead_collector.ingest_pipeline import IngestPipeline
from playhead_collector.live.hub import LiveHub, StreamLimits
from playhead_collector.network.grpc_server import Servicer
from playhead_collector.network.guard import Guard, limits_of
from playhead_collector.project_turns import ProjectTurns
from playhead_collector.projection import ProjectionRunner
from playhead_collector.read.prices import Prices, read_prices, shipped
from playhead_collector.receive.bounded import ANSWER_SLOW_AFTER_SECONDS, BoundAnswers, BoundBodies
from playhead_collector.receive.content import ContentHttp
from playhead_collector.receive.grpc_turns import MessageTurns
from playhead_collector.receive.langfuse_media import LangfuseMediaHttp
from playhead_collector.receive.otlp.decoded import DecodeLimits
from playhead_collector.receive.otlp_grpc import OtlpGrpc
from playhead_collector.receive.otlp_http import INTAKE_PATHS, OtlpHttp
from playhead_collector.receive.otlp_intake import OtlpIntake
from playhead_collector.receive.ports import Authorize
from playhead_collector.receive.request_limiter import RequestLimiter
from playhead_collector.receive.transfer_budget import TransferBudget
from playhead_collector.retain.forgetter import Forgetter
from playhead_collector.retain.object_mover import ObjectMover
from playhead_collector.retain.packer import Packer
from playhead_collector.retain.redactor import Redactor
from playhead_collector.retain.retainer import Retainer
from playhead_collector.retain.sweeper import Sweeper
from playhead_collector.serve import drop_in, errors, health, identity, query_api
from playhead_collector.serve.access_control import AccessControl
from playhead_collector.serve.auth import RequireKey
from playhead_collector.serve.browser import pages
from playhead_collector.serve.browser.origin_guard import BrowserGuard
from playhead_collector.serve.compressed_answers import CompressAnswers
from playhead_collector.serve.health import GrpcHealth
from playhead_collector.serve.keyring import Keyring
from playhead_collector.serve.maskers import Maskers, load_hook
from playhead_collector.serve.metrics import CountRequests, ForwardMetrics, Metrics, ObjectMetrics
from playhead_collector.serve.project_directory import ProjectDirectory
from playhead_collector.serve.quotas import Quotas
from playhead_collector.serve.read_limiter import ReadLimiter
from playhead_collector.serve.routing import PREFIX
from playhead_collector.serve.trusted_proxies import TrustedProxies
from playhead_collector.settings import CollectorSettings, without_password
from playhead_collector.settings import table as settings_table
from playhead_collector.store import schema
from playhead_collector.store.objects.obstore_store import open_object_store
from playhead_collector.store.operator_key import KeySource, OperatorKey
from playhead_collector.store.ports.objects import ObjectStore
from playhead_collector.store.postgres.connection import DatabaseTimeouts
from playhead_collector.store.postgres.store import PostgresStore, connect
from playhead_collector.workers.indexer import indexer_of
from playhead_collector.workers.outcome_finder import OutcomeFinder
from playhead_collector.workers.pool import AnalysisPools, WorkerPool
from playhead_collector.workers.ports import InProcessAnalysis
from playhead_collector.workers.process import BACKGROUND_NICE, WorkerProcess
from playhead_collector.workers.protocol import Setup
from playhead_collector.workers.run_scorer import RunScorer
from playhead_collector.workers.scorer_functions import SCORER_PROCESS, ScorerFunctions, named_functions
from playhead_collector.workers.scoring import ScoringWorker

# Request bodies in work take up to nine times their size in memory (as spans, messages and contents). A limit of half
# of the largest body bounds that to 300 MB. A body above the limit is taken when it is the only one.
IN_WORK_SHARE = 2
# The highest number of waiting runs that /metrics counts; a higher figure would say nothing new, and would cost a scan.
_COUNT_WAITING = 1_000
MIB = 1024 * 1024


@dataclass(frozen=True, slots=True)
class RunningCollector:
    """A started collector without its network side. `database` is the database URL without the password."""

    app: FastAPI
    database: str
    guard: Guard
    streams: LiveHub
    grpc: Sequence[Servicer] = ()
    needs_key: bool = True
    supervision: "asyncio.Task[None] | None" = None
    """Task that ends with an error when the embedded Postgres cannot be kept running; None: an external Postgres is
    used."""


@asynccontextmanager
async def open_collector(settings: CollectorSettings) -> AsyncGenerator[RunningCollector]:
    """Starts the database, migrates its schema, opens the store and builds the application. Stops all of it when the
    block ends.

    Raises BadSetting, CannotStart, DatabaseError, StoreUnavailable.
    """
    configured(settings)  # raises BadSetting before anything is started
    operator_key = opened(key_source(settings))
    async with AsyncExitStack() as stack:
        dsn, supervision = settings.database_url, None
        if dsn is None:
            postgres = await asyncio.to_thread(embedded.start, settings.data_dir)
            stack.push_async_callback(asyncio.to_thread, postgres.stop)
            supervision = asyncio.create_task(supervise(postgres))
            stack.push_async_callback(_end, supervision)
            dsn = postgres.dsn
        await bring_to_newest_schema(dsn)
        recipients = [destination(destination_settings).recipient for destination_settings in settings.destinations]
        timeouts = timeouts_of(settings)
        with schema.refusals_explained(dsn):
            store = await connect(
                dsn, pool_size=settings.pool_size, timeouts=timeouts, recipients=recipients,
                objects=object_store_of(settings), operator_key=operator_key,
            )  # fmt: skip
            stack.push_async_callback(store.close)
            await store.projects.check_keys()
            if settings.search and not await _prepare_search(store, settings.search_language):
                raise BadSetting(
                    "PLAYHEAD_SEARCH_LANGUAGE is no text search configuration of your Postgres: try simple"
                )
        pools = None
        if settings.analysis_processes:
            pools = analysis_pools(settings, dsn)
            stack.push_async_callback(pools.close)
        hub = LiveHub(store, store.changes, stream_limits(settings))
        built = build_collector(settings, store, pools, hub)
        needs_key = bool(settings.admin_key) or bool(await store.keys.of_all_projects())
        database_url = without_password(dsn)
        collector = RunningCollector(built.app, database_url, built.guard, hub, built.grpc, needs_key, supervision)
        _freeze_gc()
        yield collector


async def _prepare_search(store: PostgresStore, language: str) -> bool:
    return all([await store.search.prepare(project.number, language) for project in await store.projects.all()])


async def bring_to_newest_schema(dsn: str) -> None:
    """Migrates the database, unless it has this build's schema.

    Raises DatabaseUnreachable, DatabaseTooOld, MayNotMigrate, MayNotUseTables, SchemaTooNew, SchemaUnreleased.
    """
    if await schema.current(dsn) != schema.head():
        from playhead_collector.store import migrate  # noqa: PLC0415 - Alembic would make each start 50 % longer

        await migrate.upgrade(dsn)


async def _end(task: "asyncio.Task[None]") -> None:
    task.cancel()
    await asyncio.wait([task])


def create_app(
    settings: CollectorSettings, store: PostgresStore, *, clock: Callable[[], int] = time.time_ns
) -> FastAPI:
    """Returns the application on this store, without its network side. `clock` gives ns since 1970."""
    return build_collector(settings, store, clock=clock).app


def analysis_pools(settings: CollectorSettings, dsn: str) -> AnalysisPools:
    """Returns the processes that answer analysis questions, and one for background work; none is started before its
    first question."""
    setup = _setup(settings, dsn, AnalysisSettings.of(configured(settings)))
    processes = [WorkerProcess(setup) for _ in range(settings.analysis_processes)]
    return AnalysisPools(
        WorkerPool(processes, settings.analysis_seconds, settings.analysis_waiting),
        WorkerPool([WorkerProcess(setup, nice=BACKGROUND_NICE)], settings.analysis_seconds, settings.analysis_waiting),
    )


def _setup(settings: CollectorSettings, dsn: str, given: AnalysisSettings) -> Setup:
    return Setup(
        dsn=dsn,
        timeouts=timeouts_of(settings),
        given=given,
        seconds=settings.analysis_seconds,
        memory_bytes=settings.analysis_memory_bytes,
        answer_bytes=settings.max_answering_bytes,
        log_format=settings.log_format,
        log_level=settings.log_level,
        object_store=settings.object_store,
        object_store_seconds=settings.object_store_seconds,
        operator_key=key_source(settings),
    )


@dataclass(frozen=True, slots=True)
class BuiltCollector:
    """The parts that answer requests: `app` over HTTP, `guard` for its connections, and `grpc` over gRPC."""

    app: FastAPI
    guard: Guard
    grpc: Sequence[Servicer]


def build_collector(
    settings: CollectorSettings,
    store: PostgresStore,
    pools: AnalysisPools | None = None,
    hub: LiveHub | None = None,
    *,
    clock: Callable[[], int] = time.time_ns,
) -> BuiltCollector:
    """Builds the application, whose lifespan runs the background workers, and the parts around it.

    Without pools, analysis questions are answered in this process.
    """
    answers = configured(settings, clock)
    # More work at a time would wait for a connection to the database.
    turns = ProjectTurns(settings.pool_size)
    runner = _runner(settings, store, answers.prices, clock, turns)
    packer = Packer(store.projections, clock=clock, is_busy=runner.is_busy, rest=runner.rest_of_others)
    sweeper = _sweeper(settings, store)
    mover = _object_mover(settings, store, runner.is_busy)
    forgetter = Forgetter(store.forgetting, sweeper, hold_s=settings.forget_after_seconds)
    retainer = Retainer(store.tiers, wall_ns=clock, objects=store.moves if store.objects.is_on else None)
    hub = hub or LiveHub(store, store.changes, stream_limits(settings))
    forwarder = forwarder_of(settings, store, answers.prices, clock)
    announcer = announcer_of(settings, store.promises, clock)
    in_process = InProcessAnalysis(store, AnalysisSettings.of(answers), store.search)
    pool, background = (None, in_process) if pools is None else (pools.questions, pools.background)

    def is_busy() -> bool:
        """Whether work that is in no hurry should wait."""
        return runner.is_busy() or (pool is not None and pool.figures.running > 0)

    indexer = indexer_of(answers.search, store.search, background, is_busy)
    finder = OutcomeFinder(
        store.outcomes, background, answers.prices, find_suspects=settings.first_suspects, is_busy=is_busy,
        wall_ns=clock,
    )  # fmt: skip
    metrics = Metrics()
    access_control = _access_control(settings, store, metrics, clock)
    maskers = Maskers(access_control.projects, load_hook(settings.redaction_hook))
    intake = IngestPipeline(
        store, FIRST_PROJECT, settings.inline_attribute_characters,
        (runner.wake, lambda _: forwarder.wake()), maskers.of,
    )  # fmt: skip
    functions = _scorer_functions(settings)
    run_scorer = RunScorer(
        background, functions, answers.chat_models, answers.prices,
        lambda project_id, batch: intake.of(project_id).record(batch), clock,
    )  # fmt: skip
    scoring = ScoringWorker(
        store.scorers, store.scores.add, run_scorer, is_busy=is_busy, wall_ns=clock, close=functions.close,
        masked=maskers.masked,
    )  # fmt: skip
    redactor = Redactor(store.redaction, maskers.of)
    workers = [
        runner, packer, sweeper, forgetter, retainer, mover, forwarder, announcer, indexer, finder, scoring,
        access_control.quotas, redactor,
    ]  # fmt: skip
    app = _application(workers, hub)
    flow, guard = _make_limits(settings, metrics, turns)
    most = DecodeLimits(items=settings.max_spans_per_request, parts=settings.max_span_parts)
    otlp = OtlpIntake(intake.of, metrics, flow, settings.max_request_bytes, most)
    app.include_router(OtlpHttp(otlp).router())
    app.include_router(ContentHttp(intake.of, metrics, flow, *_sizes(settings)).router())
    media = LangfuseMediaHttp(intake.of, metrics, flow, settings.max_content_bytes, access_control.upload_ticket, clock)
    app.include_router(media.router())
    reads = _reads(settings, metrics, turns)
    query_api.add_routes(
        app, store, runner, answers, access_control=access_control, analysis=pool, not_understood=metrics.scopes,
        reads=reads, hub=hub, sweeper=sweeper, forgetter=forgetter, retainer=retainer, forwarder=forwarder,
        scoring=run_scorer, maskers=maskers,
    )  # fmt: skip
    _attach_pages(app, store, mover)
    forwarding = ForwardMetrics(forwarder, clock, metrics.registry)
    in_objects = None if mover is None else ObjectMetrics(mover, metrics.registry)
    measure = partial(_measure, metrics, forwarding, in_objects, settings, store, asyncio.Lock())
    app.include_router(metrics.router(measure))
    _observe(metrics, flow, runner, sweeper, hub)
    _observe_workers(metrics, finder, scoring, retainer)
    _observe_redaction(metrics, maskers)
    observe_announcer(metrics.gauge, announcer)
    if pool is not None:
        _observe_analysis(metrics, pool)
    _add_middleware(app, settings, flow, metrics, access_control)
    return BuiltCollector(app, guard, (_otlp_grpc(otlp, settings, metrics, access_control.sender), GrpcHealth(store)))


def _scorer_functions(settings: CollectorSettings) -> ScorerFunctions:
    """Returns the functions that scorers may name, and the pool of the one process that calls them. It is started at
    the first call, and gets neither the address of the database nor other secrets. Raises BadSetting."""
    setup = replace(_setup(settings, "", AnalysisSettings()), answer_bytes=MIB)
    secrets = [setting.env for setting in settings_table() if setting.secret or setting.field == "database_url"]
    secrets += [name for name in os.environ if name.startswith("PLAYHEAD_FORWARD_")]  # keys of destinations
    process = WorkerProcess(setup, SCORER_PROCESS, nice=BACKGROUND_NICE, without=secrets)
    pool = WorkerPool([process], settings.analysis_seconds, settings.analysis_waiting)
    return ScorerFunctions(named_functions(settings.scorers), pool, pool.close)


def _access_control(
    settings: CollectorSettings, store: PostgresStore, metrics: Metrics, clock: Callable[[], int]
) -> AccessControl:
    projects = ProjectDirectory(store.projects)
    quotas = Quotas(projects, store.projects, store.storage, wall_ns=clock)
    metrics.on_arrived = quotas.arrived
    return AccessControl(Keyring(store.keys, settings.admin_key or None, wall_ns=clock), projects, quotas)


def _observe_redaction(metrics: Metrics, maskers: Maskers) -> None:
    counted = {
        "contents": "Contents of which a part was masked by rules of their project",
        "spans": "Spans of which a part was masked",
        "logs": "Log events of which a part was masked",
        "hook_failures": "Values that were masked as a whole because PLAYHEAD_REDACTION_HOOK failed",
        "too_long": "Values that were masked as a whole because patterns took too long",
    }
    for name, text in counted.items():
        metrics.gauge(f"redaction_{name}", text, partial(maskers.counts.__getitem__, name))


def _runner(
    settings: CollectorSettings, store: PostgresStore, prices: Prices, clock: Callable[[], int], turns: ProjectTurns
) -> ProjectionRunner:
    return ProjectionRunner(
        store.projections,
        clock=clock,
        seal_after_s=settings.seal_after_seconds,
        lost_after_s=settings.run_lost_after_seconds,
        foreign_lost_after_s=settings.foreign_run_lost_after_seconds,
        kept_bytes=settings.kept_runs_bytes,
        pricing=prices,
        turns=turns,
    )


def _attach_pages(app: FastAPI, store: PostgresStore, mover: ObjectMover | None) -> None:
    """Attaches the routes that are not about runs."""
    app.include_router(pages.router(PREFIX))
    app.include_router(health.router(store, (lambda: None) if mover is None else lambda: mover.problem))
    app.include_router(identity.router())
    app.include_router(drop_in.router(version()))


def _sweeper(settings: CollectorSettings, store: PostgresStore) -> Sweeper:
    return Sweeper(
        store.garbage,
        store.projects,
        grace_s=settings.content_grace_seconds,
        tombstone_s=settings.tombstone_seconds,
        changes_s=settings.stream_resume_seconds,
    )


def object_store_of(settings: CollectorSettings) -> ObjectStore | None:
    """Returns the object store that the operator set; None: there is none. Raises BadSetting."""
    if settings.object_store is None:
        return None
    return open_object_store(settings.object_store, settings.object_store_seconds)


def _object_mover(settings: CollectorSettings, store: PostgresStore, is_busy: Callable[[], bool]) -> ObjectMover | None:
    if not store.objects.is_on:
        return None
    return ObjectMover(
        store.moves,
        store.objects,
        least_bytes=settings.object_store_min_bytes,
        grace_s=settings.object_store_grace_seconds,
        wait_s=settings.object_store_wait_seconds,
        is_busy=is_busy,
    )


def _otlp_grpc(intake: OtlpIntake, settings: CollectorSettings, metrics: Metrics, authorized: Authorize) -> OtlpGrpc:
    turns = MessageTurns(settings.body_seconds, settings.max_requests_in_work)
    metrics.gauge("grpc_messages_reading", "gRPC messages that are arriving", lambda: turns.reading)
    metrics.gauge("grpc_messages_waiting", "gRPC messages that wait to be read", lambda: turns.waiting)
    return OtlpGrpc(intake, turns, authorized, metrics.request)


def _application(workers: Sequence[BackgroundWorker | None], hub: LiveHub) -> FastAPI:
    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncGenerator[None]:
        async with running(workers):
            yield
            await hub.stop()

    return FastAPI(
        title="Playhead",
        version=version(),
        summary="A flight recorder for LLM agents: what happened, what the state was, and why.",
        docs_url=None,  # FastAPI's page loads its scripts from a CDN
        redoc_url=None,
        openapi_url=f"{PREFIX}/openapi.json",
        openapi_tags=query_api.TAGS,
        lifespan=lifespan,
        # A collector that traced itself would send spans about every span that it receives.
        telemetry={"tracing": False, "metrics": False, "logs": False},
    )


def timeouts_of(settings: CollectorSettings) -> DatabaseTimeouts:
    """Returns the Postgres timeouts that the operator set."""
    return DatabaseTimeouts(
        connection_seconds=settings.pool_wait_seconds,
        statement_seconds=settings.statement_seconds,
        silent_seconds=settings.database_silent_seconds,
    )


def stream_limits(settings: CollectorSettings) -> StreamLimits:
    """Returns the limits of live streams that the operator set."""
    return StreamLimits(
        most=settings.max_streams,
        heartbeat_seconds=settings.stream_heartbeat_seconds,
        stream_seconds=settings.stream_seconds,
        memory_bytes=settings.stream_memory_bytes,
    )


def _sizes(settings: CollectorSettings) -> tuple[int, int, int]:
    """Returns the limits of a content upload, in the order of `ContentHttp`: bytes of the request, bytes of one
    content, items."""
    return settings.max_request_bytes, settings.max_content_bytes, settings.max_pack_items


def configured(settings: CollectorSettings, clock: Callable[[], int] = time.time_ns) -> Configured:
    """Returns the configuration of the answers (prices, models, search, limits). Raises BadSetting, also for a webhook
    without its key."""
    check_webhook(settings)
    if (settings.explain_url is None) != (settings.explain_model is None):
        raise BadSetting("PLAYHEAD_EXPLAIN_URL and PLAYHEAD_EXPLAIN_MODEL belong together: set both, or neither")
    model = None
    if settings.explain_url is not None and settings.explain_model is not None:
        key, others = settings.explain_api_key, settings.ask_models
        model = ModelApi(settings.explain_url, settings.explain_model, key, others=others)
    prices = shipped() if settings.prices is None else read_prices(settings.prices)
    prices = replace(prices, windows=dict(settings.context_windows))
    search = None
    if settings.search:
        search = SearchSettings(settings.search_language, settings.search_characters, settings.search_seconds)
    return Configured(
        prices,
        settings.reasoning_tag,
        explainer=model,
        chat_models=model,
        longest_text=settings.max_analysed_characters,
        max_asked=settings.max_asked,
        clock=clock,
        search=search,
    )


def key_source(settings: CollectorSettings) -> KeySource:
    """Returns where the operator's key comes from. Raises BadSetting if there is more than one, or no readable file."""
    given = (settings.encryption_key, settings.encryption_key_file, settings.encryption_command)
    if sum(value is not None for value in given) > 1:
        raise BadSetting(
            "PLAYHEAD_ENCRYPTION_KEY, PLAYHEAD_ENCRYPTION_KEY_FILE and PLAYHEAD_ENCRYPTION_COMMAND are one key: set one"
        )
    if (file := settings.encryption_key_file) is not None:
        return KeySource(_read_key(file))
    return KeySource(settings.encryption_key, settings.encryption_command)


def _read_key(file: Path) -> str:
    try:
        return file.read_text("ascii").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise BadSetting(
            f"the key file {file} cannot be read ({error}): correct PLAYHEAD_ENCRYPTION_KEY_FILE"
        ) from error


def opened(source: KeySource) -> OperatorKey | None:
    """Returns the operator's key; None: there is none. Raises BadSetting, EncryptionMissing."""
    try:
        return source.open()
    except ValueError as error:
        raise BadSetting(
            f"the operator's key cannot be used ({error}): make one with `openssl rand -base64 32`"
        ) from error


async def rewrap(settings: CollectorSettings, old: KeySource) -> int:
    """Wraps the keys of all encrypted projects with the operator's key of the settings instead of the old one; returns
    how many. Starts the embedded Postgres if no other is named. Raises CollectorError."""
    old_key, new_key = opened(old), opened(key_source(settings))
    if old_key is None or new_key is None:
        raise BadSetting("rewrapping needs the old key, and the new one as PLAYHEAD_ENCRYPTION_KEY: name both")
    async with AsyncExitStack() as stack:
        dsn = settings.database_url
        if dsn is None:
            postgres = await asyncio.to_thread(embedded.start, settings.data_dir)
            stack.push_async_callback(asyncio.to_thread, postgres.stop)
            dsn = postgres.dsn
        await schema.check(dsn)
        store = await connect(dsn, pool_size=1, timeouts=timeouts_of(settings))
        stack.push_async_callback(store.close)
        return await store.projects.rewrap(old_key, new_key)


def _freeze_gc() -> None:
    """Excludes the objects that were loaded at start from garbage collection.

    Otherwise each full collection scans 120,000 objects of libraries, and requests wait 60 ms for it.
    """
    gc.collect()
    gc.freeze()


def version() -> str:
    """Returns this build's version; "0" in a checkout that was never installed."""
    try:
        return metadata.version("playhead")
    except metadata.PackageNotFoundError:
        return "0"


def _add_middleware(
    app: FastAPI,
    settings: CollectorSettings,
    flow: RequestLimiter,
    metrics: Metrics,
    access_control: AccessControl,
) -> None:
    """Installs the error handlers and the middlewares around the routes, from the innermost to the outermost."""
    errors.install(app)
    _limit_bodies(app, settings, flow)
    app.add_middleware(
        RequireKey,
        access_control=access_control,
        metrics_open=settings.metrics_open,
        is_route=partial(_is_route, app),
    )
    if settings.allowed_origins:
        app.add_middleware(
            CORSMiddleware, allow_origins=settings.allowed_origins, allow_methods=["*"], allow_headers=["*"]
        )
    app.add_middleware(BrowserGuard, hosts=(*settings.allowed_hosts, settings.host), origins=settings.allowed_origins)
    app.add_middleware(TrustedProxies, proxies=settings.trusted_proxies)
    app.add_middleware(CountRequests, metrics=metrics)  # outside of what refuses requests, so that refusals count
    app.add_middleware(identity.IdentityHeader)  # added last, so it is outermost: every answer has the header


def _is_route(app: FastAPI, scope: Scope) -> bool:
    """Whether a route answers this request."""
    return any(route.matches(scope)[0] is Match.FULL for route in app.routes)


def _limit_bodies(app: FastAPI, settings: CollectorSettings, flow: RequestLimiter) -> None:
    """Limits the bodies of API requests, and the answers. `flow` limits the bodies of spans and content."""

    def refusal(request: Request, error: Refused) -> Response:
        return errors.answer(request, error.status, error.code, str(error), error.headers)

    sending = TransferBudget(settings.max_answering_bytes, ANSWER_SLOW_AFTER_SECONDS)
    app.add_middleware(
        BoundBodies,
        reading=flow.reading,
        limit=settings.max_question_bytes,
        body_seconds=settings.body_seconds,
        is_other=lambda path: path.startswith(INTAKE_PATHS),
        answer=refusal,
    )
    app.add_middleware(CompressAnswers)
    app.add_middleware(BoundAnswers, sending=sending, answer=refusal)


def _make_limits(settings: CollectorSettings, metrics: Metrics, turns: ProjectTurns) -> tuple[RequestLimiter, Guard]:
    flow = RequestLimiter(
        settings.max_requests_in_work,
        settings.max_request_bytes // IN_WORK_SHARE,
        max_reading_bytes=settings.max_request_bytes,
        body_seconds=settings.body_seconds,
        turns=turns,
    )
    guard = Guard(
        limits_of(settings),
        is_busy=lambda path: flow.is_full() and path.startswith(INTAKE_PATHS) and path != COLLECTOR_PATH,
        on_answer=metrics.refused,
    )
    metrics.gauge("connections", "Open connections", lambda: len(guard))
    return flow, guard


def _reads(settings: CollectorSettings, metrics: Metrics, turns: ProjectTurns) -> ReadLimiter:
    # A read uses one connection at a time: at least half of the pool is left to ingest, probes and the projector.
    reads = ReadLimiter(min(settings.max_reads, max(settings.pool_size // 2, 1)), settings.reads_waiting, turns=turns)
    metrics.gauge("reads_running", "Questions that read from the database", lambda: reads.running)
    metrics.gauge("reads_waiting", "Questions that wait for their turn to read", lambda: reads.waiting)
    return reads


def _observe(metrics: Metrics, flow: RequestLimiter, runner: ProjectionRunner, sweeper: Sweeper, hub: LiveHub) -> None:
    metrics.gauge("streams", "Clients that follow runs live", lambda: hub.clients)
    metrics.gauge("requests_in_work", "Requests that are being taken", lambda: flow.requests)
    metrics.gauge("requests_reading", "Requests whose bodies are arriving", lambda: flow.reading.count)
    metrics.gauge("bytes_reading", "Bytes of bodies that are arriving", lambda: flow.reading.bytes)
    metrics.gauge("bytes_in_work", "Bytes of request bodies in memory", lambda: flow.bytes)
    metrics.gauge("runs_lost", "Times that a run was taken for lost", partial(runner.counts.__getitem__, "lost"))
    for outcome in ("projected", "sealed", "failed"):
        metrics.gauge(
            f"runs_{outcome}",
            f"Times that a run was {outcome} by the projector",
            partial(runner.counts.__getitem__, outcome),
        )
    metrics.gauge("contents_collected", "Contents deleted that no run named", lambda: sweeper.counts["contents"])


def _observe_workers(metrics: Metrics, finder: OutcomeFinder, scoring: ScoringWorker, retainer: Retainer) -> None:
    _observe_finder(metrics, finder)
    _observe_scoring(metrics, scoring)
    _observe_retention(metrics, retainer)


def _observe_finder(metrics: Metrics, finder: OutcomeFinder) -> None:
    metrics.gauge("runs_suspected", "Failed runs with a first suspect", partial(finder.counts.__getitem__, "suspected"))
    metrics.gauge(
        "runs_not_described",
        "Times that it was not found out what happened in a run",
        partial(finder.counts.__getitem__, "failed"),
    )


def _observe_scoring(metrics: Metrics, worker: ScoringWorker) -> None:
    figures = {
        "scored": "Times that a scorer scored a run",
        "failed": "Runs that a scorer could not score, and that were given up",
        "retried": "Times that a scorer could not score a run, which was tried again later",
        "not_sampled": "Runs that were not in the sample of a scorer",
        "over_budget": "Runs that a scorer left out because its budget of the day was used up",
    }
    for name, text in figures.items():
        metrics.gauge(f"scorings_{name}", text, partial(worker.counts.__getitem__, name))


def _observe_retention(metrics: Metrics, retainer: Retainer) -> None:
    figures = {
        "passes": "Times that all policies were applied",
        "thinned": "Times that a policy moved a run to a colder tier",
        "deleted": "Runs that a policy deleted",
    }
    for name, text in figures.items():
        metrics.gauge(f"retention_{name}", text, partial(retainer.counts.__getitem__, name))


def _observe_analysis(metrics: Metrics, pool: WorkerPool) -> None:
    figures = pool.figures
    metrics.gauge("analysis_waiting", "Analysis questions that wait for a process", lambda: figures.waiting)
    metrics.gauge("analysis_running", "Analysis questions that are being answered", lambda: figures.running)
    metrics.gauge("analysis_answered", "Analysis questions answered", lambda: figures.answered)
    metrics.gauge("analysis_failed", "Analysis questions refused, given up or failed", lambda: figures.failed)


async def _measure(
    metrics: Metrics,
    forwarding: ForwardMetrics,
    in_objects: ObjectMetrics | None,
    settings: CollectorSettings,
    store: PostgresStore,
    one_at_a_time: asyncio.Lock,
) -> None:
    """Sets the metrics that come from the database. While it is down, `waiting` is NaN and the other metrics are still
    answered."""
    try:
        async with one_at_a_time:
            metrics.waiting.set(len(await store.projections.unprojected_runs(_COUNT_WAITING)))
            counts = await store.storage.counts()
            await forwarding.measure()
            if in_objects is not None:
                waiting = await store.moves.large_waiting(settings.object_store_min_bytes)
                in_objects.measured(await store.objects.sizes(), waiting)
        metrics.stored(counts["content_bytes"], counts["database_bytes"])
    except StoreUnavailable:
        metrics.waiting.set(float("nan"))
