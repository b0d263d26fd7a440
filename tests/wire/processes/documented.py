"""The programs of docs/processes.md as files, started as a user starts them; what they recorded is read back."""

import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from playhead.model import names
from playhead.model.span import Span
from playhead.projection.inputs import Projection
from tests.support.journal_reader import Journaled, read_journal
from tests.support.projected import projected
from tests.test_docs import code_of

PROVIDER = """
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
trace.set_tracer_provider(TracerProvider())
"""
"""Before a program: it has a tracer provider of its own, whose spans stand between ours."""


@dataclass(frozen=True)
class Programs:
    """A folder with the programs, and the journal that all of them record into."""

    folder: Path

    def write(self, *names_of_code: str, before: str = "") -> None:
        """Each as NAME.py."""
        code = code_of("docs/processes.md")
        for name in names_of_code:
            (self.folder / f"{name}.py").write_text(before + code[name], encoding="utf-8")

    def environ(self, **more: str) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("OTEL_", "PLAYHEAD_"))}
        kept |= {
            "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "NO_PROXY": "127.0.0.1",
            "PLAYHEAD_JOURNAL_DIR": str(self.folder / "journal"), "PLAYHEAD_ENDPOINT": "http://127.0.0.1:9",
            "PLAYHEAD_EXIT_TIMEOUT_SECONDS": "0.1",
        }  # fmt: skip
        return kept | more

    def run(self, *command: str, **environ: str) -> str:
        """What it writes."""
        done = subprocess.run(
            [sys.executable, *command], cwd=self.folder, env=self.environ(**environ), capture_output=True, text=True,
            timeout=300, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return done.stdout

    @contextmanager
    def started(self, command: Sequence[str], ready: str, **environ: str) -> Iterator[str]:
        """The program while it runs; gives the line with which it has said that it is ready."""
        with subprocess.Popen(
            [sys.executable, *command], cwd=self.folder, env=self.environ(**environ), text=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        ) as process:  # fmt: skip
            assert process.stdout is not None
            said: list[str] = []
            try:
                for line in process.stdout:
                    said.append(line)
                    if ready in line:
                        break
                assert process.poll() is None, "".join(said)
                yield said[-1]
            finally:
                process.terminate()
                process.communicate(timeout=300)

    def read(self) -> Journaled:
        return read_journal(self.folder / "journal")

    def one_run(self) -> tuple[Journaled, Projection]:
        """What was recorded, which is one run."""
        seen = self.read()
        [run] = {str(item.attributes[names.RUN_ID]) for item in (*seen.spans, *seen.announced, *seen.logs)}
        return seen, projected(seen, run)


def processes(spans: Sequence[Span]) -> set[Any]:
    """Which processes recorded them; None is the run's own."""
    return {span.attributes.get(names.PROCESS_ID) for span in spans}


def story(projection: Projection) -> list[str]:
    """Kinds of the events, with the name of what was called."""
    return [" ".join(filter(None, [event.kind, getattr(event, "name", None)])) for event in projection.events]
