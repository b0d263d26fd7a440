"""M1, M2: a managed conversation of 10,000 turns: what a late turn costs beside an early one, and how it is resumed.

The client is the real one, the model server is in this process, and a summary is written every few turns. CPU time of
the thread that talks, and bytes of the journal.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import openai

import playhead
from benchmarks.recording import recording
from playhead.context import Compression, Context, Keep, LlmSummary
from playhead.models import OpenAIModel
from playhead.testing import MockModelServer, contains, text
from tests.support.bar import Row, at_most, told

_TURNS = int(os.environ.get("PLAYHEAD_CONTEXT_TURNS", "10000"))
_TENTH = _TURNS // 10
_LIMIT = 4_000
_PROGRAM = Path(__file__).parents[2] / "tests" / "support" / "programs" / "compressing_chat.py"
# Where the second conversation is killed, by the share of the points that it passes.
_KILLED_AT = (0.3, 0.5, 0.7)


@dataclass(slots=True)
class _Measured:
    """Of each tenth of the turns: CPU seconds, and bytes that the journal grew by."""

    seconds: list[float] = field(default_factory=list[float])
    sizes: list[int] = field(default_factory=list[int])


def measure() -> Iterator[Row]:
    """M1: the last tenth of the turns beside the first one."""
    found, context = _Measured(), Context(system="Be brief.")
    server = MockModelServer(models=("gpt-4o",), keep_requests=False)
    server.when(contains("Summarise the conversation"), text("A summary of what was said so far. " * 4))
    server.otherwise(text("It is on its way, and will be there soon. " * 4))
    with (
        recording("none", journal_max_bytes=2**31) as folder,
        openai.OpenAI(api_key="none", base_url="http://mock/v1", http_client=server.http_client()) as client,
    ):
        strategy = LlmSummary(model=OpenAIModel("gpt-4o", client=client))
        context = Context(
            system="Be brief.", compression=Compression(limit=_LIMIT, keep=Keep(share=0.3), strategy=strategy)
        )
        with playhead.run("long chat"):
            for _ in range(10):
                before, began = _size(folder), time.thread_time()
                for _ in range(_TENTH):
                    _turn(client, context)
                found.seconds.append(time.thread_time() - began)
                found.sizes.append(_size(folder) - before)
    against = f"the first {_TENTH:,} of {_TURNS:,} turns, {context.stats.compressions:,} compressions"
    times, sizes = found.seconds, found.sizes
    yield at_most("M1", "CPU time of the last tenth of turns", times[-1] / times[0], 1.2, unit="times", against=against)
    yield at_most("M1", "recorded bytes of the last tenth", sizes[-1] / sizes[0], 1.1, unit="times", against=against)
    for name, place in (("first", 0), ("last", -1)):
        yield told("M1", f"a turn, {name} tenth", 1_000 * times[place] / _TENTH, unit="ms", against="CPU time")
        yield told("M1", f"a turn, {name} tenth", sizes[place] / _TENTH, unit="bytes", against="of the journal")


def _turn(client: openai.OpenAI, context: Context) -> None:
    context.add("user", f"Where is parcel {len(context.history)}? {'It was sent on Monday. ' * 8}")
    context.answered(client.chat.completions.create(model="gpt-4o", messages=context.for_model()))


def _size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


# --- killed and resumed ----------------------------------------------------------------------------------------------


def measure_killed() -> Iterator[Row]:
    """M2: killed three times and resumed, beside one that nobody killed."""
    with tempfile.TemporaryDirectory() as folder:
        whole = _Chat(Path(folder))
        whole.run()
        result, questions = whole.result, whole.questions
    wrong: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        chat = _Chat(Path(folder))
        for share in _KILLED_AT:
            chat.run(int(share * result["points"]))
            yield told("M2", f"killed at {share:.0%}: until it is live", chat.live_s, unit="s", against="CPU time")
        chat.run()
        wrong += [name for name in ("places", "messages", "history") if chat.result[name] != result[name]]
        wrong += ["lost"] if chat.questions.keys() != questions.keys() else []
        repeated = sum((chat.questions - questions).values())
        yield told("M2", "resumed for the last time: until it is live", chat.live_s, unit="s", against="CPU time")
    against = f"a conversation of {_TURNS:,} turns with {len(result['places']):,} compressions that nobody killed"
    yield at_most("M2", "differences", len(wrong), 0, unit="", against=", ".join(wrong) or against)
    against = "those during which it was killed"
    yield at_most("M2", "questions asked twice", repeated, len(_KILLED_AT), unit="", against=against)


class _Chat:
    """The program in processes of its own, over one journal."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._run: str | None = None
        self._lines: list[str] = []

    def run(self, die_at: int = 0) -> None:
        """Runs it, or resumes it, up to this point; 0: to its end."""
        more = {"RUN": self._run} if self._run else {}
        variables = {
            "PLAYHEAD_JOURNAL_DIR": str(self._folder / "journal"), "PLAYHEAD_ENDPOINT": "none", "TURNS": str(_TURNS),
            "ASKED": str(self._folder / "asked"), "DIE_AT": str(die_at), **more,
        }  # fmt: skip
        done = subprocess.run(
            [sys.executable, _PROGRAM], env={**os.environ, **variables}, capture_output=True, text=True, check=False
        )
        if done.returncode != (-9 if die_at else 0):
            raise RuntimeError(done.stderr[-2_000:])
        self._lines = done.stdout.splitlines()
        self._run = self._lines[0]

    @property
    def result(self) -> dict[str, Any]:
        """What the program said at its end."""
        return json.loads(self._lines[-1])

    @property
    def live_s(self) -> float:
        """CPU seconds until a model was asked."""
        return next(float(line.split()[1]) for line in self._lines if line.startswith("live "))

    @property
    def questions(self) -> Counter[str]:
        """The questions that were asked, in all processes."""
        return Counter((self._folder / "asked").read_text(encoding="utf-8").splitlines())
