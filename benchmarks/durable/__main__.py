"""`python -m benchmarks.durable [--write]`: prints the table, and puts it into docs/durable-engines.md."""

import argparse
import subprocess
import sys
from pathlib import Path

from benchmarks.durable.matrix import PROCESS_SECONDS, as_markdown, matrix
from benchmarks.sdk.whole_cpu import PEERS

DOCS = Path(__file__).parents[2] / "docs" / "durable-engines.md"
_BEGIN, _END = "<!-- table -->\n", "\n<!-- /table -->"
_PACKAGES = ("dbos", "langgraph", "langgraph-checkpoint-postgres")


def main() -> int:
    """1 where there is nothing to compare with."""
    options = argparse.ArgumentParser(prog="python -m benchmarks.durable", description=__doc__)
    options.add_argument("--write", action="store_true", help=f"put the table into docs/{DOCS.name}")
    options.add_argument(
        "--process-seconds",
        type=float,
        default=PROCESS_SECONDS,
        help="the most that a process may take (%(default)s)",
    )
    given = options.parse_args()
    if not PEERS.exists():
        print("there is no environment with peers: `make peers PEERS=install` makes it", file=sys.stderr)
        return 1
    table = f"{as_markdown(matrix(given.process_seconds))}\n\n{_versions()}"
    print(table)
    if given.write:
        before, _, rest = DOCS.read_text(encoding="utf-8").partition(_BEGIN)
        DOCS.write_text(before + _BEGIN + table + _END + rest.partition(_END)[2], encoding="utf-8")
    return 0


def _versions() -> str:
    """What was compared with, and when."""
    code = (
        "import datetime, platform; from importlib.metadata import version; "
        f"print(', '.join(f'{{name}} {{version(name)}}' for name in {_PACKAGES!r}) + ', Python ' "
        "+ platform.python_version() + '; ' + str(datetime.date.today()))"
    )
    done = subprocess.run([str(PEERS), "-c", code], check=True, capture_output=True, text=True)
    return f"Run with {done.stdout.strip()}."


if __name__ == "__main__":
    sys.exit(main())
