"""`python -m playhead.testing.captures SCRIPT`: prints what the capture of the script's framework does rightly.

Exit codes: 0 every check passed or was not made; 1 a check failed; 2 the command is used wrongly.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from playhead.testing.captures.checks import CHECKS, check_capture
from playhead.testing.captures.programs import AgentProgram

_MISUSED = 2


def main(arguments: Sequence[str] | None = None) -> int:
    """Checks a capture, and prints the report.  Returns the exit code."""
    options = _parser().parse_args(arguments)
    if not options.script.is_file():
        sys.stderr.write(f"{options.script}: there is no such file; give the script that runs the agent\n")
        return _MISUSED
    program = AgentProgram(options.script, options.argument or (), options.streamed)
    report = check_capture(program, options.only or ())
    sys.stdout.write(f"{report}\n")
    return 1 if report.failures else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m playhead.testing.captures",
        description="Check how the framework of an agent is recorded, resumed and forked.",
    )
    parser.add_argument("script", type=Path, help="the script that runs the agent")
    parser.add_argument("--argument", action="append", help="an argument of the script; may be given again")
    parser.add_argument(
        "--streamed", action="append", help="an argument with which the script streams; may be given again"
    )
    parser.add_argument("--only", action="append", choices=list(CHECKS), help="this check alone; may be given again")
    return parser


if __name__ == "__main__":
    sys.exit(main())
