"""What `from playhead import observe` imports: not what only some programs need, or only the shipping thread."""

import json
import os
import subprocess
import sys

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
_PROGRAM = """
import json, sys
{program}
print(json.dumps(sorted(sys.modules)))
"""


def imported_by(program: str) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM.format(program=program)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        capture_output=True,
        text=True,
        check=True,
    )
    return set(json.loads(done.stdout))


def test_importing_observe_imports_nothing_heavy():
    before = imported_by("import opentelemetry.sdk.trace")
    assert imported_by("from playhead import observe") & HEAVY - before == set()


def test_decorating_a_function_imports_wrapt_and_nothing_else_that_is_heavy():
    before = imported_by("import opentelemetry.sdk.trace")
    decorated = imported_by("from playhead import observe\n@observe\ndef step(x): return x")
    assert decorated & HEAVY - OF_WRAPT - before == set()
    assert "wrapt" in decorated
