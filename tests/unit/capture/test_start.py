"""What recording adds to the start of a program that uses none of the libraries: they are not imported for it."""

import subprocess
import sys

from playhead.capture.registry import LIBRARIES


def test_instrumenting_everything_imports_no_library_and_no_http():
    """As `playhead run` and `opentelemetry-instrument` do it."""
    code = (
        "import sys; from playhead.launch.instrumentation import switch_on; switch_on(); "
        "import playhead; assert playhead.instrument(); print(*sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    loaded = {name.partition(".")[0] for name in done.stdout.split()}
    libraries = {name.partition(".")[0] for name in LIBRARIES}
    assert loaded & (libraries | {"httpx", "pydantic", "fastapi", "rich", "typer"}) - {"google"} == set()
    # What makes states of records, and the classes of events: programs that listen to events import them.
    assert {
        name for name in done.stdout.split() if name.startswith(("playhead.project", "playhead.model.event"))
    } == set()
