"""A Temporal activity that asks models.

Temporal retries an activity and keeps its result; Playhead records what it asked, which model was chosen, and why. The
activity runs here in the test environment of Temporal's SDK, which needs no server; a worker runs the same function.

    python examples/recipes/temporal_activity.py
"""

import asyncio

from temporalio import activity
from temporalio.exceptions import ApplicationError
from temporalio.testing import ActivityEnvironment

import playhead
from playhead.model.message import text_message
from playhead.models import Fallback, MockModel, ModelRequest, Overloaded, complete_async, failure_of

# In your program: Fallback("gpt-5", "gpt-4o").
CHOOSER = Fallback(MockModel(lambda _: Overloaded("busy"), name="large"), MockModel("done", name="small"))


@activity.defn
async def summarise(document: str) -> str:
    """Asks in a run of its own. Its session is the workflow, so that all of its activities are found together."""
    info = activity.info()
    with playhead.run("summarise", session=info.workflow_id, metadata={"attempt": info.attempt}):
        try:
            request = ModelRequest([text_message("user", f"Summarise: {document}")])
            return (await complete_async(CHOOSER, request)).text
        except Exception as error:
            # What cannot get better is not retried; for the rest, Temporal's own policy says when.
            raise ApplicationError(str(error), non_retryable=failure_of(error) is None) from error


async def main() -> None:
    print(await ActivityEnvironment().run(summarise, "a letter"))
    playhead.flush()


if __name__ == "__main__":
    asyncio.run(main())
