"""An agent that asks for approval, then a question; it prints what it was told, a line each."""

import sys
from contextlib import suppress

import playhead


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def ask() -> None:
    with playhead.run("cleaner", user="eve"):
        playhead.flush()
        try:
            answer = playhead.approval("delete 3 files", risk="high", details=["a.log", "b.log", "c.log"])
            say(f"approved by {answer['by']}")
        except playhead.Denied as refused:
            say(f"denied: {refused}")
        branch = playhead.ask("Which branch?", schema={"type": "string"})
        say(f"branch: {branch}")


if __name__ == "__main__":
    with suppress(KeyboardInterrupt):
        ask()
    playhead.flush()
    sys.exit(0)
