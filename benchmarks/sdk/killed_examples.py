"""R1A: the examples with an agent are killed at each of their steps, and resumed.

Of each of the six scenarios, the code assistant and the support agent: after each append to the journal, in each tool,
and while each model call is under way.
"""

import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.support.bar import Row, at_least, at_most, told
from tests.support.programs.killed_examples import EXAMPLES, Kill, KilledExample, Whole, check_killed, whole

_AT_A_TIME = 2


def measure() -> Iterator[Row]:
    found: list[KilledExample] = []
    for name in EXAMPLES:
        with tempfile.TemporaryDirectory() as folder:
            expected = whole(name, Path(folder))
        checked = _killed(name, expected)
        found += checked
        completed = sum(each.completed for each in checked)
        against = (
            f"{completed} calls were completed when it was killed, {sum(each.in_doubt for each in checked)} in doubt"
        )
        yield told("R1A", f"kills of {name}", len(checked), unit="", against=against)
    against = "kills of the examples with an agent, at every step"
    yield at_least(
        "R1A", "the same answer", sum(each.same_answer for each in found), len(found), unit="", against=against
    )
    against = "completed calls that were asked or executed again, or that nobody asked"
    yield at_most("R1A", "model calls", sum(abs(each.models_again) for each in found), 0, unit="", against=against)
    yield at_most("R1A", "tools", sum(abs(each.tools_again) for each in found), 0, unit="", against=against)
    yield at_most("R1A", "tools in doubt not named", sum(each.unnamed for each in found), 0, unit="", against="")
    wrong = [sentence for each in found for sentence in each.wrong]
    yield at_most("R1A", "anything else amiss", len(wrong), 0, unit="", against=wrong[0] if wrong else "")


def _killed(name: str, expected: Whole) -> list[KilledExample]:
    def one(kill: Kill) -> KilledExample:
        with tempfile.TemporaryDirectory() as folder:
            return check_killed(name, expected, kill, Path(folder))

    with ThreadPoolExecutor(_AT_A_TIME) as threads:
        return list(threads.map(one, expected.kills()))
