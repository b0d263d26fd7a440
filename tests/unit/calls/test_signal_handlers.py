"""A signal's handler that makes observed calls interrupts its thread anywhere, our code included; nothing hangs."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.journal_reader import read_journal

# The timer fires within the first call already, which starts recording; the handler's calls belong to the same run.
PROGRAM = """
import faulthandler, signal
faulthandler.dump_traceback_later(240, exit=True)
from playhead import observe

handled = depth = 0

@observe(kind="tool")
def step(number):
    return number

def handler(*_):
    global handled, depth
    handled += 1
    depth += 1
    if handled < 600 and depth < 10:  # on a busy machine, handlers would interrupt one another for ever
        signal.setitimer(signal.ITIMER_REAL, 0.0003)
    step(handled)
    depth -= 1
    if handled < 600 and depth == 0:
        signal.setitimer(signal.ITIMER_REAL, 0.0003)

@observe
def agent():
    for number in range(200):
        step(number)

signal.signal(signal.SIGALRM, handler)
signal.setitimer(signal.ITIMER_REAL, 0.0003)
while handled < 600:
    agent()
print("ended", handled)
"""


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="the system has no timers")
def test_a_handler_may_make_calls_wherever_it_interrupts_its_thread(tmp_path: Path):
    env = {"PLAYHEAD_JOURNAL_DIR": str(tmp_path), "PLAYHEAD_ENDPOINT": "http://127.0.0.1:9", "PATH": "/usr/bin:/bin"}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], env=env, capture_output=True, text=True, timeout=300, check=False
    )
    assert (done.returncode, done.stdout) == (0, "ended 600\n"), done.stderr[-3000:]
    spans = read_journal(tmp_path).spans
    numbers = [(span.attributes["playhead.run.id"], span.attributes["playhead.call.order"]) for span in spans]
    assert len(numbers) == len(set(numbers)) > 600
