"""A program keeps its own state in checkpoints, dies, and goes on from the last one; a second run continues it.

    python examples/checkpoint_state.py

The first process imports three of six orders and dies. The second one is given the run's id: it finds its state, with
its type, as `run.checkpoint.state`, and imports the other three. A new run then begins where that one ended.
Nothing is set up for this: no collector runs, and the checkpoints are in the local journal.
"""

import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field

import playhead
from playhead import observe

ORDERS = ["A1", "B2", "C3", "D4", "E5", "F6"]


@dataclass
class Progress:
    done: int = 0
    totals: dict[str, int] = field(default_factory=dict[str, int])


@observe(kind="tool")
def import_order(order: str) -> int:
    print(f"  importing {order}", flush=True)
    return 10 * len(order)


def import_all() -> None:
    with playhead.run("import orders") as run:
        print(run.id, flush=True)
        state = run.checkpoint.state if run.checkpoint else Progress()
        if state.done:
            print(f"  going on after {state.done} orders: {state.totals}", flush=True)
        for order in ORDERS[state.done :]:
            state.totals[order] = import_order(order)
            state.done += 1
            playhead.checkpoint(state, name=order)  # in the journal when it returns
            if os.environ.get("CRASH") and state.done == 3:
                os._exit(1)  # no exception, no exit handlers


def next_day(yesterday: str) -> None:
    with playhead.run("next day", continues=yesterday) as run:
        assert run.checkpoint is not None
        print(f"next day begins with {run.checkpoint.state.done} orders of yesterday")


def start(program: list[str], **environ: str) -> tuple[str, str]:
    """Runs the program in a process; returns the run's id and what it printed after that."""
    ended = subprocess.run(program, env=os.environ | environ, stdout=subprocess.PIPE, text=True, check=False)  # noqa: S603 - itself
    run_id, _, printed = ended.stdout.partition("\n")
    return run_id, printed


def main() -> None:
    if "PLAYHEAD_JOURNAL_DIR" not in os.environ:
        os.environ["PLAYHEAD_JOURNAL_DIR"] = tempfile.mkdtemp(prefix="playhead-")
    program = [sys.executable, __file__, "import"]
    print("first process:")
    run_id, printed = start(program, CRASH="1")
    print(printed, end="")
    print("second process:", flush=True)
    print(start(program, PLAYHEAD_RESUME=run_id)[1], end="")
    next_day(run_id)


if __name__ == "__main__":
    import_all() if sys.argv[1:] == ["import"] else main()
