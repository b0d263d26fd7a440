"""`opentelemetry-instrument python app.py`: calls of one request, and of one script, are one run without `@observe`."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import entry_points
from pathlib import Path

import pytest

from playhead.capture.registry import LIBRARIES, is_installed
from playhead.model import event as ev
from playhead.model import names
from playhead.testing import ChatRequest, MockModelServer, dropped_connection, pytest_plugin, sequence, text
from playhead.testing.answers import Answer
from tests.support.journal_reader import Journaled, read_journal
from tests.support.projected import projected

server = pytest_plugin.mock_model_server
HERE = Path(__file__).parent
# The programs use one library: loading the instrumentors of all others takes seconds.
OTHERS = {entry.name for entry in entry_points(group="opentelemetry_instrumentor")} - {"playhead-openai"}
ONE_LIBRARY = {"OTEL_PYTHON_DISABLED_INSTRUMENTATIONS": ",".join(OTHERS)}


@contextmanager
def instrumented(
    program: str, journal: Path, server: MockModelServer, **environ: str
) -> Iterator["subprocess.Popen[str]"]:
    """The program, started by `opentelemetry-instrument`."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("OPENAI_", "OTEL_", "PLAYHEAD_"))}
    kept |= {"PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "PLAYHEAD_JOURNAL_DIR": str(journal)}
    kept |= {"PLAYHEAD_ENDPOINT": "http://127.0.0.1:9", "PLAYHEAD_EXIT_TIMEOUT_SECONDS": "0.1", "NO_PROXY": "127.0.0.1"}
    kept |= {"OPENAI_BASE_URL": server.base_url, "OPENAI_API_KEY": "none", "OTEL_TRACES_EXPORTER": "none"}
    kept |= {"OTEL_METRICS_EXPORTER": "none", "OTEL_LOGS_EXPORTER": "none"}
    command = [str(Path(sys.executable).with_name("opentelemetry-instrument")), sys.executable, str(HERE / program)]
    process = subprocess.Popen(command, env=kept | environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    with process:
        try:
            yield process
        finally:
            process.kill()


def ended(process: "subprocess.Popen[str]", seconds: float = 120) -> tuple[int, list[str], str]:
    """Exit code, lines that it printed, and its errors."""
    out, err = process.communicate(timeout=seconds)
    return process.returncode, out.splitlines(), err


def runs_of(seen: Journaled) -> list[str]:
    return list(dict.fromkeys(str(span.attributes[names.RUN_ID]) for span in seen.announced))


@pytest.mark.slow
def test_the_calls_of_a_script_are_one_run_which_can_be_resumed(server: MockModelServer, tmp_path: Path):
    journal = tmp_path / "journal"
    with instrumented("zero_code_script.py", journal, server, **ONE_LIBRARY) as process:

        def kill(_: ChatRequest) -> Answer:
            process.send_signal(signal.SIGKILL)
            return dropped_connection()

        server.when(sequence(3), kill)
        server.otherwise(text("fine"))
        code, _, errors = ended(process)
    assert code == -signal.SIGKILL, errors
    [run] = runs_of(read_journal(journal))
    assert projected(read_journal(journal), run).row.status == "running"
    with instrumented("zero_code_script.py", journal, server, PLAYHEAD_RESUME=run, **ONE_LIBRARY) as process:
        code, lines, errors = ended(process)
    assert (code, lines) == (0, ["fine"] * 3), errors
    assert "live from here" not in errors
    assert len(server.requests) == 4
    row = projected(read_journal(journal), run).row
    assert (row.status, row.llm_calls, row.spans_missing, row.attempt) == ("completed", 3, 0, 1)
    assert len(runs_of(read_journal(journal))) == 1


@pytest.mark.slow
def test_the_calls_of_a_request_are_one_run_the_trace_of_its_span(server: MockModelServer, tmp_path: Path):
    server.otherwise(text("fine"))
    with instrumented("zero_code_web.py", tmp_path / "journal", server, **ONE_LIBRARY) as process:
        code, lines, errors = ended(process)
    assert (code, lines) == (0, ["finefine"] * 2), errors
    seen = read_journal(tmp_path / "journal")
    found = runs_of(seen)
    assert len(found) == 2
    for run in found:
        told = projected(seen, run)
        assert (told.row.name, told.row.status, told.row.llm_calls) == ("GET /ask", "completed", 3)
        assert {span.trace_id for span in seen.spans if span.attributes[names.RUN_ID] == run} == {run}
        kinds = [event.kind for event in told.events if isinstance(event, ev.RunStarted | ev.RunCompleted)]
        assert kinds == ["run_started", "run_completed"]
        assert told.events[-1].kind == "run_completed"
        of_run = [span for span in seen.spans if span.attributes[names.RUN_ID] == run and names.KIND in span.attributes]
        asked = [seen.messages(span.attributes[names.INPUT_MESSAGES_REF])[0]["parts"][0]["content"] for span in of_run]
        assert len({question.split()[0] for question in asked}) == 1, "of one request"


# Imports every library that is here, as a program would, and says what is instrumented then.
EVERY_LIBRARY = """
import importlib, warnings
import playhead
from playhead.capture.active import doctor
from playhead.capture.registry import LIBRARIES, is_installed

warnings.simplefilter("ignore")  # of the libraries
for name in filter(is_installed, LIBRARIES):
    importlib.import_module({"langgraph": "langgraph.graph"}.get(name, name))  # a namespace package
for found in doctor():
    print(found.library, *found.by)
"""


@pytest.mark.slow
def test_every_library_that_is_installed_is_instrumented(server: MockModelServer, tmp_path: Path):
    program = tmp_path / "program.py"
    program.write_text(EVERY_LIBRARY)
    with instrumented(str(program), tmp_path / "journal", server) as process:
        code, lines, errors = ended(process, 500)  # it imports all that there is
    assert code == 0, errors
    by = {library: who for library, *who in map(str.split, lines)}
    assert {"openai", "anthropic", "google.genai", "botocore", "mcp", "langchain_core", "pydantic_ai"} <= by.keys()
    assert {name for name, who in by.items() if "playhead" not in who} == set()
    assert set(by) == set(filter(is_installed, LIBRARIES))
