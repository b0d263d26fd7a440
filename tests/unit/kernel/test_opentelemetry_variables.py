"""Variables of OpenTelemetry that cannot be used: recording goes on without them, or flush says that there is none."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

_RECORDS = """
import os
before = dict(os.environ)
import playhead
from playhead import observe

@observe(kind="tool")
def tool(x):
    return x

assert tool(1) == 1
assert playhead.flush(60)
assert playhead.counters()["records"] == 2
assert dict(os.environ) == before
"""
_FAILS = """
import playhead
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from playhead import observe

class Broken(TracerProvider):
    @property
    def resource(self):
        raise RuntimeError("no resource")

@observe
def agent():
    return 1

assert playhead.flush() and playhead.counters() == {}
trace.set_tracer_provider(Broken())
assert agent() == 1
assert not playhead.flush()
assert playhead.counters()["start_failed"] == 1
"""


def run(body: str, journal: Path, **environ: str) -> str:
    program = subprocess.run(
        [sys.executable, "-c", body],
        env={**os.environ, "PLAYHEAD_ENDPOINT": "none", "PLAYHEAD_JOURNAL_DIR": str(journal), **environ},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert program.returncode == 0, program.stderr
    return program.stderr


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT", "-1"),
        ("OTEL_SPAN_EVENT_COUNT_LIMIT", "x"),
        ("OTEL_SPAN_LINK_COUNT_LIMIT", "-3"),
        ("OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT", "abc"),  # which the SDK refuses at its import
        ("OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT", "-1"),
        ("OTEL_PYTHON_TRACER_PROVIDER", "nope"),
    ],
)
def test_a_variable_that_cannot_be_used_is_warned_of_and_the_program_recorded(
    tmp_path: Path, variable: str, value: str
):
    err = run(_RECORDS, tmp_path, **{variable: value})
    assert variable in err
    assert "could not start recording" not in err


def test_where_recording_could_not_be_started_flush_is_false_and_the_counters_say_so(tmp_path: Path):
    assert "could not start recording" in run(_FAILS, tmp_path)
