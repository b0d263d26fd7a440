"""A DBOS workflow over one growing chat. DBOS stores the result of each step: here a ref of the chat, and not the chat.

Needs no key and no network; DBOS keeps its data in a file. While no collector answers, the chat itself is handed on.

    python examples/recipes/dbos_history.py FOLDER [WORKFLOW] [STEPS]
"""

import os
import sqlite3
import sys
from pathlib import Path
from typing import Any

from dbos import DBOS, SetWorkflowID

import playhead


@DBOS.step()
def turn(value: Any, number: int) -> Any:
    """One turn of the chat: takes a history, and returns it longer. The program dies in the third one the first time,
    if DIE_ONCE names a file."""
    once = os.environ.get("DIE_ONCE")
    if number == 2 and once and not Path(once).exists():
        Path(once).touch()
        os._exit(9)
    history = playhead.History.load(value)
    history.append("user", f"question {number}: " + "lorem ipsum " * 30)
    history.call(lambda messages: f"answer {number}, of {len(messages)} messages")  # in your program: a model
    history.persist()
    return history.to_json()


@DBOS.workflow()
def chat(steps: int) -> Any:
    """So many turns, one after the other."""
    value: Any = []
    for number in range(steps):
        value = turn(value, number)
    return value


def main() -> None:
    folder, workflow = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else "chat-1"
    steps = int(sys.argv[3]) if len(sys.argv) > 3 else 5
    database = Path(folder) / "dbos.sqlite"
    DBOS(config={"name": "recipe", "system_database_url": f"sqlite:///{database}", "log_level": "ERROR"})
    DBOS.launch()
    with SetWorkflowID(workflow):
        history = playhead.History.load(chat(steps))
    print(len(history), history[-1].text)
    DBOS.destroy()
    [(stored,)] = sqlite3.connect(database).execute("select sum(length(output)) from operation_outputs").fetchall()
    print(stored, "bytes of results")


if __name__ == "__main__":
    main()
