"""A support agent whose runs are shown in Langfuse, with all that was said, and no Playhead collector in between.

    export LANGFUSE_PUBLIC_KEY=pk-lf-...
    export LANGFUSE_SECRET_KEY=sk-lf-...
    export LANGFUSE_BASE_URL=https://cloud.langfuse.com   # or your own
    python examples/export_to_langfuse.py

A scripted model answers, so that no other key is needed. Without these variables, the agent does the same, and nothing
is sent.
"""

import os

from support_agent import TASK, client_of, handle, scripted_model

import playhead


def without_names(value: object) -> object:
    """Leaves the customer's goods out of everything that is sent; what is recorded here still has them."""
    if isinstance(value, str):
        return value.replace("walnut desk lamp", "[an article]")
    if isinstance(value, list):
        return [without_names(item) for item in value]
    if isinstance(value, dict):
        return {key: without_names(item) for key, item in value.items()}
    return value


def main() -> None:
    playhead.instrument("openai")
    has_keys = "LANGFUSE_PUBLIC_KEY" in os.environ and "LANGFUSE_SECRET_KEY" in os.environ
    if has_keys:
        playhead.export_to("langfuse", redact=without_names)
    with scripted_model() as server, client_of(server) as client:
        print(handle(client, TASK))
    if not has_keys:
        print("Nothing was sent: set LANGFUSE_PUBLIC_KEY and LANGFUSE_SECRET_KEY to a project's keys.")
    elif playhead.flush(10):
        print("Langfuse has it: trace support, session conversation-42.")
    else:
        print("Langfuse did not take all of it: what is missing stays in the journal and is sent later.")


if __name__ == "__main__":
    main()
