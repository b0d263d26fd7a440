"""Entry points of `opentelemetry-instrument`: they switch recording on without a change of the program.

    before_instrumentors   (`opentelemetry_pre_instrument`) records spans and content of other instrumentations
    after_instrumentors    (`opentelemetry_post_instrument`) instruments every installed library that we support

Variables that the environment already sets are not changed.
"""

import os
import sys
from typing import TYPE_CHECKING, ClassVar
from weakref import WeakSet

from playhead.calls.own_code import Launcher
from playhead.capture.instrumented import report_at_exit_if_asked
from playhead.capture.registry import LIBRARIES, asked_for, brought_captures, instrument, is_installed
from playhead.kernel.forks import ForkSafeLock, delay_forks
from playhead.kernel.guard import guarded, warn_once
from playhead.settings.sdk import load

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import TracerProvider

_HOOKS = ("OTEL_INSTRUMENTATION_GENAI_COMPLETION_HOOK", "OPENINFERENCE_BLOB_UPLOADER")


class _SpansOfOthers:
    """Whether spans of other instrumentations are recorded without code in the program, and the tracer providers that
    already have our processor."""

    is_on = False
    providers: ClassVar["WeakSet[TracerProvider]"] = WeakSet()
    mutex = ForkSafeLock()


def before_instrumentors() -> None:
    """Makes other instrumentations use our hooks for content, and records their spans.  Called by
    `opentelemetry-instrument` after it has set up OpenTelemetry, and before any instrumentor is on.  Never raises."""
    with guarded("record other instrumentations"):
        report_at_exit_if_asked()
        settings = load(on_invalid=lambda sentence: warn_once(sentence, sentence))
        if settings.disabled or not settings.record_others:
            return
        for variable in _HOOKS:
            if not os.environ.get(variable):
                os.environ[variable] = "playhead"
        _SpansOfOthers.is_on = True
        record_spans_of_others()


def after_instrumentors() -> None:
    """Instruments every installed library that we support, captures that packages bring, and what the settings ask
    for (`record_commands`, `record_tools`).  Called by
    `opentelemetry-instrument` after it has switched on the instrumentors that have entry points; ours for frameworks
    have none.  In `OTEL_PYTHON_DISABLED_INSTRUMENTATIONS`, our instrumentors are called `playhead-LIBRARY`.  Never
    raises."""
    with guarded("instrument what is installed"):
        Launcher.name = Launcher.name or Launcher.OPENTELEMETRY
        off = {name.strip() for name in os.environ.get("OTEL_PYTHON_DISABLED_INSTRUMENTATIONS", "").split(",")}
        everything = () if "*" in off else (*LIBRARIES, *brought_captures())
        wanted = [name for name in everything if off.isdisjoint(_names_of(name))]
        installed = [name for name in wanted if is_installed(name)]
        requested = asked_for()
        if installed or requested:
            instrument(*installed, *requested)


def _names_of(library: str) -> set[str]:
    """Returns the names by which our instrumentor of a library can be disabled: `playhead-` and its import name, as it
    is, or with hyphens for dots and underscores."""
    return {f"playhead-{library}", "playhead-" + library.replace(".", "-").replace("_", "-")}


def record_spans_of_others() -> None:
    """Adds a `RefSpanProcessor` to the program's tracer provider, once per provider.  Does nothing if there is no
    provider yet, or `before_instrumentors` has not switched this on."""
    if "opentelemetry.sdk.trace" not in sys.modules:
        return  # no provider was made; looking for one would import all of OpenTelemetry
    with delay_forks():
        from playhead.calls.mirror_span import program_provider  # noqa: PLC0415 - see above
        from playhead.interop.ref_spans import RefSpanProcessor  # noqa: PLC0415 - see above

    provider = program_provider() if _SpansOfOthers.is_on else None
    if provider is None:
        return
    with _SpansOfOthers.mutex:
        if provider in _SpansOfOthers.providers:
            return
        _SpansOfOthers.providers.add(provider)
    provider.add_span_processor(RefSpanProcessor())
