"""What `playhead doctor -- COMMAND` prints when a process of the program ends: what was instrumented in it, by whom."""

import atexit
import os
import sys

REPORT = "PLAYHEAD_RUN_REPORT"
"""Set: each Python process of the program reports on standard error when it ends."""


class _EndReport:
    is_registered = False


def report_at_exit_if_asked() -> None:
    """Reports when this process ends, or one that it forks, if the environment asks for that."""
    if REPORT in os.environ and not _EndReport.is_registered:
        _EndReport.is_registered = True
        atexit.register(_report)


def _report() -> None:
    try:
        from playhead.capture.others.active import doctor  # noqa: PLC0415 - the program may import none of it

        found = "\n".join(map(str, doctor())) or "no library that Playhead records was imported"
        if sys.stderr is not None:
            sys.stderr.write(f"playhead doctor: process {os.getpid()}:\n{found}\n")
    except (Exception, SystemExit):  # noqa: BLE001, S110 - the program must end as it does without us
        pass
