"""C5: what importing Playhead adds to the start of a program: with everything instrumented and nothing used; and for
one observed function, beyond OpenTelemetry's SDK.

With compiled modules, which an installed package has: an environment that says not to write them (containers do) would
measure Python's compiler, at every start, and only of the checkout.
"""

import os
import resource
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator

from tests.support.bar import Row, at_most, told

_ROUNDS = 15
_WHAT = "CPU of the start: import playhead and instrument everything, in a program that uses no library"
_SDK = "import opentelemetry.sdk.trace, opentelemetry.instrumentation.instrumentor"
_OURS = "import playhead; playhead.instrument()"
_SDK_ALONE = "import opentelemetry.sdk.trace"
_OBSERVE = "from playhead import observe"
_DECORATED = "from playhead import observe\n@observe\ndef step(x): return x"
_CALLED = f"{_DECORATED}\nstep(1)"
# Not the resident set of `getrusage`, which is at least that of the process that starts it.
_MEMORY = "\nprint(open('/proc/self/status').read().split('VmRSS:')[1].split()[0])"


def measure() -> Iterator[Row]:
    """The least of several starts: other work on the machine only adds to it."""
    with tempfile.TemporaryDirectory() as compiled:
        nothing, sdk, ours = (_least_cpu_ms(code, compiled) for code in ("", _SDK, _OURS))
        against = f"OpenTelemetry's SDK and instrumentor alone: {sdk - nothing:.0f} ms"
        yield at_most("C5", _WHAT, ours - nothing, 150, unit="ms", against=against)
        yield from _beyond_the_sdk(compiled)


def _beyond_the_sdk(compiled: str) -> Iterator[Row]:
    """Medians of starts in turn, for the machine is not as fast in one second as in the next."""
    codes = (_SDK_ALONE, _OBSERVE, _DECORATED, _CALLED)
    with tempfile.TemporaryDirectory() as journal:
        environment = _compiled(compiled, *codes, PLAYHEAD_JOURNAL_DIR=journal, PLAYHEAD_ENDPOINT="none")
        rounds = [tuple(_cpu_ms(code, environment) for code in codes) for _ in range(_ROUNDS)]
        sdk, observe, decorated, called = map(statistics.median, zip(*rounds, strict=True))
        sdk_mb, observe_mb, decorated_mb, _ = (_memory_mb(code, environment) for code in codes)
    against = f"{_SDK_ALONE}: {sdk:.0f} ms, {sdk_mb:.1f} MB; with Python itself"
    yield at_most("C5", f"CPU of {_OBSERVE}, beyond the SDK", observe - sdk, 60, unit="ms", against=against)
    yield at_most("C5", f"memory of {_OBSERVE}, beyond the SDK", observe_mb - sdk_mb, 6, unit="MB", against=against)
    yield told(
        "C5", "CPU of the same and a decorated function", decorated - sdk, unit="ms", against="wrapt is imported"
    )
    yield told(
        "C5", "CPU of the same and its first call, without a collector", called - sdk, unit="ms", against="and its end"
    )
    yield told("C5", "memory of a decorated function", decorated_mb - sdk_mb, unit="MB", against="wrapt is imported")


def _least_cpu_ms(code: str, compiled: str) -> float:
    environment = _compiled(compiled, code)
    return min(_cpu_ms(code, environment) for _ in range(_ROUNDS))


def _compiled(compiled: str, *codes: str, **settings: str) -> dict[str, str]:
    """The environment of a start of these programs, whose modules are compiled then."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    environment |= {"PYTHONPYCACHEPREFIX": compiled, **settings}
    for code in codes:
        subprocess.run([sys.executable, "-c", code], check=True, env=environment)
    return environment


def _memory_mb(code: str, environment: dict[str, str]) -> float:
    command = [sys.executable, "-c", code + _MEMORY]
    return int(subprocess.run(command, check=True, env=environment, capture_output=True).stdout) / 1_000


def _cpu_ms(code: str, environment: dict[str, str]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-c", code], check=True, env=environment)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) * 1000
