"""The documented set-up for another backend: spans with refs arrive there over OTLP, payloads do not."""

import os
import subprocess
import sys
from pathlib import Path

from playhead.model import names
from tests.integration.export.fake_collector import TRACES, FakeCollector, attributes_of, text_of
from tests.test_docs import code_of

PAGE = "docs/instrumentation.md"
BACKEND = "http://localhost:4318"


def environment_of_the_page(backend: FakeCollector) -> dict[str, str]:
    """What the page exports, with the address of this backend."""
    name, _, value = code_of(PAGE)["environment"].removeprefix("export ").strip().partition("=")
    assert value.startswith(BACKEND)
    return {name: value.replace(BACKEND, backend.url)}


def execute(code: str, journal: Path, **environ: str) -> None:
    """Runs it as a program of its own: a process has one tracer provider, which exports what waits at its end."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("OTEL_", "PLAYHEAD_"))}
    kept |= {"PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "NO_PROXY": "127.0.0.1"}
    kept |= {"PLAYHEAD_JOURNAL_DIR": str(journal), "PLAYHEAD_EXIT_TIMEOUT_SECONDS": "60"}
    kept |= {"OTEL_EXPORTER_OTLP_TIMEOUT": "60"}
    done = subprocess.run(
        [sys.executable, "-c", code], env=kept | environ, capture_output=True, text=True, timeout=300, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_another_backend_gets_the_spans_with_refs_and_no_payload(tmp_path: Path):
    with FakeCollector() as collector, FakeCollector(plain=True) as backend:
        execute(
            code_of(PAGE)["exporter"],
            tmp_path / "journal",
            PLAYHEAD_ENDPOINT=collector.url,
            **environment_of_the_page(backend),
        )
    [ours], [theirs] = collector.spans, backend.spans
    assert theirs.name == "execute_tool look_up"
    assert (theirs.trace_id, theirs.span_id) == (ours.trace_id, ours.span_id)
    attributes = attributes_of(theirs)
    arguments, result = (attributes[key] for key in (names.TOOL_ARGUMENTS_REF, names.TOOL_RESULT_REF))
    payloads = {ref: data for ref, data in collector.contents.items() if ref in {arguments, result}}
    assert b'"A1"' in payloads[arguments]
    assert b"A1 is delayed" in payloads[result]
    assert set(backend.paths()) == {TRACES}
    for request in backend.requests:
        assert "look_up" in text_of(request)
        assert "A1" not in text_of(request)
        assert "delayed" not in text_of(request)
