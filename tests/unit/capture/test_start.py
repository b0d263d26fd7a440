"""What recording adds to the start of a program that uses none of the libraries: nothing is imported for them."""

import subprocess
import sys

from playhead.capture.registry import LIBRARIES


def test_instrumenting_everything_imports_no_library_no_opentelemetry_and_nothing_that_records():
    """As `playhead run` and `opentelemetry-instrument` do it."""
    code = (
        "import sys; from playhead.launch.command import switch_on; switch_on(); "
        "import playhead; assert playhead.instrument(); print(*sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300, check=True)
    loaded = {name.partition(".")[0] for name in done.stdout.split()}
    libraries = {name.partition(".")[0] for name in LIBRARIES}
    heavy = {"opentelemetry", "psutil", "httpx", "pydantic", "fastapi", "rich", "typer"}
    assert loaded & (libraries | heavy) - {"google"} == set()
    late = (
        "playhead.recording",
        "playhead.configuring",
        "playhead.calls",
        "playhead.journal",
        "playhead.export",
        "playhead.refs",
        "playhead.replaying",
        "playhead.projection",
        "playhead.model.event",
    )
    # By which the package says what is imported with the first observed call.
    light = {"playhead.calls", "playhead.calls.first_use", "playhead.calls.own_code"}
    assert {name for name in done.stdout.split() if name.startswith(late)} == light
