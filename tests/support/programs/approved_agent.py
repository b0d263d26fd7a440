"""An agent whose tool needs approval, in a process that does not wait for it. Resumed as RUN."""

import os
import sys
from contextlib import nullcontext
from pathlib import Path

import playhead
from playhead.models import MockModel, ModelRequest, ModelResponse, mock_answer


def note(line: str) -> None:
    with Path(os.environ["DONE"]).open("a", encoding="utf-8") as file:
        file.write(f"{line}\n")


@playhead.tool(writes=True)
def delete(path: str) -> str:
    """Deletes a file."""
    note(f"delete {path}")
    return "deleted"


@playhead.tool(writes=False)
def look(path: str) -> str:
    """Looks at a file."""
    note(f"look {path}")
    return "a file"


def answer(request: ModelRequest) -> ModelResponse:
    note(f"model {len(request.messages)}")
    results = [part.get("response") for message in request.messages for part in message["parts"] if "response" in part]
    if not results:
        return mock_answer(calls=[("c1", "look", {"path": "a"})])
    if len(results) == 1:
        return mock_answer(calls=[("c2", "delete", {"path": "a"}), ("c3", "delete", {"path": "b"})])
    return mock_answer(", ".join(map(str, results)))


playhead.configure(approval_suspends=True)
agent = playhead.Agent(name="cleaner", model=MockModel(answer), tools=[look, delete], approval="writes")
resumed = os.environ.get("RUN")
with playhead.resume(resumed) if resumed else nullcontext(), playhead.run("clean") as run:
    sys.stdout.write(f"{run.id}\n")
    sys.stdout.flush()
    sys.stdout.write(f"{agent.run_sync('Clean up.').response}\n")
