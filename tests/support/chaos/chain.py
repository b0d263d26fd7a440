"""One chain: the agent is killed, resumed, killed again ..., until it is done; after each attempt it is looked at."""

import json
import os
import random
import signal
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.support.chaos import effects
from tests.support.chaos.effects import Effects
from tests.support.chaos.journaled import Known, known
from tests.support.chaos.model import Model
from tests.support.programs.processes import Ended, run

AGENT = Path(__file__).with_name("agent.py")
_KILLED = (-signal.SIGKILL, -signal.SIGALRM)
"""By itself at some place, or by its clock."""
_MOST_KILLS = 8
_MOST_ATTEMPTS = 40
_KILLED_AGAIN = 0.7


@dataclass(frozen=True, slots=True)
class Whole:
    """What an attempt comes to that nobody kills."""

    run_id: str
    answer: str
    questions: Counter[str]
    effects: Counter[str]
    appends: int
    affected: int
    seconds: float
    """From where its program begins, its modules imported, to the end of its process."""


@dataclass
class CheckResult:
    """What came of one chain.  All lists and counts but `kills`, `attempts`, `completed`, `doubts` and `stopped` are
    to be empty, or 0."""

    name: str
    run_id: str = ""
    kills: int = 0
    attempts: int = 0
    stopped: int = 0
    """Attempts that were refused since something was in doubt."""
    completed: int = 0
    """Model calls and tools that the journals had as completed, when processes were killed."""
    doubts: int = 0
    different: int = 0
    models_again: int = 0
    tools_again: int = 0
    effects_wrong: int = 0
    diverged: int = 0
    unnamed: int = 0
    wrong: list[str] = field(default_factory=list[str])
    """All of that and everything else, in sentences."""


@dataclass(frozen=True, slots=True)
class World:
    """What chains share."""

    model: Model
    collector: str
    folder: Path
    whole: Whole | None = None


class Chain:
    """The attempts at one run."""

    def __init__(self, world: World, name: str):
        self.world = world
        self.checked = CheckResult(name)
        self._drawn = random.Random(name)
        self._folder = world.folder / name
        self._folder.mkdir()
        # Some share their journal with others, as programs of one machine do.
        self._journal = world.folder / "shared" if self._drawn.random() < 0.3 else self._folder / "journal"
        self._linger = self._drawn.choice(["0.01", "0.2", "1"])
        self._database = self._folder / "effects.db"
        effects.make(self._database)
        self._effects = Effects(self._database)

    def whole(self) -> Whole:
        """Nobody kills it."""
        ended = self._attempt("", {})
        assert ended.code == 0, ended.errors
        ended_at = time.time()
        run_id, said, answer = ended.out.splitlines()
        counted = json.loads(said)
        questions = Counter(self.world.model.asked(self._key()))
        done, affected = self._effects.look().effects, counted["effects"]
        return Whole(run_id, answer, questions, done, counted["appends"], affected, ended_at - counted["began"])

    def run(self) -> CheckResult:
        """Until it is done."""
        before, careful = Known(), self._drawn.random() < 0.5
        while self.checked.attempts < _MOST_ATTEMPTS:
            environ = self._kill()
            self._is_torn |= environ.get("KILL_WHEN") == "amid"
            outcomes: dict[str, Any] = {}
            if careful and before.tools_in_doubt and self._drawn.random() < 0.7:
                outcomes = {span: self._said(key) for span, key in before.tools_in_doubt.items()}
            raises = careful and bool(before.tools_in_doubt)
            environ |= {"IN_DOUBT": "raise" if raises else "decide", "OUTCOMES": json.dumps(outcomes)}
            ended = self._attempt(self.checked.run_id, environ)
            if not self.checked.run_id and ended.out:
                self.checked.run_id = ended.out.splitlines()[0]
            self._look(ended, before, outcomes, raises=raises)
            if ended.code == 0 or self.checked.wrong:
                break
            before = self._known(before)
        else:
            self._wrong("it does not end")
        self._look_at_effects()
        return self.checked

    # --- attempts -----------------------------------------------------------------------------------------------------

    def _attempt(self, run_id: str, environ: dict[str, str]) -> Ended:
        self.checked.attempts += 1
        kept = {
            name: value for name, value in os.environ.items() if not name.startswith(("OPENAI_", "OTEL_", "PLAYHEAD"))
        }
        kept |= {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        kept |= {"PLAYHEAD_ENDPOINT": self.world.collector, "PLAYHEAD_JOURNAL_DIR": str(self._journal)}
        kept |= {
            "PLAYHEAD_LINGER_SECONDS": self._linger,
            "PLAYHEAD_EXIT_TIMEOUT_SECONDS": "60",
            "NO_PROXY": "127.0.0.1",
        }
        kept |= {"OPENAI_BASE_URL": self.world.model.url, "OPENAI_API_KEY": self._key()}
        kept |= {
            "EFFECTS": str(self._database),
            "ATTEMPT": str(self.checked.attempts),
            "SEED": str(self._drawn.getrandbits(32)),
        }
        kept |= {
            "KILL_AT_APPEND": "0",
            "KILL_AT_EFFECT": "0",
            "KILL_WHEN": "after",
            "KILL_AFTER": "0",
            "IN_DOUBT": "raise",
            "OUTCOMES": "{}",
        }
        return run(AGENT, run_id, environ=kept | environ)

    def _key(self) -> str:
        return f"{self.checked.name}/{self.checked.attempts}"

    def _kill(self) -> dict[str, str]:
        """When the next attempt is killed: at a record of its journal, at an effect, after a time; or not at all."""
        whole, kills = self.world.whole, self.checked.kills
        assert whole is not None
        if kills and (kills >= _MOST_KILLS or self._drawn.random() > _KILLED_AGAIN):
            return {}
        share, how = self._drawn.random() ** (1 + kills), self._drawn.random()  # later attempts have less to do
        if how < 0.4:
            when = self._drawn.choice(["before", "amid", "after"])
            return {"KILL_AT_APPEND": str(1 + int(share * whole.appends)), "KILL_WHEN": when}
        if how < 0.6:
            when = self._drawn.choice(["before", "after"])
            return {"KILL_AT_EFFECT": str(1 + int(share * whole.affected)), "KILL_WHEN": when}
        return {"KILL_AFTER": str(0.01 + share * whole.seconds)}

    def _said(self, key: str) -> dict[str, Any] | None:
        outcome = self._effects.outcome(key)
        return {"error": str(outcome["error"])} if outcome and "error" in outcome else outcome

    # --- looking ------------------------------------------------------------------------------------------------------

    def _known(self, before: Known) -> Known:
        if not self.checked.run_id:
            return before  # it was killed before anybody knew of it
        found = known(self._journal, self.checked.run_id, self.world.model)
        if found is None:
            self._wrong("the run's id was told, and the journal has nothing of it")
            return before
        if before.questions - found.questions or before.tools - found.tools:
            self._wrong("what was completed, is no longer")
        self.checked.completed += found.questions.total() + len(found.tools)
        self.checked.doubts += found.in_doubt.total()
        return found

    def _look(self, ended: Ended, before: Known, outcomes: dict[str, Any], *, raises: bool) -> None:
        self._look_for_repeated(before, outcomes)
        if ended.code in _KILLED:
            self.checked.kills += 1
        elif ended.code == 0:
            self._look_at_end(ended, before, outcomes)
        elif raises and "nobody knows whether it took effect" in ended.errors:
            self.checked.stopped += 1
            named = [span for span in before.tools_in_doubt if span in ended.errors]
            if not named or set(named) & set(outcomes):
                self.checked.unnamed += 1
                self._wrong(f"of {list(before.tools_in_doubt)} in doubt it names {named}: {ended.errors[-600:]}")
        else:
            self.checked.diverged += "ReplayDiverged" in ended.errors
            self._wrong(f"ended with {ended.code}: {ended.errors[-3000:]}")

    def _look_for_repeated(self, before: Known, outcomes: dict[str, Any]) -> None:
        whole = self.world.whole
        assert whole is not None
        asked = self.world.model.asked(self._key())
        executed = self._effects.look().executed[self._executed :]
        self._executed += len(executed)
        again = Counter(asked) - (whole.questions - before.questions)
        if again:
            self.checked.models_again += again.total()
            self._wrong(f"asked again: {again}")
        settled = before.tools | {before.tools_in_doubt[span] for span, said in outcomes.items() if said is not None}
        twice = [what for key, what in executed if key in settled]
        twice += [key for key, number in Counter(key for key, _ in executed).items() if number > 1]
        if twice:
            self.checked.tools_again += len(twice)
            self._wrong(f"executed again: {twice}")

    _executed = 0

    def _look_at_end(self, ended: Ended, before: Known, outcomes: dict[str, Any]) -> None:
        whole = self.world.whole
        assert whole is not None
        _, said, answer = ended.out.splitlines()
        if answer != whole.answer:
            self.checked.different += 1
            self._wrong(f"another answer: {answer}")
        told = json.loads(said)
        if told.get("divergences"):
            self.checked.diverged += 1
            self._wrong(f"diverged: {told['divergences']}")
        if told.get("left"):
            self._wrong(f"not called again: {told['left']}")
        named = Counter(told.get("in_doubt", []))
        decided = len(outcomes) - sum(said is None for said in outcomes.values())
        if named - before.in_doubt or (before.in_doubt - named).total() != decided:
            self.checked.unnamed += 1
            self._wrong(f"in doubt were {before.in_doubt}, named {named}, decided before {decided}")
        if [line for line in ended.errors.splitlines() if not (self._is_torn and "the last record in" in line)]:
            self._wrong(f"said: {ended.errors[-3000:]}")

    _is_torn = False
    """Whether an attempt may have been killed amid a write, which the next one says."""

    def _look_at_effects(self) -> None:
        whole, found = self.world.whole, self._effects.look().effects
        assert whole is not None
        if found != whole.effects:
            self.checked.effects_wrong += (found - whole.effects).total() + (whole.effects - found).total()
            self._wrong(f"doubled: {found - whole.effects}, lost: {whole.effects - found}")

    def _wrong(self, sentence: str) -> None:
        self.checked.wrong.append(f"{self.checked.name}, attempt {self.checked.attempts}: {sentence}")
