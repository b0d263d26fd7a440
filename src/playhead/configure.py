"""The SDK's composition root: settings → intake, journal, recorder, shipper; flush, shutdown, forks and exit.

`configure` may raise, everything else may not: the first observed call configures from the environment, and if that
fails, says so once and records nothing.
"""

import atexit
import os
import sys
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from opentelemetry import trace
from opentelemetry.sdk.resources import SERVICE_NAME, OTELResourceDetector, Resource
from opentelemetry.sdk.trace import TracerProvider

from playhead.api.calls.grouping import forget_groups
from playhead.api.forks import delay_forks
from playhead.api.functions import background
from playhead.api.guard import log, swallowed, warn_once
from playhead.api.ports import Redact, runtime
from playhead.api.ports import recorder as recorder_in_use
from playhead.api.recorded_values import record_everywhere
from playhead.errors import PlayheadError
from playhead.export.cursor import is_delivered
from playhead.export.ship import Shipper
from playhead.journal.journal import Journal
from playhead.journal.recorder import JournalRecorder
from playhead.model.objects.interrupts import let_through
from playhead.model.objects.masking import Mask
from playhead.model.span import Attributes
from playhead.refs.intake import PayloadIntake
from playhead.refs.named_classes import declare_modules
from playhead.settings.sdk import Settings, load, table

# Starting costs some milliseconds of file names looked up, which a program that is short of descriptors has to pay.
_TRY_AGAIN_SECONDS = 1.0


@dataclass(slots=True)
class Recording:
    """What is running in this process."""

    settings: Settings
    intake: PayloadIntake
    journal: Journal
    recorder: JournalRecorder
    shipper: Shipper | None = None
    has_shipper: bool = False
    """Whether `shipper` is of this process, and knows the lane."""
    lost_records: int = 0
    """How many `nothing_lost` has told of."""
    lanes: list[Path] = field(default_factory=list[Path])
    """Lanes of dead processes that have to be delivered with this one's."""

    def write(self) -> bool:
        """Writes what waits in memory, and sees that it is shipped; False if it cannot be written."""
        written = self.journal.flush()
        if not self.has_shipper and self.journal.lane is not None:
            self.journal.on_append()
        return written

    def nothing_lost(self) -> bool:
        """Whether no record was lost since the last call."""
        before, self.lost_records = self.lost_records, self.journal.counters.lost_records
        return self.lost_records == before


class _ProcessRecording:
    """The recording of this process, if there is one."""

    recording: Recording | None = None
    mutex = threading.RLock()
    redact: Redact | None = None
    is_ending = False
    """Whether the interpreter is about to end: nothing is delivered any more, and no thread is started."""
    settings_at_exit: Settings | None = None
    next_start = float("-inf")
    """When to try again to start, after there was no memory, or no descriptor, for that."""
    missed = 0
    """Calls that were not recorded meanwhile."""


def configure(*, redact: Redact | None = None, **options: Any) -> Settings:
    """Sets up recording; without it, the first observed call does so from the environment.

    `redact` is called with each payload before it is hashed (arguments, results, a provider's message) and returns
    what may be recorded.  Options are the fields of `playhead.settings.sdk.Settings`, e.g. `endpoint`, `api_key`,
    `journal_dir`, `durability`; they win over the environment.  Called again, it replaces what was set up before.
    Raises SettingInvalid.
    """
    fields = {line.field for line in table()}
    unknown = set(options) - fields
    if unknown:
        known = ", ".join(sorted(fields))
        raise TypeError(f"configure() has no option {', '.join(sorted(unknown))}; there are: redact, {known}")
    if redact is not None and not callable(redact):
        raise TypeError(
            f"configure(redact={redact!r}): give a function that takes a payload and returns what to record"
        )
    settings = load(**options)
    with _ProcessRecording.mutex:
        shutdown()
        _ProcessRecording.redact = redact
        _start(settings)
        _rewind()
    return settings


def settings_in_force() -> Settings:
    """Those of the recording, else what the environment says.  Raises SettingInvalid."""
    recording = _ProcessRecording.recording
    return recording.settings if recording is not None else load()


def flush(timeout: float = 10.0) -> bool:
    """Waits until the collector has what was recorded so far; False if it has not within `timeout` seconds, or if
    records were lost since the last call (see `playhead.counters()`).

    What is not delivered stays in the journal, and is delivered later.  What the collector has refused is not
    delivered either, until `playhead ship --dead-letters` has sent it again.
    """
    recording = _ProcessRecording.recording
    if recording is None:
        return not _ProcessRecording.missed
    try:
        written = recording.write()
        shipper = recording.shipper
        delivered = recording.journal.lane is None if shipper is None else shipper.flush(timeout)
        return recording.nothing_lost() and written and delivered
    except BaseException as error:  # noqa: BLE001 - the guard
        let_through(error)
        swallowed("flush", error)
        return False


def deliver_lanes(lanes: Sequence[Path]) -> None:
    """What dead processes have left in these lanes is delivered with what is recorded here: `flush` and the program's
    exit wait for it, too."""
    try:
        recorder_in_use()
        recording = _ProcessRecording.recording
        if recording is not None:
            recording.lanes += lanes
            if recording.has_shipper and recording.shipper is not None:
                recording.shipper.deliver_too(lanes)
            elif not all(is_delivered(lane) for lane in lanes):
                # A run that has completed records nothing when it is asked for its results, so nothing else starts it.
                recording.journal.on_append()
    except BaseException as error:  # noqa: BLE001 - the guard
        let_through(error)
        swallowed("deliver what dead processes have left", error)


def shutdown(timeout: float | None = None) -> bool:
    """Flushes and stops recording; the next observed call starts it again.  What is not delivered in `timeout` seconds
    (default: the setting `PLAYHEAD_EXIT_TIMEOUT_SECONDS`) stays in the journal.  True if nothing did."""
    with _ProcessRecording.mutex:
        recording, _ProcessRecording.recording, runtime.recorder = _ProcessRecording.recording, None, None
        runtime.disabled = False
        if recording is None:
            return True
        try:
            written = recording.write()
            limit = recording.settings.exit_timeout_seconds if timeout is None else timeout
            done = recording.shipper is None or recording.shipper.stop(limit)
            recording.journal.close()
            return recording.nothing_lost() and written and done
        except BaseException as error:  # noqa: BLE001 - the guard
            let_through(error)
            swallowed("shut down", error)
            return False


def counters() -> dict[str, Any]:
    """What this process has recorded, sent and lost so far, for tests, benchmarks and `doctor`."""
    recording = _ProcessRecording.recording
    if recording is None:
        return {}
    intake, journal = recording.intake, recording.journal.counters
    shipped = recording.shipper.counters if recording.shipper is not None else None
    return {
        "payloads_dropped": intake.dropped,
        "payloads_too_large": intake.oversize,
        "records_lost": journal.lost_records,
        **({name: getattr(shipped, name) for name in shipped.__slots__} if shipped is not None else {}),
    }


def _start(settings: Settings) -> None:
    if settings.disabled:
        runtime.disabled = True
        return
    with delay_forks():  # what OpenTelemetry's variables name is imported, too
        _import_http()
        provider = _own_provider()
    declare_modules(settings.restorable)
    # One payload must not fill a small journal.
    most = min(settings.max_content_bytes, settings.journal_max_bytes // 8)
    intake = PayloadIntake(max_content_bytes=most, redact=_ProcessRecording.redact, mask=Mask(settings.mask_keys))

    journal = Journal(
        settings.journal_dir,
        # While the interpreter ends, nobody comes back to write what is in memory.
        durability="process" if _ProcessRecording.is_ending and settings.durability == "off" else settings.durability,
        max_bytes=settings.journal_max_bytes,
        resource=_resource(provider),
        on_room=partial(_on_room, intake, settings.journal_dir),
        on_failed_write=intake.forget,
        on_new_segment=intake.forget,
    )
    recorder = JournalRecorder(
        intake,
        journal,
        provider,
        content=settings.capture_content,
        reasoning=settings.capture_reasoning,
        always=settings.record == "always",
    )
    recording = Recording(settings, intake, journal, recorder)
    journal.counters.lost_records, _ProcessRecording.missed = _ProcessRecording.missed, 0
    journal.on_append = _on_first_append(recording)
    _ProcessRecording.recording, runtime.recorder = recording, recorder
    _patch_libraries(settings)


def _on_room(intake: PayloadIntake, folder: Path, room: bool) -> None:
    """Whether the journal takes payloads has changed."""
    intake.full = not room
    if not room:
        warn_once(
            "journal full",
            f"the journal in {folder} is full: calls are recorded without what they were given and returned until the "
            "collector has taken some; start one, or raise PLAYHEAD_JOURNAL_MAX_BYTES",
        )


def _patch_libraries(settings: Settings) -> None:
    """What is recorded beyond the calls themselves needs a hold on code that is not the program's."""
    background.carry_run_into_background_tasks()
    forget_groups()
    runtime.task_run_seconds = settings.task_run_seconds
    record_everywhere(frozenset(settings.record_values))


def _import_http() -> None:
    """Imports httpx now and not in the shipping thread: the `openai` client inspects loaded modules at each call,
    and a half-imported httpx would make that call fail."""
    # The interpreter is ending, or there are no descriptors: whoever delivers tries again, or the next process does.
    with suppress(RuntimeError, OSError):
        import httpx  # noqa: F401, PLC0415 # pyright: ignore[reportUnusedImport]


def _on_first_append(recording: Recording) -> Callable[[], None]:
    """The shipper's thread starts with the first record: a program that records nothing has none."""

    def start() -> None:
        with _ProcessRecording.mutex:
            if recording.journal.on_append is not start:
                return  # another thread was quicker
            if _ProcessRecording.is_ending:
                recording.journal.on_append = _ship_nothing  # it is there; the next process delivers it
                return
            lane = recording.journal.open()
            if lane is None:
                return  # said by the journal, which tries again
            recording.shipper = shipper = _shipper(recording, lane.path)
            recording.has_shipper = True
            recording.journal.on_lane = shipper.follow
            recording.journal.on_append = shipper.wake
            shipper.deliver_too(recording.lanes)
            shipper.start()
            shipper.wake()

    return start


def _shipper(recording: Recording, lane: Path) -> Shipper:
    if recording.shipper is None:
        intake, journal = recording.intake, recording.journal
        return Shipper(
            recording.settings,
            lane,
            on_epoch_change=intake.forget,
            on_acknowledged=journal.acknowledged,
            before_read=journal.before_read,
            begin_segment=journal.begin_segment,
        )
    recording.shipper.restart_after_fork(lane)  # the parent's, in a child
    return recording.shipper


def _own_provider() -> TracerProvider:
    """Never made global: it only says what OpenTelemetry's environment variables say."""
    try:
        return TracerProvider(shutdown_on_exit=False)
    except RuntimeError:  # the interpreter is ending, and what describes the machine would start threads
        named = Resource({SERVICE_NAME: "unknown_service"}).merge(OTELResourceDetector().detect())
        return TracerProvider(resource=named, shutdown_on_exit=False)


def _resource(own: TracerProvider) -> Attributes:
    """The program's own provider knows best what the program is called."""
    users = trace.get_tracer_provider()
    provider = users if isinstance(users, TracerProvider) else own
    return dict(provider.resource.attributes)


def _start_from_environment() -> None:
    with _ProcessRecording.mutex:
        if runtime.recorder is not None or runtime.disabled:
            return
        if sys.is_finalizing():  # what is left of the program has lost its modules, and so have we
            runtime.disabled = True
            return
        _start_if_possible()
        _rewind()


def _start_if_possible() -> None:
    try:
        if _ProcessRecording.recording is not None:  # it could not go on with its run, and nobody has ended it for that
            runtime.recorder = _ProcessRecording.recording.recorder
        elif time.monotonic() < _ProcessRecording.next_start:
            _ProcessRecording.missed += 1
        else:
            _start(_ProcessRecording.settings_at_exit or load())
    except PlayheadError as error:
        runtime.disabled = True
        log.warning("nothing is recorded: %s", error)
    except (OSError, MemoryError) as error:
        let_through(error)
        _ProcessRecording.missed += 1
        _ProcessRecording.next_start = time.monotonic() + _TRY_AGAIN_SECONDS
        warn_once(
            "short at start",
            f"nothing is recorded yet ({error!r}): there must be descriptors and memory for that; it is tried again",
        )
    except BaseException as error:  # noqa: BLE001 - the guard
        let_through(error)
        runtime.disabled = True
        swallowed("start recording", error)


def _rewind() -> None:
    """Once per process: a run that the environment says to go on with waits for the program to begin it."""
    prepare, runtime.rewind = runtime.rewind, None
    if prepare is not None:
        try:
            prepare(runtime.recorder is not None)
        except BaseException:
            # A program that survives this must not begin a new run: its next call asks for this one again.
            runtime.rewind, runtime.recorder, runtime.disabled = runtime.rewind or prepare, None, False
            raise


def _in_child() -> None:
    """After `os.fork`: thread and lane are the parent's; the child begins its own with its first record."""
    try:
        _ProcessRecording.mutex = threading.RLock()
        recording = _ProcessRecording.recording
        _ProcessRecording.is_ending = False
        if recording is None:
            return
        recording.journal.after_fork()
        recording.has_shipper = False
        # What the parent had in memory for its journal, the child has not: it must not rely on it being there.
        recording.intake.forget()
        recording.journal.on_append = _on_first_append(recording)
    except BaseException as error:  # noqa: BLE001 - the guard
        let_through(error)
        swallowed("go on in a forked process", error)


def _ship_nothing() -> None:
    """Used where nothing is shipped."""


def _at_exit() -> None:
    recording = _ProcessRecording.recording
    _ProcessRecording.settings_at_exit = recording.settings if recording is not None else None
    shutdown()
    _ProcessRecording.is_ending = (
        True  # what runs after us at exit is recorded in a lane of its own, and starts no thread
    )


runtime.start = _start_from_environment
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_child)
atexit.register(_at_exit)
