"""Program for `test_framework_answers`: asks in all three frameworks and ends; started again, goes on with answers."""

import sys
from pathlib import Path

import playhead
from tests.support.waiting_desks import DESKS, instrument

instrument()
folder = Path(sys.argv[1])
desks, waiting = [desk() for desk in DESKS], []
for desk in desks:
    kept = folder / desk.framework
    if not kept.exists():
        first = type(desk)()
        kept.write_bytes(first.keep(first.ask("a.txt")))
    waiting.append(desk.kept(kept.read_bytes()))
for desk, each in zip(desks, waiting, strict=True):
    desk.go_on(playhead.answers(each, suspend=True))
sys.stdout.write(" ".join(path for desk in desks for path in desk.deleted))
