"""Runs the files of examples/: with no key, no network, and no collector."""

import importlib.util
import os
import sys
from pathlib import Path
from types import ModuleType

from tests.support.programs.processes import Ended, run

ROOT = Path(__file__).parents[3]
# Nothing listens on the discard port.
NOBODY = "http://127.0.0.1:9"


def load_example(name: str) -> ModuleType:
    """Imports examples/NAME.py."""
    spec = importlib.util.spec_from_file_location(name.replace("/", "_"), ROOT / "examples" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def environ_of_example(journal: Path, **environ: str) -> dict[str, str]:
    """What an example finds: a journal of its own, and nothing of those who run the tests."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("OPENAI_", "OTEL_", "PLAYHEAD_"))}
    kept |= {"PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "PLAYHEAD_JOURNAL_DIR": str(journal)}
    return kept | {"OTEL_EXPORTER_OTLP_ENDPOINT": NOBODY, "NO_PROXY": "127.0.0.1", **environ}


def run_example(path: Path, journal: Path, *, warnings: str | None = None, **environ: str) -> Ended:
    """Runs it to its end, with no terminal: an example that asks a person goes on without one.

    `warnings` is that of `processes.started`."""
    return run(path, environ=environ_of_example(journal, **environ), warnings=warnings)
