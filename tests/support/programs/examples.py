"""Runs the files of examples/: with no key, no network, and no collector."""

import os
import sys
from pathlib import Path

from tests.support.programs.processes import Ended, run

ROOT = Path(__file__).parents[3]
# Nothing listens on the discard port.
NOBODY = "http://127.0.0.1:9"


def environ_of_example(journal: Path, **environ: str) -> dict[str, str]:
    """What an example finds: a journal of its own, and nothing of those who run the tests."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("OPENAI_", "OTEL_", "PLAYHEAD_"))}
    kept |= {"PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "PLAYHEAD_JOURNAL_DIR": str(journal)}
    return kept | {"OTEL_EXPORTER_OTLP_ENDPOINT": NOBODY, "NO_PROXY": "127.0.0.1", **environ}


def run_example(path: Path, journal: Path, *, warnings: str | None = None, **environ: str) -> Ended:
    """Runs it to its end, with no terminal: an example that asks a person goes on without one.

    `warnings` is that of `processes.started`."""
    return run(path, environ=environ_of_example(journal, **environ), warnings=warnings)
