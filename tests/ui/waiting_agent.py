"""An agent whose run goes on with each line of its input; it prints its run's id first."""

import sys

import playhead
from playhead import observe


@observe(kind="tool")
def step(word: str) -> str:
    return word


@observe(name="waiting")
def agent() -> None:
    sys.stdout.write(f"{playhead.current_run_id()}\n")
    sys.stdout.flush()
    step("first")
    playhead.flush()
    for line in sys.stdin:
        step(line.strip())
        playhead.flush()


if __name__ == "__main__":
    agent()
    playhead.flush()
