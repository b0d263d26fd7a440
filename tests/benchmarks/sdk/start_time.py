"""C5: what importing Playhead and instrumenting everything adds to the start of a program that uses none of it.

With compiled modules, which an installed package has: an environment that says not to write them (containers do) would
measure Python's compiler, at every start, and only of the checkout.
"""

import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterator

from tests.benchmarks.bar import Row, at_most

_ROUNDS = 15
_WHAT = "CPU of the start: import playhead and instrument everything, in a program that uses no library"
_SDK = "import opentelemetry.sdk.trace, opentelemetry.instrumentation.instrumentor"
_OURS = "import playhead; playhead.instrument()"


def measure() -> Iterator[Row]:
    """The least of several starts: other work on the machine only adds to it."""
    with tempfile.TemporaryDirectory() as compiled:
        nothing, sdk, ours = (_least_cpu_ms(code, compiled) for code in ("", _SDK, _OURS))
    against = f"OpenTelemetry's SDK and instrumentor alone: {sdk - nothing:.0f} ms"
    yield at_most("C5", _WHAT, ours - nothing, 150, unit="ms", against=against)


def _least_cpu_ms(code: str, compiled: str) -> float:
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    environment["PYTHONPYCACHEPREFIX"] = compiled
    subprocess.run([sys.executable, "-c", code], check=True, env=environment)  # compiles
    return min(_cpu_ms(code, environment) for _ in range(_ROUNDS))


def _cpu_ms(code: str, environment: dict[str, str]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-c", code], check=True, env=environment)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) * 1000
