"""Checks the capture of a framework: is it recorded, resumed and forked rightly?

    report = check_capture(AgentProgram(Path("agent.py"), streamed=["--stream"]))
    assert not report.failures, report

The flow: the author's script → programs → checks → report. `python -m playhead.testing.captures agent.py` prints the
report. See docs/extending.md.
"""

from playhead.testing.captures.checks import CHECKS, CaptureCheck, CaptureReport, check_capture
from playhead.testing.captures.programs import AgentProgram

__all__ = ["CHECKS", "AgentProgram", "CaptureCheck", "CaptureReport", "check_capture"]
