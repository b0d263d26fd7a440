"""Claude Code, without a terminal: a question that takes a command, and a follow-up in the same session.

What it exports is set by the environment of the sender.
"""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import claude_agent_sdk  # brings the program, for which npm's package needs a newer Node.js
from scene import FOLLOW_UP, QUESTION, REPORT, SYSTEM

program = str(Path(claude_agent_sdk.__file__).parent / "_bundled" / "claude")
folder = tempfile.mkdtemp(prefix="clerk-")
(Path(folder) / "report.txt").write_text(REPORT)
options = ["--system-prompt", SYSTEM, "--tools", "Bash", "--allowedTools", "Bash", "--output-format", "json"]
try:
    for arguments in (["-p", QUESTION], ["-c", "-p", FOLLOW_UP]):
        subprocess.run(
            [program, *arguments, *options], cwd=folder, stdin=subprocess.DEVNULL, stdout=sys.stderr, check=True
        )
finally:
    shutil.rmtree(folder)
