"""What the Python programs here have in common: jobs come as JSON lines on standard input, answers go to standard
output.

Job: `system` (text), `messages` (Chat Completions form, without the system prompt), `keep` (share of the newest part
that stays; null: the default). Answer: `messages` (what the next call of the model would get, without the system
prompt), or `error`.
"""

import json
import sys
import traceback


def serve(version, compact):
    """Answers each job with what `compact(system, messages, keep)` returns; first says its version."""
    answers, sys.stdout = sys.stdout, sys.stderr  # libraries print
    _write(answers, {"version": version})
    for line in sys.stdin:
        job = json.loads(line)
        try:
            answer = {"messages": compact(job["system"], job["messages"], job["keep"])}
        except Exception as error:  # noqa: BLE001 - whatever a library raises is the answer
            traceback.print_exc()
            answer = {"error": f"{type(error).__name__}: {error}"}
        _write(answers, answer)


def _write(answers, value):
    answers.write(json.dumps(value) + "\n")
    answers.flush()
