"""R1: an agent of fifty steps is killed wherever it can be, and resumed.

At each of its 95 points (before and after each model call, inside each tool after its effect, after each step), and
while each of its 25 model calls is under way: its request has arrived, its answer is not back.
"""

import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.support.bar import Row, at_least, at_most, told
from tests.support.programs.killed_agent import MODELS, POINTS, CheckResult, agent_program, check_kill

_AT_A_TIME = 2


def measure() -> Iterator[Row]:
    with tempfile.TemporaryDirectory() as folder, agent_program(Path(folder)) as program:
        answer = program.run().out.splitlines()[-1]

    def one(kill: dict[str, int]) -> CheckResult:
        with tempfile.TemporaryDirectory() as folder, agent_program(Path(folder)) as program:
            return check_kill(program, answer, **kill)

    kills = [{"point": number} for number in range(1, POINTS + 1)]
    kills += [{"request": number} for number in range(1, MODELS + 1)]
    with ThreadPoolExecutor(_AT_A_TIME) as threads:
        found = list(threads.map(one, kills))
    wrong = [f"{kill}: {sentence}" for kill, checked in zip(kills, found, strict=True) for sentence in checked.wrong]
    against = f"{POINTS} points, and while {MODELS} model calls were under way"
    same = sum(checked.same_answer for checked in found)
    yield at_least("R1", "kills, and the same answer", same, len(kills), unit="", against=against)
    completed = sum(checked.completed for checked in found)
    against = f"{completed:,} model calls and tools were completed in the journals when the agents were killed"
    models, tools = sum(checked.models_again for checked in found), sum(checked.tools_again for checked in found)
    yield at_most("R1", "completed model calls asked again", models, 0, unit="", against=against)
    yield at_most("R1", "completed tools executed again", tools, 0, unit="", against=against)
    doubts = [place for checked in found for place in checked.in_doubt]
    against = f"{len(doubts)} calls were, {sum(place.endswith(':tool') for place in doubts)} of them tools"
    unnamed = sum(checked.unnamed for checked in found)
    yield at_most("R1", "calls in doubt that were not named", unnamed, 0, unit="", against=against)
    yield at_most("R1", "anything else amiss", len(wrong), 0, unit="", against=wrong[0] if wrong else "")
    yield told("R1", "kills", len(kills), unit="", against="each a process of its own, SIGKILL, and one or two resumes")
