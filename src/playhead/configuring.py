"""The SDK's composition root: starts recording, with options or from the environment.

Only `configure` may raise. The first observed call configures from the environment; if that fails, the error is logged
once and nothing is recorded. A run that the environment says to resume or fork is also prepared here.
"""

import os
import sys
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from playhead.api.note_store import provide_note_store
from playhead.api.promises.asking import ToolRule, approve_tools
from playhead.api.promises.store import PromiseStore, provide_promises
from playhead.calls import runtime
from playhead.calls.recorder import Redact
from playhead.calls.runtime import OFF, UNCONFIGURED
from playhead.calls.starting import read_starting_points_with
from playhead.errors import PlayheadError
from playhead.kernel.guard import guarded, log, warn_once
from playhead.model.objects.interrupts import reraise_if_for_program
from playhead.recording import RecordingProcess, current_settings, load_for_recording, shutdown, start
from playhead.settings.sdk import Settings, table

if TYPE_CHECKING:
    from playhead.api.note_store import ProgramNotes
    from playhead.replaying.starting import RecordedStart
    from playhead.rewind import RequestedRewind

_ASKS = ("PLAYHEAD_REWIND", "PLAYHEAD_RESUME")
# Each start costs some milliseconds of file lookups, so a program without free descriptors tries only this often.
_TRY_AGAIN_SECONDS = 1.0


class _Environment:
    """The resume or fork that the environment asks for, until its run is prepared."""

    is_read = False
    rewind: "RequestedRewind | None" = None


def configure(
    *,
    redact: Redact | None = None,
    approval: ToolRule | None = None,
    approval_suspends: bool = False,
    **options: Any,
) -> Settings:
    """Sets up recording. If it is not called, the first observed call sets recording up from the environment.

    `redact` is called with each payload before it is hashed (arguments, results, a provider's message) and returns
    what may be recorded.  `approval` says which observed tools a person has to approve before they run: "none" (the
    default), "writes" (all that are not declared idempotent), "all", a list of names, or a function of name and
    arguments. With `approval_suspends` the process ends instead of waiting for the person (see `playhead.approval`).
    Options are the fields of `playhead.settings.sdk.Settings`, e.g. `endpoint`, `api_key`, `journal_dir`, `durability`;
    they take precedence over the environment. A second call replaces the former set-up.
    Raises SettingInvalid for an invalid option, and TypeError for an unknown one. An invalid variable is logged as a
    warning, and its default is used; raises SettingInvalid if it says whether or where to record.
    """
    fields = {line.field for line in table()}
    unknown = set(options) - fields
    if unknown:
        option_names = ", ".join(sorted(fields))
        raise TypeError(f"configure() has no option {', '.join(sorted(unknown))}; there are: redact, {option_names}")
    if redact is not None and not callable(redact):
        raise TypeError(
            f"configure(redact={redact!r}): give a function that takes a payload and returns what to record"
        )
    settings = load_for_recording(**options)
    approve_tools(approval, suspend=approval_suspends)
    with RecordingProcess.mutex, _uninterrupted():
        shutdown()
        RecordingProcess.redact = redact
        start(settings)
        _rewind()
    return settings


@contextmanager
def _uninterrupted() -> Generator[None]:
    """Keeps signal handlers that interrupt this block from recording their calls: starting recording inside a start
    would wait for ever for locks that this thread holds, including locks of the standard library."""
    was, RecordingProcess.starting_thread = RecordingProcess.starting_thread, threading.get_ident()
    try:
        yield
    finally:
        RecordingProcess.starting_thread = was


def start_from_environment() -> None:
    """Sets recording up for the first observed call; raises nothing except to end the program."""
    # At the end of the interpreter, modules are gone, also ours. Checked before taking the lock, which a stopped daemon
    # thread may hold for ever.
    if sys.is_finalizing():
        runtime.install(OFF)
        return
    with RecordingProcess.mutex:
        if runtime.current is not UNCONFIGURED:
            return  # another thread has started it
        if RecordingProcess.starting_thread is not None:
            RecordingProcess.missed += 1
            return
        with _uninterrupted():
            _start_if_possible()
            _rewind()


def _start_if_possible() -> None:
    with guarded("start recording") as block:
        _start_or_warn()
    if block.raised is not None:
        runtime.install(OFF)
        RecordingProcess.is_refused = True


def _start_or_warn() -> None:
    try:
        if RecordingProcess.recording is not None:  # still runs after `_rewind` failed and only reset the runtime
            RecordingProcess.install(RecordingProcess.recording)
        elif time.monotonic() < RecordingProcess.next_start:
            RecordingProcess.missed += 1
        else:
            start(RecordingProcess.settings_at_exit or load_for_recording())
    except PlayheadError as error:
        runtime.install(OFF)
        RecordingProcess.is_refused = True
        log.warning("nothing is recorded: %s", error)
    except (OSError, MemoryError) as error:
        reraise_if_for_program(error)
        RecordingProcess.missed += 1
        RecordingProcess.next_start = time.monotonic() + _TRY_AGAIN_SECONDS
        warn_once(
            "short at start",
            f"nothing is recorded yet ({error!r}): there must be descriptors and memory for that; it is tried again",
        )


def _requested_rewind() -> "RequestedRewind | None":
    """Returns the resume or fork that the environment asks for; None if there is none. Loads the modules for it only if
    there is one."""
    if not any(name.startswith(_ASKS) for name in os.environ):
        return None
    from playhead.rewind import requested_rewind  # noqa: PLC0415 - see above

    return requested_rewind()


def _rewind() -> None:
    """Prepares, once per process, the run that the environment says to resume or fork. Raises SystemExit if it
    cannot."""
    if not _Environment.is_read:
        _Environment.is_read, _Environment.rewind = True, _requested_rewind()
    requested, _Environment.rewind = _Environment.rewind, None
    if requested is None:
        return
    try:
        RecordingProcess.next_run = requested.prepare(is_recording=runtime.current.recorder is not None)
    except BaseException:
        # A program that survives this error must not begin a new run: its next call tries this run again.
        _Environment.rewind = requested
        runtime.install(UNCONFIGURED)
        raise
    runtime.install(replace(runtime.current, next_run=RecordingProcess.next_run))


def _recorded_start(run_id: str) -> "RecordedStart":
    """Reads the record of a run that another one continues. Loads its modules here, since few programs need them."""
    from playhead.rewind import recorded_start  # noqa: PLC0415 - see above

    return recorded_start(run_id)


def _last_of_session(session: str, other_than: str) -> str | None:
    """Finds the run that the next one of a session continues. Loads its modules here, since few programs need them."""
    from playhead.session_runs import last_run_of_session  # noqa: PLC0415 - see above

    return last_run_of_session(session, other_than)


def _promises() -> "PromiseStore":
    """Returns the promises of this process. Loads their modules here, since few programs need them."""
    if RecordingProcess.promises_in_memory is not None:
        return RecordingProcess.promises_in_memory
    from playhead.client.promises import drain_promises, promises_of  # noqa: PLC0415 - see above

    RecordingProcess.wait_for_promises = drain_promises
    return promises_of(current_settings())


def _notes() -> "ProgramNotes":
    """Returns where notes are kept. Loads its modules here, since few programs need them."""
    from playhead.conversations.keeping import conversation_store  # noqa: PLC0415 - see above

    return conversation_store().notes


provide_note_store(_notes)
provide_promises(_promises)
read_starting_points_with(_recorded_start, _last_of_session)
