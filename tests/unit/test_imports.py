"""What `from playhead import observe` imports: not what only some programs need, or only the shipping thread."""

import json
import os
import subprocess
import sys
from pathlib import Path

HEAVY = frozenset(
    {
        "asyncio",  # and with it ssl
        "email",
        "_hashlib",  # OpenSSL
        "google.protobuf",
        "httpx",
        "importlib.metadata",  # and with it csv and zipfile
        "opentelemetry.proto",
        "playhead.archive",
        "playhead.capture",
        "playhead.client",
        "playhead.export.delivery",
        "playhead.export.destinations",
        "playhead.export.http",
        "playhead.local",
        "playhead.outbound",
        "playhead.journal.promises",
        "playhead.replaying",
        "playhead.rewind",
        "playhead.wire.operations",
        "ssl",
        "typing_extensions",
        "wrapt",
        "zipfile",
        "zstandard",
    }
)
# What a decorated function is wrapped with imports these.
OF_WRAPT = frozenset(
    {"_hashlib", "asyncio", "email", "importlib.metadata", "ssl", "typing_extensions", "wrapt", "zipfile"}
)
# What it may import of Python's library and others, beyond what OpenTelemetry's SDK has imported. (`ntpath`: of
# `pathlib`, before Python 3.12.)
LIGHT = frozenset({"heapq", "ntpath", "orjson", "pathlib", "queue", "zlib"})
# Each of our modules takes about a quarter of a millisecond. There were 123 when this number was written: one more is
# no harm, and a new part of the package that every program loads is to be seen here.
MOST_MODULES_OF_OURS = 130
_DECORATED = "from playhead import observe\n@observe\ndef step(x): return x"
_PROGRAM = """
import json, sys
{program}
print(json.dumps(sorted(sys.modules)))
"""


def imported_by(program: str, **settings: str) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM.format(program=program)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), **settings},
        capture_output=True,
        text=True,
        check=True,
    )
    return set(json.loads(done.stdout))


def test_importing_observe_imports_nothing_heavy():
    before = imported_by("import opentelemetry.sdk.trace")
    assert imported_by("from playhead import observe") & HEAVY - before == set()


def test_importing_observe_imports_few_modules():
    added = imported_by("from playhead import observe") - imported_by("import opentelemetry.sdk.trace")
    ours = {name for name in added if name.partition(".")[0] == "playhead"}
    assert len(ours) <= MOST_MODULES_OF_OURS
    others = {name.partition(".")[0] for name in added - ours if not name.startswith("_")}
    assert others - LIGHT - {"concurrent"} == set()


def test_the_first_call_imports_nothing_more_without_a_collector(tmp_path: Path):
    settings = {"PLAYHEAD_JOURNAL_DIR": str(tmp_path), "PLAYHEAD_ENDPOINT": "none"}
    called = imported_by(f"{_DECORATED}\nstep(1)\nimport playhead\nplayhead.shutdown()", **settings)
    assert any(tmp_path.iterdir())  # it was recorded
    assert called - imported_by(_DECORATED) == set()


def test_decorating_a_function_imports_wrapt_and_nothing_else_that_is_heavy():
    before = imported_by("import opentelemetry.sdk.trace")
    decorated = imported_by(_DECORATED)
    assert decorated & HEAVY - OF_WRAPT - before == set()
    assert "wrapt" in decorated
