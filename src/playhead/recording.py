"""Recording in this process: settings → intake, journal, recorder, shipper; flush, shutdown, forks and exit.

`playhead.configuring` says when it starts, and with which settings.
"""

import os
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

from opentelemetry import trace
from opentelemetry.sdk.resources import SERVICE_NAME, OTELResourceDetector, Resource

from playhead.api import background_tasks
from playhead.api.context_warnings import ContextWarnings
from playhead.api.promises.stopping import polling_interrupts_before, watching_for_interrupts
from playhead.api.promises.store import PromiseStore
from playhead.api.recorded_values import recording_in_every_run
from playhead.calls import runtime
from playhead.calls.caller_settings import declare_caller_settings
from playhead.calls.grouping import forget_groups
from playhead.calls.joining import forget_parts
from playhead.calls.mirror_span import add_run_id_processor, ignore_named_provider, program_provider
from playhead.calls.recorder import Redact
from playhead.calls.run import ActiveRun, NextRun
from playhead.calls.runtime import OFF, UNCONFIGURED, Runtime
from playhead.export.keeping import JournalKeeper
from playhead.export.ship import Shipper
from playhead.export.shipment import is_delivered, is_delivered_everywhere
from playhead.export.shippers import MakeShipper, Shippers
from playhead.export.standard_otlp import StandardOtlpExport, start_standard_otlp
from playhead.export.target import ShipTarget
from playhead.journal.journal import Journal, what_makes_room
from playhead.journal.lane import Position
from playhead.journal.latencies import READING
from playhead.journal.listeners import LISTENERS
from playhead.journal.memory import MemoryJournal
from playhead.journal.ownership import OwnRuns, RunOwnership
from playhead.journal.recorder import JournalRecorder
from playhead.kernel.forks import at_exit, delay_forks, end_imports
from playhead.kernel.guard import guarded, warn_once
from playhead.kernel.opentelemetry_sdk import SpanLimits, TracerProvider
from playhead.model.objects.limits import ValueLimits
from playhead.model.objects.masking import Mask
from playhead.model.span import Attributes
from playhead.refs.intake import PayloadIntake
from playhead.refs.named_classes import declare_modules
from playhead.settings.sdk import Settings, load

# Time at the end of the program for functions given to `on_event` to get the remaining events.
_LISTENERS_SECONDS = 1.0
# A collector that takes longer counts as down, since no call must wait for it: it is asked again later.
LEASE_TIMEOUT_SECONDS = 2.0


@dataclass(slots=True)
class Recording:
    """The parts of the recording that runs in this process."""

    settings: Settings
    intake: PayloadIntake
    journal: Journal
    recorder: JournalRecorder
    shipper: Shippers | None = None
    standard_export: StandardOtlpExport | None = None
    """OpenTelemetry's own exporter beside the journal, if `OTEL_TRACES_EXPORTER` asks for it."""
    has_shipper: bool = False
    """Whether `shipper` was started in this process (not in its parent), and knows the lane."""
    context_warnings: ContextWarnings = field(default_factory=lambda: ContextWarnings(0, {}))
    lost_records: int = 0
    """Number of lost records at the last call of `no_record_lost`."""
    lanes: list[Path] = field(default_factory=list[Path])
    """Lanes of dead processes to deliver together with this process's lane."""

    def own(self, run: ActiveRun) -> RunOwnership:
        """Returns the object that tells whether this process still owns the run, which begins here or of which this
        process has a part."""
        runs, look = RecordingProcess.own_runs, partial(RecordingProcess.own_runs.taken_here, run.id)
        begins = run.process is None and _serves_collector(self.settings)
        # Only the process that began the run asks the collector, for all processes that have a part of it.
        asking = partial(_ask_of_takeover, self.settings, run.id, run.attempt, os.getpid())
        return runs.owner(run.id, run.attempt, look, asking if begins else lambda: None)

    def lane(self) -> Path | None:
        """Returns the path of this process's lane; None if it has none yet."""
        return None if self.journal.lane is None else self.journal.lane.path

    def write(self) -> bool:
        """Writes records that wait in memory, and starts the shipper if needed. Returns False if they cannot be
        written."""
        written = self.journal.flush()
        if not self.has_shipper and self.journal.lane is not None:
            self.journal.on_append()
        return written

    def no_record_lost(self) -> bool:
        """Whether no record was lost since the last call."""
        before, self.lost_records = self.lost_records, self.journal.counters.lost_records
        return self.lost_records == before


class RecordingProcess:
    """The recording of this process, if there is one, and state that outlives it."""

    recording: Recording | None = None
    own_runs = OwnRuns()
    """The runs that this process has begun or resumed."""
    mutex = threading.RLock()
    """Held while recording starts or ends."""
    redact: Redact | None = None
    next_run: NextRun | None = None
    """The run that the environment says to resume or fork, until a run has begun."""
    starting_thread: int | None = None
    """Ident of the thread that starts or ends recording: a signal's handler may interrupt it there."""
    is_ending = False
    """Whether the interpreter is about to end: nothing is delivered any more, and no thread is started."""
    settings_at_exit: Settings | None = None
    settings_while_off: Settings | None = None
    """The settings if they switch recording off (`disabled`); else None."""
    next_start = float("-inf")
    """When to try again to start (monotonic seconds), after a start without enough memory or descriptors."""
    missed = 0
    """Number of calls that were not recorded because recording could not start yet."""
    is_refused = False
    """Whether nothing is recorded because a setting cannot be used, or because starting has failed."""
    exports: ClassVar[list[ShipTarget]] = []
    """Destinations besides the collector, or instead of it: see `playhead.export_to`."""
    with_collector: bool | None = None
    """Whether the collector also gets the records, besides `exports`; None: only if the settings name a collector."""
    in_memory: MemoryJournal | None = None
    """For tests: the journal of recordings that start from now on, whatever the settings say."""
    promises_in_memory: PromiseStore | None = None
    """For tests: the store of promises, whatever the settings say."""
    wait_for_promises: ClassVar[Callable[[float], object]] = lambda _: None
    """Waits, at most the given seconds, until the collector knows the promises of this process."""
    deliver_conversations: ClassVar[Callable[[float], object]] = lambda _: True
    """Brings to the collector the conversations that are pending in the journal's folder, if this process uses any.
    Returns whether none is left."""
    before_exit: ClassVar[list[Callable[[], object]]] = []
    """Functions called when the program ends, before recording ends, so that their records are included."""

    @classmethod
    def install(cls, recording: Recording) -> None:
        """Makes this recording the current one: it records all further calls."""
        cls.recording = recording
        cls.own_runs.lane = recording.lane
        runtime.install(
            Runtime(
                recorder=recording.recorder,
                task_run_seconds=recording.settings.task_run_seconds,
                groups_calls=recording.settings.group_calls,
                incoming_runs=recording.settings.incoming_runs,
                join_seconds=recording.settings.join_seconds,
                pages_url=recording.settings.pages_url,
                prefer=recording.settings.prefer,
                on_run_start=watching_for_interrupts(
                    recording_in_every_run(frozenset(recording.settings.record_values))
                ),
                exporting_provider=recording.standard_export.provider if recording.standard_export else None,
                on_model_call=recording.context_warnings.model_call_ended,
                context_windows=dict(recording.settings.context_windows),
                next_run=cls.next_run,
                own=recording.own,
            )
        )


def load_for_recording(**options: Any) -> Settings:
    """Returns the settings for a program that records. Warns of an invalid variable and ignores it, except variables
    that say whether and where to record: for these, and for options, raises SettingInvalid."""
    return load(on_invalid=lambda sentence: warn_once(sentence, sentence), **options)


def current_settings() -> Settings:
    """Returns the settings of the running recording; if nothing is recorded, those read from the environment. Raises
    SettingInvalid."""
    recording = RecordingProcess.recording
    return recording.settings if recording is not None else RecordingProcess.settings_while_off or load_for_recording()


def flush(timeout: float = 10.0) -> bool:
    """Waits until the collector has everything recorded so far. Returns False if that takes more than `timeout`
    seconds, or if records were lost since the last call (see `playhead.counters()`). Destinations of `export_to` then
    also have the records that dead processes left for them.

    Undelivered records stay in the journal, and are delivered later. Records that the collector has refused count as
    undelivered until `playhead ship --dead-letters` has sent them again.
    """
    recording = RecordingProcess.recording
    if recording is None:
        return not (RecordingProcess.missed or RecordingProcess.is_refused)
    with guarded("flush"):
        written = recording.write()
        shipper = recording.shipper
        # Records that cannot be written are delivered from memory.
        delivered = written and recording.journal.lane is None if shipper is None else shipper.flush(timeout)
        if recording.standard_export is not None:
            recording.standard_export.flush(timeout)
        RecordingProcess.wait_for_promises(timeout)
        LISTENERS.drain(timeout)
        all_brought = RecordingProcess.deliver_conversations(timeout) is not False
        return recording.no_record_lost() and delivered and all_brought
    return False


def deliver_all(timeout: float) -> bool:
    """Waits until the collector has all records of this process and of the lanes delivered with it. Returns False if
    that takes more than `timeout` seconds. Ignores records that the collector has refused."""
    flush(timeout)
    recording = RecordingProcess.recording
    if recording is None:
        return False
    lane = recording.journal.lane
    return all(is_delivered(path) for path in ([] if lane is None else [lane.path]) + recording.lanes)


def deliver_lanes(lanes: Sequence[Path]) -> None:
    """Delivers these lanes of dead processes together with this process's records: `flush` and the program's exit wait
    for them, too."""
    with guarded("deliver what dead processes have left"):
        runtime.recorder()
        recording = RecordingProcess.recording
        if recording is not None:
            recording.lanes += lanes
            if recording.has_shipper and recording.shipper is not None:
                recording.shipper.also_deliver(lanes)
            elif not all(map(is_delivered_everywhere, lanes)):
                # Start the shipper here: a completed run that is resumed records nothing that would start it.
                recording.journal.on_append()


def shutdown(timeout: float | None = None) -> bool:
    """Flushes and stops recording; the next observed call starts it again. Records not delivered in `timeout` seconds
    (default: the setting `PLAYHEAD_EXIT_TIMEOUT_SECONDS`) stay in the journal. Returns True if all were delivered and
    none was lost."""
    with RecordingProcess.mutex:
        recording, RecordingProcess.recording = RecordingProcess.recording, None
        runtime.install(UNCONFIGURED)
        if recording is None:
            return True
        with guarded("shut down"):
            written = recording.write()
            LISTENERS.drain(_LISTENERS_SECONDS)
            limit = recording.settings.exit_timeout_seconds if timeout is None else timeout
            RecordingProcess.wait_for_promises(limit)
            done = written if recording.shipper is None else recording.shipper.stop(limit)
            if recording.standard_export is not None:
                recording.standard_export.shut_down(limit)
            RecordingProcess.own_runs.pulse.stop()
            recording.journal.close()
            return recording.no_record_lost() and done
        return False


def counters() -> dict[str, Any]:
    """Returns counts of what this process has recorded, sent and lost so far, and its latencies.

    `append_ms` and `read_ms`: median, 99th percentile and longest of the last appends (each 32nd is timed) and reads of
    the journal (for delivery, and by `playhead.read_local`), in milliseconds; None without any. `journal_files`: sizes
    of the files of this process in bytes, oldest first. `records`: starts and ends of calls, and log events within
    them; each becomes one or two events. Returns {} while nothing is recorded; if recording could not be started,
    `start_failed` is 1, and `records_lost` is the number of calls known to be missing.
    """
    recording = RecordingProcess.recording
    if recording is None:
        has_failed = RecordingProcess.is_refused or RecordingProcess.missed
        return {"start_failed": 1, "records_lost": RecordingProcess.missed} if has_failed else {}
    intake, journal = recording.intake, recording.journal.counters
    shipped = recording.shipper.counters if recording.shipper is not None else None
    return {
        "payloads_dropped": intake.dropped,
        "payloads_too_large": intake.oversize,
        "records": journal.appends,
        "append_ms": recording.journal.latencies.summary(),
        "read_ms": READING.summary(),
        "journal_files": recording.journal.file_sizes(),
        "records_lost": journal.lost_records,
        "records_unwritten": journal.unwritten_records,
        "context_warnings": recording.context_warnings.count,
        "events_missed": LISTENERS.dropped,
        **({name: getattr(shipped, name) for name in shipped.__slots__} if shipped is not None else {}),
    }


def start(settings: Settings) -> None:
    """Starts recording, or switches it off if the settings say so. The caller holds `RecordingProcess.mutex` and has
    shut down the former recording.

    Raises OSError or MemoryError if the process has not enough descriptors or memory.
    """
    in_memory = RecordingProcess.in_memory
    RecordingProcess.is_refused = False
    RecordingProcess.settings_while_off = settings if settings.disabled and in_memory is None else None
    if RecordingProcess.settings_while_off is not None:
        runtime.install(OFF)
        return
    with delay_forks():  # this also imports modules that OpenTelemetry's variables name
        if settings.endpoint is not None or RecordingProcess.exports:
            _import_http()
        provider = _own_provider()
        standard_export = _standard_export(settings, provider)
    declare_modules(settings.restorable)
    declare_caller_settings(settings.caller_settings)
    # One payload must not fill a small journal.
    most = min(settings.max_content_bytes, settings.journal_max_bytes // 8)
    limits = ValueLimits(
        size=settings.max_value_size, seconds=settings.max_value_seconds, array_bytes=settings.max_array_bytes
    )
    intake = PayloadIntake(
        max_content_bytes=most, redact=RecordingProcess.redact, mask=Mask(settings.mask_keys), limits=limits
    )
    journal = in_memory or Journal(
        settings.journal_dir,
        # At the end of the interpreter, records in memory would never be written.
        durability="process" if RecordingProcess.is_ending and settings.durability == "off" else settings.durability,
        max_bytes=settings.journal_max_bytes,
        resource=_resource(provider),
        on_quota_change=partial(_on_quota_change, intake, settings),
        on_failed_write=intake.forget,
        on_new_segment=intake.forget,
        is_local=settings.endpoint is None,
    )
    recorder = JournalRecorder(
        intake,
        journal,
        provider,
        content=settings.capture_content,
        reasoning=settings.capture_reasoning,
        always=settings.record == "always" or in_memory is not None,
    )
    warnings = ContextWarnings(settings.context_warn, dict(settings.context_windows))
    recording = Recording(
        settings, intake, journal, recorder, context_warnings=warnings, standard_export=standard_export
    )
    journal.counters.lost_records, RecordingProcess.missed = RecordingProcess.missed, 0
    journal.on_append = _on_first_append(recording)
    background_tasks.carry_run_into_background_tasks()
    forget_groups()
    forget_parts()
    add_run_id_processor()
    RecordingProcess.install(recording)


def _standard_export(settings: Settings, provider: TracerProvider) -> StandardOtlpExport | None:
    """Returns the exporter that `OTEL_TRACES_EXPORTER` asks for. None in a program with a provider, which exports
    itself, and in tests that record in memory."""
    is_asked_for = "otlp" in settings.traces_exporter and RecordingProcess.in_memory is None
    return start_standard_otlp(provider) if is_asked_for and program_provider() is None else None


def _on_quota_change(intake: PayloadIntake, settings: Settings, has_room: bool) -> None:
    """Stops the recording of payloads, with one warning, when the journal is full; starts it again when it has room."""
    intake.full = not has_room
    if not has_room:
        warn_once(
            "journal full",
            f"the journal in {settings.journal_dir} is full: calls are recorded without what they were given and "
            f"returned until {what_makes_room(is_local=settings.endpoint is None)}",
        )


def _import_http() -> None:
    """Imports httpx in the thread that starts recording, not in the shipping thread: `openai` looks for a loaded httpx
    in each call, and would fail on one that another thread has only half imported."""
    # If the interpreter is ending, or there are no descriptors, the delivery or the next process tries again.
    with suppress(RuntimeError, OSError):
        import httpx  # noqa: F401, PLC0415 # pyright: ignore[reportUnusedImport] - see above


def _on_first_append(recording: Recording) -> Callable[[], None]:
    """Returns the function that opens the journal and starts the shipper's thread with the first record: a program that
    records nothing needs neither."""

    def start() -> None:
        with RecordingProcess.mutex:
            if recording.journal.on_append is not start:
                return  # another thread has started it
            if RecordingProcess.is_ending:
                recording.journal.on_append = _nothing  # the record is in the journal; the next process delivers it
                return
            lane = recording.journal.open()  # None: the journal has logged why, and tries again
            recording.shipper = shipper = _shipper(recording, lane.path if lane is not None else None)
            recording.has_shipper = True
            recording.journal.on_lane = shipper.follow
            recording.journal.on_much_waiting = shipper.hurry
            recording.journal.on_append = shipper.wake
            shipper.also_deliver(recording.lanes)
            shipper.start()
            shipper.wake()
            RecordingProcess.own_runs.pulse.start()

    return start


def _ask_of_takeover(settings: Settings, run_id: str, attempt: int, pid: int) -> str | None:
    """Asks the collector whether another process has taken over a run that this one began. Returns a sentence that says
    who has; None if nobody has, or in a forked child. Raises Unsure if the collector does not answer. See
    `RunOwnership`."""
    from playhead.replaying.lease import LeaseTerms, ask_collector  # noqa: PLC0415 - few processes stand still and ask

    if pid != os.getpid():
        return None  # in a forked child: its parent asks
    terms = LeaseTerms(settings.journal_dir, partial(lease_client, settings), settings.lease_seconds)
    return ask_collector(run_id, attempt, terms)


def lease_client(settings: Settings) -> Any:
    """Makes a client of the collector with a short timeout (2 seconds)."""
    from playhead.client import Client  # noqa: PLC0415 - an HTTP client is needed only for this

    return Client(settings.collector, settings.api_key, project=settings.project, timeout_seconds=LEASE_TIMEOUT_SECONDS)


def _shipper(recording: Recording, lane: Path | None) -> Shippers:
    if recording.shipper is None:
        targets = _targets(recording.settings)
        # Without a destination, a keeper cleans the journal up.
        makes = [_to_target(recording, lane, target) for target in targets] or [_keeper(recording, lane)]
        return Shippers(makes, recording.journal.acknowledged, recording.journal.delivered_from_memory)
    recording.shipper.restart_after_fork(lane)  # in a forked child, it is the parent's shipper
    return recording.shipper


def _serves_collector(settings: Settings) -> bool:
    named = settings.endpoint_is_named if RecordingProcess.with_collector is None else RecordingProcess.with_collector
    return settings.endpoint is not None and (named or not RecordingProcess.exports)


def _targets(settings: Settings) -> list[ShipTarget]:
    """Returns the destinations: the collector, and those of `export_to`. Without a collector, delivery to the first
    destination of `export_to` frees the journal's space. Empty: runs stay in the journal."""
    if settings.endpoint is None and not RecordingProcess.exports:
        return []
    if _serves_collector(settings):
        return [ShipTarget(), *RecordingProcess.exports]
    first, *others = RecordingProcess.exports
    return [replace(first, instead=True), *others]


def _keeper(recording: Recording, lane: Path | None) -> MakeShipper:
    journal = recording.journal

    def make(*_: object) -> Shipper:
        return JournalKeeper(
            recording.settings,
            lane,
            before_read=polling_interrupts_before(journal.before_read),
            waiting=journal.waiting,
            note_end=journal.note_end,
            start_segment=journal.start_segment,
        )

    return make


def _to_target(recording: Recording, lane: Path | None, target: ShipTarget) -> MakeShipper:
    intake, journal = recording.intake, recording.journal

    def make(on_acknowledged: Callable[[Position], None], on_delivered_from_memory: Callable[[int], None]) -> Shipper:
        return Shipper(
            recording.settings,
            lane,
            on_epoch_change=intake.forget if target.delivery is None else _nothing,
            on_acknowledged=on_acknowledged,
            before_read=polling_interrupts_before(journal.before_read) if target.frees_space else journal.flush,
            waiting=journal.waiting,
            on_delivered_from_memory=on_delivered_from_memory,
            note_end=journal.note_end if target.frees_space else _nothing,
            on_damage=journal.damaged if target.frees_space else _nothing,
            start_segment=journal.start_segment,
            target=target,
            on_taken_over=RecordingProcess.own_runs.taken_over,
        )

    return make


def add_export(target: ShipTarget) -> None:
    """Adds a destination. It also gets the records of current runs that the journal still has. A destination with the
    name of an existing one replaces it the next time that recording starts. Call it with `RecordingProcess.mutex`
    held."""
    known_acks = [export.acks for export in RecordingProcess.exports]
    RecordingProcess.exports[:] = [export for export in RecordingProcess.exports if export.acks != target.acks] + [
        target
    ]
    recording = RecordingProcess.recording
    if recording is None or not recording.has_shipper or recording.shipper is None or target.acks in known_acks:
        return
    lane = recording.journal.lane
    shipper = recording.shipper.add(_to_target(recording, lane.path if lane is not None else None, target))
    shipper.start()
    shipper.wake()


def _nothing() -> None:
    """Does nothing: a callback for destinations that need none, and for when nothing is shipped."""


def _own_provider() -> TracerProvider:
    """Makes a tracer provider from OpenTelemetry's environment variables, to read its settings; it is never made
    global."""
    try:
        return TracerProvider(shutdown_on_exit=False)
    except RuntimeError:  # the interpreter is ending, and resource detectors would start threads
        named = Resource({SERVICE_NAME: "unknown_service"}).merge(OTELResourceDetector().detect())
        return TracerProvider(resource=named, shutdown_on_exit=False)
    except ValueError as error:  # a limit that is no number
        warn_once(f"limit {error}", f"{error}: all of OpenTelemetry's limits have their defaults here")
        return TracerProvider(span_limits=_default_limits(), shutdown_on_exit=False)


def _default_limits() -> SpanLimits:
    """Returns OpenTelemetry's default limits."""
    number, no_length = 128, SpanLimits.UNSET
    return SpanLimits(number, number, number, number, number, number, no_length, no_length)


def _resource(default_provider: TracerProvider) -> Attributes:
    """Returns the resource attributes of the program's own tracer provider, which knows the service's name; if the
    program has none, those of `default_provider`."""
    try:
        program_provider = trace.get_tracer_provider()
    except (OSError, MemoryError):
        raise
    except Exception as error:  # noqa: BLE001 - the provider that a variable names does not exist, or raises
        ignore_named_provider(error)
        program_provider = None
    provider = program_provider if isinstance(program_provider, TracerProvider) else default_provider
    return dict(provider.resource.attributes)


def _in_child() -> None:
    """Resets the recording after `os.fork`: thread and lane are the parent's; the child starts its own with its first
    record."""
    with guarded("go on in a forked process"):
        RecordingProcess.mutex = threading.RLock()
        if RecordingProcess.starting_thread != threading.get_ident():
            RecordingProcess.starting_thread = None  # that thread does not exist in the child
        RecordingProcess.is_ending = False
        if (recording := RecordingProcess.recording) is None:
            return
        recording.journal.after_fork()
        RecordingProcess.own_runs.pulse.after_fork()
        recording.has_shipper = False
        # Contents that the parent had in memory may never be written: the child must record them again.
        recording.intake.forget()
        recording.journal.on_append = _on_first_append(recording)


def _at_exit() -> None:
    for call in RecordingProcess.before_exit:
        call()
    recording = RecordingProcess.recording
    RecordingProcess.settings_at_exit = recording.settings if recording is not None else None
    shutdown()
    end_imports()
    RecordingProcess.is_ending = True  # calls made at exit after this are recorded in a new lane, and start no thread


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_child)
at_exit(_at_exit)
