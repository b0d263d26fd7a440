"""Tools for agents that work on files: read_file, write_file, search and bash, all below one root folder.

    pip install 'playhead[agent]'
    python examples/tools.py

Copy this file into your project; `code_assistant.py` is an agent that has two of them. `write_file` and `bash` run only
after somebody approved the call (`playhead approve`, the web UI), whoever calls them. A path that leads out of the
root, by `..` or by a link, is refused. `bash` begins in the root, but a shell can reach whatever its user can: approve
its commands with care, or run them in a container.
"""

import os
import signal
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import playhead

MAX_CHARACTERS = 50_000
"""Of a file or of a command's output that the model is given."""
MAX_FILE_BYTES = 1_000_000
"""Larger files are not searched."""
MAX_MATCHES = 200
BASH_SECONDS = 60
BOUNDED = 'bash -c "$1" 2>&1 | head -c "$2"; exit "${PIPESTATUS[0]}"'
"""Runs $1, and gives no more than $2 bytes of its output to whoever reads it."""


class OutsideOfRoot(PermissionError):
    """A path leads out of the root folder."""


class Workspace:
    """The four tools. `root`: a folder that exists; paths are relative to it.

    `Agent(tools=[workspace.read_file, workspace.search])` gives an agent those of one workspace.
    """

    def __init__(self, root: str | Path) -> None:
        self.root = Path(root).resolve(strict=True)

    @playhead.tool(writes=False)
    def read_file(self, path: str) -> str:
        """Returns the text of a file, shortened to 50,000 characters."""
        file = self._inside(path)
        if not file.is_file():
            raise FileNotFoundError(f"there is no file {path}")
        return _shortened(file.read_text(encoding="utf-8", errors="replace"))

    @playhead.tool(writes=True, approval="always")
    def write_file(self, path: str, text: str) -> str:
        """Writes a text file, in folders that are made for it; a file that is there is replaced."""
        file = self._inside(path)
        if file.exists() and not file.is_file():
            raise FileExistsError(f"{path} is not a file")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
        return f"wrote {len(text)} characters to {path}"

    @playhead.tool(writes=False)
    def search(self, text: str) -> list[str]:
        """Returns the lines that have this text, as `path:line: text`; at most 200."""
        found: list[str] = []
        for file in self._files():
            name = file.relative_to(self.root).as_posix()
            lines = file.read_text(encoding="utf-8", errors="replace").splitlines()
            found += [f"{name}:{number}: {line}" for number, line in enumerate(lines, 1) if text in line]
            if len(found) >= MAX_MATCHES:
                break
        return found[:MAX_MATCHES]

    @playhead.tool(writes=True, approval="always")
    def bash(self, command: str) -> str:
        """Runs a shell command in the root folder, at most 60 seconds; returns its exit code and its output."""
        # Of the environment only what programs need: no keys of the agent's.
        environ = {name: os.environ[name] for name in ("PATH", "LANG", "LC_ALL", "TMPDIR") if name in os.environ}
        with subprocess.Popen(  # noqa: S603 - what the model wants to run, and somebody has approved
            ["/bin/bash", "-c", BOUNDED, "bash", command, str(MAX_CHARACTERS)],
            cwd=self.root,
            env=environ | {"HOME": str(self.root)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            start_new_session=True,
        ) as process:
            try:
                output, _ = process.communicate(timeout=BASH_SECONDS)
                end = f"exit code {process.returncode}"
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)  # the shell and all that it started
                output, _ = process.communicate()
                end = f"stopped after {BASH_SECONDS} seconds"
        return f"{end}\n{output.decode(errors='replace')}"

    def _inside(self, path: str) -> Path:
        """The file or folder that the path means when all links are followed. Raises OutsideOfRoot."""
        file = (self.root / path).resolve()
        if not file.is_relative_to(self.root):
            raise OutsideOfRoot(f"{path} is outside of the root folder")
        return file

    def _files(self) -> Iterator[Path]:
        """Regular files below the root, in order; no links are followed, and no folders like .git are entered."""
        for folder, folders, names in os.walk(self.root, followlinks=False):
            folders[:] = sorted(name for name in folders if not name.startswith("."))
            for name in sorted(names):
                file = Path(folder, name)
                if not file.is_symlink() and file.is_file() and file.stat().st_size <= MAX_FILE_BYTES:
                    yield file


def _shortened(text: str) -> str:
    if len(text) <= MAX_CHARACTERS:
        return text
    return f"{text[:MAX_CHARACTERS]}\n... {len(text) - MAX_CHARACTERS} characters more"


# --- what it does, on a folder of its own -----------------------------------------------------------------------------


@contextmanager
def person_who_approves(run: str | None, *tools: str) -> Iterator[None]:
    """Approves calls of these tools by this run, in a thread; elsewhere a person does, by `playhead approve`."""
    done = threading.Event()

    def approve() -> None:
        while not done.wait(0.05):
            for promise in playhead.open_promises():
                if promise["run"] == run and promise["name"] in tools:
                    print(f"approved: {promise['name']}({promise['details']})")
                    playhead.approve(promise, by="the example")

    person = threading.Thread(target=approve)
    person.start()
    try:
        yield
    finally:
        done.set()
        person.join()


def main() -> None:
    with (
        tempfile.TemporaryDirectory() as folder,
        playhead.run("tools") as run,
        person_who_approves(run.id, "write_file", "bash"),
    ):
        workspace = Workspace(folder)
        print(workspace.write_file("shop/prices.py", "def discounted(total, discount):\n    return total * discount\n"))
        print(workspace.search("discount"))
        print(workspace.bash("wc -l shop/prices.py"))
        try:
            workspace.read_file("../secrets")
        except OutsideOfRoot as error:
            print(f"refused: {error}")


if __name__ == "__main__":
    main()
