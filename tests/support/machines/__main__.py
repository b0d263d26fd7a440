"""`python -m tests.support.machines CHAINS [SEED] [--force]`: so many chains, two at a time, and what came of them.

With `--frozen`, as many processes that are frozen while others take their runs over.
"""

# ruff: noqa: T201 - a command

import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from playhead_collector.process import CollectorProcess
from tests.support.machines.chain import Chain
from tests.support.machines.frozen import freeze

_AT_A_TIME = 2


def many(times: int, seed: str, make: Callable[[Path, str, str], Any]) -> int:
    """Returns how many came out wrong."""
    folder, began = Path(tempfile.mkdtemp(prefix="playhead-machines-")), time.monotonic()

    def one(name: str) -> Any:
        return make(folder / name, collector.url, name)

    try:
        with CollectorProcess() as collector, ThreadPoolExecutor(_AT_A_TIME) as pool:
            done = list(pool.map(one, [f"{seed}-{number}" for number in range(times)]))
    finally:
        shutil.rmtree(folder)
    wrong = [each for each in done if each.wrong]
    for each in wrong:
        print(each)
    numbers = ("attempts", "kills", "moved", "refused", "forced", "elsewhere", "resumed")
    counted = {name: sum(getattr(each, name) for each in done) for name in numbers if hasattr(done[0], name)}
    print(f"{times} times, seed {seed}: {len(wrong)} wrong; {counted}, {time.monotonic() - began:.0f} s")
    return len(wrong)


if __name__ == "__main__":
    words = [word for word in sys.argv[1:] if not word.startswith("--")]
    how_many, given_seed = int(words[0]), words[1] if len(words) > 1 else "0"
    may_force = "--force" in sys.argv
    wanted = freeze if "--frozen" in sys.argv else lambda *how: Chain(*how, may_force=may_force).run()
    sys.exit(min(1, many(how_many, given_seed, wanted)))
