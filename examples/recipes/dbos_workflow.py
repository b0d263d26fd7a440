"""A DBOS workflow whose steps ask models.

DBOS keeps the results of steps, and goes on with a workflow when the program starts again. Playhead records what the
models were asked inside each step, which model was chosen, and why. A step that had ended is not executed again, so it
is in the record once. Needs no key and no network; DBOS keeps its data in a file.

    python examples/recipes/dbos_workflow.py FOLDER [WORKFLOW]
"""

import os
import sys
from pathlib import Path

from dbos import DBOS, SetWorkflowID

import playhead
from playhead.model.message import text_message
from playhead.models import Fallback, MockModel, ModelRequest, Overloaded, complete

# In your program: Fallback("gpt-5", "gpt-4o").
CHOOSER = Fallback(MockModel(lambda _: Overloaded("busy"), name="large"), MockModel("done", name="small"))


def ask(text: str) -> str:
    """Asks in a run of its own. Its session is the workflow, so that all of them are found together."""
    with playhead.run("step", session=DBOS.workflow_id):
        return complete(CHOOSER, ModelRequest([text_message("user", text)])).text


@DBOS.step()
def extract(document: str) -> str:
    """The first step."""
    return ask(f"Extract: {document}")


@DBOS.step()
def summarise(facts: str) -> str:
    """The second step. The program dies here the first time, if DIE_ONCE names a file."""
    once = os.environ.get("DIE_ONCE")
    if once and not Path(once).exists():
        Path(once).touch()
        playhead.flush()
        os._exit(9)
    return ask(f"Summarise: {facts}")


@DBOS.workflow()
def process(document: str) -> str:
    """Two steps."""
    return summarise(extract(document))


def main() -> None:
    folder, workflow = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else "document-1"
    DBOS(config={"name": "recipe", "system_database_url": f"sqlite:///{folder}/dbos.sqlite", "log_level": "ERROR"})
    DBOS.launch()
    with SetWorkflowID(workflow):
        print(process("a letter"))
    playhead.flush()
    DBOS.destroy()


if __name__ == "__main__":
    main()
