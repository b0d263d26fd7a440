"""An agent asks before it deletes files, and waits in no process: somebody approves, and it goes on.

    python examples/approval.py

The first process asks for approval and ends (exit code 75). Then `playhead promises` lists what waits, and `playhead
approve` decides. The last process is given the run's id, finds the approval, and deletes the files. Nothing is set up
for this: without a collector, what waits is in the folder of the local journal. With one, what waits is there, and the
same commands ask it.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import playhead
from playhead import observe


@observe(kind="tool")
def delete(path: str) -> str:
    Path(path).unlink()
    return path


def agent(paths: list[str]) -> None:
    with playhead.run("clean up") as run:
        print(run.id, flush=True)
        answer = playhead.approval(f"delete {len(paths)} files", risk="high", details=paths, suspend=True)
        print(f"  approved by {answer['by']}: deleted {[Path(delete(path)).name for path in paths]}", flush=True)


def start(*command: str, **environ: str) -> subprocess.CompletedProcess[str]:
    """Runs a command and shows what it printed."""
    done = subprocess.run(command, env=os.environ | environ, stdout=subprocess.PIPE, text=True, check=False)  # noqa: S603 - itself
    print(done.stdout, end="", flush=True)
    return done


def playhead_command(*arguments: str) -> str:
    print("$ playhead", *arguments)
    return start(sys.executable, "-c", "from playhead.cli import main; main()", *arguments).stdout


def main() -> None:
    folder = Path(tempfile.mkdtemp(prefix="playhead-"))
    os.environ.setdefault("PLAYHEAD_JOURNAL_DIR", str(folder / "journal"))
    files = [folder / "old.log", folder / "older.log"]
    for file in files:
        file.write_text("x")
    program = [sys.executable, __file__, *map(str, files)]
    waiting = start(*program)
    print(f"exit code {waiting.returncode}; the files are still there: {all(file.exists() for file in files)}")
    run = waiting.stdout.split()[0]
    listed = playhead_command("promises")
    [promise] = [line.split()[0] for line in listed.splitlines() if run[-8:] in line]
    playhead_command("approve", promise, "--by", "eve")
    start(*program, PLAYHEAD_RESUME=run)
    print(f"the files are gone: {not any(file.exists() for file in files)}")


if __name__ == "__main__":
    agent(sys.argv[1:]) if sys.argv[1:] else main()
