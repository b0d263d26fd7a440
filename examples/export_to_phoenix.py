"""A support agent whose runs are shown in Phoenix, with all that was said, and no Playhead collector in between.

    pip install arize-phoenix && phoenix serve     # in an environment of its own
    python examples/export_to_phoenix.py           # then open http://127.0.0.1:6006

PHOENIX_COLLECTOR_ENDPOINT, PHOENIX_API_KEY and PHOENIX_PROJECT_NAME say where to, if not there. A scripted model
answers, so that no key is needed. Without a Phoenix, the agent does the same, and the journal keeps what was recorded
for later.
"""

from support_agent import TASK, client_of, handle, scripted_model

import playhead


def main() -> None:
    playhead.instrument("openai")
    playhead.export_to("phoenix", project="playhead-example")
    with scripted_model() as server, client_of(server) as client:
        print(handle(client, TASK))
    if playhead.flush(10):
        print("Phoenix has it: project playhead-example, session conversation-42.")
    else:
        print("No Phoenix took it: start one with `phoenix serve`, and run this again.")


if __name__ == "__main__":
    main()
