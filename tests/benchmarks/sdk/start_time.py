"""C5: what importing Playhead and instrumenting everything adds to the start of a program that uses none of it."""

import resource
import subprocess
import sys
from collections.abc import Iterator

from tests.benchmarks.bar import Row, at_most

_ROUNDS = 15
_WHAT = "CPU of the start: import playhead and instrument everything, in a program that uses no library"
_SDK = "import opentelemetry.sdk.trace, opentelemetry.instrumentation.instrumentor"
_OURS = "import playhead; playhead.instrument()"


def measure() -> Iterator[Row]:
    """The least of several starts: other work on the machine only adds to it."""
    nothing, sdk, ours = (min(_cpu_ms(code) for _ in range(_ROUNDS)) for code in ("", _SDK, _OURS))
    against = f"OpenTelemetry's SDK and instrumentor alone: {sdk - nothing:.0f} ms"
    yield at_most("C5", _WHAT, ours - nothing, 150, unit="ms", against=against)


def _cpu_ms(code: str) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-c", code], check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) * 1000
