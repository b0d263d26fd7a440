"""agent's script + mock model server → [programs] → runs.  Runs the script of a checked agent as a process: recorded,
killed, resumed and forked; and reads what was recorded."""

import json
import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from playhead.journal.lane import LaneReader, Position, lanes
from playhead.model import names
from playhead.model.span import Span
from playhead.rewind import ASKED
from playhead.testing.answers import Answer, AssistantMessage, dropped_connection, text, thinking, tool_call
from playhead.testing.order_tools import EFFECTS, KILL_IN_AUDIT
from playhead.testing.recorded_frames import JournalFrames
from playhead.testing.recorded_run import RecordedRun
from playhead.testing.request import ChatRequest
from playhead.testing.rules import sequence, tool_result_received
from playhead.testing.server import MockModelServer

ANSWER = "A1 is refunded."
THOUGHT = "Both orders first."
CALL_IDS = ("call_look_up_a1", "call_look_up_b2", "call_audit", "call_refund")
EFFECTS_OF_TASK = ("audit A1", "look_up A1", "look_up B2", "refund A1 5.0")
"""What the tools do in one run, sorted."""
MODEL_CALLS = 4

_KILLED = -getattr(signal, "SIGKILL", signal.SIGTERM)


@dataclass(frozen=True, slots=True)
class AgentProgram:
    """A script that makes an agent of the framework, with the tools of `playhead.testing.order_tools`, asks it
    `QUESTION`, and prints its answer last.

    The agent's model is at `OPENAI_BASE_URL` (or `ANTHROPIC_BASE_URL`), and may have any name. The tools keep their
    names. The script says nothing of Playhead. Requests that fail must not be retried for long.
    """

    script: Path
    arguments: Sequence[str] = ()
    streamed: Sequence[str] | None = None
    """Arguments with which the script streams the agent's model calls; None: the framework does not stream."""
    environ: Mapping[str, str] = field(default_factory=dict[str, str])
    """Variables that the script needs besides those of this process."""
    seconds: float = 120
    """How long one process may take."""


@dataclass(frozen=True, slots=True)
class ProcessEnd:
    """How one process of the script ended."""

    code: int
    output: str
    """What it printed last."""
    errors: str

    @property
    def was_killed(self) -> bool:
        return self.code == _KILLED

    def __str__(self) -> str:
        lines = self.errors.strip().splitlines()
        return f"exit code {self.code}, printed {self.output!r}; {lines[-1] if lines else 'no errors'}"


class AgentTrial:
    """The script with a journal, tools' effects and a model of its own."""

    def __init__(self, program: AgentProgram, folder: Path, server: MockModelServer) -> None:
        self.program = program
        self.server = server
        self._folder = folder
        self._process: subprocess.Popen[str] | None = None
        folder.mkdir(parents=True, exist_ok=True)

    # --- the model ----------------------------------------------------------------------------------------------

    def script_model(self, *, amount: float = 5, thinks: bool = False) -> None:
        """Lets the model ask for two look-ups at once, then for the audit, then for the refund, and then answer."""
        first = tool_call("look_up", {"order": "A1"}, call_id=CALL_IDS[0])
        first += tool_call("look_up", {"order": "B2"}, call_id=CALL_IDS[1])
        self.server.when(~tool_result_received("look_up"), thinking(THOUGHT) + first if thinks else first)
        self.server.when(~tool_result_received("audit"), tool_call("audit", {"order": "A1"}, call_id=CALL_IDS[2]))
        self.server.when(~tool_result_received("refund"), _refund(amount))
        self.server.otherwise(text(ANSWER))

    def kill_at_request(self, number: int) -> None:
        """Lets the model kill the script at its nth request, instead of answering."""

        def kill(_: ChatRequest) -> Answer:
            if self._process is not None:
                self._process.kill()
            return dropped_connection()

        self.server.when(sequence(number), kill)

    # --- processes ----------------------------------------------------------------------------------------------

    def run_bare(self) -> ProcessEnd:
        """Runs the script without Playhead."""
        return self._run([str(self.program.script), *self.program.arguments])

    def run(self, *more: str, kill_in_audit: bool = False) -> ProcessEnd:
        """Records the script. `more`: further arguments of the script."""
        environ = {KILL_IN_AUDIT: "1"} if kill_in_audit else {}
        return self._run(["-m", "playhead", "run", "--", sys.executable, *self._command(more)], environ)

    def run_observed(self) -> ProcessEnd:
        """Records the script inside a function under `@observe`."""
        observed = ["-m", "playhead.testing.captures.observed", *self._command(())]
        return self._run(["-m", "playhead", "run", "--", sys.executable, *observed])

    def resume(self, *more: str, **options: str) -> ProcessEnd:
        """Resumes the one recorded run."""
        return self._continue({"resume": self.run_id(), "options": options}, more)

    def fork(self, **options: str) -> ProcessEnd:
        """Forks the one recorded run."""
        return self._continue({"fork": self.run_id(), "options": options}, ())

    def _continue(self, request: Mapping[str, Any], more: Sequence[str]) -> ProcessEnd:
        command = ["-m", "playhead", "run", "--", sys.executable, *self._command(more)]
        return self._run(command, {ASKED: json.dumps(request)})

    def _command(self, more: Sequence[str]) -> list[str]:
        return [str(self.program.script), *self.program.arguments, *more]

    def _run(self, command: Sequence[str], environ: Mapping[str, str] | None = None) -> ProcessEnd:
        out, errors = self._folder / "out", self._folder / "errors"
        # Files: a process that the script leaves behind would keep a pipe open.
        with out.open("wb") as stdout, errors.open("wb") as stderr:
            self._process = subprocess.Popen(  # noqa: S603 - the author's own script
                [sys.executable, *command],
                env={**self._environ(), **(environ or {})},
                stdin=subprocess.DEVNULL,
                stdout=stdout,
                stderr=stderr,
                text=True,
            )
            with self._process as process:
                try:
                    code = process.wait(self.program.seconds)
                finally:
                    process.kill()
        printed = out.read_text(encoding="utf-8", errors="replace").strip().rpartition("\n")[2]
        return ProcessEnd(code, printed, errors.read_text(encoding="utf-8", errors="replace"))

    def _environ(self) -> dict[str, str]:
        foreign = ("OPENAI_", "ANTHROPIC_", "OTEL_", "PLAYHEAD_")
        kept = {name: value for name, value in os.environ.items() if not name.startswith(foreign)}
        return {
            **kept,
            "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
            "NO_PROXY": "127.0.0.1",
            "OPENAI_BASE_URL": self.server.base_url,
            "OPENAI_API_KEY": "none",
            "ANTHROPIC_BASE_URL": self.server.url,
            "ANTHROPIC_API_KEY": "none",
            "PLAYHEAD_JOURNAL_DIR": str(self._folder / "journal"),
            "PLAYHEAD_ENDPOINT": "none",
            EFFECTS: str(self._folder / "effects"),
            **self.program.environ,
        }

    # --- what it did --------------------------------------------------------------------------------------------

    def effects(self) -> list[str]:
        """Returns what the tools did, sorted: a framework may run them at the same time."""
        path = self._folder / "effects"
        return sorted(path.read_text(encoding="utf-8").splitlines()) if path.exists() else []

    def requests_repeated(self) -> int:
        """Returns how many requests of the model were made that had been made before."""
        return sum(count - 1 for count in Counter(repr(each.messages) for each in self.server.requests).values())

    def recorded(self) -> JournalFrames:
        """Returns all that the journal has."""
        frames = JournalFrames()
        for path in lanes(self._folder / "journal"):
            reader = LaneReader(path)
            for number in reader.segments():
                frames.read(reader.read(Position(number, 0), reader.segment_bytes(number))[0])
        return frames

    def run_id(self) -> str:
        """Returns the id of the first run.  Raises LookupError if nothing was recorded."""
        runs = self.recorded().run_ids
        if not runs:
            raise LookupError("nothing was recorded")
        return runs[0]


@dataclass(frozen=True, slots=True)
class RecordedTask:
    """The runs that were recorded, and the first of them with its spans in the order of their begin."""

    runs: list[str]
    run: RecordedRun
    spans: list[Span]
    frames: JournalFrames

    @classmethod
    def of(cls, frames: JournalFrames) -> "RecordedTask":
        """Reads the first run.  Raises LookupError if there is none."""
        if not frames.run_ids:
            raise LookupError("nothing was recorded")
        run = frames.run_ids[0]
        spans = sorted(frames.run_input(run).spans, key=lambda span: span.start_ns)
        return cls(frames.run_ids, RecordedRun(run, frames), spans, frames)

    def of_kind(self, kind: str) -> list[Span]:
        return [span for span in self.spans if span.attributes.get(names.KIND) == kind]


def _refund(amount: float) -> AssistantMessage:
    return tool_call("refund", {"order": "A1", "amount": amount}, call_id=CALL_IDS[3])
