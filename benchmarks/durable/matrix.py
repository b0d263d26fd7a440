"""Kills the program, changes it, and runs it again, for each engine and each change; what came of it, and why.

Nothing is judged by hand.  A verdict compares the second run with the changed program run from nothing: an answer that
is not the answer to what was asked is stale, and what had been executed before the kill was executed again or was not.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from itertools import count
from pathlib import Path

from benchmarks.durable.changes import CHANGES, Change, changed, guarded, original
from benchmarks.durable.postgres import Postgres
from benchmarks.sdk.whole_cpu import PEERS
from tests.support.bar import Row, not_measured, told

_HERE = Path(__file__).parent
_AT_A_TIME = 2
PROCESS_SECONDS = 600.0
"""How long one process may take.  Alone, each takes seconds; a loaded machine takes minutes to import an engine and to
set up its tables.  It only has to end a process that hangs."""
_numbers = count(1)


@dataclass(frozen=True, slots=True)
class Engine:
    """Who remembers, and how it is set up."""

    title: str
    module: str
    environ: tuple[tuple[str, str], ...]
    guards: bool = False

    @property
    def python(self) -> str:
        """The interpreter of its environment."""
        return sys.executable if self.module == "engine_playhead" else str(PEERS.absolute())


ENGINES = (
    Engine("Playhead", "engine_playhead", (("DIVERGENCE", "raise"), ("COMPLETED", "raise"))),
    Engine('Playhead, `on_divergence="live"`', "engine_playhead", (("DIVERGENCE", "live"), ("COMPLETED", "raise"))),
    Engine(
        'Playhead, `on_divergence="live", completed="reuse"`',
        "engine_playhead",
        (("DIVERGENCE", "live"), ("COMPLETED", "reuse")),
    ),
    Engine("DBOS", "engine_dbos", (("APPLICATION_VERSION", ""),)),
    Engine("DBOS, version pinned", "engine_dbos", (("APPLICATION_VERSION", "1"),)),
    Engine("DBOS, version pinned, change guarded", "engine_dbos", (("APPLICATION_VERSION", "1"),), guards=True),
    Engine("LangGraph", "engine_langgraph", ()),
    Engine("LangGraph, change guarded", "engine_langgraph", (), guards=True),
)
"""Peers are left out where their environment is not there."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What came of a resumed run."""

    error: str
    """The error's kind, where the run did not end."""
    stale: tuple[str, ...] = ()
    """Answers that are not the answer to what was asked."""
    again: tuple[str, ...] = ()
    """What had been executed before the kill, and was executed again."""
    skipped: tuple[str, ...] = ()
    """What the changed program does, and was not done."""
    old_code: bool = False
    """Whether it ended as the program from before the change does, as its author wanted."""
    said: str = ""
    """The first warning."""

    def __str__(self) -> str:
        if self.old_code:
            return "old code"
        found = {"stale": self.stale, "skipped": self.skipped, "re-executed": self.again}
        words = [f"error: `{self.error}`"] if self.error else []
        words += [word for word, which in found.items() if which]
        if not words:
            return "right"
        return ", ".join(words) + ("" if self.error else ", told" if self.said else ", silently")


def judge(change: Change, engine: Engine, postgres: Postgres, seconds: float = PROCESS_SECONDS) -> Verdict:
    """Two processes: one that is killed, and one that goes on with the changed program; `seconds` for each.

    Raises subprocess.TimeoutExpired where the one that is to be killed takes longer."""
    with tempfile.TemporaryDirectory(prefix="playhead-durable-") as name:
        folder = Path(name)
        for path in _HERE.glob("engine_*.py"):
            (folder / path.name).write_text(path.read_text())
        environ = dict(engine.environ) | {"ENGINE": engine.module, "PLAYHEAD_JOURNAL_DIR": str(folder / "journal")}
        with postgres.database(f"trip_{next(_numbers)}") as url:
            environ["DATABASE"] = url
            killed = _run(folder, original(change), engine.python, environ, seconds)
            if killed.returncode != -9:
                raise RuntimeError(f"{engine.title}: was to be killed, and was not: {killed.stderr[-2000:]}")
            before = _effects(folder)
            program = guarded(change) if engine.guards else changed(change)
            (folder / "bookings.py").write_text(change.module)
            try:
                resumed = _run(folder, program, engine.python, environ, seconds)
            except subprocess.TimeoutExpired:
                return Verdict(f"NotEnded: within {seconds:g} s")
        is_guarded = engine.guards and "engine.patch()" in program
        return _verdict(change, resumed, before, _effects(folder), has_guard=is_guarded)


def _verdict(
    change: Change, resumed: subprocess.CompletedProcess[str], before: list[str], effects: list[str], *, has_guard: bool
) -> Verdict:
    again = tuple(what for what in Counter(effects) - Counter(before) if what in before)
    lines = [line for line in resumed.stderr.splitlines() if line.strip()]
    # That there is no collector is not said of a change.
    said = next((line for line in lines if "cannot be reached" not in line), "")
    if resumed.returncode != 0:
        kinds = [line.partition(":")[0].rpartition(".")[2] for line in lines if _is_error(line)]
        return Verdict(kinds[-1] if kinds else f"exit code {resumed.returncode}", again=again, said=said)
    result = json.loads(resumed.stdout)
    if has_guard and (result, sorted(effects)) == _alone(original(change)):
        return Verdict("", old_code=True, said=said)
    answers, done = _alone(changed(change), change.module)
    stale = tuple(f"{got!r} for {asked!r}" for got, asked in zip(result, answers, strict=True) if got != asked)
    # What is asked otherwise and answered from the record is stale already: skipped is what nobody was given.
    skipped = () if stale else tuple(Counter(done) - Counter(effects))
    return Verdict("", stale, again, skipped, said=said)


def _is_error(line: str) -> bool:
    head = line.partition(":")[0]
    return head.replace(".", "").isidentifier() and not line.startswith(("Traceback", " "))


@cache
def _alone(program: str, module: str = "") -> tuple[list[object], list[str]]:
    """What a program answers, and does, when it is run from nothing."""
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "engine_nobody.py"
        path.write_text((_HERE / path.name).read_text())
        (Path(name) / "bookings.py").write_text(module)
        done = _run(Path(name), program, sys.executable, {"ENGINE": "engine_nobody"})
        return json.loads(done.stdout), sorted(_effects(Path(name)))


def _run(
    folder: Path, program: str, python: str, environ: dict[str, str], seconds: float = PROCESS_SECONDS
) -> subprocess.CompletedProcess[str]:
    (folder / "trip.py").write_text(program)
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("DBOS", "OTEL_", "PLAYHEAD_"))}
    kept |= {"EFFECTS": "effects", "OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9"}
    kept |= {"PLAYHEAD_EXIT_TIMEOUT_SECONDS": "0.1"}
    ours = python == sys.executable
    kept["PYTHONPATH"] = os.pathsep.join(filter(None, sys.path)) if ours else ""
    command = [python, "trip.py"]
    return subprocess.run(
        command, cwd=folder, env=kept | environ, capture_output=True, text=True, timeout=seconds, check=False
    )


def _effects(folder: Path) -> list[str]:
    path = folder / "effects"
    return path.read_text().splitlines() if path.exists() else []


@cache
def _has_peers(python: str) -> bool:
    """Whether the engines can be imported there: an environment may hold peers of other benchmarks alone."""
    command = [python, "-c", "import dbos, langgraph.checkpoint.postgres, langgraph.func"]
    return Path(python).exists() and subprocess.run(command, capture_output=True, check=False).returncode == 0


Matrix = dict[str, dict[str, Verdict]]
"""Change → engine → verdict."""


def matrix(seconds: float = PROCESS_SECONDS) -> Matrix:
    """Every change with every engine; the peers' only where `make peers PEERS=install` has put them.

    `seconds` are for each process; verdicts are printed as they come, for all of them take ten minutes.
    """
    engines = [engine for engine in ENGINES if engine.python == sys.executable or _has_peers(engine.python)]
    with Postgres() as postgres, ThreadPoolExecutor(_AT_A_TIME) as threads:
        titles = [engine.title for engine in engines]
        return {
            change.name: dict(
                zip(titles, threads.map(lambda e, c=change: _told(c, e, postgres, seconds), engines), strict=True)
            )
            for change in CHANGES
        }


def _told(change: Change, engine: Engine, postgres: Postgres, seconds: float) -> Verdict:
    verdict = judge(change, engine, postgres, seconds)
    print(f"{change.name}: {engine.title}: {verdict}", file=sys.stderr, flush=True)
    return verdict


def measure() -> Iterator[Row]:
    """Rows for `make bench`; the whole table is printed beside them."""
    found = matrix()
    print(as_markdown(found), file=sys.stderr)
    for engine in ENGINES:
        verdicts = [str(verdicts[engine.title]) for verdicts in found.values() if engine.title in verdicts]
        what = f"{engine.title}: changes answered stale, silently"
        if not verdicts:
            yield not_measured("MATRIX", what, "no environment with peers: `make peers PEERS=install` makes it")
            continue
        silently = sum("stale" in verdict and "silently" in verdict for verdict in verdicts)
        counts = Counter(verdict.partition(":")[0] for verdict in verdicts)
        against = "; ".join(f"{times} {verdict}" for verdict, times in counts.most_common())
        yield told("MATRIX", what, silently, unit=f"of {len(verdicts)}", against=against)


def as_markdown(found: Matrix) -> str:
    """A table with a row for each change."""
    titles = list(next(iter(found.values())))
    rows = [
        f"| {name} | " + " | ".join(str(verdicts[title]) for title in titles) + " |" for name, verdicts in found.items()
    ]
    return "\n".join([f"| change | {' | '.join(titles)} |", "|---" * (len(titles) + 1) + "|", *rows])
