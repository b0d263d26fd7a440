"""Installs the wheel on each supported Python that is here, records, resumes, serves and asks: `make pythons`.

3.14 has no interpreter here to run on: it is checked by pyright alone, for that version.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.support.programs.installed import PRINTS, RECORDS_AND_RESUMES

ROOT = Path(__file__).parents[1]
VERSIONS = ("3.11", "3.12", "3.13")
TYPES_ALONE = "3.14"


def interpreter(version: str) -> str | None:
    """The path of that Python, from pyenv or PATH; None: it is not here."""
    folders = sorted(Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"), "versions").glob(f"{version}.*"))
    if folders:  # before PATH, where pyenv has a script that runs the version of the folder
        return str(folders[-1] / "bin" / "python")
    return shutil.which(f"python{version}")


def check(python: str, wheel: Path) -> str:
    """What went wrong; empty: nothing."""
    uv = Path(sys.executable).parent / "uv"
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)  # as root, Postgres runs as another account, and has to reach its programs
        environ = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "PLAYHEAD_"))}
        environ["PLAYHEAD_JOURNAL_DIR"] = str(Path(folder, "journal"))
        there = Path(folder, "env", "bin", "python")
        constraints = ROOT / "constraints.txt"
        steps = [
            [uv, "venv", "-q", "--python", python, Path(folder, "env")],
            [
                uv,
                "pip",
                "install",
                "-q",
                "--python",
                there,
                "-c",
                constraints,
                f"playhead[collector] @ {wheel.as_uri()}",
            ],
            [there, "-W", "error::SyntaxWarning", "-c", RECORDS_AND_RESUMES],
        ]
        for step in steps:
            done = subprocess.run(step, cwd=folder, env=environ, capture_output=True, text=True, check=False)
            if done.returncode != 0:
                return done.stderr
        return "" if done.stdout == PRINTS else f"not resumed: {done.stdout!r}"


def main() -> int:
    """Prints a line for each version."""
    failed = False
    with tempfile.TemporaryDirectory() as folder:
        uv = Path(sys.executable).parent / "uv"
        subprocess.run([uv, "build", "-q", "--wheel", "--out-dir", folder, ROOT], check=True)
        [wheel] = Path(folder).glob("*.whl")
        for version in VERSIONS:
            python = interpreter(version)
            problem = "" if python is None else check(python, wheel)
            failed = failed or bool(problem)
            print(f"{version}: {'not here' if python is None else problem or 'installs, records, serves, resumes'}")
    types = [Path(sys.executable).parent / "pyright", "--pythonpath", sys.executable, "--pythonversion", TYPES_ALONE]
    done = subprocess.run([*types, ROOT / "src", ROOT / "collector"], capture_output=True, text=True, check=False)
    print(f"{TYPES_ALONE}, by its type check alone: {done.stdout.strip().splitlines()[-1]}")
    return int(failed or done.returncode != 0)


if __name__ == "__main__":
    sys.exit(main())
