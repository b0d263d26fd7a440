"""The three tools that an agent has whose framework's capture is checked (`playhead.testing.captures`).

Each call writes a line to the file that `PLAYHEAD_CHECK_EFFECTS` names, by which the check knows what was executed.
"""

import os
import signal
from pathlib import Path

QUESTION = "Refund A1, please."
"""What the program asks its agent."""

EFFECTS = "PLAYHEAD_CHECK_EFFECTS"
KILL_IN_AUDIT = "PLAYHEAD_CHECK_KILL_IN_AUDIT"
"""Environment variable: if set, the process is killed while `audit` runs, after its effect."""


def look_up(order: str) -> dict[str, str]:
    """Looks an order up."""
    _note(f"look_up {order}")
    return {"order": order, "status": "delayed"}


def audit(order: str) -> str:
    """Checks an order against the rules; a slow tool."""
    _note(f"audit {order}")
    if KILL_IN_AUDIT in os.environ:
        os.kill(os.getpid(), getattr(signal, "SIGKILL", signal.SIGTERM))
    return f"audited {order}"


def refund(order: str, amount: float) -> str:
    """Pays an order back.  Raises ValueError for an amount below 0."""
    if amount < 0:
        raise ValueError(f"cannot refund {amount}")
    _note(f"refund {order} {float(amount)}")
    return f"refunded {amount}"


def _note(effect: str) -> None:
    path = os.environ.get(EFFECTS)
    if path is not None:
        with Path(path).open("a", encoding="utf-8") as file:
            file.write(effect + "\n")
