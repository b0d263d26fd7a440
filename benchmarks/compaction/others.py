"""Strategies of other projects: each runs as a program of its own in its own environment (see `programs`)."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import IO, Self

from benchmarks.compaction.conversations import CutConversation
from benchmarks.compaction.method import CompressionFailed
from benchmarks.compaction.ours import KEEP
from playhead.testing.request import JsonObject

ROOT = Path(__file__).parents[2]
_PROGRAMS = Path(__file__).with_name("programs")
_ENVIRONMENTS = ROOT / ".venv-compaction"
# They must neither look for updates nor ask a proxy for the model on this machine.
_SETTINGS = {
    "NO_PROXY": "127.0.0.1",
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    "OPENHANDS_SUPPRESS_BANNER": "1",
    "LANGSMITH_TRACING": "false",
}


class ProgramEnded(Exception):
    """A program ended although there is more to do; the message has what it said last."""


@dataclass(frozen=True, slots=True)
class Program:
    """A program that compresses. `settings`: how it is set up, in Markdown. `environment`: the folder of its packages,
    inside .venv-compaction. `keep`: the share of the newest part that stays; None: the default of its code. `needs`:
    what its environment needs beside packages, for people."""

    project: str
    settings: str
    environment: str
    file: str
    keep: float | None = None
    needs: str = ""

    @property
    def is_installed(self) -> bool:
        """Whether its packages are there, whole."""
        return (_ENVIRONMENTS / self.environment / ".installed").exists()

    @property
    def command(self) -> Sequence[str]:
        """What starts it."""
        packages, program = _ENVIRONMENTS / self.environment, str(_PROGRAMS / self.file)
        if self.file.endswith(".py"):
            return [str(packages / "bin" / "python"), program]
        return [_node(), program, str(packages)]


def _node() -> str:
    """The Node of this environment, else the one of the machine."""
    own = Path(sys.executable).with_name("node")
    return str(own) if own.exists() else shutil.which("node") or "node"


PROGRAMS = (
    Program("LangChain", "`SummarizationMiddleware`, 30 %", "langchain", "langchain_program.py", KEEP),
    Program("LangChain", "`SummarizationMiddleware`, default: 20 messages", "langchain", "langchain_program.py"),
    Program("deepagents", "`SummarizationMiddleware`, 30 %", "langchain", "deepagents_program.py", KEEP),
    Program("deepagents", "`SummarizationMiddleware`, default: 12 %", "langchain", "deepagents_program.py"),
    Program(
        "OpenHands",
        "`LLMSummarizingCondenser`, default: half",
        "openhands",
        "openhands_program.py",
        needs="Python 3.12",
    ),
    Program("Gemini CLI", "`tryCompressChat`, default: 30 %", "gemini-cli", "gemini_cli.mjs", needs="Node 20"),
)


@dataclass(slots=True)
class OtherMethod:
    """A running program; a context manager, which ends it."""

    program: Program
    model_url: str
    version: str = ""
    _process: "subprocess.Popen[str]" = field(init=False)
    _log: IO[str] = field(init=False)

    @property
    def project(self) -> str:
        return self.program.project

    @property
    def title(self) -> str:
        return self.program.settings

    def __enter__(self) -> Self:
        env = {**os.environ, **_SETTINGS, "MODEL_URL": self.model_url}
        env.pop("PYTHONPATH", None)
        self._log = tempfile.TemporaryFile("w+")
        self._process = subprocess.Popen(
            self.program.command, env=env, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._log
        )
        self.version = self._read()["version"]
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._process.communicate()
        self._log.close()

    def compress(self, conversation: CutConversation) -> Sequence[JsonObject]:
        job = {"system": conversation.system, "messages": [*conversation.before], "keep": self.program.keep}
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(job) + "\n")
        self._process.stdin.flush()
        answer = self._read()
        if "error" in answer:
            raise CompressionFailed(answer["error"])
        return answer["messages"]

    def _read(self) -> JsonObject:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            self._process.wait()
            self._log.seek(0)
            raise ProgramEnded(f"{' '.join(self.program.command)} ended:\n{self._log.read()[-2_000:]}")
        return json.loads(line)
