"""Prints, for `playhead doctor -- COMMAND`, what was instrumented in a process of the program when it ends."""

import atexit
import os
import sys

REPORT = "PLAYHEAD_RUN_REPORT"
"""Set: each Python process of the program reports on standard error when it ends."""


class _EndReport:
    is_registered = False


def report_at_exit_if_asked() -> None:
    """Registers the report for the end of this process and of those that it forks, if the environment asks for it."""
    if REPORT in os.environ and not _EndReport.is_registered:
        _EndReport.is_registered = True
        atexit.register(_report)


def _report() -> None:
    try:
        from playhead.capture.active import doctor  # noqa: PLC0415 - the program may import none of it

        text = "\n".join(map(str, doctor())) or "no library that Playhead records was imported"
        if sys.stderr is not None:
            sys.stderr.write(f"playhead doctor: process {os.getpid()}:\n{text}\n")
    except (Exception, SystemExit):  # noqa: BLE001, S110 - the program must end as it does without us
        pass
